"""Subgraph recognition with the variational graph information bottleneck, and its baselines."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from vgib.chem.draw import draw
    from vgib.chem.fragment import Fragment, fragment
    from vgib.data.loading import load_graphs, split_graphs
    from vgib.data.molecules import from_smiles, read_molecules
    from vgib.data.packed import PackedGraphs
    from vgib.errors import VgibError
    from vgib.explain.function import explain_function
    from vgib.explain.many import explain_many, show
    from vgib.explain.nodes import explain_nodes
    from vgib.model.answer import Answer
    from vgib.model.recognizer import SubgraphRecognizer
    from vgib.model.results import Subgraph
    from vgib.model.subgraphs import find_subgraphs
    from vgib.nn.around import VGIB
    from vgib.nn.net import SubgraphNet
    from vgib.select.policy import Selection

# Where each public name lives; imported on first use: `vgib --help` need not wait for torch.
_HOMES = {
    "Answer": "vgib.model.answer",
    "Fragment": "vgib.chem.fragment",
    "PackedGraphs": "vgib.data.packed",
    "Selection": "vgib.select.policy",
    "Subgraph": "vgib.model.results",
    "SubgraphNet": "vgib.nn.net",
    "SubgraphRecognizer": "vgib.model.recognizer",
    "VGIB": "vgib.nn.around",
    "VgibError": "vgib.errors",
    "draw": "vgib.chem.draw",
    "explain_function": "vgib.explain.function",
    "explain_many": "vgib.explain.many",
    "explain_nodes": "vgib.explain.nodes",
    "find_subgraphs": "vgib.model.subgraphs",
    "fragment": "vgib.chem.fragment",
    "from_smiles": "vgib.data.molecules",
    "load_graphs": "vgib.data.loading",
    "read_molecules": "vgib.data.molecules",
    "show": "vgib.explain.many",
    "split_graphs": "vgib.data.loading",
}

# Sorted as Python sorts: VGIB is a class, not a constant, which ruff would put first.
__all__ = [  # noqa: RUF022
    "Answer",
    "Fragment",
    "PackedGraphs",
    "Selection",
    "Subgraph",
    "SubgraphNet",
    "SubgraphRecognizer",
    "VGIB",
    "VgibError",
    "draw",
    "explain_function",
    "explain_many",
    "explain_nodes",
    "find_subgraphs",
    "fragment",
    "from_smiles",
    "load_graphs",
    "read_molecules",
    "show",
    "split_graphs",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'vgib' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
