"""Effects of atoms: they add up, and their signs are those that a chemist expects."""

import numpy as np
import pytest

from vgib.data.molecules import load_drugs
from vgib.model.recognizer import SubgraphRecognizer

DRUGS = load_drugs()["smiles"].tolist()


def test_effects_add_up_to_what_the_molecule_says_more_than_nothing() -> None:
    model = SubgraphRecognizer.load("mutagenicity")
    answer = model.answer(DRUGS[:20])
    ends = answer.graphs.node_ptr.numpy()
    nothing = [answer.predict_parts(g, np.zeros((1, n), bool)) for g, n in enumerate(np.diff(ends))]
    for graph, empty in enumerate(nothing):
        total = answer.effects[ends[graph] : ends[graph + 1]].sum()
        odds = [np.log(p[:, 1] / p[:, 0]).mean() for p in (answer.values[:, graph], empty[:, 0])]
        assert total == pytest.approx(odds[0] - odds[1], abs=1e-3)


def test_an_azide_raises_and_a_hydroxyl_lowers_the_odds_of_a_mutagen() -> None:
    model = SubgraphRecognizer.load("mutagenicity")
    (azide, phenol) = model.recognize(["[N-]=[N+]=NCc1ccccc1", "Oc1ccccc1"], effects=True)
    assert azide.effects is not None and phenol.effects is not None
    assert azide.effects[0] > 0.5 > 0 > phenol.effects[0]
    (part,) = azide.subgraphs
    assert part.effect == pytest.approx(sum(azide.effects[node] for node in part.nodes))
    assert azide.statement.startswith("mutagenic 9") and "not mutagenic" in phenol.statement
    assert model.answer(["C"]).effect_unit == "log-odds of mutagenic"
