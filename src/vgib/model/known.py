"""Does a model know such molecules? What it learned from, and what stands beside a prediction.

A model's folder may hold what it learned from as fingerprints with the measured values, and for
models of one's own the structures. A prediction is then seen beside its nearest neighbors.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from vgib.chem.alerts import structural_alerts
from vgib.chem.domain import LARGE, metals_left_out, outside_domain
from vgib.chem.mol import Mol, as_mol
from vgib.chem.similarity import packed_bits, tanimoto
from vgib.data.files import read_safetensors, write_safetensors
from vgib.data.packed import PackedGraphs
from vgib.metrics import Array

FILE = "known.safetensors"
NEAREST = 3
"""Training molecules that are told beside a prediction."""

FAR = 0.3
"""A molecule whose nearest training molecule is less similar is like none of them."""

LEVEL = 0.9
"""The share of held-out molecules whose measured value lies in the interval."""


@dataclass(frozen=True)
class Neighbor:
    """A training molecule that is like the one in question.

    Attributes:
        similarity: Tanimoto's share of common substructures, from 0 to 1.
        measured: Its measured value or class.
        smiles: Its structure, where the model's folder holds it.
    """

    similarity: float
    measured: float
    smiles: str | None = None


@dataclass(frozen=True)
class Beside:
    """What stands beside a prediction.

    Attributes:
        alerts: Structural alerts, each with the list that it stands in.
        warnings: Why the model may not know such a molecule, in plain sentences.
        nearest: The most similar training molecules, where the model's folder tells them.
    """

    alerts: tuple[str, ...]
    warnings: tuple[str, ...]
    nearest: tuple[Neighbor, ...]


@dataclass(frozen=True, eq=False)
class Known:
    """What a model learned from.

    Attributes:
        bits: Packed fingerprints, ``uint8 [molecules, bytes]``.
        measured: The values or classes, ``float32 [molecules]``; of several values the first.
        smiles: The structures, where they may be told.
    """

    bits: Array
    measured: Array
    smiles: tuple[str, ...] | None = None

    @classmethod
    def of(cls, graphs: PackedGraphs, *, structures: bool) -> "Known":
        """From labeled molecules; without ``structures`` only fingerprints are kept.

        Of several values, those molecules are kept whose first one is known.
        """
        assert graphs.y is not None
        if graphs.y.is_floating_point():
            graphs = graphs[~graphs.y.reshape(len(graphs), -1)[:, 0].isnan()]
        assert graphs.ids is not None and graphs.y is not None
        measured = graphs.y.reshape(len(graphs), -1)[:, 0].float().contiguous().numpy()
        return cls(packed_bits(graphs.ids), measured, graphs.ids if structures else None)

    def save(self, folder: Path) -> None:
        """Writes one file into a model's folder."""
        tensors = {"bits": torch.from_numpy(self.bits), "measured": torch.from_numpy(self.measured)}
        if self.smiles is not None:
            text = bytearray("\n".join(self.smiles).encode())
            tensors["smiles"] = torch.frombuffer(text, dtype=torch.uint8)
        write_safetensors(folder / FILE, tensors, {})

    @classmethod
    def load(cls, folder: Path) -> "Known | None":
        """Reads it back; ``None`` where a model's folder has none."""
        if not (folder / FILE).is_file():
            return None
        found, _ = read_safetensors(folder / FILE, None, "known molecules")
        text = found.get("smiles")
        smiles = None if text is None else tuple(bytes(text.numpy()).decode().split("\n"))
        return cls(found["bits"].numpy(), found["measured"].numpy(), smiles)

    def seen(self, mols: Sequence[Mol | str]) -> npt.NDArray[np.bool_]:
        """Which molecules were learned from, as far as fingerprints tell; ``bool [molecules]``."""
        rows = {row.tobytes() for row in self.bits}
        return np.array([row.tobytes() in rows for row in packed_bits(mols)], dtype=np.bool_)

    def nearest(self, mol: Mol | str) -> tuple[Neighbor, ...]:
        """The most similar ones, the nearest first."""
        shares = tanimoto(packed_bits([mol])[0], self.bits)
        best = np.argsort(-shares, kind="stable")[:NEAREST].tolist()
        return tuple(
            Neighbor(
                float(shares[i]),
                float(self.measured[i]),
                None if self.smiles is None else self.smiles[i],
            )
            for i in best
        )


def beside(
    mols: Sequence[Mol | str],
    known: Known | None,
    largest: int | None = None,
    notes: Sequence[str | None] | None = None,
) -> list[Beside]:
    """What stands beside the prediction of each molecule.

    Args:
        largest: The heavy atoms of the largest molecules that it learned from, where its card
            tells.
        notes: What was changed of each before use, if anything was.
    """
    found = []
    for each, note in zip(mols, notes or [None] * len(mols), strict=True):
        mol = as_mol(each)
        alerts = [f"{alert.name} ({alert.source})" for alert in structural_alerts(mol)]
        warnings = outside_domain(mol, largest or LARGE)
        if metals := metals_left_out(note):
            warnings.insert(0, metals)
        nearest = () if known is None else known.nearest(mol)
        if nearest and nearest[0].similarity < FAR:
            warnings.append(
                f"is like no training molecule (the nearest has a similarity of "
                f"{nearest[0].similarity:.2f})"
            )
        found.append(Beside(tuple(dict.fromkeys(alerts)), tuple(warnings), nearest))
    return found


def conformal_half_width(errors: Array, level: float = LEVEL) -> float:
    r"""Half the width of an interval that holds a new value with a chance of at least ``level``.

    Split conformal prediction: the :math:`\lceil (n + 1) \cdot level \rceil`-th smallest absolute
    error of molecules that were not learned from. It holds as long as new molecules are drawn like
    these; of new scaffolds it may hold less.
    """
    ranked = np.sort(np.abs(errors[~np.isnan(errors)]))
    place = int(np.ceil((len(ranked) + 1) * level)) - 1
    return float(ranked[min(place, len(ranked) - 1)])
