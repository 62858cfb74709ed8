"""Who trains and who is judged in the first experiment, and the models of its rows."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vgib.chem.mol import scaffold
from vgib.data.splits import random_split, reference_split
from vgib.experiments.engine.recipe import recipe
from vgib.experiments.table1.job import InterpretationJob
from vgib.experiments.table1.molecules import (
    JUDGED_SEEDS,
    DividedMolecules,
    FittedRow,
    judged,
    model_of,
    parts_of,
    split_of,
    with_labeled_fragments,
)


def job(method: str = "vgib-paper", version: str = "list", target: str = "qed", **more: Any) -> Any:
    subset = {"version": version, "property": target, "method": method}
    (made,) = recipe("table1").jobs({"seed": 0} | more, subset)
    assert isinstance(made, InterpretationJob)
    return made


def test_the_judged_molecules_are_test_molecules() -> None:
    split = split_of(["C"] * 1000, "random", 1)
    chosen = judged(split, 1000, "random", 30, 1)
    assert len(chosen) == 30 and set(chosen) <= set(split.test)
    assert (np.diff(chosen) > 0).all()


def test_in_file_order_only_those_that_the_oracle_does_not_know_are_judged() -> None:
    split = split_of(["C"] * 1000, "file", 0)
    assert np.array_equal(split.test, reference_split(1000).test)
    unknown = {i for seed in JUDGED_SEEDS for i in random_split(1000, seed=seed).test}
    chosen = judged(split, 1000, "file", 20, 0)
    assert set(chosen) <= set(split.test) & unknown
    assert np.array_equal(chosen, judged(split, 1000, "file", 20, 2))


def test_by_scaffold_no_ring_system_of_a_test_molecule_was_trained_on(
    mirror: Path, tmp_path: Path
) -> None:
    asked = job(version="scaffold", molecules=2000, tested=50)
    assert asked.split == "scaffold"
    parts = parts_of(asked, mirror=mirror, cache=tmp_path)
    train, test = (
        {scaffold(text) for text in part.ids or ()} for part in (parts.train, parts.test)
    )
    assert len(parts.test) == 50 and len(test) > 10 and not (train & test) - {""}
    asked = job(version="scaffold", molecules=2000, tested=50, seed=1)
    other = parts_of(asked, mirror=mirror, cache=tmp_path)
    assert set(other.test.ids or ()) != set(parts.test.ids or ())


def test_both_versions_are_judged_on_the_same_molecules(mirror: Path, tmp_path: Path) -> None:
    full, listed = (
        parts_of(job(version=version, molecules=2000, tested=50), mirror=mirror, cache=tmp_path)
        for version in ("full", "list")
    )
    assert full.test.ids == listed.test.ids and len(full.test) == 50
    assert (len(full.train), len(full.val)) == (len(listed.train), len(listed.val)) == (1700, 100)
    assert full.train.y is not None and listed.train.y is not None
    assert full.train.y.std() > 3 * listed.train.y.std()  # the list holds the best only
    for parts in (full, listed):
        train, val, test = (set(part.ids or ()) for part in (parts.train, parts.val, parts.test))
        assert not train & test and not val & test and not train & val


def test_the_rows_are_the_published_settings() -> None:
    paper = model_of(job()).settings()
    assert paper.architecture.hidden == 16 and paper.architecture.depth == 2
    assert paper.training.batch_size == 32 and paper.training.epochs == 2
    assert paper.bottleneck["beta"] == 1e-3 and "connectivity" not in paper.bottleneck
    assert model_of(job("vgib-reference")).settings().bottleneck["connectivity"] == 1
    gib = model_of(job("gib")).settings()
    assert gib.training.batch_size == 128 and gib.training.epochs == 3
    assert gib.bottleneck["inner_steps"] == 150 and gib.bottleneck["connectivity"] == 5


@pytest.mark.parametrize("target, weight", [("qed", 1), ("hlm", 5), ("mlm", 5), ("rlm", 1)])
def test_the_connectivity_weight_of_the_reference_goes_by_the_property(
    target: str, weight: float
) -> None:
    made = job("vgib-reference", target=target)
    assert model_of(made).settings().bottleneck["connectivity"] == weight


def test_fragments_are_added_to_training_and_validation_only(drugs: DividedMolecules) -> None:
    more = with_labeled_fragments(job(fragments=1), drugs)
    assert len(more.train) == 2 * len(drugs.train) and len(more.val) == 2 * len(drugs.val)
    assert more.test is drugs.test
    assert with_labeled_fragments(job(), drugs) is drugs


def test_a_job_can_train_on_fragments_alone_and_says_how_large_they_are(
    drugs: DividedMolecules,
) -> None:
    asked = job(fragments=2, whole=False, fragment_shares=[0.4, 0.6])
    alone = with_labeled_fragments(asked, drugs)
    assert len(alone.train) == 2 * len(drugs.train) and len(alone.val) == 2 * len(drugs.val)
    assert drugs.train.ids is not None and alone.train.ids is not None
    assert not set(drugs.train.ids) & set(alone.train.ids)
    shares = alone.train.sizes.numpy() / drugs.train.sizes.numpy().repeat(2)
    assert 0.45 < np.median(shares) < 0.55
    assert alone.test is drugs.test


def test_what_is_added_to_jobs_leaves_the_keys_of_old_records_alone() -> None:
    old = job("att05")
    assert old.digest() == job("att05", whole=True, fragment_shares=[0.2, 0.9]).digest()
    assert old.digest() != job("att05", fragments=1, whole=False).digest()


def test_the_error_stands_beside_that_of_the_mean(drugs: DividedMolecules) -> None:
    model = model_of(job(epochs=1)).fit(drugs.train, val=drugs.val)
    found = FittedRow(drugs, model, {}).prediction_error()
    assert drugs.train.y is not None and drugs.test.y is not None
    constant = (drugs.test.y - drugs.train.y.mean()).abs().mean()
    assert found["constant_error"] == pytest.approx(float(constant), rel=1e-5)
    assert found["test_error"] > 0
