"""Which values count as equal when something is chosen by them.

A model computes many graphs at once, and the order of its sums depends on what stands beside a
graph: its scores and predictions differ by some 2e-7 between batches. Atoms and parts of a molecule
that mirror each other have equal values, and such a difference would decide between them. So values
that are nearer to each other than :data:`TIE` are a tie, and the order in which the nodes are
numbered decides: the same molecule has the same answer, alone or in any batch.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

TIE = 1e-6
"""Scores and probabilities that differ by less count as equal; of totals, for each node in them."""


def levels(values: Any, group: Any = None) -> npt.NDArray[np.int64]:
    """The rank of each value, the largest first; those that are a tie with the next share theirs.

    >>> levels([0.3, 0.9, 0.3 + 1e-8, 0.9]).tolist()
    [1, 0, 1, 0]

    Args:
        values: ``[n]``.
        group: ``[n]``, numbers; values of different groups are no tie, and those of lower groups
            come first.
    """
    own = np.asarray(values, dtype=np.float64)
    kinds = np.zeros(len(own), dtype=np.int64) if group is None else np.asarray(group)
    order = np.lexsort((-own, kinds))
    falls = (own[order][:-1] - own[order][1:] > TIE) | (np.diff(kinds[order]) != 0)
    ranks = np.zeros(len(own), dtype=np.int64)
    ranks[order[1:]] = np.cumsum(falls)
    return ranks


def best(values: Any, n: int | None = None) -> npt.NDArray[np.int64]:
    """The places of the ``n`` largest values, the largest first; of a tie the first comes first.

    >>> best([0.3, 0.9, 0.3 - 1e-8, 0.9 + 1e-8], 3).tolist()
    [1, 3, 0]
    """
    return np.argsort(levels(values), kind="stable")[:n]
