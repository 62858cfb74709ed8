"""``SubgraphRecognizer``: the method behind scikit-learn's verbs."""

import logging
import shutil
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vgib.data.molecules import load_drugs
from vgib.data.packed import PackedGraphs
from vgib.errors import FileFormatError, InputError, NotFittedError, unknown_name
from vgib.metrics import Array, r_squared
from vgib.model.card import load_model, network_of, save_model
from vgib.model.configured import Configured
from vgib.model.evaluate import of_named_values, quality
from vgib.model.graphs import as_packed
from vgib.model.known import FILE as KNOWN_FILE
from vgib.model.known import Known
from vgib.model.labels import as_targets, task_of, with_labels
from vgib.model.members import Members
from vgib.model.results import Recognitions, Subgraph
from vgib.model.shipped import find
from vgib.model.untrained import (
    first_card,
    held_out,
    say_when_one_way,
    tell_labels,
    training_part,
)
from vgib.nn.bottleneck import Bottleneck, NoBottleneck
from vgib.nn.net import SubgraphNet
from vgib.select.policy import Selection
from vgib.train.checkpoint import Epoch, History
from vgib.train.loop import predict_counts, seeded, train

log = logging.getLogger(__name__)

MEMBERS = "members"
"""The folder inside a model's folder that holds its further members, numbered from 1."""

QUESTIONS = ("suffices", "counts")
"""What node scores can answer."""

LOOKED_AT = 256
"""Training graphs whose scores are looked at after training."""

TOO_MUCH = 0.9
"""A larger share of nodes that are kept is no subgraph to speak of."""


