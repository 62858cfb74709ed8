"""Molecules with what a method finds in them."""

from math import nan
from typing import Any

from vgib.experiments.engine.recipe import recipe
from vgib.experiments.figure3.job import GalleryJob
from vgib.experiments.figure3.work import known, run_on
from vgib.experiments.table1.molecules import DividedMolecules


def job(**more: Any) -> Any:
    subset = {"version": "list", "property": "qed", "method": "vgib-paper", "seed": 0}
    (made,) = recipe("figure3").jobs({"epochs": 1, **more}, subset)
    assert isinstance(made, GalleryJob)
    return made


def test_every_molecule_has_its_subgraph_and_the_best_one(drugs: DividedMolecules) -> None:
    molecules = run_on(job(), drugs).result["molecules"]
    assert [one["smiles"] for one in molecules] == list(drugs.test.ids or ())
    for one, atoms in zip(molecules, drugs.test.sizes.tolist(), strict=True):
        assert len(one["scores"]) == atoms
        assert 0 < len(one["nodes"]) < atoms  # about half, where no large ring is in the way
        assert one["best_divergence"] <= one["divergence"] + 1e-9
        assert set(one["best_nodes"]) <= set(range(atoms))


def test_what_is_not_known_is_none() -> None:
    assert known(nan) is None and known(0.5) == 0.5
