"""Fixtures that tests of other packages share with these."""

from tests.experiments.conftest import toy

__all__ = ["toy"]  # a fixture of the experiments
