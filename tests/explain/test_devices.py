"""Models are explained where they are.

A machine without a GPU has a second device all the same: torch's lazy tensors, which compute on the
CPU but do not mix with its tensors. Whatever is made or left on the wrong device fails there.
"""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
import torch._lazy
import torch._lazy.ts_backend
from tests.explain.test_explainer import CASES
from torch import nn
from torch_geometric.data import Data
from torch_geometric.explain import Explainer as PygExplainer
from torch_geometric.explain import ModelConfig

import vgib.nn
from vgib.explain.explainer import explainers
from vgib.explain.many import explain_many
from vgib.explain.pyg import VGIBExplainer
from vgib.model.graphs import as_packed

ModelOf = Callable[[str], nn.Module]

FACTORIES = {
    *("arange", "empty", "eye", "full", "linspace", "logspace", "ones", "rand", "randint"),
    *("randn", "randperm", "tensor", "zeros"),
}
"""Functions of torch that make a tensor on the default device when none is named."""


@pytest.fixture(scope="module", params=["lazy", "cuda"])
def device(request: pytest.FixtureRequest) -> str:
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no GPU here; the lazy device takes its place")
    if request.param == "lazy":
        torch._lazy.ts_backend.init()
    return str(request.param)


@pytest.mark.parametrize("name", explainers.names())
def test_every_method_explains_a_model_on_another_device(
    name: str, device: str, model_of: ModelOf, data: list[Data]
) -> None:
    model, options = model_of("gcn"), CASES[name]
    wanted = explain_many(model, data, name, **options)
    there = model.to(device)
    found = explain_many(there, data, name, **options)
    assert next(there.parameters()).device.type == device
    for one, other in zip(found, wanted, strict=True):
        assert one.node_mask.is_cpu and one.prediction.is_cpu
        # Sums in another order: what training makes of their rounding.
        torch.testing.assert_close(one.node_mask, other.node_mask, atol=5e-3, rtol=0)
        torch.testing.assert_close(one.prediction, other.prediction, atol=1e-4, rtol=1e-4)


def test_graphs_on_another_device_are_left_there(
    device: str, model_of: ModelOf, data: list[Data]
) -> None:
    model = model_of("gcn").to(device)
    there = [item.clone().to(device) for item in data]
    found = explain_many(model, there, "gradcam")
    assert found[0].node_mask.is_cpu
    assert all(item.x is not None and item.x.device.type == device for item in there)


def test_graphs_on_another_device_are_read_by_models_of_this_package(
    device: str, data: list[Data]
) -> None:
    there = [item.clone().to(device) for item in data]
    packed = as_packed(there, None)
    assert packed.x.is_cpu and packed.col.is_cpu and len(packed) == len(data)
    assert all(item.x is not None and item.x.device.type == device for item in there)


def test_pygs_explainer_gets_masks_where_its_graph_is(
    device: str, model_of: ModelOf, data: list[Data]
) -> None:
    model, (one, *_) = model_of("gcn").to(device), data
    algorithm = VGIBExplainer(steps=2).fit(model, data)
    explainer = PygExplainer(
        model,
        algorithm,
        explanation_type="model",
        node_mask_type="object",
        edge_mask_type="object",
        model_config=ModelConfig("multiclass_classification", "graph", return_type="raw"),
    )
    assert one.x is not None and one.edge_index is not None
    x, edges = one.x.to(device), one.edge_index.to(device)
    found = explainer(x, edges, batch=torch.zeros(len(x), dtype=torch.int64).to(device))
    assert found.node_mask.device.type == found.edge_mask.device.type == device


def unnamed(source: str) -> Iterator[int]:
    """The lines outside of ``__init__`` that make a tensor without naming its device."""
    tree = ast.parse(source)
    built = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef) and function.name == "__init__"
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        is_torch = isinstance(node.func.value, ast.Name) and node.func.value.id == "torch"
        is_named = any(keyword.arg == "device" for keyword in node.keywords)
        if is_torch and node.func.attr in FACTORIES and not is_named and id(node) not in built:
            yield node.lineno


MODULES = sorted(Path(vgib.nn.__path__[0]).glob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_every_tensor_of_a_network_names_its_device(path: Path) -> None:
    # What __init__ makes are parameters and buffers, which a module takes along when it moves.
    assert list(unnamed(path.read_text(encoding="utf-8"))) == []


def test_an_unnamed_device_is_found() -> None:
    assert list(unnamed("def f(n):\n    return torch.zeros(n)\n")) == [2]
    assert list(unnamed("def f(x):\n    return torch.zeros(3, device=x.device)\n")) == []
    assert list(unnamed("class A:\n    def __init__(self):\n        self.a = torch.zeros(3)")) == []
