"""The members of a model, the same network trained from several seeds, and their one answer."""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from math import inf, isnan
from typing import Any, Self

import torch
from torch import Tensor

from vgib.chem.mol import Mol
from vgib.chem.standardize import StandardName
from vgib.data.packed import PackedGraphs
from vgib.errors import InputError, NotFittedError
from vgib.model.answer import Answer
from vgib.model.card import Card
from vgib.model.evaluate import tolerances
from vgib.model.graphs import as_packed, as_read_by
from vgib.model.known import conformal_half_width
from vgib.model.words import unit_of
from vgib.nn.net import SubgraphNet
from vgib.nn.vgib import NodeVGIB
from vgib.train.loop import predict_all, predict_parts

BATCH_SIZE = 512
"""Graphs that go through the network at once: few enough that their states stay in the cache."""

ALIKE = ("task", "outputs", "classes", "features", "in_channels")
"""In what the cards of members must agree: their outputs are averaged, and they are asked about the
same packed graphs.
"""

DEFAULT_TOLERANCE = 0.1
"""How far a sufficient part may be off where a card does not tell the model's mean error."""


class Members:
    """Trained networks that are asked together.

    Attributes:
        network_: The network of the main member.
        card_: What it says about itself.
        further_: The other members.
    """

    network_: SubgraphNet
    card_: Card
    further_: tuple[Self, ...] = ()
    features: str
    standard: StandardName
    device: torch.device | str

    @classmethod
    def together(cls, models: Sequence[Self]) -> Self:
        """Trained models as the members of one, the first one its main member.

        Raises:
            InputError: there is none, or they predict or read different things.
            NotFittedError: one of them is not trained.
        """
        if not models:
            raise InputError("an ensemble needs at least one model")
        if not all(hasattr(model, "network_") for model in models):
            raise NotFittedError("one of these models is not trained; call fit on each of them")
        main, *rest = (member for model in models for member in model.members())
        _check_alike([member.card_ for member in (main, *rest)])
        return main._with(rest)

    def members(self) -> list[Self]:
        """Each member as a model of its own, the main one first."""
        return [self._with(()), *self.further_]

    def _with(self, further: Sequence[Self]) -> Self:
        """The main member with these further ones, and nothing kept of what others answered."""
        both = copy(self)
        both.further_ = tuple(further)
        vars(both).pop("among_drugs", None)
        return both

    @property
    def _nets(self) -> list[SubgraphNet]:
        return [member.network_ for member in self.members()]

    def answer(self, graphs: Any, *, mols: Sequence[Mol] | None = None) -> Answer:
        """Everything the members say about some graphs, computed once.

        Args:
            mols: The molecules themselves, where they were kept, so that no SMILES is read again.
        """
        packed = self._checked(graphs)
        nets = self._nets

        def ask(some: PackedGraphs, members: Sequence[int]) -> Tensor:
            found = predict_all([nets[i] for i in members], some, device=self.device)[0]
            return self._bounded(found, members)

        outputs, scores = predict_all(nets, packed, batch_size=BATCH_SIZE, device=self.device)
        outputs = self._bounded(outputs, range(len(nets)))

        def judge(
            some: PackedGraphs, owner: Tensor, mask: Tensor, members: Sequence[int]
        ) -> Tensor:
            told = [predict_parts(nets[i], some, mask, owner, device=self.device) for i in members]
            return self._bounded(torch.stack(told), members)

        knows_parts = all(isinstance(net.bottleneck, NodeVGIB) for net in nets)
        knows_fragments = bool(self.card_.data.get("fragments"))
        return Answer.of(
            packed,
            outputs,
            scores,
            ask,
            judge=judge if knows_parts and not knows_fragments else None,
            classes=self.card_.classes if self.card_.task == "classification" else None,
            mols=mols,
            tolerance=self._tolerance(),
            words=self.card_.words,
            whole_groups=knows_parts,
        )

    def _bounded(self, outputs: Tensor, members: Sequence[int]) -> Tensor:
        """Values within the bounds of each member, ``[members, graphs, outputs]``; logits as is."""
        cards = [member.card_ for member in self.members()]
        bounds = [cards[i].bounds or [(-inf, inf)] * outputs.shape[-1] for i in members]
        low, high = outputs.new_tensor(bounds).unbind(-1)
        return outputs.clamp(low.unsqueeze(1), high.unsqueeze(1))

    def _tolerance(self) -> tuple[float, ...]:
        """The card's; for one without, a tenth of the probability or of the values' spread."""
        if self.card_.tolerance is not None:
            return tuple(self.card_.tolerance)
        if self.card_.task == "classification":
            return (DEFAULT_TOLERANCE,)
        return tuple((DEFAULT_TOLERANCE * self.network_.target_std).tolist())

    def answer_part(self, answer: Answer, part: Tensor) -> Answer:
        """What the members say of the same graphs when they see only some of the nodes.

        A bottleneck that has learned from parts is asked; see
        :func:`vgib.train.loop.predict_parts`. The node scores stay those of whole graphs.
        """
        said = [predict_parts(net, answer.graphs, part, device=self.device) for net in self._nets]
        return replace(answer, outputs=self._bounded(torch.stack(said), range(len(said))))

    def pack(self, graphs: Any) -> PackedGraphs:
        """Graphs of any accepted kind as :class:`PackedGraphs`, as this model reads them."""
        if not hasattr(self, "card_"):
            return as_packed(graphs, self.features, self.standard)
        card = self.card_
        return as_read_by(card, as_packed(graphs, card.features, card.standard))

    def _checked(self, graphs: Any) -> PackedGraphs:
        """Packed graphs with the features that the model was trained on."""
        if not hasattr(self, "network_"):
            raise NotFittedError("this model is not trained; call fit, or load a saved one")
        return self.pack(graphs)

    def name_outputs(
        self, classes: Sequence[str] | None = None, targets: Sequence[str] | None = None
    ) -> None:
        """Tells the card what classes are called, class 0 first, or the columns of the values.

        Several values go by the names of their columns; one has the unit that its column names.
        """
        for model in self.members():
            card = model.card_
            if classes is not None and card.classes is not None:
                card.class_names = [classes[number] for number in card.classes]
            if targets is None or card.classes is not None:
                continue
            if len(targets) == 1:
                card.unit = card.unit or unit_of(targets[0])
            elif card.outputs == len(targets):
                card.targets = list(targets)

    def calibrate(self, held_out: PackedGraphs) -> None:
        """Tells the card how far predictions are off, from labeled graphs that did not train.

        A sufficient part may be off as far; a single value gets an interval.
        """
        said, card = self.answer(held_out), self.card_
        usual = (DEFAULT_TOLERANCE * self.network_.target_std).tolist()
        card.tolerance = [
            usual[place] if isnan(own) else own
            for place, own in enumerate(tolerances(said, held_out))
        ]
        if card.task == "regression" and card.outputs == 1:
            assert held_out.y is not None
            card.interval = conformal_half_width(said.predictions - held_out.y.numpy().ravel())


def _check_alike(cards: Sequence[Card]) -> None:
    """Refuses members that predict or read different things."""
    for number, card in enumerate(cards[1:], 2):
        for name in ALIKE:
            first, own = getattr(cards[0], name), getattr(card, name)
            if own != first:
                raise InputError(
                    f"the members of a model must agree in {name!r}: it is {first!r} for member 1 "
                    f"and {own!r} for member {number}; put only models of one kind together"
                )
