"""Everything that a page shows of one molecule: its ranked parts at every size, and their worth.

A part is judged by what the model predicts from it alone, capped with hydrogen where it was cut,
beside random parts of the same size.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vgib.chem.fragment import fragment
from vgib.chem.groups import functional_groups
from vgib.chem.mol import as_mol
from vgib.chem.standardize import Standard
from vgib.data.molecules import from_smiles
from vgib.metrics import agreement
from vgib.model.answer import Answer
from vgib.model.recognizer import SubgraphRecognizer
from vgib.model.results import Subgraph
from vgib.model.sufficient import MOST_RANKED
from vgib.select.masks import masks_of
from vgib.select.policy import Selection
from vgib.select.ties import best
from vgib.serve.limits import TooMuchError
from vgib.serve.schemas import KeptAnswer, PartAnswer, PieceAnswer, SizeAnswer

Array = npt.NDArray[Any]

MOST_SIZES = 40
"""Steps of the size slider; a larger molecule skips some."""

DRAWS = 24
"""Random parts at each size."""

BAND = (0.05, 0.95)
"""The quantiles of the random parts' predictions that are shown."""


class Inspected(NamedTuple):
    """One molecule that was read, and what the model says of it.

    Attributes:
        answer: What the model says of this one graph.
        note: What was changed before use.
    """

    answer: Answer
    note: str | None

    @property
    def smiles(self) -> str:
        """The SMILES of the molecule, with the atoms in the order of the graph."""
        assert self.answer.graphs.ids is not None
        return self.answer.graphs.ids[0]

    @property
    def atoms(self) -> int:
        """The number of heavy atoms."""
        return self.answer.graphs.num_nodes


def inspect(smiles: str, model: SubgraphRecognizer, *, max_atoms: int) -> Inspected:
    """Reads one SMILES as a model does, and asks the model.

    Raises:
        InputError: it cannot be read.
        TooMuchError: it has more than ``max_atoms`` atoms.
    """
    found = from_smiles(
        [smiles],
        features=model.card_.features or "rich",
        keep_mols=True,
        standard=Standard.named(model.card_.standard),
    )
    if found.graphs.num_nodes > max_atoms:
        raise TooMuchError(
            f"the molecule has {found.graphs.num_nodes} atoms, more than the {max_atoms} that "
            "this service takes; use it from Python"
        )
    note = found.notes[0].message if found.notes else None
    return Inspected(model.answer(found.graphs, mols=found.mols), note)


class Quantity(NamedTuple):
    """The one number of a prediction that is followed from part to part.

    Attributes:
        label: Its name; of values their unit, where they have one.
        column: Its column among the outputs.
    """

    label: str
    column: int


def quantity(answer: Answer) -> Quantity:
    """The value; of two classes the probability of the second, of more that of the likeliest."""
    if answer.classes is None:
        return Quantity(answer.words.unit or "value", 0)
    column = 1 if len(answer.classes) <= 2 else int(answer.likeliest[0])
    return Quantity(f"probability of {answer.words.name(answer.classes[column])}", column)


def sizes_of(
    answer: Answer,
    selection: Selection,
    followed: Quantity,
    *,
    with_stability: bool = False,
    seed: int = 0,
) -> list[SizeAnswer]:
    """The ranked parts of one molecule at every size, the smallest first.

    Args:
        answer: What the model says of the molecule, with scores by any method.
        selection: The rule, the criterion and the number of parts at each size.
        followed: What is predicted from each part.
        with_stability: Whether the members are asked for their own choice too.
        seed: Of the random parts.
    """
    graphs = answer.graphs
    selection = selection.for_graphs(molecules=True)
    found = _ranked(answer, selection)
    amounts = list(found)
    wanted = np.repeat(amounts, DRAWS)[:, None]
    random = selection.control(graphs, wanted, np.random.default_rng(seed), answer.parts.blocks)
    chosen = masks_of([part.nodes for parts in found.values() for part in parts], graphs.num_nodes)
    told = answer.predict_parts(0, np.concatenate([chosen, random]))[:, :, followed.column]
    means, spreads = told.mean(0).tolist(), told.std(0).tolist()
    bands = told.mean(0)[len(chosen) :].reshape(len(amounts), DRAWS)
    low, middle, high = np.quantile(bands, (BAND[0], 0.5, BAND[1]), axis=1).tolist()
    steady = _stability(answer, selection, amounts) if with_stability else None
    predicted = zip(means, spreads, strict=True)  # the ranked parts come first
    sizes = []
    for step, (amount, ranked) in enumerate(found.items()):
        parts = tuple(_part(part, *next(predicted)) for part in ranked)
        band = (low[step], middle[step], high[step])
        stability = steady[step] if steady else None
        sizes.append(SizeAnswer(atoms=amount, parts=parts, random=band, stability=stability))
    return sizes


