"""Fitting the network of :mod:`vgib.oracles.perceptron`, and calibrating its probabilities."""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

import numpy as np
import numpy.typing as npt
import torch
from scipy.optimize import minimize  # type: ignore[import-untyped]
from torch import Tensor
from torch.nn import functional

from vgib.chem.fingerprint import Fingerprints
from vgib.oracles.perceptron import Floats, Perceptron, Rows, known_substructures


@dataclass(frozen=True)
class Fit:
    """The settings of a fit.

    Attributes:
        columns: The most frequent substructures get a column, so many at most.
        rarest: A substructure with a column occurs in so many training molecules at least.
        rate: The largest learning rate of Adam, after a tenth of the steps (one cycle).
        value_weight: The weight of the value's squared error beside the class's cross-entropy.
    """

    columns: int = 4096
    rarest: int = 20
    hidden: int = 128
    inner: int = 64
    epochs: int = 8
    batch: int = 512
    rate: float = 2e-3
    dropout: float = 0.25
    value_weight: float = 0.5
    seed: int = 0


def fit_perceptron(
    prints: Fingerprints,
    rows: Rows,
    label: Floats,
    value: Floats | None,
    fit: Fit,
    say: Callable[[str], None],
) -> Perceptron:
    """A network that tells the class and, for positives, the value, as it will be stored.

    Args:
        label: the class of each molecule, 0 or 1.
        value: of each positive molecule the target of a second output; ``None`` for one output.
    """
    columns = frequent_substructures(prints, rows, fit)
    center = prints.descriptors[rows].mean(0)
    scale = np.maximum(prints.descriptors[rows].std(0), 1e-3)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(fit.seed)
        net = Perceptron(
            columns,
            center,
            scale,
            hidden=fit.hidden,
            inner=fit.inner,
            outputs=1 if value is None else 2,
            dropout=fit.dropout,
        )
        sparse, described = known_substructures(prints, net.columns), net.standardized(prints)
        random = np.random.default_rng(fit.seed)
        optimizer = torch.optim.Adam(net.parameters(), lr=fit.rate)
        steps = fit.epochs * ceil(len(rows) / fit.batch)
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, fit.rate, total_steps=steps, pct_start=0.1
        )
        for epoch in range(fit.epochs):
            losses = []
            order = random.permutation(rows)
            for start in range(0, len(order), fit.batch):
                index = order[start : start + fit.batch]
                out = net(*net.entries(sparse[index], described[index]))
                loss = _loss(out, label[index], None if value is None else value[index], fit)
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                schedule.step()
                losses.append(loss.item())
            say(f"epoch {epoch + 1} of {fit.epochs}, loss {np.mean(losses):.4f}")
    return Perceptron.stored(net.arrays())


def frequent_substructures(prints: Fingerprints, rows: Rows, fit: Fit) -> npt.NDArray[np.uint32]:
    """The substructures of most training molecules, ascending."""
    is_train = np.zeros(len(prints), dtype=np.bool_)
    is_train[rows] = True
    ids, times = np.unique(
        prints.ids[np.repeat(is_train, np.diff(prints.indptr))], return_counts=True
    )
    ids, times = ids[times >= fit.rarest], times[times >= fit.rarest]
    return np.sort(ids[np.argsort(-times, kind="stable")[: fit.columns]])


def _loss(out: Tensor, label: Floats, value: Floats | None, fit: Fit) -> Tensor:
    target = torch.from_numpy(label.astype(np.float32))
    loss = functional.binary_cross_entropy_with_logits(out[:, 0], target)
    if value is not None:
        distance = out[:, 1] - torch.from_numpy(value.astype(np.float32))
        loss = loss + fit.value_weight * (target * distance.square()).mean()
    return loss


def fit_calibration(logit: Floats, label: Floats) -> Floats:
    """Slope and shift of the logit with the smallest cross-entropy (Platt 1999)."""

    def loss(parameters: Floats) -> float:
        scaled = parameters[0] * logit + parameters[1]
        return float(np.mean(np.logaddexp(0.0, scaled) - label * scaled))

    found = minimize(loss, np.array([1.0, 0.0]), method="Nelder-Mead")
    return np.asarray(found.x, dtype=np.float64)
