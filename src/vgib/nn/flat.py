"""Parameters that lie in one vector, so that an optimizer moves them all by one update."""

from collections.abc import Iterable
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters


class FlatParameters:
    """Many small parameters as one: the optimizer of a small model waits for Python otherwise.

    The parameters become views of ``vector``, and their gradients views of ``vector.grad``, for as
    long as nobody replaces them; :meth:`release` gives each its own memory back.

    Args:
        parameters: On one device and of one type; frozen ones are left alone.
    """

    def __init__(self, parameters: Iterable[nn.Parameter]) -> None:
        self.parameters = [parameter for parameter in parameters if parameter.requires_grad]
        self.vector = nn.Parameter(parameters_to_vector(self.parameters).detach().clone())
        self.vector.grad = torch.zeros_like(self.vector)
        vector_to_parameters(self.vector.data, self.parameters)
        ends = torch.tensor([0, *(p.numel() for p in self.parameters)]).cumsum(0).tolist()
        for parameter, (low, high) in zip(self.parameters, pairwise(ends), strict=True):
            parameter.grad = self.vector.grad[low:high].view_as(parameter)

    @property
    def gradient(self) -> Tensor:
        """All gradients, in the order of the parameters."""
        assert self.vector.grad is not None
        return self.vector.grad

    def zero_grad(self) -> None:
        """Forgets all gradients; they stay where they are, to be added to."""
        self.gradient.zero_()

    def release(self) -> None:
        """Each parameter in its own memory again, without a gradient."""
        for parameter in self.parameters:
            parameter.data = parameter.data.clone()
            parameter.grad = None
