"""The molecules of Table 3."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from vgib.chem.mol import scaffold
from vgib.data.loading import split_graphs
from vgib.data.molecules import from_smiles, load_drugs
from vgib.data.splits import Split
from vgib.errors import UnknownNameError
from vgib.experiments.table3.property_sets import (
    composition,
    composition_accuracy,
    property_set,
)


def test_two_balanced_classes_written_alike_and_kept(mirror: Path, tmp_path: Path) -> None:
    graphs = property_set("drd2", 40, mirror=mirror, cache=tmp_path)
    assert graphs.y is not None and graphs.ids is not None
    assert graphs.y.bincount().tolist() == [40, 40]
    assert len(set(graphs.ids)) == 80
    assert not any("@" in smiles or "/" in smiles for smiles in graphs.ids)
    again = property_set("drd2", 40, cache=tmp_path)
    assert again.fingerprint() == graphs.fingerprint()


def test_a_damaged_copy_is_drawn_again(mirror: Path, tmp_path: Path) -> None:
    graphs = property_set("drd2", 20, mirror=mirror, cache=tmp_path)
    (copy,) = (tmp_path / "explanation").glob("*.safetensors")
    copy.write_bytes(copy.read_bytes()[:100])
    again = property_set("drd2", 20, mirror=mirror, cache=tmp_path)
    assert again.fingerprint() == graphs.fingerprint()
    assert property_set("drd2", 20, cache=tmp_path).fingerprint() == graphs.fingerprint()


def test_an_unknown_property_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'qed'"):
        property_set("qedd", 10)


def test_composition_counts_elements_hydrogens_charge_and_atoms() -> None:
    graphs = from_smiles(["CC(=O)[O-]", "CN"]).graphs
    acid, amine = composition(graphs).tolist()
    # B Br C Cl F H I N O P S Se Si other, then hydrogens, charge, atoms
    assert acid == [0, 0, 2, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 3, -1, 4]
    assert amine == [0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 5, 0, 2]


def test_what_composition_tells_is_found_and_what_it_does_not_tell_is_not() -> None:
    drugs = from_smiles(load_drugs()["smiles"]).graphs
    numbers = np.arange(len(drugs))
    split = Split(numbers[::2], numbers[:2], numbers[1::2])
    large = replace(drugs, y=(drugs.sizes > drugs.sizes.median()).long())
    assert composition_accuracy(large, split) > 0.95
    drawn = torch.rand(len(drugs), generator=torch.Generator().manual_seed(0))
    assert composition_accuracy(replace(drugs, y=(drawn > 0.5).long()), split) < 0.65


def test_a_scaffold_is_on_one_side_only() -> None:
    drugs = from_smiles(load_drugs()["smiles"]).graphs
    assert drugs.ids is not None
    split = split_graphs(drugs, "scaffold", seed=1)
    of = np.array([scaffold(smiles) for smiles in drugs.ids], dtype=object)
    assert not (set(of[split.train]) & set(of[split.test])) - {""}
    assert len(split_graphs(drugs, "random", seed=1).test) == round(0.1 * len(drugs))
