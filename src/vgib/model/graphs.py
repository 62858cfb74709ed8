"""Graphs of every accepted kind as the packed graphs that a model reads."""

import logging
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from torch import Tensor

from vgib.chem.standardize import Standard
from vgib.chem.vocabulary import BOND
from vgib.data.capped import atom_features
from vgib.data.from_pyg import one_by_one
from vgib.data.molecules import Molecules, from_smiles
from vgib.data.packed import PackedGraphs
from vgib.errors import InputError
from vgib.model.card import Card
from vgib.nn.layers import EDGE_LAYERS

log = logging.getLogger(__name__)

NEW_CODE = "%s have the code %d in column %d; training graphs had none above %d, as which it counts"


def as_packed(graphs: Any, features: str | None, standard: str = "none") -> PackedGraphs:
    """Graphs of any accepted kind as :class:`PackedGraphs`.

    ``features`` and ``standard`` tell how SMILES are read; molecules that were read already stay as
    they are.
    """
    if isinstance(graphs, PackedGraphs | Molecules):
        return graphs if isinstance(graphs, PackedGraphs) else graphs.graphs
    # A torch Subset can be walked through without being an Iterable.
    if isinstance(graphs, str) or not (
        isinstance(graphs, Iterable) or hasattr(graphs, "__getitem__")
    ):
        raise _not_a_list(graphs)
    if type(graphs).__name__ == "DataFrame":
        raise InputError("expected one column of a table, such as table['smiles']; got all of it")
    items = list(graphs)
    if not items and features is not None:
        raise InputError(
            "no graphs were given; expected at least one molecule as SMILES, or graph as PyG Data"
        )
    if items and all(isinstance(item, str) for item in items):
        return _from_all_smiles(items, features, standard)
    return _from_pyg(graphs, items)


def _not_a_list(graphs: Any) -> InputError:
    kind, told = type(graphs).__name__, repr(graphs)
    if not told.startswith(kind):
        told = f"{kind} {told}"
    return InputError(f"expected a list of SMILES or of PyG Data, got one {told}; put it in a list")


def _from_pyg(graphs: Any, items: list[Any]) -> PackedGraphs:
    # Imported here: whoever has no PyG graphs need not wait for PyG.
    from torch_geometric.data import Batch, Data

    if isinstance(graphs, Batch):
        items = [graphs]
    elif isinstance(graphs, Data):
        raise _not_a_list(graphs)
    strange = [number for number, item in enumerate(items) if not isinstance(item, Data)]
    # Among SMILES it is what is neither that is strange, such as the NaN of an empty cell.
    neither = [number for number in strange if not isinstance(items[number], str)]
    for number in neither[:1] or strange[:1]:
        item = items[number]
        is_molecule = type(item).__module__.startswith("rdkit.")
        raise InputError(
            f"graph {number} is {item!r}; expected PyG Data throughout, or SMILES throughout"
            + (", such as Chem.MolToSmiles(molecule)" if is_molecule else "")
        )
    return PackedGraphs.from_data(one_by_one(items))


def _from_all_smiles(smiles: list[str], features: str | None, standard: str) -> PackedGraphs:
    if features is None:
        raise InputError("this model was trained on graphs that are not molecules")
    found = from_smiles(smiles, features=features, standard=Standard.named(standard))
    if found.rejected:
        first = found.rejected[0]
        raise InputError(
            f"{len(found.rejected)} of {len(smiles)} SMILES cannot be used; number "
            f"{first.line}, {first.text!r}: {first.reason}"
        )
    return found.graphs


def as_read_by(card: Card, graphs: PackedGraphs) -> PackedGraphs:
    """The graphs with the features that a model reads, or an error when they have others.

    A list of PyG ``Data`` holds codes but does not say how many there are; the model does.
    """
    is_coded = graphs.cardinalities is not None
    if graphs.x.shape[1] != card.in_channels or is_coded != (card.cardinalities is not None):
        raise InputError(
            f"the graphs have {graphs.x.shape[1]} node features "
            f"({'codes' if is_coded else 'floats'}); this model was trained on {card.in_channels} "
            f"({'codes' if card.cardinalities else 'floats'})"
        )
    read = graphs
    if card.cardinalities is not None:
        if card.features is None:  # atoms have a code for what is rare
            _warn_of_new_codes(graphs.x, card.cardinalities)
        read = replace(graphs, cardinalities=tuple(card.cardinalities))
    if card.cardinalities and card.features is None and atom_features(graphs):
        raise InputError("the graphs are molecules; this model was trained on other graphs")
    if card.features is not None and atom_features(read) is None:
        raise InputError(
            "this model was trained on molecules; give SMILES, or graphs made from them, which "
            "carry their bonds and their SMILES"
        )
    if card.edge_channels:
        found = edge_features(card.encoder, read)
        kind, width = found["edge_features"], found["edge_channels"]
        if kind != card.edge_features or (kind == "floats" and width != card.edge_channels):
            raise InputError(
                f"the edges of the graphs have {width} features ({kind}); this model was trained "
                f"on {card.edge_channels} ({card.edge_features})"
            )
        if kind == "codes" and width > card.edge_channels:
            log.warning(NEW_CODE, "edges", width - 1, 0, card.edge_channels - 1)
    return read


def _warn_of_new_codes(x: Tensor, cardinalities: list[int]) -> None:
    """Says when nodes have codes that no training graph had, which are read as the last one."""
    if not len(x):
        return
    for column, (highest, known) in enumerate(zip(x.amax(0).tolist(), cardinalities, strict=True)):
        if highest >= known:
            log.warning(NEW_CODE, "nodes", highest, column, known - 1)


def edge_features(encoder: Any, graphs: PackedGraphs) -> dict[str, Any]:
    """What a card says of the edge features that an encoder reads; nothing for the others."""
    if encoder not in EDGE_LAYERS if isinstance(encoder, str) else True:
        return {"edge_features": None, "edge_channels": 0}
    attr = graphs.edge_attr
    if attr is None:
        raise InputError(
            f"encoder {encoder!r} reads edge features, but the graphs carry none; "
            "set data.edge_attr of every one, or use 'gin' or 'gat'"
        )
    if atom_features(graphs):
        return {"edge_features": BOND.name, "edge_channels": len(BOND.values)}
    if attr.is_floating_point():
        return {"edge_features": "floats", "edge_channels": 1 if attr.dim() == 1 else attr.shape[1]}
    if len(attr) and int(attr.min()) < 0:
        raise InputError("an edge_attr of integers holds codes from 0; got a negative one")
    if attr.dim() == 2 and attr.shape[1] > 1:
        raise InputError(
            f"edge_attr holds {attr.shape[1]} columns of codes; give one, or floats such as one-hot"
        )
    return {"edge_features": "codes", "edge_channels": int(attr.max()) + 1 if len(attr) else 1}
