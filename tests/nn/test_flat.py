"""Parameters in one vector: the same updates, and nothing left behind."""

import copy

import pytest
import torch
from torch import Tensor, nn

from vgib.nn.flat import FlatParameters


def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2))


def loss(net: nn.Module) -> Tensor:
    x = torch.linspace(-1, 1, 12).view(4, 3)
    out: Tensor = net(x).square().sum()
    return out


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_one_update_is_that_of_every_parameter(decay: float) -> None:
    apart, together = model(), model()
    flat = FlatParameters(together.parameters())
    usual = torch.optim.Adam(apart.parameters(), lr=0.1, weight_decay=decay)
    single = torch.optim.Adam([flat.vector], lr=0.1, weight_decay=decay)
    for _ in range(5):
        usual.zero_grad()
        loss(apart).backward()
        usual.step()
        flat.zero_grad()
        loss(together).backward()
        single.step()
    for a, b in zip(apart.parameters(), together.parameters(), strict=True):
        torch.testing.assert_close(a, b)


def test_gradients_are_forgotten_in_place() -> None:
    net = model()
    flat = FlatParameters(net.parameters())
    loss(net).backward()
    assert flat.vector.grad is not None and flat.vector.grad.abs().sum() > 0
    flat.zero_grad()
    assert all(p.grad is not None and not p.grad.any() for p in net.parameters())


def test_the_norm_of_the_vectors_gradient_is_that_of_all() -> None:
    net, other = model(), model()
    flat = FlatParameters(net.parameters())
    loss(net).backward()
    loss(other).backward()
    norms = [p.grad.norm() for p in other.parameters() if p.grad is not None]
    assert flat.vector.grad is not None
    torch.testing.assert_close(flat.vector.grad.norm(), torch.stack(norms).norm())


def test_loaded_weights_reach_the_vector() -> None:
    net, other = model(), model()
    flat = FlatParameters(net.parameters())
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.add_(1.0)
    net.load_state_dict(other.state_dict())
    wanted = nn.utils.parameters_to_vector(other.parameters())
    assert torch.equal(flat.vector, wanted)


def test_frozen_parameters_are_left_alone() -> None:
    net = model()
    first = next(net.parameters()).requires_grad_(False)
    flat = FlatParameters(net.parameters())
    assert flat.vector.numel() == sum(p.numel() for p in net.parameters()) - first.numel()
    assert first.grad is None


def test_after_release_every_parameter_has_its_own_memory() -> None:
    net = model()
    before = copy.deepcopy(net.state_dict())
    flat = FlatParameters(net.parameters())
    flat.release()
    homes = {p.untyped_storage().data_ptr() for p in net.parameters()}
    assert len(homes) == 4 and all(p.grad is None for p in net.parameters())
    assert all(torch.equal(before[name], value) for name, value in net.state_dict().items())
