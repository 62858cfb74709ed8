"""Everything that a page shows of one molecule: its ranked parts at every size, and their worth.

A part is judged by what the model predicts from it alone, capped with hydrogen where it was cut,
beside random parts of the same size.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from vgib.chem.blocks import blocks_of
from vgib.chem.fragment import fragment
from vgib.data.molecules import capped_parts, from_smiles
from vgib.data.packed import PackedGraphs
from vgib.model.ensemble import agreement, outputs
from vgib.model.guided import AnyRule, choose
from vgib.model.recognition import Subgraph, as_subgraphs
from vgib.model.recognizer import SubgraphRecognizer
from vgib.select import masks as select
from vgib.select.blocktree import block_trees, random_union
from vgib.serve.limits import TooMuchError
from vgib.train.loop import predict

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]
Models = Sequence[SubgraphRecognizer]

MOST_SIZES = 40
"""Steps of the size slider; a larger molecule skips some."""

DRAWS = 24
"""Random parts at each size."""

BAND = (0.05, 0.95)
"""The quantiles of the random parts' predictions that are shown."""


class Molecule(NamedTuple):
    """One molecule that was read.

    Attributes:
        graphs: A set of this one graph.
        note: What was changed before use.
    """

    graphs: PackedGraphs
    note: str | None

    @property
    def smiles(self) -> str:
        """With the atoms in the order of the graph."""
        assert self.graphs.ids is not None
        return self.graphs.ids[0]

    @property
    def atoms(self) -> int:
        """The number of heavy atoms."""
        return self.graphs.num_nodes


def read_molecule(smiles: str, models: Models, *, max_atoms: int) -> Molecule:
    """Reads one SMILES as a model does.

    Raises:
        InputError: it cannot be read.
        TooMuchError: it has more than ``max_atoms`` atoms.
    """
    found = from_smiles([smiles], features=models[0].card_.features or "rich")
    if found.graphs.num_nodes > max_atoms:
        raise TooMuchError(
            f"the molecule has {found.graphs.num_nodes} atoms, more than the {max_atoms} that "
            "this service takes; use it from Python"
        )
    return Molecule(found.graphs, found.notes[0].message if found.notes else None)


class Quantity(NamedTuple):
    """The one number of a prediction that is followed from part to part.

    Attributes:
        label: Its name.
        column: Its column among the outputs.
        is_probability: Whether it is the probability of a class.
    """

    label: str
    column: int
    is_probability: bool

    def values(self, models: Models, graphs: PackedGraphs) -> Array:
        """Of each member and graph, ``[members, graphs]``."""
        each = [predict(model.network_, graphs, device=model.device)[0] for model in models]
        outputs = torch.stack(each)
        if self.is_probability:
            outputs = outputs.softmax(2)
        values: Array = outputs[:, :, self.column].double().numpy()
        return values


def quantity(models: Models, graphs: PackedGraphs) -> Quantity:
    """The value; of two classes the probability of the second, of more that of the likeliest."""
    card = models[0].card_
    if card.task != "classification":
        return Quantity("value", 0, False)
    classes = card.classes or list(range(card.outputs))
    column = 1
    if len(classes) > 2:
        outputs = predict(models[0].network_, graphs, device=models[0].device)[0]
        column = int(outputs[0].argmax())
    return Quantity(f"probability of class {classes[column]}", column, True)


@dataclass(frozen=True)
class Part:
    """A recognized part and what is predicted from it alone.

    Attributes:
        atoms: Numbers in the parent, from 0.
        smiles: The fragment, with ``*`` where bonds were cut.
        score: The mean score of its atoms.
        keep_ratio: Its share of the molecule.
        value: The members' mean prediction.
        spread: Its standard deviation over the members.
    """

    atoms: tuple[int, ...]
    smiles: str
    score: float
    keep_ratio: float
    value: float
    spread: float


@dataclass(frozen=True)
class Size:
    """The best parts of one size.

    Attributes:
        atoms: How many.
        parts: Ranked, best first.
        random: Low, middle and high of what is predicted from random parts of this size.
        stability: How far the members choose the same atoms at this size; ``None`` for one member.
    """

    atoms: int
    parts: tuple[Part, ...]
    random: tuple[float, float, float]
    stability: float | None


def sizes_of(
    models: Models,
    molecule: Molecule,
    scores: Sequence[float] | Array,
    *,
    n: int = 1,
    rule: AnyRule | None = None,
    followed: Quantity,
    with_stability: bool = False,
    seed: int = 0,
) -> list[Size]:
    """The ranked parts at every size, the smallest first.

    Args:
        models: The members of a model, the main one first.
        molecule: What the scores are for.
        scores: One number in [0, 1] for each atom, by any method.
        n: Parts at each size.
        rule: As for :func:`vgib.model.recognition.find_subgraphs`, or ``"guided"``.
        followed: What is predicted from each part.
        with_stability: Whether the members are asked for their own choice too.
        seed: Of the random parts.
    """
    graphs = molecule.graphs
    found = _ranked(models, graphs, np.asarray(scores), n, rule)
    amounts = list(found)
    random = _random_parts(graphs, amounts, rule, np.random.default_rng(seed))
    chosen = _masks([part.nodes for parts in found.values() for part in parts], molecule.atoms)
    predicted = predict_parts(models, graphs, np.concatenate([chosen, random]), followed)
    means, spreads = predicted.mean(0).tolist(), predicted.std(0).tolist()
    bands = predicted.mean(0)[len(chosen) :].reshape(len(amounts), DRAWS)
    low, middle, high = np.quantile(bands, (BAND[0], 0.5, BAND[1]), axis=1).tolist()
    steady = _stability(models, graphs, amounts, rule) if with_stability else None
    sizes, number = [], 0
    for step, (amount, subgraphs) in enumerate(found.items()):
        parts = []
        for part in subgraphs:
            told = part.smiles or ""
            value, spread = means[number], spreads[number]
            parts.append(Part(part.nodes, told, part.score, part.keep_ratio, value, spread))
            number += 1
        band = (low[step], middle[step], high[step])
        sizes.append(Size(amount, tuple(parts), band, steady[step] if steady else None))
    return sizes


