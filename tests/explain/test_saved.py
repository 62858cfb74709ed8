"""A fitted explainer is saved, loaded, and refused on another model than its own."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tests.explain.shapes import SHAPES, graphs_for
from torch import nn
from torch_geometric.data import Data

from vgib.errors import FileFormatError, InputError
from vgib.explain.adapter import Adapted
from vgib.explain.explainer import as_graphs, explainers
from vgib.explain.many import explain_many, score
from vgib.explain.pyg import GSATExplainer, VGIBExplainer

ModelOf = Callable[[str], nn.Module]


@pytest.mark.parametrize("name", ["vgib", "vgib-counts", "vgib-paper", "gsat"])
def test_what_was_learned_comes_back(
    name: str, model_of: ModelOf, data: list[Data], tmp_path: Path
) -> None:
    model = model_of("gcn")
    fitted = explainers.make(name, steps=2, target=1).fit(model, data)
    assert isinstance(fitted, Adapted)
    fitted.save(tmp_path / "explainer.safetensors")
    again = Adapted.load(tmp_path / "explainer.safetensors")
    assert type(again) is type(fitted)
    graphs = as_graphs(data)
    assert torch.equal(score(again, model, graphs), score(fitted, model, graphs))
    other = model_of("gcn")
    with torch.no_grad():
        next(other.parameters()).add_(1)
    for explainer in (fitted, again):
        with pytest.raises(InputError, match="fitted to another GraphModel than this one"):
            explain_many(other, data, explainer)
    assert (again.steps, again.batch_size) == (fitted.steps, fitted.batch_size)
    assert score(again.fit(other, data), other, graphs).isfinite().all()


def test_what_an_algorithm_of_pyg_learned_comes_back(
    model_of: ModelOf, data: list[Data], tmp_path: Path
) -> None:
    model, file = model_of("gcn"), tmp_path / "explainer.safetensors"
    fitted = VGIBExplainer("paper", steps=2).fit(model, data)
    fitted.save(file)
    again = VGIBExplainer.load(file)
    for one, other in zip(*(explain_many(model, data, e) for e in (fitted, again)), strict=True):
        assert torch.equal(one.node_mask, other.node_mask)
    with pytest.raises(InputError, match="holds a fitted vgib-paper, not GSATExplainer"):
        GSATExplainer.load(file)


def test_files_of_other_kinds_are_refused(tmp_path: Path, data: list[Data]) -> None:
    with pytest.raises(InputError, match="there is no file"):
        Adapted.load(tmp_path / "none")
    (tmp_path / "text").write_text("no tensors")
    with pytest.raises(FileFormatError, match="truncated or not a file of a fitted explainer"):
        Adapted.load(tmp_path / "text")
    as_graphs(data).save(tmp_path / "graphs")
    with pytest.raises(FileFormatError, match="but not a fitted explainer"):
        Adapted.load(tmp_path / "graphs")


def test_a_model_that_reads_bonds_has_a_predictor_that_does(model_of: ModelOf) -> None:
    data = graphs_for("GINE", 6)
    for name, channels in (("GINE", 3), ("GCN, sum", 0)):
        fitted = explainers.make("vgib", steps=1).fit(SHAPES[name][0](), data)
        assert isinstance(fitted, Adapted)
        assert fitted.site_.edge_channels == channels
        assert fitted.site_.layer == ("gine" if channels else "gin")
