"""What the members of a model predict from parts of graphs: each part is asked about once."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import count, pairwise
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from vgib.chem.blocks import blocks_of
from vgib.data.capped import atom_features, capped_parts
from vgib.data.packed import PackedGraphs
from vgib.select.blocktree import Array, Mask
from vgib.select.candidates import Candidates

Ask: TypeAlias = Callable[[PackedGraphs, Sequence[int]], Tensor]
"""Predicts: gives ``[members, graphs, outputs]`` for the members with these numbers."""

Judge: TypeAlias = Callable[[PackedGraphs, Tensor, Tensor, Sequence[int]], Tensor]
"""Predicts from parts: graphs, owners and masks as of :meth:`PackedGraphs.parts`, and members."""

Content: TypeAlias = tuple[bytes, ...]
"""Atoms, degrees, neighbors and bonds of a graph."""


class PartValues:
    """What each member predicts from parts of some graphs; each part is asked about once.

    Args:
        ask: Predicts on other graphs.
        outputs: What the members say of the whole graphs, ``[members, graphs, outputs]``.
        judge: Predicts on parts, where the members have learned from parts.
    """

    def __init__(
        self, graphs: PackedGraphs, ask: Ask, outputs: Tensor, judge: Judge | None = None
    ) -> None:
        self.graphs, self.ask, self.judge, self.outputs = graphs, ask, judge, outputs
        self.features = atom_features(graphs)
        self._places: list[dict[bytes, int]] = [{} for _ in range(len(graphs))]
        self._placed: dict[int, tuple[Mask, Array]] = {}
        self._masks: list[Mask] = []
        self._owners: list[int] = []
        self._values = outputs[:, :0]
        self._known = np.zeros((len(outputs), 0), dtype=bool)
        self._capped_parts: dict[tuple[int, ...], dict[Content, int]] = {}
        self._said_of_capped: dict[tuple[int, ...], Tensor] = {}

    @cached_property
    def blocks(self) -> Array:
        """What no cut may divide, ``int [nodes]``; see :func:`vgib.chem.blocks.blocks_of`."""
        return blocks_of(self.graphs, self.graphs.x, self.graphs.edge_attr)

    @cached_property
    def candidates(self) -> Candidates:
        """The ring-intact parts near any size."""
        return Candidates(self.graphs, self.blocks)

    def places(self, graph: int, masks: Mask) -> Array:
        """The numbers of parts of a graph, ``int [parts]``; new ones are noted."""
        before = self._placed.get(id(masks))
        if before is not None and before[0] is masks:
            return before[1]
        packed = np.packbits(masks, axis=1)
        width, raw = packed.shape[1], packed.tobytes()
        known = self._places[graph]
        found = []
        for row, mask in enumerate(masks):
            key = raw[row * width : (row + 1) * width]
            place = known.get(key)
            if place is None:
                place = known[key] = len(self._masks)
                self._masks.append(mask)
                self._owners.append(graph)
            found.append(place)
        places = np.array(found, dtype=np.int64)
        self._placed[id(masks)] = masks, places
        return places

    def values(self, places: Array, members: Sequence[int]) -> Tensor:
        """What these members predict from these parts, ``[members, parts, outputs]``."""
        self._make_room()
        rows = list(members)
        is_new = ~self._known[rows][:, places].any(0)
        self._predict(np.unique(places[is_new]), rows)
        for member in rows:
            self._predict(np.unique(places[~self._known[member, places]]), [member])
        return self._values[rows][:, torch.from_numpy(places)]

    def _make_room(self) -> None:
        more = len(self._masks) - self._known.shape[1]
        if more:
            members, _, outputs = self._values.shape
            room = self._values.new_zeros(members, more, outputs)
            self._values = torch.cat([self._values, room], dim=1)
            self._known = np.pad(self._known, ((0, 0), (0, more)))

    def _predict(self, places: Array, members: Sequence[int]) -> None:
        is_whole = np.array([self._masks[place].all() for place in places.tolist()], dtype=bool)
        owners = torch.tensor([self._owners[place] for place in places[is_whole].tolist()]).long()
        self._note(places[is_whole], members, self.outputs[list(members)][:, owners])
        parts = places[~is_whole]
        if len(parts):
            owners, mask = self._masked(parts)
            if self.judge is not None:
                self._note(parts, members, self.judge(self.graphs, owners, mask, members))
            else:
                self._note(parts, members, self._capped(owners, mask, members))

    def _note(self, places: Array, members: Sequence[int], found: Tensor) -> None:
        for member, values in zip(members, found, strict=True):
            self._values[member, torch.from_numpy(places)] = values
            self._known[member, places] = True

    def as_molecules(self, places: Array, members: Sequence[int]) -> Tensor:
        """What these members say of parts that are molecules of their own, capped with hydrogen.

        Values, or class probabilities, ``[members, parts, outputs]``.
        """
        return self._capped(*self._masked(places), members).softmax(-1)

    def _masked(self, places: Array) -> tuple[Tensor, Tensor]:
        owners = torch.tensor([self._owners[place] for place in places.tolist()])
        masks = [self._masks[place] for place in places.tolist()]
        return owners, torch.from_numpy(np.concatenate(masks))

    def _capped(self, owners: Tensor, mask: Tensor, members: Sequence[int]) -> Tensor:
        if self.features is None:
            return self.ask(replace(self.graphs, ids=None).parts(owners, mask), members)
        parts = capped_parts(self.graphs, mask, self.features, owners)
        asked, contents = tuple(members), contents_of(parts)
        known = self._capped_parts.setdefault(asked, {})
        new: dict[Content, int] = {}
        for place, key in enumerate(contents):
            if key not in known:
                new.setdefault(key, place)
        if new:
            said = self.ask(parts[torch.tensor([*new.values()])], members)
            known.update(zip(new, count(len(known))))
            before = self._said_of_capped.get(asked, said[:, :0])
            self._said_of_capped[asked] = torch.cat([before, said], dim=1)
        return self._said_of_capped[asked][:, [known[key] for key in contents]]


def contents_of(graphs: PackedGraphs) -> list[Content]:
    """What each graph is, node by node: two graphs of one content are predicted alike.

    Parts of molecules recur: one in seven has been seen in another molecule of the same thousand.
    Equal are atoms, neighbors and bonds: of an atom, some vocabularies tell the element alone.
    """
    degree = graphs.indptr.diff().numpy().astype(np.int32)
    nodes, edges = graphs.node_ptr.tolist(), graphs.edge_ptr.tolist()
    x, col, rows = graphs.x.numpy(), graphs.col.numpy(), degree.tobytes()
    codes, width = x.tobytes(), x.shape[1] * x.itemsize
    senders = col.tobytes()
    attr = None if graphs.edge_attr is None else graphs.edge_attr.numpy()
    bonds, wide = (b"", 0) if attr is None else (attr.tobytes(), attr[:1].nbytes)
    return [
        (
            codes[low * width : high * width],
            rows[low * 4 : high * 4],
            senders[edges[number] * 4 : edges[number + 1] * 4],
            bonds[edges[number] * wide : edges[number + 1] * wide],
        )
        for number, (low, high) in enumerate(pairwise(nodes))
    ]
