"""A fixture that the tests of training share with those of the experiments."""

from tests.experiments.conftest import toy

__all__ = ["toy"]
