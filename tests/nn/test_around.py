"""The recommended bottleneck around an encoder, in a training loop of a user's own."""

import logging
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GIN, GATv2Conv, global_max_pool

import vgib
from vgib.errors import VgibError
from vgib.nn.around import VGIB
from vgib.nn.bottleneck import Perturbed

PAGE = Path(__file__).resolve().parents[2] / "docs" / "module.md"
GRAPHS, NODES = 400, 10


def planted(by: str) -> list[Data]:
    """Rings of ten nodes; two neighbors, or the bond between them, decide the class.

    The class is the kind of the two marked nodes, or of the marked bond; the rest is the same in
    both classes. ``truth`` are the marked nodes.
    """
    generator = torch.Generator().manual_seed(0)
    sender = torch.arange(NODES)
    receiver = (sender + 1) % NODES
    edges = torch.stack([torch.cat([sender, receiver]), torch.cat([receiver, sender])])
    graphs = []
    for number in range(GRAPHS):
        kind, place = number % 2, int(torch.randint(NODES, (), generator=generator))
        x = torch.zeros(NODES, 4)
        x[:, 3] = torch.randint(2, (NODES,), generator=generator)
        bonds = torch.zeros(NODES, 2)
        truth = torch.zeros(NODES, dtype=torch.bool)
        truth[[place, (place + 1) % NODES]] = True
        if by == "nodes":
            x[truth, kind] = 1.0
        else:
            bonds[place, kind] = 1.0
        attr = torch.cat([bonds, bonds])
        graphs.append(
            Data(x=x, edge_index=edges, edge_attr=attr, truth=truth, y=torch.tensor([kind]))
        )
    return graphs


def loader_of(by: str) -> DataLoader:
    return DataLoader(planted(by), batch_size=40, shuffle=True)


def pieces() -> list[str]:
    """The pieces of Python on the page, in their order."""
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def node_auc(out: Perturbed, data: Any) -> float:
    return float(roc_auc_score(data.truth.numpy(), out.scores.detach().numpy()))


@pytest.mark.parametrize(("number", "by"), [(0, "nodes"), (1, "bonds")])
def test_the_pieces_of_the_page_recognize_what_decides(number: int, by: str) -> None:
    torch.manual_seed(0)
    names: dict[str, Any] = {"loader": loader_of(by)}
    exec(pieces()[number], names)
    out, data = names["out"], names["data"]
    assert (out.output.argmax(1) == data.y).float().mean() > 0.95
    assert node_auc(out, data) > 0.9
    kept = (out.scores >= 0.5).float().mean()
    assert 0.05 < kept < 0.6
    if number == 0:
        exec(pieces()[2], names)
        assert names["loss"].isfinite()


def gin() -> GIN:
    torch.manual_seed(0)
    return GIN(4, 8, 2)


def batch_of(by: str = "nodes", count: int = 12) -> Any:
    return next(iter(DataLoader(planted(by)[:count], batch_size=count)))


def called(model: nn.Module, data: Any, **named: Tensor) -> Perturbed:
    found: Perturbed = model(data.x, data.edge_index, data.batch, **named)
    return found


def in_its_last_steps(model: VGIB) -> VGIB:
    model.step.fill_(model.steps - 1)
    return model


def test_each_term_moves_its_own_parameters_alone() -> None:
    model, data = VGIB(gin(), nn.Linear(8, 2), steps=10), batch_of()
    owners = {
        "parts": (0, "bottleneck.predictor."),
        "evidence": (9, "bottleneck.gate."),
        "price": (9, "bottleneck.gate."),
        "own": (9, "encoder.", "head."),
    }
    for term, (step, *owned) in owners.items():
        model.step.fill_(step)
        model.zero_grad()
        out = called(model, data)
        own = nn.functional.cross_entropy(out.output, data.y) + out.z.square().sum()
        (own if term == "own" else out.terms[term]).backward()
        reached = set()
        for name, parameter in model.named_parameters():
            moved = parameter.grad is not None and bool(parameter.grad.abs().sum() > 0)
            if moved:
                reached.add(name)
        assert reached and all(name.startswith(tuple(owned)) for name in reached), (term, reached)


def test_the_prediction_is_the_networks_own() -> None:
    encoder, head, data = gin(), nn.Linear(8, 2), batch_of()
    out = called(VGIB(encoder, head), data)
    h = encoder(data.x, data.edge_index)
    torch.testing.assert_close(
        out.graph, torch.stack([h[data.batch == g].sum(0) for g in range(12)])
    )
    torch.testing.assert_close(out.output, head(out.graph))
    assert out.loss == out.terms["parts"]


@pytest.mark.parametrize("readout", ["mean", global_max_pool])
def test_other_readouts_are_taken(readout: Any) -> None:
    encoder, data = gin(), batch_of()
    out = called(VGIB(encoder, readout=readout), data)
    h = encoder(data.x, data.edge_index)
    pool: Callable[[Tensor], Tensor] = (
        (lambda nodes: nodes.mean(0)) if readout == "mean" else (lambda nodes: nodes.max(0).values)
    )
    wanted = torch.stack([pool(h[data.batch == g]) for g in range(12)])
    torch.testing.assert_close(out.graph, wanted)
    torch.testing.assert_close(out.output, wanted)