class SubgraphRecognizer(Configured, Members):
    """Finds in each graph the compressed subgraph that carries its property.

    >>> model = SubgraphRecognizer("gin", "vgib", preset="recommended", epochs=20, seed=1)
    >>> model
    SubgraphRecognizer('gin', 'vgib', preset='recommended', epochs=20, seed=1)

    Args:
        encoder: ``"gcn"``, ``"gat"``, ``"sage"``, ``"gin"``; ``"gine"``, ``"gine-skip"`` or
            ``"gat-edge"``, which read bonds or the graphs' ``edge_attr``; or any module that is
            called with ``(x, edge_index)``, and ``edge_attr`` where it names it, and has an
            attribute ``out_channels``. A copy of it is trained. That of the preset when ``None``:
            recommended is ``"gine-skip"`` for molecules and ``"gin"`` for other graphs.
        bottleneck: ``"vgib"``, ``"vgib-paper"``, ``"vgib-reference"``, ``"gib"``, ``"gsat"``,
            ``"gmt-sam"``, ``"attention"``, ``"none"``, or a
            :class:`~vgib.nn.bottleneck.Bottleneck`, class or instance (of which a copy is trained);
            that of the preset when ``None``.
        task: ``"regression"``, ``"classification"``, or ``"multilabel"`` for rows of labels that
            are 0, 1 or NaN; by default, by the type of the labels.
        preset: ``"recommended"``, ``"paper"`` or ``"reference"``; the source of every setting that
            is not given.
        features: Atom vocabulary for lists of SMILES, ``"rich"`` or ``"element"``.
        standard: How the molecules of lists of SMILES are made alike, in training and in use:
            ``"none"`` (as they are written), ``"usual"`` (without salts, charges that protons
            balance, and isotope labels) or ``"tautomers"`` (besides, RDKit's canonical tautomer).
        device: Where to compute.
        class_weight: What classes count in training: ``"balanced"``, or a number for each, as a
            list in the order of ``classes_`` or as ``{class: number}``.
        **options: Any field of :class:`~vgib.config.Architecture` or
            :class:`~vgib.config.Training`, or any option of the bottleneck, by name.

    Attributes:
        net_: The trained :class:`~vgib.nn.net.SubgraphNet`, a plain module on
            ``(x, edge_index, batch)`` with PyG's layers.
        network_: The same network; its layers are plain torch until ``net_`` is asked for, which
            spares whoever only recognizes the import of PyG.
        history_: Every loss term of every epoch.
        card_: What a saved model says about itself.
        further_: Further members of the model: the same trained from other seeds. Every verb asks
            all members; ``net_`` and ``card_`` are those of the first.
        known_: What the model learned from, where its folder tells it.
    """

    history_: History
    known_: Known | None = None

    @property
    def net_(self) -> SubgraphNet:
        """The trained network with PyG's layers, on which every tool of PyG works."""
        from vgib.nn.pyg_layers import open_to_pyg

        return open_to_pyg(self.network_)

    @property
    def classes_(self) -> Array:
        """The classes, or the numbers of the labels, in the order of :meth:`predict_proba`."""
        if hasattr(self, "card_") and self.card_.task == "multilabel":
            return np.arange(self.card_.outputs)
        if not hasattr(self, "card_") or self.card_.classes is None:
            raise AttributeError("only a trained classifier has classes_")
        return np.asarray(self.card_.classes)

    def score(self, graphs: Any, y: Any = None) -> float:
        """Accuracy on labeled graphs, or R squared for values.

        Of several labels that are 0 or 1, the share of the known ones that is right.
        """
        packed = with_labels(self._checked(graphs), y)
        assert packed.y is not None
        said, wanted = self.predict(packed), packed.y.numpy()
        if self.card_.task == "multilabel":
            known = ~np.isnan(wanted.reshape(said.shape))
            return float((said == wanted.reshape(said.shape))[known].mean())
        if self.card_.task == "classification":
            return float((said == wanted).mean())
        return r_squared(said.reshape(wanted.shape), wanted).value

    def fit(
        self,
        graphs: Any,
        y: Any = None,
        *,
        val: Any = None,
        checkpoint: str | Path | None = None,
        on_epoch: Callable[[Epoch], None] | None = None,
        on_step: Callable[[dict[str, Tensor]], None] | None = None,
        loop: Callable[..., History] = train,
    ) -> "SubgraphRecognizer":
        """Trains on graphs and their labels.

        Args:
            graphs: :class:`PackedGraphs`, a list or dataset of PyG ``Data``, or a list of SMILES.
            y: Labels, when the graphs do not carry them: integers are classes, and floats too where
                nothing but 0 and 1 occurs; other floats are values, several for each graph as rows,
                NaN where one is missing. Rows of nothing but 0, 1 and NaN are labels.
            val: Graphs for model selection, of the same kinds (a pair ``(graphs, y)`` when they do
                not carry their labels). By default a tenth of the graphs, drawn with the seed.
            checkpoint: A file to go on from, and to write while training.
            on_epoch: Called with every finished epoch.
            on_step: Called with every term of every finished step, as tensors.
            loop: Who trains: this process, or a :class:`vgib.train.on_ray.RayTraining`.
        """
        packed = with_labels(as_packed(graphs, self.features, self.standard), y)
        say_when_one_way(packed)
        task, classes = task_of(packed, self.task)
        packed = as_targets(packed, task, classes)
        encoder = self._encoder_for(packed)
        settings = self.settings(encoder)
        index, split = training_part(packed, settings.training, val)
        card = first_card(self, packed, task, classes, encoder, settings, split)
        chosen_by = held_out(self, card, packed, index, val)
        with seeded(settings.training.seed, self.device):
            net = network_of(card, encoder, self.bottleneck)
        tell_labels(net, card, packed, index, self.class_weight)
        self.history_ = loop(
            net,
            packed,
            index=index,
            val=chosen_by,
            settings=settings.training,
            checkpoint=None if checkpoint is None else Path(checkpoint),
            on_epoch=on_epoch,
            on_step=on_step,
            device=self.device,
        )
        self.network_, self.card_, self.further_, self.known_ = net, card, (), None
        vars(self).pop("among_drugs", None)  # what the network before this one said
        self._say_what_is_kept(packed)
        if chosen_by is not None:
            self.calibrate(chosen_by)
        return self

    def _say_what_is_kept(self, packed: PackedGraphs) -> None:
        """Warns when the bottleneck has found nothing to leave out."""
        if isinstance(self.network_.bottleneck, NoBottleneck):
            return
        scores = self.answer(packed[:LOOKED_AT]).node_scores
        if len(scores) and (share := (scores >= 0.5).mean()) > TOO_MUCH:
            log.warning(
                "%.0f %% of the nodes score one half and more, so that subgraphs are nearly whole "
                "graphs; raise beta=, train longer, or ask for a share with keep_ratio=",
                100 * share,
            )

    def predict(self, graphs: Any) -> Array:
        """Classes or values, one for each graph: the mean over the members.

        Of several labels, ``[num_graphs, labels]``, 1 for those that are as likely as not or more.
        """
        said = self.answer(graphs)
        if self.card_.task == "multilabel":
            labels: Array = (said.mean >= 0.5).astype(np.int64)
            return labels
        return said.predictions

    def predict_proba(self, graphs: Any) -> Array:
        """Class probabilities, ``[num_graphs, num_classes]``, in the order of ``card_.classes``.

        Of several labels the probability of each, which do not add up to one.
        """
        packed = self._checked(graphs)
        if self.card_.task == "regression":
            raise InputError("a regression model has no class probabilities; use predict")
        return self.answer(packed).mean

    def scores(self, graphs: Any, question: str = "suffices") -> Array:
        """Node scores in [0, 1], packed: all nodes of the first graph, then of the second, ...

        Args:
            graphs: Of any kind that the model takes.
            question: ``"suffices"``: the part from which the prediction follows, where a second
                copy of the evidence may be left out. ``"counts"``: the share of the evidence that
                goes when the node goes, told of every copy; only by the bottleneck ``"vgib"``.
        """
        if question not in QUESTIONS:
            raise unknown_name("question", question, QUESTIONS)
        if question == "suffices":
            return self.answer(graphs).node_scores
        packed = self._checked(graphs)
        counted = [
            predict_counts(member.network_, packed, device=self.device) for member in self.members()
        ]
        return torch.stack(counted).mean(0).numpy()

    def subgraphs(
        self,
        graphs: Any,
        n: int = 1,
        *,
        keep_ratio: float | Sequence[float] | None = None,
        rule: str | None = None,
        by: str | None = None,
    ) -> list[list[Subgraph]]:
        """For each graph its ranked subgraphs.

        Args:
            graphs: Of any kind that the model takes.
            n: How many at each size.
            keep_ratio: The share of the nodes to keep, or several; by default what the model's
                card says, else as many as score one half.
            rule: Which sets of nodes are allowed, a name of :data:`vgib.select.policy.RULES`; by
                default what the card says.
            by: What decides between them, a name of :data:`vgib.select.policy.CRITERIA`; by default
                what the card says.
        """
        return self.answer(graphs).choose(self.selection(keep_ratio, rule, by, n))

    def recognize(
        self,
        graphs: Any,
        n: int = 1,
        *,
        keep_ratio: float | Sequence[float] | None = None,
        rule: str | None = None,
        by: str | None = None,
        effects: bool = False,
    ) -> Recognitions:
        """Prediction, node scores and subgraphs of each graph; arguments: :meth:`subgraphs`.

        With ``effects``, also by how much each atom of a molecule raises the prediction.
        """
        selection = self.selection(keep_ratio, rule, by, n)
        return self.answer(graphs).recognitions(selection, effects=effects)

    def selection(
        self, keep_ratio: Any = None, rule: str | None = None, by: str | None = None, n: int = 1
    ) -> Selection:
        """How this model chooses: as it is asked, and where nothing is asked as its card says."""
        asked = Selection.of(keep_ratio, rule, by, n)
        return asked.or_else(self.card_.selection) if hasattr(self, "card_") else asked

    @cached_property
    def among_drugs(self) -> Array:
        """What is predicted of 217 well-known drugs, ascending: the value that effects are about.

        Of several values the first, of two classes the probability of the second.
        """
        answer = self.answer(load_drugs()["smiles"].tolist())
        values: Array = np.sort(answer.followed)
        return values

    def evaluate(self, graphs: Any, y: Any = None, *, seed: int = 0) -> dict[str, Any]:
        """Quality on labeled graphs, every number with its 95 % interval and its control.

        The recognized subgraph is judged by the model's own prediction on it alone, against
        connected random subgraphs of the same sizes; where the graphs carry a known explanation
        (``node_truth``), the node scores are judged by it.
        """
        packed = with_labels(self._checked(graphs), y)
        targets = as_targets(packed, self.card_.task, self.card_.classes, self.card_.outputs)
        task = self.card_.task
        found = quality(targets, self.answer, self.answer_part, task=task, seed=seed)
        if not self.card_.targets and self.card_.interval is None:
            return found
        assert targets.y is not None
        return found | of_named_values(self.card_, self.predict(targets), targets.y.numpy())

    def save(
        self, folder: str | Path, *, summary: str = "", metrics: dict[str, Any] | None = None
    ) -> Path:
        """Writes ``model.safetensors`` and ``card.json`` into a folder.

        .. code-block:: text

            qed/                    the main member
                card.json
                model.safetensors
                members/1/          a further member, a model folder of its own
                members/2/
                known.safetensors   what it learned from, where ``known_`` tells it

        Members and ``known.safetensors`` of a model that was there before are removed, in the end,
        so that a process that is killed loses as little as possible.

        Args:
            folder: Made when it is not there.
            summary: A sentence about the model, for its card.
            metrics: What :meth:`evaluate` gave on held-out graphs, for its card.
        """
        if not hasattr(self, "network_"):
            raise NotFittedError("this model is not trained; call fit before save")
        folder = Path(folder)
        self.card_.summary = summary or self.card_.summary
        self.card_.metrics = metrics or self.card_.metrics
        save_model(folder, self.network_, self.card_)
        places = [folder / MEMBERS / str(number + 1) for number in range(len(self.further_))]
        for place, member in zip(places, self.further_, strict=True):
            member.save(place)
        for former in set(_member_folders(folder)) - set(places):
            shutil.rmtree(former)
        if self.known_ is not None:
            self.known_.save(folder)
        else:
            (folder / KNOWN_FILE).unlink(missing_ok=True)
        return folder

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        device: torch.device | str = "cpu",
        single: bool = False,
        encoder: nn.Module | None = None,
        bottleneck: type[Bottleneck] | Bottleneck | None = None,
    ) -> "SubgraphRecognizer":
        """Reads a saved model with all its members.

        >>> len(SubgraphRecognizer.load("qed").members())
        3

        Args:
            folder: What :meth:`save` wrote, or the name of a shipped model (``vgib models``).
            device: Where to compute.
            single: Whether the main member is read alone: faster, but without spread and agreement.
            encoder: Your own module, of the same shape, when the model was trained with one.
            bottleneck: Your own bottleneck, instance or class, when the model was trained with one.
        """
        place = find(folder)
        folders = [place, *([] if single else _member_folders(place))]
        models = [cls._member(path, device, encoder, bottleneck) for path in folders]
        try:
            return cls.together(models)
        except InputError as error:
            raise FileFormatError(
                f"{str(place)!r} holds members that do not go together ({error})"
            ) from None

    @classmethod
    def _member(
        cls,
        folder: Path,
        device: torch.device | str,
        encoder: nn.Module | None,
        bottleneck: type[Bottleneck] | Bottleneck | None,
    ) -> "SubgraphRecognizer":
        """Reads the one model that lies in a folder itself."""
        net, card = load_model(folder, encoder, bottleneck)
        options = card.architecture | card.training
        if not isinstance(bottleneck, Bottleneck):
            options |= card.bottleneck_options
        model = cls(
            card.encoder if encoder is None else encoder,
            card.bottleneck if bottleneck is None else bottleneck,
            task=card.task,
            preset=card.preset,
            features=card.features or "rich",
            standard=card.standard,
            device=device,
            **options,
        )
        model.card_ = card
        model.network_ = net.to(device).eval()
        model.known_ = Known.load(folder)
        return model


def _member_folders(folder: Path) -> list[Path]:
    """The folders of a saved model's further members, by their numbers; strange files are left out.

    A list in the order of the names would have the tenth member before the second.
    """
    found = [path for path in (folder / MEMBERS).glob("*") if path.name.isdecimal()]
    return sorted((path for path in found if path.is_dir()), key=lambda path: int(path.name))
