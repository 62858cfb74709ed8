"""``Answer``: what a model says of some graphs, computed once and read by everyone.

A model is one network or several *members*, the same network trained from other seeds. Predictions,
their spread, node scores, the subgraphs that follow from them and how far the members agree on
these are all read from here; nobody else averages, compares or predicts a second time.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vgib.chem.blocks import over_groups, pieces_of
from vgib.chem.mol import Mol
from vgib.data.packed import PackedGraphs
from vgib.metrics import Array, agreement
from vgib.model.atom_effects import atom_effects
from vgib.model.nearest import nearest_parts
from vgib.model.parts import Ask, Judge, PartValues
from vgib.model.results import Recognitions, Subgraph, recognitions
from vgib.model.subgraphs import as_subgraphs
from vgib.model.sufficient import Sufficient, sufficient_parts
from vgib.model.words import PLAIN, Wording
from vgib.select import masks as select
from vgib.select.blocktree import Mask
from vgib.select.candidates import MOST_CANDIDATES
from vgib.select.policy import SLACK, Nodes, Selection
from vgib.select.ties import TIE


@dataclass(frozen=True, eq=False)
class Answer:
    """What the members of a model say of some graphs.

    Attributes:
        graphs: What was asked about.
        outputs: Class logits or values of each member, ``[members, graphs, outputs]``.
        scores: Node scores of each member, ``[members, nodes]``; one row where they come from
            elsewhere (:meth:`with_scores`).
        classes: The classes in the order of the outputs; ``None`` for values.
        parts: What the members predict from parts of the graphs, as far as it was asked.
        numbers: The numbers of these members among those that ``parts`` can ask.
        mols: The molecules themselves, where they were kept, so that no SMILES is read again.
        tolerance: How far the prediction from a sufficient part may lie from that of the whole, for
            each output (for classes one: how much less likely the class may be).
        words: What the classes and the values are called.
    """

    graphs: PackedGraphs
    outputs: Tensor
    scores: Tensor
    classes: Sequence[int] | None
    parts: PartValues
    numbers: tuple[int, ...]
    mols: Sequence[Mol] | None = None
    tolerance: tuple[float, ...] = (0.1,)
    words: Wording = PLAIN

    @classmethod
    def of(
        cls,
        graphs: PackedGraphs,
        outputs: Tensor,
        scores: Tensor,
        ask: Ask,
        *,
        judge: Judge | None = None,
        classes: Sequence[int] | None = None,
        mols: Sequence[Mol] | None = None,
        tolerance: tuple[float, ...] = (0.1,),
        words: Wording = PLAIN,
        whole_groups: bool = False,
    ) -> "Answer":
        """From outputs and scores of all members, and functions that predict on other graphs.

        Without ``judge``, parts of molecules are asked about as molecules, capped with hydrogen.
        With ``whole_groups`` every functional group of a molecule has one score; see
        :func:`vgib.chem.blocks.over_groups`.
        """
        parts, numbers = PartValues(graphs, ask, outputs, judge), tuple(range(len(outputs)))
        if whole_groups and parts.features is not None:
            scores = torch.from_numpy(over_groups(scores.numpy(), graphs, parts.blocks))
        return cls(graphs, outputs, scores, classes, parts, numbers, mols, tolerance, words)

    @property
    def members(self) -> int:
        """How many members were asked."""
        return len(self.numbers)

    def member(self, place: int) -> "Answer":
        """What one of the members says by itself; scores from elsewhere stay."""
        one = slice(place, place + 1)
        scores = self.scores if len(self.scores) == 1 else self.scores[one]
        return replace(self, outputs=self.outputs[one], scores=scores, numbers=self.numbers[one])

    def with_scores(self, scores: Any) -> "Answer":
        """The same predictions with node scores from elsewhere, for instance of an explainer."""
        return replace(self, scores=torch.as_tensor(scores).reshape(1, -1))

    # ---- predictions -----------------------------------------------------------------------------

    @cached_property
    def values(self) -> Array:
        """Values or class probabilities of each member, ``float64 [members, graphs, outputs]``."""
        return self._values(self.outputs)

    def _values(self, outputs: Tensor) -> Array:
        values = outputs.double()
        found: Array = (values if self.classes is None else values.softmax(-1)).numpy()
        return found

    @cached_property
    def mean(self) -> Array:
        """The members' mean value or class probability, ``[graphs, outputs]``."""
        mean: Array = self.values.mean(0)
        return mean

    @property
    def spread(self) -> Array:
        """The standard deviation over the members, ``[graphs, outputs]``; 0 for one member."""
        spread: Array = self.values.std(0)
        return spread

    @property
    def predictions(self) -> Array:
        """The predicted class or value of each graph; several values are ``[graphs, outputs]``."""
        if self.classes is not None:
            labels: Array = np.asarray(self.classes)[self.likeliest]
            return labels
        values = self.outputs[0].numpy() if self.members == 1 else self.mean
        return values[:, 0] if values.shape[1] == 1 else values

    @cached_property
    def likeliest(self) -> Array:
        """The output of the predicted class, ``[graphs]``; of a tie the first."""
        column: Array = (self.mean >= self.mean.max(1, keepdims=True) - TIE).argmax(1)
        return column

    @property
    def probability(self) -> Array | None:
        """The mean probability of the predicted class, ``[graphs]``; ``None`` for values."""
        return None if self.classes is None else self._told(self.mean)

    @property
    def prediction_spread(self) -> Array:
        """The spread of what is predicted: of the value, or of the predicted class's probability.

        ``[graphs]``, or ``[graphs, outputs]`` where several values are predicted.
        """
        return self._told(self.spread)

    def _told(self, each: Array) -> Array:
        if self.classes is not None:
            return each[np.arange(len(each)), self.likeliest]
        return each[:, 0] if each.shape[1] == 1 else each

    @property
    def output(self) -> Tensor:
        """Mean values, or logits of the mean probabilities, ``[graphs, outputs]``."""
        if self.members == 1:
            return self.outputs[0]
        mean = torch.from_numpy(self.mean)
        return (mean if self.classes is None else mean.log()).float()

    @cached_property
    def node_scores(self) -> Array:
        """The members' mean score of each node, ``float32 [nodes]``."""
        mean = self.scores[0] if len(self.scores) == 1 else self.scores.mean(0)
        scores: Array = mean.numpy()
        return scores

    @property
    def followed(self) -> Array:
        """The one number of each prediction that is compared: of several values the first, of two
        classes the probability of the second, of more that of the likeliest.
        """
        if self.classes is None:
            return self.mean[:, 0]
        return self.mean[:, 1] if len(self.classes) == 2 else self.mean.max(1)

    @property
    def statements(self) -> list[str]:
        """What is predicted of each graph, in words: ``"mutagenic 98.7 %"``."""
        sure = self.probability
        told = self.predictions.tolist()
        if sure is None:
            return [self.words.value(value) for value in told]
        return [self.words.class_of(*pair) for pair in zip(told, sure.tolist(), strict=True)]

    # ---- effects ---------------------------------------------------------------------------------

    @cached_property
    def effects(self) -> Array:
        """By how much each atom of a molecule raises the prediction, ``float64 [nodes]``.

        Of values in their own unit (of several the first); of two classes the log-odds of the
        second, of more those of the likeliest. The Myerson value of each ring, functional group or
        chain (:mod:`vgib.model.effects`), shared equally by its atoms: effects of one molecule add
        up to its prediction less what is predicted from no atom.
        """
        each = self.effects_of(range(len(self.graphs)))
        return np.concatenate(each) if each else np.zeros(0)

    def effects_of(self, graphs: Sequence[int]) -> list[Array]:
        """The effects of the atoms of some molecules; what was asked before is not asked again."""
        new = [graph for graph in graphs if graph not in self._effects]
        self._effects.update(zip(new, atom_effects(self, new), strict=True))
        return [self._effects[graph] for graph in graphs]

    @cached_property
    def _effects(self) -> dict[int, Array]:
        return {}

    @cached_property
    def nothing(self) -> Tensor:
        """What each member predicts from no atom at all, ``[members, outputs]``."""
        empty = np.zeros((1, int(self.graphs.sizes[0])), dtype=bool)
        return self.parts.values(self.parts.places(0, empty), self.numbers)[:, 0]

    @cached_property
    def piece(self) -> Array:
        """The ring, functional group or chain of each atom, numbered from 0 in each molecule."""
        return pieces_of(self.graphs, self.graphs.x, self.parts.blocks)

    def pieces(self, graph: int) -> list[Nodes]:
        """The rings, functional groups and chains of a molecule: the pieces that have effects."""
        low, high = self.graphs.node_ptr[graph : graph + 2].tolist()
        own = self.piece[low:high]
        return [tuple(np.flatnonzero(own == piece).tolist()) for piece in range(own.max() + 1)]

    def with_effects(self, found: Sequence[Sequence[Subgraph]]) -> list[list[Subgraph]]:
        """Subgraphs with the sum of their atoms' effects."""
        each = np.split(self.effects, self.graphs.node_ptr.numpy()[1:-1])
        return [
            [replace(part, effect=float(own[list(part.nodes)].sum())) for part in ranked]
            for ranked, own in zip(found, each, strict=True)
        ]

    @property
    def effect_unit(self) -> str:
        """What an effect of 1 means, such as ``"log-odds of mutagenic"``."""
        return self.words.effect_unit(self.classes)

    # ---- subgraphs -------------------------------------------------------------------------------

    @property
    def _has_molecules(self) -> bool:
        """Whether these graphs are molecules, which alone have parts that are fragments."""
        return self.parts.features is not None

    def _resolved(self, selection: Selection) -> Selection:
        """A choice with the rule and the criterion filled in that these graphs have by default."""
        return selection.for_graphs(molecules=self._has_molecules)

    def choose(
        self, selection: Selection, *, most: int = MOST_CANDIDATES, slack: int = SLACK
    ) -> list[list[Subgraph]]:
        """For each graph its ranked subgraphs, those of molecules with their fragments.

        Args: as for :meth:`chosen`.
        """
        found = self.chosen(selection, most=most, slack=slack)
        blocks = self.parts.blocks if self._has_molecules else None
        subgraphs = as_subgraphs(self.graphs, self.node_scores, found, blocks, self.mols)
        return self._with_values(subgraphs) if self._resolved(selection).asks_model else subgraphs

    def _with_values(self, found: list[list[Subgraph]]) -> list[list[Subgraph]]:
        """What is predicted from each part alone, which was asked while it was chosen."""
        sizes = self.graphs.sizes.tolist()
        places = [np.zeros(0, dtype=np.int64)]
        for graph, ranked in enumerate(found):
            masks = select.masks_of([part.nodes for part in ranked], sizes[graph])
            places.append(self.parts.places(graph, masks))
        counts = [len(ranked) for ranked in found]
        owner = np.repeat(np.arange(len(found)), counts)
        values = self._values(self.parts.values(np.concatenate(places), self.numbers)).mean(0)
        column = 0 if self.classes is None else self.likeliest[owner]
        told = iter(values[np.arange(len(owner)), column].tolist())
        return [[replace(part, value=next(told)) for part in ranked] for ranked in found]

    def explained(self, selection: Selection) -> tuple[list[list[Subgraph]], list[str | None]]:
        """The ranked subgraphs, and of each graph without one why it has none."""
        found = self.choose(selection)
        if self._resolved(selection).by != "sufficient":
            return found, [None] * len(found)
        return found, self.sufficient(selection.n).why_none

    def chosen(
        self, selection: Selection, *, most: int = MOST_CANDIDATES, slack: int = SLACK
    ) -> list[list[Nodes]]:
        """The nodes of the ranked subgraphs of each graph.

        Args:
            selection: How many nodes, of which shape, by what.
            most: By prediction, the most subgraphs that are tried for each graph and size.
            slack: By prediction, by how many nodes a subgraph may miss the wanted size.
        """
        selection = self._resolved(selection)
        if selection.by == "sufficient":
            return self.sufficient(selection.n).found
        if selection.by == "prediction":
            return nearest_parts(self, selection, most=most, slack=slack)
        blocks = self.parts.blocks if selection.rule == "ring_intact" else None
        return selection.by_scores(self.node_scores, self.graphs, blocks)

    def sufficient(self, n: int = 1) -> Sufficient:
        """The ``n`` smallest parts from which the members predict what they do for the whole."""
        if n not in self._searched:
            self._searched[n] = sufficient_parts(self, n)
        return self._searched[n]

    @cached_property
    def _searched(self) -> dict[int, Sufficient]:
        return {}

    def agreement(self, selection: Selection) -> Array:
        """How far the members choose the same nodes of each graph by themselves, in [0, 1].

        Each member chooses its best subgraph of the first share, or of half of the nodes; where the
        smallest sufficient part is shown, the best-scored one of that part's size. See
        :func:`vgib.metrics.agreement`. 1 for one member.
        """
        if len(self.scores) == 1:
            return np.ones(len(self.graphs))
        ptr = self.graphs.node_ptr
        masks = [select.mask_of(found, ptr) for found in self._own_choices(selection)]
        return agreement(np.stack(masks), ptr.numpy())

    def _own_choices(self, selection: Selection) -> list[list[list[Nodes]]]:
        """The subgraphs that each member chooses by itself, to be compared."""
        if self._resolved(selection).by != "sufficient":
            alone = selection.compared()
            return [self.member(place).chosen(alone) for place in range(self.members)]
        shown = self.sufficient(selection.n).found
        half = (self.graphs.sizes.numpy() + 1) // 2
        sizes = np.array(
            [len(nodes[0]) if nodes else k for nodes, k in zip(shown, half, strict=True)]
        )
        return [
            select.ranked(each, self.graphs, sizes=[sizes], blocks=self.parts.blocks)
            for each in self.scores
        ]

    def predict_parts(self, graph: int, masks: Mask) -> Array:
        """Values or class probabilities of each member on parts of one graph.

        ``[members, parts, outputs]``. Parts of molecules are capped with hydrogen where they were
        cut. What was predicted before is not predicted again.

        Args:
            graph: Its number.
            masks: ``bool [parts, nodes]``; each part has a node at least.
        """
        return self._values(self.parts.values(self.parts.places(graph, masks), self.numbers))

    def recognitions(self, selection: Selection, *, effects: bool = False) -> Recognitions:
        """Prediction, node scores and subgraphs of each graph, for people.

        Args:
            selection: How the subgraphs are chosen.
            effects: Whether signed effects are told, for which many parts are predicted.
        """
        found, why_none = self.explained(selection)
        raised = None
        if effects and self._has_molecules:
            found, raised = self.with_effects(found), self.effects
        told, statements = self.predictions.tolist(), self.statements
        return recognitions(
            self.graphs, told, self.node_scores, found, why_none, statements, raised
        )