def test_in_evaluation_nothing_is_drawn_and_nothing_is_to_be_paid() -> None:
    model = in_its_last_steps(VGIB(gin(), nn.Linear(8, 2), steps=10)).eval()
    data = batch_of()
    first, again = called(model, data), called(model, data)
    torch.testing.assert_close(first.scores, again.scores)
    assert first.loss == 0 and first.terms == {}
    h = model.encoder(data.x, data.edge_index)
    torch.testing.assert_close(first.z, first.scores.unsqueeze(1) * h)
    alone = planted("nodes")[0]
    torch.testing.assert_close(
        model(alone.x, alone.edge_index).scores, first.scores[:NODES], atol=1e-5, rtol=1e-4
    )
    assert int(model.step) == 9


def test_until_the_gate_learns_everything_passes_and_a_warning_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    model, data = VGIB(gin(), nn.Linear(8, 2), steps=6), batch_of()
    terms = [set(called(model, data).terms) for _ in range(5)]
    assert terms == [{"parts"}] * 3 + [{"worth"}, {"evidence", "price"}]
    model.step.fill_(2)
    with caplog.at_level(logging.WARNING):
        assert (called(model.eval(), data).scores == 1).all()
    assert "begins to learn at step 3 of 6, and this is step 2" in caplog.text


def test_gradients_of_several_batches_can_be_gathered() -> None:
    model, data = in_its_last_steps(VGIB(gin(), nn.Linear(8, 2), steps=10)), batch_of()
    model.step.fill_(4)  # the first is the predictor's last, the second the gate's first
    losses = [called(model, data).loss for _ in range(3)]
    torch.stack([loss for loss in losses if loss is not None]).sum().backward()
    assert all(
        parameter.grad is not None and parameter.grad.isfinite().all()
        for parameter in model.bottleneck.gate.parameters()
    )


def test_what_was_learned_is_saved_and_loaded() -> None:
    model, data = in_its_last_steps(VGIB(gin(), nn.Linear(8, 2), steps=10)), batch_of()
    called(model, data)
    other = VGIB(GIN(4, 8, 2), nn.Linear(8, 2), steps=10)
    other.load_state_dict(model.state_dict())
    torch.testing.assert_close(called(model.eval(), data).scores, called(other.eval(), data).scores)


def test_values_are_told_in_their_own_unit() -> None:
    model, data = VGIB(gin(), nn.Linear(8, 1)), batch_of()
    assert model.task == "regression"
    with torch.no_grad():
        model.head.weight *= 1e4
    out = called(model, data)
    assert out.output.abs().max() > 100
    assert out.loss is not None and out.loss < 10  # in units of the spread


def test_it_is_public() -> None:
    assert vgib.VGIB is VGIB


def wrong_head() -> VGIB:
    return VGIB(gin(), nn.Linear(9, 2))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: VGIB("gin"), "goes around a module"),
        (
            lambda: VGIB(nn.Linear(4, 8)),
            "Linear has no in_channels",
        ),
        (lambda: VGIB(nn.Linear(4, 8), in_channels=4), "with channels="),
        (wrong_head, "does not take 8 channels"),
        (lambda: VGIB(gin(), task="clasification"), "did you mean 'classification'"),
        (lambda: VGIB(gin(), readout="men"), "did you mean 'mean'"),
        (lambda: VGIB(gin(), steps=1), "at least 2"),
        (lambda: VGIB(gin(), beta=-1), "zero or positive"),
        (lambda: VGIB(gin(), bta=1), "did you mean 'beta'"),
        (lambda: VGIB(gin(), nn.Flatten(0)), r"must give \[num_graphs, outputs\]"),
    ],
)
def test_wrong_arguments_are_refused_in_a_sentence(make: Callable[[], VGIB], message: str) -> None:
    with pytest.raises(VgibError, match=message):
        make()


class Pooled(nn.Module):
    in_channels, out_channels = 4, 8

    def __init__(self) -> None:
        super().__init__()
        self.gin = gin()

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        return global_max_pool(self.gin(x, edge_index), batch)


def test_wrong_graphs_are_refused_in_a_sentence() -> None:
    data = batch_of()
    with pytest.raises(VgibError, match="one row for each of 120 nodes; got"):
        called(VGIB(Pooled()), data)
    embedded = nn.Sequential(nn.Flatten(0), nn.Embedding(3, 8))
    model = VGIB(Codes(embedded), in_channels=1)
    with pytest.raises(VgibError, match=r"must be floats; got torch\.int64: embed them first"):
        model(torch.zeros(120, 1, dtype=torch.int64), data.edge_index, data.batch)
    with pytest.raises(VgibError, match=r"of shape \[120, 3\]; expected \[nodes, 4\]"):
        VGIB(gin())(data.x[:, :3], data.edge_index, data.batch)
    holes = torch.full_like(data.x, torch.nan)
    with pytest.raises(VgibError, match="NaN or infinite"):
        VGIB(gin())(holes, data.edge_index, data.batch)
    reads = VGIB(GATv2Conv(4, 8, edge_dim=2), edge_channels=2)
    with pytest.raises(VgibError, match="edge_channels is 2, but edge_attr has not come"):
        called(reads, data)
    with pytest.raises(VgibError, match="edge_channels is 2, but edge_attr has 1"):
        called(reads, data, edge_attr=data.edge_attr[:, :1])


class Codes(nn.Module):
    out_channels = 8

    def __init__(self, embed: nn.Module) -> None:
        super().__init__()
        self.embed = embed

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        h: Tensor = self.embed(x)
        return h


def test_edge_features_that_the_predictor_does_not_read_are_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    data = batch_of()
    model = VGIB(GATv2Conv(4, 8, edge_dim=2))
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            called(model, data, edge_attr=data.edge_attr)
    assert caplog.text.count("edge_attr reaches the encoder, but not the predictor of parts") == 1
