"""The whole model as a visible composition: head(readout(bottleneck(encoder(features(G)))))."""

from functools import partial
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from vgib.config import Architecture
from vgib.errors import InputError
from vgib.nn.bottleneck import (
    Bottleneck,
    Encoded,
    Perturbed,
    PredictFrom,
    Readout,
    Site,
    build_in,
    hard_keep,
    straight_through,
)
from vgib.nn.encoder import Embedding, Encoder, Wrapped
from vgib.nn.sparse import Adjacency, Segments

Goal = Literal["regression", "classification", "multilabel"]
"""What is predicted: values, one of several classes, or which of several labels a graph has."""

OF_PARTS = {"gine-skip": "gine"}
"""Layers for the parts of graphs, where they are other ones than for the whole."""

THREE_VIEWS: tuple[PredictFrom, ...] = ("subgraph", "perturbed", "clean")
"""Three ways to read a graph at test time: its kept nodes, the perturbed graph that is expected,
the whole."""


class SubgraphNet(nn.Module):
    r"""Encode the graph, score each node, perturb the badly scored ones, read out, predict.

    As a plain module it is called like any PyG model, ``net(x, edge_index, batch)``, and gives
    class logits or values, ``[num_graphs, outputs]``, without randomness in evaluation mode.

    Args:
        features: Node features to channels (an embedding, or the identity).
        encoder: Gives each layer's states.
        bottleneck: Perturbs and scores.
        task: ``"regression"`` (squared error), ``"classification"`` (cross-entropy), or
            ``"multilabel"`` (cross-entropy of each label, whose probability is a sigmoid). To a
            bottleneck the logits of labels are values.
        outputs: Number of classes, values or labels.
        readout: ``"sum"`` or ``"mean"`` over nodes, or ``"norm"``, a hundredth of their sum.
        head_hidden: Width of the head's hidden layer.
        dropout: In the head.
        positive_output: A ReLU after the regression head, as in the authors' program.
    """

    def __init__(
        self,
        features: nn.Module,
        encoder: Encoder | Wrapped,
        bottleneck: Bottleneck,
        *,
        task: Goal,
        outputs: int = 1,
        readout: Readout = "sum",
        head_hidden: int = 16,
        dropout: float = 0.0,
        positive_output: bool = False,
    ) -> None:
        super().__init__()
        if task not in get_args(Goal):
            raise InputError(f"task must be one of {', '.join(get_args(Goal))}; got {task!r}")
        if readout not in get_args(Readout):
            known = ", ".join(get_args(Readout))
            raise InputError(f"readout must be one of {known}; got {readout!r}")
        self.features = features
        self.encoder = encoder
        self.bottleneck = bottleneck
        self.head = nn.Sequential(
            nn.Linear(encoder.out_channels, head_hidden),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(head_hidden, outputs),
            nn.ReLU() if positive_output else nn.Identity(),
        )
        self.task: Goal = task
        self.readout: Readout = readout
        self.target_mean: Tensor
        self.target_std: Tensor
        self.register_buffer("target_mean", torch.zeros(outputs))
        self.register_buffer("target_std", torch.ones(outputs))
        # Only of use in training, so no saved model holds it.
        self.class_weight: Tensor | None
        self.register_buffer("class_weight", None, persistent=False)
        self.has_gaps = False

    def encode(
        self,
        x: Tensor,
        edge_index: Tensor | Adjacency,
        graphs: Segments,
        edge_attr: Tensor | None = None,
    ) -> Encoded:
        """Features of a batch, and all layers' states as soon as somebody asks for them.

        A plain ``edge_index`` goes to the layers as it is, so that PyG's masks work on them, and
        its edge features with it; an :class:`Adjacency` has them already.
        """
        channels = self.features(x)
        adj = (
            edge_index
            if isinstance(edge_index, Adjacency)
            else Adjacency.from_edge_index(edge_index, x.shape[0], attr=edge_attr)
        )
        return Encoded(
            channels,
            partial(self.encoder.states, channels, edge_index, edge_attr),
            adj,
            graphs,
            self.readout,
            x,
            self.head,
        )

    def perturb(self, encoded: Encoded) -> Perturbed:
        """The bottleneck; where it weights the messages, the graph is encoded again with them."""
        perturbed: Perturbed = self.bottleneck(encoded)

        def again(weight: Tensor) -> Tensor:
            adj = encoded.adj.with_weight(weight)
            return encoded.pool(self.encoder.states(encoded.x, adj)[-1])

        if perturbed.edge_weight is not None:
            perturbed.graph = perturbed.over_draws(again)
        return perturbed

    def terms(self, x: Tensor, adj: Adjacency, graphs: Segments, y: Tensor) -> dict[str, Tensor]:
        """Every loss term of the objective whose weight is not zero, by name."""
        encoded = self.encode(x, adj, graphs)
        encoded.target = y
        return self.terms_of(encoded, self.perturb(encoded), y)

    def terms_of(self, encoded: Encoded, perturbed: Perturbed, y: Tensor) -> dict[str, Tensor]:
        """Every such loss term of a graph that is encoded and perturbed already."""
        weights = self.bottleneck.weights
        terms, views = {}, {}
        if weights.get("prediction"):
            if perturbed.output is not None:
                terms["prediction"] = self.loss(perturbed.output, y)
            elif perturbed.graph is not None:
                views["prediction"] = perturbed.graph
        if weights.get("clean"):
            views["clean"] = encoded.whole
        if weights.get("subgraph"):
            hard = hard_keep(perturbed.scores, encoded.graphs)
            views["subgraph"] = encoded.pool(encoded.h, straight_through(hard, perturbed.scores))
        if views:
            # One call for all views: at this size a call costs more than its arithmetic.
            outputs = self.head(torch.cat(list(views.values())))
            losses = self.losses(outputs, torch.cat([y] * len(views))).view(len(views), -1).mean(1)
            terms |= dict(zip(views, losses.unbind(), strict=True))
        return terms | perturbed.terms

    def objective(self, terms: dict[str, Tensor]) -> Tensor:
        """The weighted sum of the terms: what is minimized."""
        weights = self.bottleneck.weights
        values = torch.stack(list(terms.values()))
        return values @ values.new_tensor([weights[name] for name in terms])

    def loss(self, output: Tensor, y: Tensor) -> Tensor:
        """The mean of :meth:`losses`."""
        return self.losses(output, y).mean()

    def losses(self, output: Tensor, y: Tensor) -> Tensor:
        """Cross-entropy, or the squared error in units of the target's spread, of each graph.

        Classes count as ``class_weight`` says; where targets have gaps (``has_gaps``), NaN has no
        error.
        """
        if self.task == "classification":
            return nn.functional.cross_entropy(output, y, self.class_weight, reduction="none")
        if self.task == "multilabel":
            known = ~y.isnan()
            each = nn.functional.binary_cross_entropy_with_logits
            errors = known * each(output, torch.where(known, y, 0.0), reduction="none")
            return errors.sum(1) / known.sum(1).clamp(min=1)
        wanted = (y.reshape(output.shape) - self.target_mean) / self.target_std
        if self.has_gaps:  # a value that is missing has no error
            is_known = ~wanted.isnan()
            errors = (output - torch.where(is_known, wanted, output)).square()
            return errors.sum(1) / is_known.sum(1).clamp(min=1)
        return (output - wanted).square().mean(1)

    def predict(
        self,
        x: Tensor,
        adj: Tensor | Adjacency,
        graphs: Segments,
        edge_attr: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """The raw output (``[num_graphs, outputs]``) and the node scores (``[num_nodes]``)."""
        encoded = self.encode(x, adj, graphs, edge_attr)
        perturbed = self.perturb(encoded)
        return self.read(encoded, perturbed), perturbed.scores

    def read(self, encoded: Encoded, perturbed: Perturbed) -> Tensor:
        """The raw output for the views of the graph that ``bottleneck.predict_from`` names."""
        name = self.bottleneck.predict_from
        if name == "clean":
            return encoded.output
        if name == "perturbed" and perturbed.output is not None:
            return perturbed.output
        if name != "average":
            output: Tensor = self.head(self.view(name, encoded, perturbed))
            return output
        views = [self.view(each, encoded, perturbed) for each in THREE_VIEWS]
        mean: Tensor = self.head(torch.stack(views)).mean(0)
        return mean

    def view(self, name: PredictFrom, encoded: Encoded, perturbed: Perturbed) -> Tensor:
        """A readout of the graph, ``[num_graphs, channels]``."""
        match name:
            case "clean":
                return encoded.whole
            case "subgraph":
                keep = hard_keep(perturbed.scores, encoded.graphs).to(encoded.h)
                return encoded.pool(encoded.h, keep)
            case _:
                assert perturbed.graph is not None
                return perturbed.graph

    def rescale(self, output: Tensor) -> Tensor:
        """Values in the units of the target, probabilities of labels, class logits as they are."""
        if self.task == "multilabel":
            return output.sigmoid()
        return output * self.target_std + self.target_mean if self.task == "regression" else output

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor | Adjacency,
        batch: Tensor | None = None,
        edge_attr: Tensor | None = None,
    ) -> Tensor:
        """Class logits, values or probabilities of labels, ``[num_graphs, outputs]``.

        One graph when ``batch`` is ``None``.
        """
        if batch is None:
            batch = torch.zeros(x.shape[0], dtype=torch.int64, device=x.device)
        output, _ = self.predict(x, edge_index, Segments.from_batch(batch), edge_attr)
        return self.rescale(output)


