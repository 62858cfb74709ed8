"""The settings of a job on measured molecules."""

import pytest

from vgib.errors import InputError
from vgib.experiments.adme.job import AdmeJob


def test_a_job_is_known_by_its_split_target_method_and_seed() -> None:
    own = {"split": "scaffold", "target": "hlm", "method": "chemprop-3", "seed": 1}
    job: AdmeJob = AdmeJob.of(**own, kind="chemprop", members=3)
    assert job.cell() == "scaffold/hlm/chemprop-3"
    assert job.key().startswith("scaffold/hlm/chemprop-3/1-")


def test_only_the_two_splits_are_known() -> None:
    with pytest.raises(InputError, match="split='sorted'"):
        AdmeJob.of(split="sorted", target="hlm", method="forest", seed=0, kind="forest")
