"""Post-hoc methods on the models of the service."""

import pytest
from tests.serve.support import PARACETAMOL

from vgib.data.molecules import from_smiles
from vgib.errors import UnknownNameError
from vgib.explain.explainer import explainers
from vgib.explain.many import explain_many
from vgib.serve.explaining import Explaining, methods
from vgib.serve.shelf import ModelShelf


def test_every_method_is_listed_with_a_sentence() -> None:
    listed = methods()
    assert [one["name"] for one in listed] == explainers.names()
    assert all(one["about"] for one in listed)
    assert {one["name"] for one in listed if one["learns"]} >= {
        "pgexplainer",
        "vgib",
        "fidelity-gate",
    }


@pytest.mark.parametrize("method", ["occlusion", "gradcam"])
def test_scores_are_those_of_python(shelf: ModelShelf, method: str) -> None:
    graphs = from_smiles([PARACETAMOL]).graphs
    found = Explaining(shelf).scores("values", method, graphs)
    (expected,) = explain_many(shelf.get("values").net_, graphs, method)
    assert found == pytest.approx(expected.node_mask[:, 0].tolist(), abs=1e-6)


def test_an_unknown_method_is_refused_with_a_suggestion(shelf: ModelShelf) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'occlusion'"):
        Explaining(shelf).scores("values", "oclusion", from_smiles(["CCO"]).graphs)


def test_what_learns_learns_once(shelf: ModelShelf, monkeypatch: pytest.MonkeyPatch) -> None:
    explaining = Explaining(shelf)
    fits = []
    kind = explainers.get("vgib-paper")
    fit = kind.fit

    def counted(self: object, *arguments: object) -> object:
        fits.append(1)
        self.steps = 3  # type: ignore[attr-defined]  # a quick lesson is enough here
        return fit(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(kind, "fit", counted)
    graphs = from_smiles([PARACETAMOL]).graphs
    first = explaining.scores("values", "vgib-paper", graphs)
    assert explaining.scores("values", "vgib-paper", graphs) == first
    assert len(fits) == 1
