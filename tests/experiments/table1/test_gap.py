"""The share of the gap between random and best that a choice of parts closes."""

import numpy as np
import pytest

from vgib.data.molecules import load_drugs
from vgib.experiments.table1.atlas import Atlas
from vgib.experiments.table1.gap import Gap, at_share
from vgib.oracles import registry

DRUGS = [smiles for smiles in load_drugs()["smiles"] if 12 <= len(smiles) <= 30][:12]


@pytest.fixture(scope="module")
def atlas() -> Atlas:
    return Atlas(registry.get("qed"), DRUGS)


def test_a_random_choice_closes_nothing_and_the_best_one_everything() -> None:
    rng = np.random.default_rng(0)
    random = rng.uniform(0.2, 0.4, 50)
    best = random - 0.1
    assert Gap(random, random, best).closed.value == pytest.approx(0)
    assert Gap(best, random, best).closed.value == pytest.approx(1)
    half = Gap((random + best) / 2, random, best).closed
    assert half.value == pytest.approx(0.5) and half.low <= 0.5 <= half.high


def test_molecules_that_cannot_be_judged_are_left_out() -> None:
    own = np.array([0.1, np.nan, 0.2])
    gap = Gap(own, np.full(3, 0.3), np.full(3, 0.1))
    assert gap.closed.n == 2
    assert gap.told()["divergence"]["n"] == 2


@pytest.mark.parametrize("keep", [0.3, 0.5])
def test_the_best_part_of_the_wanted_size_closes_the_gap(atlas: Atlas, keep: float) -> None:
    sizes = [round(keep * mol.GetNumAtoms() + 1e-9) for mol in atlas.mols]
    near = [
        min({len(nodes) for nodes in parts}, key=lambda s, k=k: (abs(s - k), s))
        for parts, k in zip(atlas.parts, sizes, strict=True)
    ]
    best = [atlas.best_part(number, size) for number, size in enumerate(near)]
    gap = at_share(atlas, best, keep)
    assert np.allclose(gap.own, gap.best)
    assert (gap.random >= gap.best).all() and gap.closed.value == pytest.approx(1)
