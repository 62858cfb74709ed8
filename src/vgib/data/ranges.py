"""Index arithmetic on ranges of numbers that lie end to end, as the nodes of packed graphs do."""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor


def offsets(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """Counts to offsets: ``[n] -> int32 [n + 1]``."""
    found = np.zeros(len(counts) + 1, dtype=np.int32)
    np.cumsum(counts, out=found[1:])
    return found


def ranges(
    start: npt.NDArray[np.int64], length: npt.NDArray[np.int64], offsets: npt.NDArray[np.int32]
) -> npt.NDArray[np.int64]:
    """The numbers of several ranges, one after the other."""
    shift: npt.NDArray[np.int64] = np.repeat(start - offsets[:-1], length)
    shift += np.arange(len(shift))
    return shift


def pointers(counts: Tensor) -> Tensor:
    """Counts to offsets: ``[n] -> int64 [n + 1]``."""
    ptr = torch.zeros(counts.numel() + 1, dtype=torch.int64)
    torch.cumsum(counts, 0, out=ptr[1:])
    return ptr


def select_ranges(ptr: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """The pointers of the chosen ranges laid end to end, and where each element came from."""
    start = ptr[wanted]
    new = pointers(ptr[wanted + 1] - start)
    total = int(new[-1])
    shift = (start - new[:-1]).repeat_interleave(new.diff(), output_size=total)
    return new, torch.arange(total) + shift
