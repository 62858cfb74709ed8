"""Chosen nodes as subgraphs: the SMILES of many of them at once."""

import numpy as np
import pytest

from vgib.chem.fragment import fragment
from vgib.data.molecules import from_smiles, load_drugs
from vgib.model.subgraphs import find_subgraphs
from vgib.select.policy import Rule


@pytest.mark.parametrize("rule", ["ring_intact", "largest_part", "nodes"])
def test_fragments_of_many_molecules_are_those_of_each(rule: Rule) -> None:
    molecules = from_smiles(load_drugs()["smiles"], keep_mols=True)
    scores = np.random.default_rng(0).random(molecules.graphs.num_nodes)
    found = find_subgraphs(
        molecules.graphs, scores, 2, keep_ratio=(0.3, 0.6), rule=rule, mols=molecules.mols
    )
    assert any(part.smiles == "" for ranked in found for part in ranked) == (rule == "nodes")
    for smiles, ranked in zip(molecules.graphs.ids or (), found, strict=True):
        for part in ranked:
            assert part.smiles == fragment(smiles, part.nodes, capped=False).smiles
