r"""How much of what could be gained by choosing a part a method gains.

With :math:`d` the divergence of the chosen part, :math:`R` the mean divergence of the ring-intact
parts that could have been chosen and :math:`B` the least of them, averaged over molecules,

.. math:: \text{closed} = \frac{\bar R - \bar d}{\bar R - \bar B}

is 0 for a random choice and 1 for the oracle's own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from vgib.experiments.table1.atlas import Atlas, Floats, Nodes
from vgib.metrics import Estimate, bootstrap, mean
from vgib.select.masks import sizes_of_ratio


@dataclass(frozen=True, eq=False)
class Gap:
    """Divergence of the chosen part of each molecule, and of what it is compared with."""

    own: Floats
    random: Floats
    best: Floats

    @property
    def closed(self) -> Estimate:
        """The share of the gap that is closed; the interval resamples molecules."""
        table = np.stack([self.own, self.random, self.best])
        table = table[:, np.isfinite(table).all(0)]

        def share(index: np.ndarray) -> float:
            own, random, best = table[:, index].mean(1)
            return float((random - own) / (random - best)) if random > best else float("nan")

        return bootstrap(share, table.shape[1])

    def told(self) -> dict[str, dict[str, float | int]]:
        """Every mean with its interval, by name; the controls say so."""
        found = {
            "divergence": mean(self.own),
            "control_random_divergence": mean(self.random),
            "control_best_divergence": mean(self.best),
            "divergence_less_random": mean(self.own - self.random),
            "gap_closed": self.closed,
        }
        return {name: estimate.to_json() for name, estimate in found.items()}


def at_share(atlas: Atlas, chosen: Sequence[Nodes], keep: float) -> Gap:
    """The parts chosen at a share of the atoms, among all ring-intact parts of about that size.

    About: within one atom of the reachable size that is nearest to the wanted one, which is where
    :meth:`vgib.model.answer.Answer.chosen` searches by prediction.
    """
    atoms = np.array([mol.GetNumAtoms() for mol in atlas.mols])
    wanted = sizes_of_ratio(np.concatenate([[0], np.cumsum(atoms)]), keep)
    near = [_nearest(parts, int(k)) for parts, k in zip(atlas.parts, wanted, strict=True)]
    judged, controls = atlas.judge(chosen), atlas.controls(near)
    return Gap(judged.divergence, controls.random, controls.best)


def _nearest(parts: Iterable[Nodes], wanted: int) -> int:
    """The number of atoms nearest to the wanted one that a part has; of two the smaller."""
    return min((len(nodes) for nodes in parts), key=lambda size: (abs(size - wanted), size))
