r"""A small network on counted substructures, evaluated in numpy.

.. math:: h_1 = \max(0, \sum_s \log_2(1 + n_s)\, E_s + W_d\, d + b_1), \quad
          h_2 = \max(0, W_2 h_1 + b_2), \quad o = W_3 h_2 + b_3

:math:`n_s` is the count of substructure *s*, :math:`E_s` its vector, *d* the standardized
descriptors. The first layer is a sparse product: a molecule has some 60 substructures.
"""

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix  # type: ignore[import-untyped]

from vgib.chem.fingerprint import Fingerprints

Floats = npt.NDArray[np.float64]
WIDEST = 4.0
"""Descriptors count up to so many standard deviations from the mean of the training molecules."""


@dataclass(frozen=True, eq=False)
class Perceptron:
    """The weights; those of the substructures are stored with half precision.

    Attributes:
        columns: ``uint32 [substructures]``, ascending.
        embedding: ``float16 [substructures, hidden]``, the vectors E.
        center, scale: ``float32 [descriptors]``.
        descriptor_weight: ``float32 [descriptors, hidden]``; ``first_bias`` ``[hidden]``.
        second_weight: ``float32 [hidden, inner]``; ``second_bias`` ``[inner]``.
        out_weight: ``float32 [inner, outputs]``; ``out_bias`` ``[outputs]``.
    """

    columns: npt.NDArray[np.uint32]
    embedding: npt.NDArray[np.float16]
    center: npt.NDArray[np.float32]
    scale: npt.NDArray[np.float32]
    descriptor_weight: npt.NDArray[np.float32]
    first_bias: npt.NDArray[np.float32]
    second_weight: npt.NDArray[np.float32]
    second_bias: npt.NDArray[np.float32]
    out_weight: npt.NDArray[np.float32]
    out_bias: npt.NDArray[np.float32]

    def __call__(self, prints: Fingerprints) -> Floats:
        """The outputs, ``float64 [molecules, outputs]``; rows that are not valid mean nothing."""
        first = np.asarray(known_substructures(prints, self.columns) @ self._wide_embedding)
        first += self.standardized(prints) @ self.descriptor_weight + self.first_bias
        second = np.maximum(first, 0) @ self.second_weight + self.second_bias
        out: Floats = np.maximum(second, 0) @ self.out_weight + self.out_bias
        return out

    @cached_property
    def _wide_embedding(self) -> Floats:
        # Half precision saves room in the file and is slow to compute with.
        return self.embedding.astype(np.float64)

    def standardized(self, prints: Fingerprints) -> Floats:
        """The descriptors, as the first layer takes them."""
        return standardize(prints.descriptors, self.center, self.scale)

    def arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """The weights by name, to be stored."""
        return {field: getattr(self, field) for field in FIELDS}


FIELDS = tuple(item.name for item in fields(Perceptron))


def standardize(
    descriptors: npt.NDArray[np.float32],
    center: npt.NDArray[np.float32],
    scale: npt.NDArray[np.float32],
) -> Floats:
    """Descriptors in standard deviations from the mean, none beyond :data:`WIDEST`."""
    wide = (descriptors.astype(np.float64) - center) / scale
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