def build(
    *,
    encoder: str | nn.Module,
    bottleneck: str | type[Bottleneck] | Bottleneck,
    cardinalities: tuple[int, ...] | None,
    in_channels: int,
    task: Goal,
    outputs: int,
    architecture: Architecture,
    bottleneck_options: dict[str, Any] | None = None,
    edge_channels: int = 0,
) -> SubgraphNet:
    """The whole network from names and settings.

    Categorical features (``cardinalities``) are embedded in ``hidden`` channels; float features
    enter the encoder as they are. ``edge_channels`` is for encoders that read edge features.
    """
    features: nn.Module = nn.Identity()
    if cardinalities is not None:
        in_channels = architecture.hidden
        features = Embedding(cardinalities, in_channels)
    layer, depth = "gin", 1
    if isinstance(encoder, str):
        layer, depth = OF_PARTS.get(encoder, encoder), architecture.depth
        encoding: Encoder | Wrapped = Encoder(
            encoder,
            in_channels,
            hidden=architecture.hidden,
            depth=depth,
            last_relu=architecture.last_relu,
            normalize=architecture.normalize,
            edge_channels=edge_channels,
        )
    else:
        read = getattr(encoder, "in_channels", None)
        if isinstance(read, int) and read != in_channels:
            told = "an unknown number of" if read == -1 else read  # -1: PyG's lazy layers
            raise InputError(
                f"the encoder reads {told} channels, but the nodes have {in_channels}; integer "
                "features are embedded in hidden= channels before they reach it"
            )
        encoding = encoder if isinstance(encoder, Encoder) else Wrapped(encoder)
    site = Site(
        channels=encoding.out_channels,
        in_channels=in_channels,
        depth=depth,
        outputs=outputs,
        task="classification" if task == "classification" else "regression",
        layer=layer,
        edge_channels=edge_channels,
    )
    return SubgraphNet(
        features,
        encoding,
        build_in(bottleneck, site, bottleneck_options or {}),
        task=task,
        outputs=outputs,
        readout=architecture.readout,
        head_hidden=architecture.head_hidden,
        dropout=architecture.dropout,
        positive_output=architecture.positive_output,
    )