def _part(part: Subgraph, value: float, spread: float) -> PartAnswer:
    return PartAnswer(
        atoms=part.nodes,
        smiles=part.smiles or "",
        score=part.score,
        keep_ratio=part.keep_ratio,
        value=value,
        spread=spread,
    )


def pieces_of(answer: Answer) -> list[PieceAnswer]:
    """The rings, functional groups and chains of one molecule, the strongest effect first."""
    mol = as_mol(answer.graphs.ids[0]) if answer.graphs.ids else None
    assert mol is not None
    named = {group.atoms: group.name for group in functional_groups(mol)}
    found = [
        PieceAnswer(
            atoms=list(atoms),
            smiles=fragment(mol, atoms, capped=False).smiles,
            name=named.get(atoms, ""),
            effect=float(answer.effects[list(atoms)].sum()),
        )
        for atoms in answer.pieces(0)
    ]
    return [found[place] for place in best([abs(piece.effect) for piece in found])]


def keep_atoms(inspected: Inspected, atoms: Sequence[int], followed: Quantity) -> KeptAnswer:
    """The prediction of the part that is kept.

    Raises:
        InputError: no atoms were given, or one that the molecule does not have.
    """
    part = fragment(inspected.smiles, atoms, capped=False)
    masks = masks_of([part.atoms], inspected.atoms)
    values = inspected.answer.predict_parts(0, masks)[:, 0, followed.column]
    return KeptAnswer(
        value=float(values.mean()),
        spread=float(values.std()),
        members=values.tolist(),
        smiles=part.smiles,
        reason=part.reason or _cut_block(inspected.answer.parts.blocks, part.atoms),
    )


def _cut_block(blocks: Array, atoms: Sequence[int]) -> str | None:
    """A remark on a part that takes a ring or a multiply bonded group asunder."""
    inside = np.bincount(blocks[list(atoms)], minlength=int(blocks.max()) + 1)
    is_cut = (inside > 0) & (inside < np.bincount(blocks))
    return "a ring or a multiple bond is cut" if is_cut.any() else None


def _ranked(answer: Answer, selection: Selection) -> dict[int, list[Subgraph]]:
    """The best parts by their number of atoms, ascending."""
    (found,) = answer.choose(_every_size(answer, selection), slack=0)
    if selection.by == "sufficient":  # what was recognized comes first at its size
        (own,) = answer.choose(replace(selection, n=MOST_RANKED))
        found = own + [part for part in found if part.nodes not in {one.nodes for one in own}]
    by_size: dict[int, list[Subgraph]] = {}
    for part in found:
        by_size.setdefault(len(part.nodes), []).append(part)
    return {size: by_size[size][: selection.n] for size in sorted(by_size)}


def _every_size(answer: Answer, selection: Selection) -> Selection:
    """The best-scored parts of all sizes, those of recognized parts among them."""
    atoms, by = answer.graphs.num_nodes, selection.by
    steps = np.linspace(1, atoms, min(atoms, MOST_SIZES)).round().astype(int).tolist()
    if by == "sufficient":
        by, shown = "scores", answer.sufficient(MOST_RANKED).found[0]
        steps += [len(nodes) for nodes in shown]
    return replace(selection, by=by, size=tuple(step / atoms for step in sorted(set(steps))))


def _stability(answer: Answer, selection: Selection, amounts: Sequence[int]) -> list[float] | None:
    """How far the members agree on the atoms at each size."""
    if answer.members < 2:
        return None
    one = _every_size(answer, replace(selection, n=1))
    chosen = np.zeros((answer.members, len(amounts), answer.graphs.num_nodes), dtype=bool)
    for number in range(answer.members):
        (found,) = answer.member(number).chosen(one, slack=0)
        own = {len(nodes): nodes for nodes in reversed(found)}
        for step, amount in enumerate(amounts):
            nearest = min(sorted(own), key=lambda size: abs(size - amount))
            chosen[number, step, list(own[nearest])] = True
    ptr = answer.graphs.node_ptr.numpy()
    return [float(agreement(chosen[:, step], ptr)[0]) for step in range(len(amounts))]
