r"""A small network on counted substructures.

.. math:: h_1 = \max(0, \sum_s \log_2(1 + n_s)\, E_s + W_d\, d + b_1), \quad
          h_2 = \max(0, W_2 h_1 + b_2), \quad o = W_3 h_2 + b_3

:math:`n_s` is the count of substructure *s*, :math:`E_s` its vector, *d* the standardized
descriptors. The first layer is a sparse product: a molecule has some 60 substructures.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import csr_matrix  # type: ignore[import-untyped]
from torch import Tensor, nn

from vgib.chem.fingerprint import Fingerprints

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Arrays = Mapping[str, npt.NDArray[Any]]
WIDEST = 4.0
"""Descriptors count up to so many standard deviations from the mean of the training molecules."""


class Perceptron(nn.Module):
    """The network, and which substructures and descriptors it takes.

    Args:
        columns: ``uint32 [substructures]``, ascending and not empty: those with a vector.
        center: ``float [descriptors]``, their means over the training molecules.
        scale: ``float [descriptors]``, their standard deviations.
    """

    def __init__(
        self,
        columns: npt.NDArray[np.uint32],
        center: npt.NDArray[np.float32],
        scale: npt.NDArray[np.float32],
        *,
        hidden: int,
        inner: int,
        outputs: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.columns, self.center, self.scale = columns, center, scale
        self.embedding = nn.EmbeddingBag(len(columns), hidden, mode="sum")
        nn.init.normal_(self.embedding.weight, std=0.1)
        self.descriptors = nn.Linear(len(center), hidden)
        self.second = nn.Linear(hidden, inner)
        self.out = nn.Linear(inner, outputs)
        self.dropout = nn.Dropout(dropout)

    @classmethod
    def stored(cls, arrays: Arrays) -> "Perceptron":
        """The network that :meth:`arrays` described, to be asked with double precision."""
        hidden, inner = arrays["second_weight"].shape
        with torch.device("meta"):  # where first weights, soon replaced, cost no random numbers
            net = cls(
                arrays["columns"],
                arrays["center"],
                arrays["scale"],
                hidden=hidden,
                inner=inner,
                outputs=len(arrays["out_bias"]),
            )
        net.to_empty(device="cpu").double()
        with torch.no_grad():
            for name, weight in net._stored_weights().items():
                weight.copy_(torch.from_numpy(arrays[name].astype(np.float64)))
        return net.requires_grad_(False).eval()

    def arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """What is stored: the weights by name, those of the substructures with half precision."""
        arrays: dict[str, npt.NDArray[np.generic]] = {
            name: weight.detach().numpy().astype(np.float16 if name == "embedding" else np.float32)
            for name, weight in self._stored_weights().items()
        }
        described = {"center": self.center, "scale": self.scale}
        arrays |= {name: array.astype(np.float32) for name, array in described.items()}
        return {"columns": self.columns} | arrays

    def _stored_weights(self) -> dict[str, Tensor]:
        """Each weight under its name in a file, where matrices are ``[inputs, outputs]``."""
        return {
            "embedding": self.embedding.weight,
            "descriptor_weight": self.descriptors.weight.T,
            "first_bias": self.descriptors.bias,
            "second_weight": self.second.weight.T,
            "second_bias": self.second.bias,
            "out_weight": self.out.weight.T,
            "out_bias": self.out.bias,
        }

    def forward(self, column: Tensor, start: Tensor, weight: Tensor, descriptors: Tensor) -> Tensor:
        """Outputs ``[molecules, outputs]``; row *i* has the entries from ``start[i]`` on."""
        first = self.embedding(column, start, weight) + self.descriptors(descriptors)
        second = self.second(self.dropout(torch.relu(first)))
        out: Tensor = self.out(self.dropout(torch.relu(second)))
        return out

    def judge(self, prints: Fingerprints) -> Floats:
        """The outputs, ``float64 [molecules, outputs]``; rows that are not valid mean nothing."""
        rows = known_substructures(prints, self.columns)
        with torch.no_grad():
            out: Floats = self(*self.entries(rows, self.standardized(prints))).double().numpy()
        return out

    def entries(self, rows: csr_matrix, descriptors: Floats) -> tuple[Tensor, ...]:
        """What :meth:`forward` takes, with the precision of the weights."""
        dtype = self.out.weight.dtype
        return (
            torch.from_numpy(rows.indices.astype(np.int64)),
            torch.from_numpy(rows.indptr[:-1].astype(np.int64)),
            torch.from_numpy(rows.data).to(dtype),
            torch.from_numpy(descriptors).to(dtype),
        )

    def standardized(self, prints: Fingerprints) -> Floats:
        """Descriptors in standard deviations from the mean, none beyond :data:`WIDEST`."""
        wide = (prints.descriptors.astype(np.float64) - self.center) / self.scale
        return np.clip(wide, -WIDEST, WIDEST)


def known_substructures(prints: Fingerprints, columns: npt.NDArray[np.uint32]) -> csr_matrix:
    """The matrix of log2(1 + count), ``[molecules, columns]``, for the substructures with a column.

    ``columns`` are ascending and not empty.
    """
    place = np.minimum(np.searchsorted(columns, prints.ids), len(columns) - 1)
    is_known = columns[place] == prints.ids
    before = np.concatenate([[0], np.cumsum(is_known)])
    weight = np.log2(1.0 + prints.counts[is_known])
    shape = (len(prints), len(columns))
    return csr_matrix((weight, place[is_known], before[prints.indptr]), shape=shape)
