r"""Regression by similarity to measured molecules: a ridge with the Tanimoto kernel on counts.

.. math:: f(x) = m + \sum_i \alpha_i\, k(x, x_i), \quad
          k(x, y) = \frac{\sum_s \min(x_s, y_s)}{\sum_s \max(x_s, y_s)}, \quad
          (K + \rho I)\,\alpha = y - m

which is the mean of a Gaussian process. Far from every measured molecule it returns the mean *m*.
Ralaivola et al., "Graph kernels for chemical informatics", Neural Networks 2005.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve  # type: ignore[import-untyped]
from scipy.sparse import csr_matrix  # type: ignore[import-untyped]

from vgib.chem.fingerprint import Fingerprints

Floats = npt.NDArray[np.float64]
RIDGES = (0.02, 0.05, 0.1, 0.2, 0.5)
MOST = 8
"""Counts above this are taken for it."""


@dataclass(frozen=True, eq=False)
class SimilarityRegression:
    """The measured molecules, their weights, and the mean.

    Attributes:
        ids, counts, indptr: the substructures of the molecules, as in :class:`Fingerprints`.
        weight: ``float64 [molecules]``, alpha.
        mean: ``float64 []``.
        ridge: ``float64 []``, rho.
    """

    ids: npt.NDArray[np.uint32]
    counts: npt.NDArray[np.uint8]
    indptr: npt.NDArray[np.int64]
    weight: Floats
    mean: Floats
    ridge: Floats

    def __call__(self, prints: Fingerprints) -> Floats:
        """The predicted values; rows that are not valid mean nothing."""
        return self.mean + self.similarity(prints) @ self.weight

    def similarity(self, prints: Fingerprints) -> Floats:
        """The kernel between new molecules and the measured ones, ``[new, measured]``."""
        return self._index.similarity(prints)

    @cached_property
    def _index(self) -> "SimilarityIndex":
        return SimilarityIndex(self.ids, self.counts, self.indptr)

    def arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """What is to be stored, by name."""
        names = ("ids", "counts", "indptr", "weight", "mean", "ridge")
        return {name: getattr(self, name) for name in names}


class SimilarityIndex:
    """Molecules, arranged so that new ones are compared with all of them by matrix products.

    A count n becomes the units 1, ..., n of its substructure; the sum of minima is then the number
    of common units, and the sum of maxima follows from the sizes. Frequent units are multiplied as
    a dense matrix, the many rare ones as a sparse one.
    """

    def __init__(
        self,
        ids: npt.NDArray[np.uint32],
        counts: npt.NDArray[np.uint8],
        indptr: npt.NDArray[np.int64],
        *,
        frequent: float = 0.05,
    ) -> None:
        unit, row = _units(ids, counts, indptr)
        self.units, column = np.unique(unit, return_inverse=True)
        size = len(indptr) - 1
        ones = np.ones(len(row), dtype=np.float32)
        table = csr_matrix((ones, (column, row)), shape=(len(self.units), size))
        is_frequent = np.diff(table.indptr) > frequent * size
        self.sizes = np.bincount(row, minlength=size).astype(np.float32)
        self._frequent = np.flatnonzero(is_frequent)
        self._rare = np.flatnonzero(~is_frequent)
        self._dense = table[self._frequent].toarray()
        self._sparse = table[self._rare]

    def similarity(self, prints: Fingerprints) -> Floats:
        """``[new, ours]``; 0 where neither has any substructure."""
        unit, row = _units(prints.ids, prints.counts, prints.indptr)
        sizes = np.bincount(row, minlength=len(prints)).astype(np.float32)
        place = np.minimum(np.searchsorted(self.units, unit), len(self.units) - 1)
        is_known = self.units[place] == unit
        cells = (np.ones(is_known.sum(), dtype=np.float32), (row[is_known], place[is_known]))
        new = csr_matrix(cells, shape=(len(prints), len(self.units))).tocsc()
        common = new[:, self._frequent].toarray() @ self._dense
        common += (new[:, self._rare].tocsr() @ self._sparse).toarray()
        union = sizes[:, None] + self.sizes - common
        ratio: Floats = np.divide(common, union, out=np.zeros(common.shape), where=union > 0)
        return ratio


def _units(
    ids: npt.NDArray[np.uint32], counts: npt.NDArray[np.uint8], indptr: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The units of each entry, as one number each, and the row they belong to."""
    times = np.minimum(counts, MOST).astype(np.int64)
    before = np.cumsum(times) - times
    level = np.arange(times.sum()) - np.repeat(before, times)
    row = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return np.repeat(ids.astype(np.int64), times) * MOST + level, np.repeat(row, times)


def fit_similarity(prints: Fingerprints, y: Floats) -> SimilarityRegression:
    """The regression whose ridge has the smallest error when each molecule is left out in turn.

    With :math:`C = (K + \\rho I)^{-1}` that error is :math:`(C (y - m))_i / C_{ii}` in closed form.
    """
    kernel = SimilarityIndex(prints.ids, prints.counts, prints.indptr).similarity(prints)
    mean = float(y.mean())
    best: tuple[float, float, Floats] | None = None
    for ridge in RIDGES:
        inverse = cho_solve(cho_factor(kernel + ridge * np.eye(len(y))), np.eye(len(y)))
        weight = inverse @ (y - mean)
        error = float(np.square(weight / np.diag(inverse)).mean())
        if best is None or error < best[0]:
            best = error, ridge, weight
    assert best is not None
    return SimilarityRegression(
        prints.ids, prints.counts, prints.indptr, best[2], np.array(mean), np.array(best[1])
    )
