"""What the outputs of a model mean: classes, labels or values, and which of them is explained."""

from typing import Any, Literal, TypedDict, get_args

import torch
from torch import Tensor, nn

from vgib.errors import InputError, unknown_name

ModelTask = Literal["classification", "binary", "multilabel", "regression"]
Returns = Literal["raw", "probs", "log_probs"]
TINY = 1e-12
"""Keeps the logarithm of a probability finite."""


class OutputReading(TypedDict, total=False):
    """How the outputs of a model are read, by name; :class:`Outputs` says what each means."""

    task: ModelTask | None
    returns: Returns
    target: int | None
    pick: int | str | None


class Outputs:
    """The meaning of a model's outputs.

    Args:
        task: ``"classification"`` (one output for each class), ``"binary"`` (one output for the
            second class), ``"multilabel"`` (one output for each of several labels) or
            ``"regression"``. When ``None``: what the model says of itself, else classification for
            two and more outputs and regression for one.
        returns: What the outputs of a classifier are: raw logits, probabilities or their logarithm.
        target: The class, label or value to explain, by its number; when ``None`` the predicted
            class, or all labels or values together.
        pick: Which part of a tuple (by its place) or dict (by its key) is the output; the first
            float tensor when ``None``.

    Attributes:
        kind: What the outputs are.
        task: What is explained of them: the class or label of a ``target`` is ``"binary"``.
        spread: The unit in which losses measure values; 1 unless an explainer sets it.
    """

    def __init__(
        self,
        *,
        task: ModelTask | None = None,
        returns: Returns = "raw",
        target: int | None = None,
        pick: int | str | None = None,
    ) -> None:
        if task is not None and task not in get_args(ModelTask):
            raise unknown_name("task", task, get_args(ModelTask))
        if returns not in get_args(Returns):
            raise unknown_name("kind of output", returns, get_args(Returns))
        self.said, self.returns, self.target, self.pick = task, returns, target, pick
        self.task = self.kind = task
        self.spread = 1.0

    def picked(self, output: Any) -> Tensor:
        """The output proper, of a model that gives several things."""
        found = output
        if isinstance(output, dict | tuple | list):
            parts = output if isinstance(output, dict) else dict(enumerate(output))
            floats = [
                k for k, v in parts.items() if isinstance(v, Tensor) and v.is_floating_point()
            ]
            wanted = self.pick if self.pick is not None else next(iter(floats), None)
            if wanted not in parts:
                raise InputError(
                    f"the model gives {type(output).__name__} with {list(parts)}, but no "
                    f"{wanted!r}; pass pick= one of them"
                )
            found = parts[wanted]
        if not isinstance(found, Tensor) or not found.is_floating_point():
            raise InputError(
                f"the model must give one float tensor; got {type(found).__name__}. Wrap it in a "
                "module that picks the logits"
            )
        return found

    def take_task(self, rows: Tensor, said: Any) -> None:
        """Finds out what the outputs are, and refuses what they cannot be.

        Args:
            said: The model's own word for its task, which counts where no task was given.
        """
        width = rows.shape[1]
        guess: ModelTask = "classification" if width > 1 else "regression"
        kind = self.said or (said if said in ("classification", "regression") else guess)
        self.task = self.kind = kind
        if kind == "binary" and width != 1:
            raise InputError(f"a 'binary' model has one output; this one has {width}")
        if kind == "classification" and width == 1:
            raise InputError(
                "'classification' needs an output for each class; this model has one. Say "
                "task='binary' for one logit, or task='regression' for a value"
            )
        if self.target is not None:
            count = 2 if kind == "binary" else width
            several = isinstance(self.target, list | tuple)
            if several or getattr(self.target, "ndim", False):
                raise InputError(
                    f"target is one number for all graphs; got {type(self.target).__name__}"
                )
            if self.target not in range(count):
                raise InputError(
                    f"target={self.target!r}, but there are {count} to choose from, numbered from 0"
                )
            self.task = "regression" if kind == "regression" else "binary"
        if self.returns != "raw" and kind != "regression" and rows.numel():
            low, high = rows.detach().aminmax()
            if high > (1.001 if self.returns == "probs" else 0.001) or (
                self.returns == "probs" and low < -0.001
            ):
                raise InputError(
                    f"returns={self.returns!r}, but the outputs lie between {low:.3g} and "
                    f"{high:.3g}; are they 'raw'?"
                )

    def targeted(self, rows: Tensor) -> Tensor:
        r"""What of the outputs is explained: all, or one class, label or value of them.

        A class or label becomes a logit, :math:`\log p_c - \log(1 - p_c)`; several labels become
        their logits, which are then values like any other.
        """
        if self.target is None and self.kind != "multilabel":
            return rows
        if self.kind == "multilabel":
            if self.returns != "raw":
                p = rows if self.returns == "probs" else rows.exp()
                rows = p.clamp(TINY, 1 - 1e-7).logit()
            return rows if self.target is None else rows[:, [self.target]]
        assert self.target is not None
        if self.task == "regression":
            return rows[:, [self.target]]
        logs = _log_probabilities(rows, self.returns, self.kind == "binary")
        goal = torch.full((len(rows),), self.target, device=rows.device)
        return (logs[:, self.target] - _other(logs, goal)).unsqueeze(1)

    def target_of(self, output: Tensor) -> Tensor:
        """What an output is explained as: the class ``[num_graphs]``, or labels or values."""
        if self.target is not None and self.kind in ("classification", "binary"):
            return torch.full((len(output),), self.target, device=output.device)
        if self.kind == "multilabel":
            return (output > 0).long()
        return self.goal(output)

    @property
    def is_classifier(self) -> bool:
        """Whether the model tells classes apart."""
        return self.task in ("classification", "binary")

    def log_probabilities(self, output: Tensor) -> Tensor:
        """``[num_graphs, classes]``, two of them for a binary model."""
        returns: Returns = self.returns if self.target is None else "raw"
        return _log_probabilities(output, returns, self.task == "binary")

    def goal(self, output: Tensor) -> Tensor:
        """What is to be explained: the class ``[num_graphs]``, asked or predicted; or values."""
        if not self.is_classifier:
            return output
        if self.target is not None:
            return torch.ones(len(output), dtype=torch.int64, device=output.device)
        return self.log_probabilities(output).argmax(1)

    def losses(self, output: Tensor, goal: Tensor) -> Tensor:
        """How far each graph's output is from the goal: cross-entropy, or the squared error."""
        if self.is_classifier:
            return nn.functional.nll_loss(self.log_probabilities(output), goal, reduction="none")
        return ((output - goal) / self.spread).square().mean(1)

    def opposition(self, output: Tensor, goal: Tensor) -> Tensor:
        r"""How far each graph's output is from denying the goal.

        :math:`-\log(1 - p_y)`, the cross-entropy to "another class"; for values
        :math:`\exp(-\Delta^2)`, which falls to 0 as the output moves away.
        """
        if self.is_classifier:
            return -_other(self.log_probabilities(output), goal)
        return (-self.losses(output, goal)).exp()

    def evidence(self, output: Tensor, goal: Tensor) -> Tensor:
        r"""The class margin :math:`\log p_y - \log(1 - p_y)`; for values their sum."""
        if not self.is_classifier:
            return output.sum(1)
        logs = self.log_probabilities(output)
        return logs.gather(1, goal.unsqueeze(1)).squeeze(1) - _other(logs, goal)

    def importance(self, attributions: Tensor) -> Tensor:
        """For classes, what speaks for the goal; for values, what moves them either way."""
        return attributions if self.is_classifier else attributions.abs()


def _log_probabilities(output: Tensor, returns: Returns, is_binary: bool) -> Tensor:
    """``[num_graphs, classes]``; one output stands for the second of two classes."""
    if is_binary and returns == "log_probs":
        output, returns = output.exp(), "probs"
    if returns == "probs":
        full = torch.cat([1 - output, output], dim=1) if is_binary else output
        return full.clamp(min=TINY).log()
    if is_binary:
        output = torch.cat([torch.zeros_like(output), output], dim=1)
    return output.log_softmax(1)


def _other(logs: Tensor, goal: Tensor) -> Tensor:
    """The logarithm of the probability of all other classes."""
    hidden = logs.scatter(1, goal.unsqueeze(1), -torch.inf)
    return hidden.logsumexp(1)