def predict_parts(models: Models, graphs: PackedGraphs, masks: Mask, followed: Quantity) -> Array:
    """What each member predicts from each part of one molecule, ``[members, parts]``.

    Args:
        models: The members.
        graphs: A set of one molecule.
        masks: ``bool [parts, atoms]``; each part has an atom at least.
        followed: Which number.
    """
    features = models[0].card_.features
    assert features is not None
    copies = graphs[torch.zeros(len(masks), dtype=torch.int64)]
    parts = capped_parts(copies, torch.from_numpy(masks.reshape(-1)), features)
    return followed.values(models, parts)


class Kept(NamedTuple):
    """What is left when some atoms of a molecule are taken away.

    Attributes:
        value: The members' mean prediction.
        spread: Its standard deviation over the members.
        members: The prediction of each.
        smiles: The fragment; ``""`` if it is no molecule.
        reason: Why the prediction is not that of a molecule, if it is not.
    """

    value: float
    spread: float
    members: list[float]
    smiles: str
    reason: str | None


def keep_atoms(
    models: Models, molecule: Molecule, atoms: Sequence[int], followed: Quantity
) -> Kept:
    """The prediction of the part that is kept.

    Raises:
        InputError: no atoms were given, or one that the molecule does not have.
    """
    part = fragment(molecule.smiles, atoms, capped=False)
    values = predict_parts(models, molecule.graphs, _masks([part.atoms], molecule.atoms), followed)[
        :, 0
    ]
    return Kept(
        float(values.mean()),
        float(values.std()),
        values.tolist(),
        part.smiles,
        part.reason or _cut_block(molecule.graphs, part.atoms),
    )


def _cut_block(graphs: PackedGraphs, atoms: Sequence[int]) -> str | None:
    """A remark on a part that takes a ring or a multiply bonded group asunder."""
    blocks = blocks_of(graphs, graphs.edge_attr)
    inside = np.bincount(blocks[list(atoms)], minlength=int(blocks.max()) + 1)
    is_cut = (inside > 0) & (inside < np.bincount(blocks))
    return "a ring or a multiple bond is cut" if is_cut.any() else None


def _ranked(
    models: Models, graphs: PackedGraphs, scores: Array, n: int, rule: AnyRule | None
) -> dict[int, list[Subgraph]]:
    """The best parts by their number of atoms, ascending."""
    atoms = graphs.num_nodes
    steps = np.linspace(1, atoms, min(atoms, MOST_SIZES)).round().astype(int)
    ratios = [int(step) / atoms for step in np.unique(steps)]
    chosen = choose(
        graphs,
        partial(outputs, models),
        n,
        keep_ratio=ratios,
        rule=rule,
        classes=models[0].card_.task == "classification",
        slack=0,
        scores=scores,
    )
    (found,) = as_subgraphs(graphs, chosen)
    by_size: dict[int, list[Subgraph]] = {}
    for part in found:
        by_size.setdefault(len(part.nodes), []).append(part)
    return {size: by_size[size][:n] for size in sorted(by_size)}


def _masks(parts: Sequence[Sequence[int]], atoms: int) -> Mask:
    masks = np.zeros((len(parts), atoms), dtype=bool)
    for mask, part in zip(masks, parts, strict=True):
        mask[list(part)] = True
    return masks


def _random_parts(
    graphs: PackedGraphs, amounts: Sequence[int], rule: AnyRule | None, rng: np.random.Generator
) -> Mask:
    """Of each size :data:`DRAWS` random parts, made by the same rule as the recognized ones.

    Where rings stay whole, sizes may differ by one atom, as in
    :func:`vgib.select.masks.random_ring_intact`.
    """
    if rule in (None, "ring_intact", "guided"):
        (tree,) = block_trees(graphs, blocks_of(graphs, graphs.edge_attr))
        unions = []
        for amount in amounts:
            slack = 1 if amount < graphs.num_nodes else 0
            for _ in range(DRAWS):
                union = random_union(tree, amount - slack, amount + slack, rng)
                assert union is not None  # the recognized part is one
                unions.append(union)
        return tree.nodes(unions)
    copies = graphs[torch.zeros(len(amounts) * DRAWS, dtype=torch.int64)]
    wanted = np.repeat(amounts, DRAWS)
    if rule != "nodes":
        return select.random_connected(copies, wanted, rng).reshape(-1, graphs.num_nodes)
    kept: Mask = select.size(rng.random(copies.num_nodes), copies.node_ptr, wanted)
    return kept.reshape(-1, graphs.num_nodes)


def _stability(
    models: Models, graphs: PackedGraphs, amounts: Sequence[int], rule: AnyRule | None
) -> list[float] | None:
    """How far the members agree on the atoms at each size."""
    if len(models) < 2:
        return None
    chosen = np.zeros((len(models), len(amounts), graphs.num_nodes), dtype=bool)
    for number, model in enumerate(models):
        scores = predict(model.network_, graphs, device=model.device)[1].numpy()
        own = _ranked([model], graphs, scores, 1, rule)
        for step, amount in enumerate(amounts):
            nearest = min(own, key=lambda size: abs(size - amount))
            chosen[number, step, list(own[nearest][0].nodes)] = True
    ptr = graphs.node_ptr.numpy()
    return [float(agreement(chosen[:, step], ptr)[0]) for step in range(len(amounts))]
