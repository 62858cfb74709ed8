"""The second life of a bottleneck: the classes of :mod:`vgib.nn` explain a frozen network.

What entered the frozen network's first layer and what its layers gave become an
:class:`~vgib.nn.bottleneck.Encoded` value; all that follows its last layer (activation, readout,
head) stays its own; what is to be predicted is what it predicts itself.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from vgib.data.files import read_safetensors, write_safetensors
from vgib.errors import InputError, unknown_name
from vgib.explain.amortized import Amortized
from vgib.explain.explainer import Case, Graphs, check_positive, explainers
from vgib.explain.frozen import CENTER, Frozen, Removal
from vgib.nn.bottleneck import (
    PLACES,
    Bottleneck,
    Encoded,
    Perturbed,
    Site,
    bottlenecks,
    build_in,
)
from vgib.registry import option_names
from vgib.train.checkpoint import let_rest

EPOCHS = 100
"""As so many epochs a stage counts to a bottleneck that has a schedule in epochs."""

FORMAT = "vgib-explainer"

INNER_LR = 1e-2
"""Learning rate of the inner level (GIB's critic)."""


def encoded_of(case: Case) -> Encoded:
    """A frozen network's own pass over some graphs, as a bottleneck sees it."""
    clean, frozen = case.clean, case.frozen
    # Whatever a model computes in, a bottleneck learns in single precision.
    flat = [state.flatten(1).float() for state in clean.states]
    # A bottleneck expects layers of one width; narrower ones get channels of zeros.
    width = max(state.shape[1] for state in flat)
    states = tuple(nn.functional.pad(state, (0, width - state.shape[1])) for state in flat)
    batch, x = case.batch, clean.inputs.flatten(1).float()
    if CENTER in batch.named:  # the one node that a node-level model is asked about
        x = torch.cat([x, batch.named[CENTER].to(x).unsqueeze(1)], dim=1)
    encoded = Encoded(x, states, batch.adj, batch.graphs, None, batch.x)
    encoded.output = in_units(frozen, clean.output).float()
    encoded.target = case.goal if frozen.is_classifier else (case.goal / frozen.spread).float()
    return encoded


def in_units(frozen: Frozen, output: Tensor) -> Tensor:
    """Logarithms of class probabilities, or values in the unit in which errors are measured."""
    return frozen.log_probabilities(output) if frozen.is_classifier else output / frozen.spread


class Adapted(Amortized):
    r"""A bottleneck that learns which nodes a frozen network needs to say what it says.

    .. math:: \min \; w\, \mathcal L(f(G_z), \hat y) + \sum_k w_k \mathcal L_k

    with the bottleneck's own weights and terms; losses on the whole graph or on the kept nodes
    alone have nothing to teach here, where encoder and head do not move.

    Args:
        options: Those of the bottleneck, and of :class:`~vgib.explain.amortized.Amortized`.
    """

    model_: str
    site_: Site
    bottleneck: ClassVar[str]
    defaults: ClassVar[dict[str, Any]] = {}

    def __init__(self, **options: Any) -> None:
        kind = bottlenecks.get(self.bottleneck)
        own = [name for name in option_names(kind) if name not in PLACES]
        known = [*own, *option_names(Amortized)]
        for name in options:
            if name not in known:
                raise unknown_name(f"option of explainer {self.bottleneck}", name, known)
        check_positive("beta", options.get("beta", 0), or_zero=True)
        super().__init__(**{name: value for name, value in options.items() if name not in own})
        self.options = self.defaults | {k: v for k, v in options.items() if k in own}

    def build(self, case: Case) -> nn.Module:
        """The bottleneck, in its place in the frozen network."""
        encoded = encoded_of(case)
        bonds = case.frozen.edge_channels(case.batch)
        self.model_ = case.frozen.fingerprint
        self.site_ = Site(
            channels=encoded.h.shape[1],
            in_channels=encoded.x.shape[1],
            depth=len(encoded.states),
            outputs=encoded.output.shape[1],
            task="classification" if case.frozen.is_classifier else "regression",
            # Where the model reads edge features, so does a predictor of parts.
            layer="gine" if bonds else "gin",
            edge_channels=bonds,
        )
        return build_in(self.bottleneck, self.site_, self.options)

    def freeze(self, model: nn.Module) -> Frozen:
        """The private copy; another model than the one it was fitted to is refused."""
        frozen = super().freeze(model)
        if self.module_ is not None and frozen.fingerprint != self.model_:
            raise InputError(
                f"this explainer was fitted to another {frozen.forward.name} than this one; its "
                "weights differ. Fit it anew"
            )
        return frozen

    def fit(self, model: nn.Module, graphs: Graphs) -> Self:
        """Learns to explain this model from these graphs; labels are not asked for."""
        self.module_ = None  # whatever was learned before belongs to another model
        return super().fit(model, graphs)

    def save(self, path: str | Path) -> None:
        """Writes what was learned into one safetensors file, without pickles."""
        about = {
            "format": FORMAT,
            "name": next(n for n in explainers.names() if explainers.get(n) is type(self)),
            "model": self.fitted and self.model_,
            "site": asdict(self.site_),
            "options": self.options,
            "settings": {name: getattr(self, name) for name in option_names(Amortized)},
            "spread": self.spread_,
        }
        tensors = {k: v.detach().cpu().clone() for k, v in self.fitted.state_dict().items()}
        write_safetensors(Path(path), tensors, {"about": json.dumps(about)})

    @classmethod
    def load(cls, path: str | Path) -> "Adapted":
        """Reads what :meth:`save` wrote; it explains the model that it was fitted to, no other."""
        tensors, about = read_safetensors(Path(path), FORMAT, "a fitted explainer")
        found = explainers.make(about["name"], **about["options"], **about["settings"])
        assert isinstance(found, Adapted)
        found.model_, found.spread_ = about["model"], about["spread"]
        found.site_ = Site(**about["site"])
        module = build_in(found.bottleneck, found.site_, found.options)
        module.load_state_dict(tensors)
        found.module_ = module.eval().requires_grad_(False)
        return found

    def stages(self) -> Iterator[tuple[int, list[nn.Parameter]]]:
        """Those of the bottleneck, as far as they move something in it."""
        bottleneck: Bottleneck = self.fitted
        inner = list(bottleneck.inner_parameters())
        critic = {id(parameter) for parameter in inner}
        self._inner = torch.optim.Adam(inner, lr=INNER_LR, fused=True) if inner else None
        for stage in bottleneck.stages:
            moving = []
            for name, parameter in bottleneck.named_parameters():
                parameter.requires_grad_(stage.is_moving(f"bottleneck.{name}"))
                if parameter.requires_grad and id(parameter) not in critic:
                    moving.append(parameter)
            if not moving:
                continue
            bottleneck.start_stage(stage)
            bottleneck.train()
            if stage.moves:
                let_rest(bottleneck)
            self._steps = max(1, round(stage.share * self.steps))
            yield self._steps, moving

    def loss(self, case: Case, step: int) -> Tensor:
        """Every term of the bottleneck's objective that concerns it, weighted."""
        bottleneck: Bottleneck = self.fitted
        bottleneck.start_epoch(step * EPOCHS // self._steps, EPOCHS)
        encoded = encoded_of(case)
        if self._inner is not None:
            for _ in bottleneck.inner_gradients(encoded.detached()):
                self._inner.step()
        perturbed: Perturbed = bottleneck(encoded)
        loss = torch.zeros(())
        if weight := bottleneck.weights.get("prediction"):
            loss = weight * self.losses(case, perturbed).mean()
        for name, term in perturbed.terms.items():
            loss = loss + bottleneck.weights[name] * term
        return loss

    def losses(self, case: Case, perturbed: Perturbed) -> Tensor:
        """How far what is said of each perturbed graph is from what is to be said."""
        frozen = case.frozen
        if perturbed.output is None:
            return frozen.losses(self.run(case, perturbed), case.goal)
        if frozen.is_classifier:
            said = in_units(frozen, case.clean.output).exp().float()
            return nn.functional.cross_entropy(perturbed.output, said, reduction="none")
        return (perturbed.output - case.goal / frozen.spread).square().mean(1)

    def run(self, case: Case, perturbed: Perturbed) -> Tensor:
        """The frozen network's output when the perturbed nodes or messages are put into it."""
        if perturbed.z is not None:
            state, z = case.clean.states[-1], perturbed.z
            z = z[:, : state[0].numel()].to(state)
            return case.frozen.run(case.batch, on_last=lambda _: z.reshape(state.shape)).output
        return perturbed.over_draws(
            lambda weight: case.frozen.run(case.batch, edge_weight=weight).output
        )

    def explain(self, case: Case) -> Tensor:
        perturbed: Perturbed = self.fitted(encoded_of(case))
        return perturbed.scores


@explainers.register("attention")
class PosthocAttention(Adapted):
    """Weights the last layer's states by a softmax over each graph's nodes."""

    bottleneck = "attention"
    removal: Removal = "representation"


@explainers.register("gib")
class PosthocGIB(Adapted):
    """Fades nodes out after the last layer, and pays the estimated information that is left.

    See :class:`vgib.nn.gib.GIB`.
    """

    bottleneck = "gib"
    removal: Removal = "representation"
    defaults: ClassVar[dict[str, Any]] = {
        "beta": 0.1,
        "connectivity": 1.0,
        "inner_steps": 20,
        "critic_hidden": 16,
    }


@explainers.register("gsat")
class PosthocGSAT(Adapted):
    """Weights each message by stochastic attention; see :class:`vgib.nn.gsat.GSAT`."""

    bottleneck = "gsat"
    removal: Removal = "messages"


@explainers.register("gmt-sam")
class PosthocGMT(Adapted):
    """Draws subgraphs by stochastic attention on messages; see :class:`vgib.nn.gmt.GMT`."""

    bottleneck = "gmt-sam"
    removal: Removal = "messages"


@explainers.register("vgib-paper")
class PosthocPaperVGIB(Adapted):
    """Noise in the last layer, and a price for what gets through, as published (Sec. 4).

    See :class:`vgib.nn.paper_vgib.PaperVGIB`. What the last message-passing layer gives is ``h``;
    an activation that is no part of the layer comes after the noise.
    """

    bottleneck = "vgib-paper"
    removal: Removal = "representation"
    defaults: ClassVar[dict[str, Any]] = {"beta": 0.1}


@explainers.register("vgib")
class PosthocVGIB(Adapted):
    """The recommended bottleneck, trained against the network; see :class:`vgib.nn.vgib.NodeVGIB`.

    Its predictor of parts learns what the network says of whole graphs, from parts of them. The
    gate has the full price to pay from its first step: one that learns before there is a price
    opens whatever stands beside the nodes that decide. Layers with attention give all those
    neighbors the same states, and a gate that is wide open has no gradient by which to close.
    """

    bottleneck = "vgib"
    removal: Removal = "messages"
    defaults: ClassVar[dict[str, Any]] = {"rise": 0.0}

    def __init__(self, *, steps: int = 800, batch_size: int = 64, **options: Any) -> None:
        super().__init__(steps=steps, batch_size=batch_size, **options)


@explainers.register("vgib-beta0")
class PosthocFreeVGIB(PosthocVGIB):
    """The control of ``vgib``: nothing has a price, so that whatever passes is kept."""

    defaults: ClassVar[dict[str, Any]] = PosthocVGIB.defaults | {"beta": 0.0}


@explainers.register("vgib-counts")
class PosthocCounts(PosthocVGIB):
    """The same, asked what counts in the place of what suffices.

    See :meth:`vgib.nn.vgib.NodeVGIB.counts`: what another part of the graph says too has its score.
    """

    def explain(self, case: Case) -> Tensor:
        """The share of the evidence that goes when a node goes."""
        counts: Tensor = self.fitted.counts(encoded_of(case))
        return counts
