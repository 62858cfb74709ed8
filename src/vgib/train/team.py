r"""Workers that train one model together: each on its own graphs, all with the same weights.

A step of a team is one step on a batch of the usual size, of which worker :math:`r` of :math:`N`
has the places :math:`r, r + N, r + 2N, ...`. With :math:`m_r` of its :math:`m` graphs on worker
:math:`r`,

.. math:: g = \sum_r \frac{m_r}{m} g_r

is the gradient of the mean loss over the whole batch. What a batch shares beyond a mean is shared
within a worker only: batch norm's statistics and the pairs of GIB's critic.
"""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, distributed

from vgib.errors import InputError


class Alone:
    """The only worker there is: nothing to share out, nobody to agree with."""

    rank = 0
    size = 1

    def batch_sizes(self, batch_size: int, own: int) -> int | list[int]:
        """How many of its ``own`` graphs this worker has in each step of an epoch."""
        return batch_size

    def mean(self, values: dict[str, float], weight: int) -> dict[str, float]:
        """The mean of each number over the team, weighted by so many graphs."""
        return values

    def average(self, tensors: Sequence[Tensor], weight: int) -> None:
        """Puts into each tensor its mean over the team, weighted by so many graphs."""


ALONE = Alone()


class Group(Alone):
    """The workers of torch's process group, which has to be there (gloo, or nccl for GPUs).

    Args:
        device: Where the tensors of this worker are.
    """

    def __init__(self, device: torch.device | str = "cpu") -> None:
        self.rank = distributed.get_rank()
        self.size = distributed.get_world_size()
        self.device = device

    def batch_sizes(self, batch_size: int, own: int) -> list[int]:
        """Its :func:`shares` of the batches of an epoch."""
        count = int(self._summed(torch.tensor([own])))
        if min(batch_size, count) < self.size:
            raise InputError(
                f"{self.size} workers cannot share batches of {min(batch_size, count)} graphs; "
                "use fewer workers"
            )
        return shares(self.rank, self.size, batch_size, count)

    def mean(self, values: dict[str, float], weight: int) -> dict[str, float]:
        """The weighted mean of each number: the same on every worker, to the bit."""
        weighted = torch.tensor([*values.values(), 1.0], dtype=torch.float64) * weight
        *sums, weights = self._summed(weighted).tolist()
        return {name: value / weights for name, value in zip(values, sums, strict=True)}

    def average(self, tensors: Sequence[Tensor], weight: int) -> None:
        """The weighted mean of each tensor, by one message."""
        if not tensors:
            return
        flat = torch.cat([*(tensor.reshape(-1) for tensor in tensors), tensors[0].new_ones(1)])
        sizes = [*(tensor.numel() for tensor in tensors), 1]
        *means, weights = torch.split(self._summed(flat * weight), sizes)
        for tensor, summed in zip(tensors, means, strict=True):
            tensor.copy_((summed / weights).view_as(tensor))

    def _summed(self, values: Tensor) -> Tensor:
        moved = values.to(self.device)
        distributed.all_reduce(moved)
        return moved


def shares(rank: int, size: int, batch_size: int, count: int) -> list[int]:
    """How many graphs one worker has in each batch of ``count`` graphs that a team shares.

    Everyone has as many steps. A last batch with fewer graphs than workers joins the one before,
    so that nobody is idle.

    >>> shares(0, 2, 4, 9), shares(1, 2, 4, 9)
    ([2, 3], [2, 2])
    """
    ends = [*range(0, count, batch_size), count]
    if ends[-2] > 0 and count - ends[-2] < size:
        del ends[-2]
    places = [-((rank - end) // size) for end in ends]
    return [stop - start for start, stop in pairwise(places)]
