"""Every ring-intact part of a molecule: the exact control and the exact best."""

from itertools import combinations

import numpy as np
import pytest

from vgib.chem.blocks import indivisible_blocks
from vgib.chem.fragment import fragment
from vgib.experiments.table1.atlas import Atlas, atlas_of
from vgib.oracles.registry import get

ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"
PARACETAMOL = "CC(=O)Nc1ccc(O)cc1"


@pytest.fixture(scope="module")
def atlas() -> Atlas:
    return Atlas(get("qed"), [ASPIRIN, PARACETAMOL])


def all_parts(smiles: str) -> dict[tuple[int, ...], float]:
    """By trying every union of blocks, slowly."""
    blocks, oracle = indivisible_blocks(smiles), get("qed")
    names = range(int(blocks.max()) + 1)
    found = {}
    for count in range(1, len(names) + 1):
        for chosen in combinations(names, count):
            nodes = tuple(np.flatnonzero(np.isin(blocks, chosen)).tolist())
            part = fragment(smiles, nodes, stereo=False)
            if part.valid:
                whole, value = oracle([smiles, part.capped_smiles])
                found[nodes] = abs(value - whole)
    return found


@pytest.mark.parametrize("number, smiles", [(0, ASPIRIN), (1, PARACETAMOL)])
def test_it_holds_every_connected_part_that_cuts_no_ring(
    atlas: Atlas, number: int, smiles: str
) -> None:
    assert atlas.parts[number] == pytest.approx(all_parts(smiles))


def test_controls_are_the_mean_and_the_least_of_the_parts_of_a_size(atlas: Atlas) -> None:
    found = atlas.controls([7, 4])
    for number, (smiles, size) in enumerate([(ASPIRIN, 7), (PARACETAMOL, 4)]):
        near = [d for nodes, d in all_parts(smiles).items() if abs(len(nodes) - size) <= 1]
        assert near
        assert found.random[number] == pytest.approx(np.mean(near))
        assert found.best[number] == pytest.approx(min(near))


def test_controls_can_be_of_exactly_a_size(atlas: Atlas) -> None:
    found = atlas.controls([7, 4], within=0)
    for number, (smiles, size) in enumerate([(ASPIRIN, 7), (PARACETAMOL, 4)]):
        parts = all_parts(smiles)
        nearest = min(abs(len(nodes) - size) for nodes in parts)
        same = [d for nodes, d in parts.items() if abs(len(nodes) - size) == nearest]
        assert found.random[number] == pytest.approx(np.mean(same))
        assert found.best[number] == pytest.approx(min(same))
    near = atlas.controls([7, 4])
    assert (found.best >= near.best).all() and (found.random != near.random).any()


def test_where_no_part_is_so_near_the_nearest_size_counts() -> None:
    found = Atlas(get("qed"), ["c1ccccc1"]).controls([2])
    assert found.random[0] == found.best[0] == 0  # the ring itself


def test_the_best_part_is_the_one_of_the_least_divergence(atlas: Atlas) -> None:
    nodes = atlas.best_part(0, 7)
    assert abs(len(nodes) - 7) <= 1
    assert atlas.parts[0][nodes] == pytest.approx(atlas.controls([7, 4]).best[0])


def test_the_whole_molecule_does_not_diverge(atlas: Atlas) -> None:
    judged = atlas.judge([tuple(range(13)), tuple(range(11))])
    assert judged.divergence.tolist() == [0, 0]
    assert judged.kept.tolist() == [1, 1] and judged.is_valid.all()


def test_a_cut_ring_is_judged_too_and_what_is_no_molecule_is_not(atlas: Atlas) -> None:
    judged = atlas.judge([(4, 5, 6), (0, 10)])  # three atoms of a ring; two atoms far apart
    assert np.isfinite(judged.divergence[0]) and judged.is_valid[0]
    assert np.isnan(judged.divergence[1]) and not judged.is_valid[1]


def test_an_atlas_is_made_once_for_the_same_molecules() -> None:
    assert atlas_of(get("qed"), (ASPIRIN,)) is atlas_of(get("qed"), (ASPIRIN,))
