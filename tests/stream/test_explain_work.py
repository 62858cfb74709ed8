"""Explanations chunk by chunk: those of ``vgib explain``, in the tables of bulk recognition."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from vgib.errors import InputError, UnknownNameError
from vgib.explain.report import explain_graphs
from vgib.model.recognizer import SubgraphRecognizer
from vgib.select.policy import Selection
from vgib.stream.explain_work import Explain

SMILES = ["CCOc1ccccc1", "CCN", "OCC1CCCCC1", "CC(=O)Nc1ccc(O)cc1", "c1ccncc1"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = SubgraphRecognizer("gcn", epochs=1, hidden=8, depth=2, seed=0)
    made.fit(SMILES * 4, [float(len(text)) for text in SMILES * 4])
    return made.save(tmp_path_factory.mktemp("models") / "small")


def chunk() -> pa.Table:
    texts = [*SMILES, "C1CC"]
    return pa.table({"line": list(range(1, 7)), "smiles": texts, "id": [None] * 6})


@pytest.mark.parametrize("method", ["gradcam", "fidelity-gate"])
def test_scores_are_those_of_the_method(method: str, model: Path, tmp_path: Path) -> None:
    learned_from = tmp_path / "some.smi"
    learned_from.write_text("\n".join(SMILES))
    work = Explain(str(model), Selection(0.5), method=method, fit_on=str(learned_from))
    work.check()
    found = work(chunk())
    expected = explain_graphs(SubgraphRecognizer.load(model), SMILES, method)
    for scores, one in zip(found.results["scores"].to_pylist(), expected.found, strict=True):
        np.testing.assert_allclose(scores, one.scores, atol=1e-5)
    assert found.results["smiles"].to_pylist() == SMILES
    assert found.rejected["line"].to_pylist() == [6]


def test_what_cannot_work_is_refused_at_once(model: Path) -> None:
    with pytest.raises(InputError, match="'vgib' learns from graphs"):
        Explain(str(model)).check()
    with pytest.raises(UnknownNameError, match="gradcam"):
        Explain(str(model), method="gradcamm").check()
