"""The composed model: its two entrances, its objective, its tasks, what it predicts from."""

from typing import Any

import pytest
import torch
import torch_geometric.nn as pyg
from torch import Tensor, nn
from torch_geometric.data import Batch as PygBatch
from torch_geometric.data import Data

from vgib.config import Architecture
from vgib.data.packed import PackedGraphs
from vgib.errors import InputError, UnknownNameError
from vgib.nn.bottleneck import Site, bottlenecks, build_in, hard_keep
from vgib.nn.encoder import Embedding, Encoder, Wrapped
from vgib.nn.net import SubgraphNet, build
from vgib.nn.paper_vgib import PaperVGIB

NAMES = bottlenecks.names()


def random_data(sizes: tuple[int, ...] = (4, 1, 6), targets: int = 1) -> list[Data]:
    generator = torch.Generator().manual_seed(0)
    items = []
    for number, size in enumerate(sizes):
        dense = torch.rand(size, size, generator=generator) < 0.5
        edges = (dense | dense.T).fill_diagonal_(False).nonzero().T
        edges = edges[:, torch.randperm(edges.shape[1], generator=generator)]
        x = torch.randn(size, 3, generator=generator)
        y = torch.randn(targets, generator=generator) if targets else torch.tensor(number % 3)
        items.append(Data(x=x, edge_index=edges, y=y))
    return items


def make_net(bottleneck: str = "vgib-paper", seed: int = 0, **options: Any) -> SubgraphNet:
    settings = {"task": "classification", "outputs": 3} | options
    own = settings.pop("bottleneck_options", {})
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        site = Site(8, in_channels=3, depth=2, outputs=settings["outputs"], task=settings["task"])
        return SubgraphNet(
            nn.Identity(),
            Encoder("gcn", 3, hidden=8),
            build_in(bottleneck, site, own),
            **settings,
        )


def terms_of(net: SubgraphNet, graphs: PackedGraphs, seed: int = 0) -> dict[str, Tensor]:
    batch = graphs.batch()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return net.terms(batch.x, batch.adj, batch.graphs, batch.y)


CLASSES = PackedGraphs.from_data(random_data(targets=0))


# ---- the two entrances -------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("readout", ["sum", "mean", "norm"])
def test_pygs_signature_gives_what_the_packed_entrance_gives(name: str, readout: str) -> None:
    net = make_net(name, readout=readout).eval()
    items = random_data()
    theirs = PygBatch.from_data_list(items)
    ours = PackedGraphs.from_data(items).batch()
    output, _ = net.predict(ours.x, ours.adj, ours.graphs)
    assert torch.allclose(net(theirs.x, theirs.edge_index, theirs.batch), output, atol=1e-6)


def test_without_a_batch_vector_there_is_one_graph() -> None:
    net = make_net().eval()
    item = random_data()[2]
    batch = torch.zeros(6, dtype=torch.int64)
    alone = net(item.x, item.edge_index)
    assert alone.shape == (1, 3)
    assert torch.equal(alone, net(item.x, item.edge_index, batch))


@pytest.mark.parametrize("name", NAMES)
def test_the_gradient_of_the_output_reaches_float_features(name: str) -> None:
    net = make_net(name).eval()
    theirs = PygBatch.from_data_list(random_data())
    x = theirs.x.clone().requires_grad_()
    net(x, theirs.edge_index, theirs.batch)[:, 0].sum().backward()
    assert x.grad.isfinite().all()
    assert (x.grad.abs().sum(1) > 0).any()


def test_integrated_gradients_add_up_to_the_change_of_the_output() -> None:
    net = make_net("none").double().eval()
    item = random_data()[2]
    x = item.x.double()
    steps = (torch.arange(300, dtype=torch.float64) + 0.5) / 300
    total = torch.zeros_like(x)
    for step in steps:
        leaf = (step * x).requires_grad_()
        net(leaf, item.edge_index)[0, 0].backward()
        total += leaf.grad / 300
    change = net(x, item.edge_index)[0, 0] - net(torch.zeros_like(x), item.edge_index)[0, 0]
    assert (total * x).sum().item() == pytest.approx(change.item(), abs=1e-2)


# ---- the objective -----------------------------------------------------------------------------


def test_the_objective_is_the_weighted_sum_of_the_terms() -> None:
    options = {"beta": 0.3, "clean": 0.5, "subgraph": 2.0}
    net = make_net(bottleneck_options=options).train()
    terms = terms_of(net, CLASSES)
    assert set(terms) == {"prediction", "clean", "subgraph", "compression"}
    expected = (
        terms["prediction"]
        + 0.5 * terms["clean"]
        + 2.0 * terms["subgraph"]
        + 0.3 * terms["compression"]
    )
    assert torch.allclose(net.objective(terms), expected)


def test_terms_of_weight_zero_are_absent_and_change_nothing_else() -> None:
    both = make_net(bottleneck_options={"clean": 1.0, "subgraph": 1.0}).train()
    neither = make_net(bottleneck_options={"clean": 0.0, "subgraph": 0.0, "beta": 0.0}).train()
    full, bare = terms_of(both, CLASSES), terms_of(neither, CLASSES)
    assert set(bare) == {"prediction"}
    assert torch.allclose(bare["prediction"], full["prediction"])


def test_the_clean_term_is_the_loss_of_the_whole_graph() -> None:
    net = make_net().train()
    batch = CLASSES.batch()
    encoded = net.encode(batch.x, batch.adj, batch.graphs)
    expected = nn.functional.cross_entropy(net.head(batch.graphs.sum(encoded.h)), batch.y)
    assert torch.allclose(terms_of(net, CLASSES)["clean"], expected)


def test_the_subgraph_term_is_the_loss_of_the_kept_nodes_and_reaches_the_gate() -> None:
    net = make_net(bottleneck_options={"subgraph": 1.0}).train()
    batch = CLASSES.batch()
    encoded = net.encode(batch.x, batch.adj, batch.graphs)
    scores = torch.sigmoid(net.bottleneck.gate(encoded.h))
    keep = hard_keep(scores, batch.graphs)
    assert 0 < keep.sum() < len(keep)
    pooled = torch.stack(
        [encoded.h[(batch.graphs.batch == g) & keep].sum(0) for g in range(len(CLASSES))]
    )
    expected = nn.functional.cross_entropy(net.head(pooled), batch.y)
    found = terms_of(net, CLASSES)["subgraph"]
    assert torch.allclose(found, expected, atol=1e-6)
    found.backward()
    assert net.bottleneck.gate.mlp[0].weight.grad.abs().sum() > 0


# ---- tasks -------------------------------------------------------------------------------------


@pytest.mark.parametrize("outputs", [2, 3])
def test_classification_pays_the_cross_entropy(outputs: int) -> None:
    net = make_net("none", outputs=outputs)
    logits, y = torch.randn(4, outputs), torch.tensor([0, 1, 1, outputs - 1])
    expected = -torch.log_softmax(logits, 1)[torch.arange(4), y].mean()
    assert torch.allclose(net.loss(logits, y), expected)
    assert net.rescale(logits) is logits


@pytest.mark.parametrize("targets", [1, 3])
def test_regression_pays_the_squared_error_in_units_of_the_spread(targets: int) -> None:
    net = make_net("none", task="regression", outputs=targets)
    mean, std = torch.arange(1.0, targets + 1), torch.arange(2.0, targets + 2)
    net.target_mean.copy_(mean)
    net.target_std.copy_(std)
    y = torch.randn(5, targets)
    output = torch.randn(5, targets)
    expected = (((y - mean) / std - output) ** 2).mean()
    assert torch.allclose(net.loss(output, y.squeeze(1)), expected)
    assert torch.allclose(net.rescale(output), output * std + mean)


@pytest.mark.parametrize("targets", [1, 3])
def test_regression_on_one_or_several_targets_gives_as_many_values(targets: int) -> None:
    net = make_net(task="regression", outputs=targets).train()
    graphs = PackedGraphs.from_data(random_data(targets=targets))
    terms = terms_of(net, graphs)
    net.objective(terms).backward()
    theirs = PygBatch.from_data_list(random_data())
    net.eval()
    net.target_mean.fill_(100.0)
    values = net(theirs.x, theirs.edge_index, theirs.batch)
    assert values.shape == (3, targets)
    assert (values > 50).all()


def test_the_targets_scale_travels_with_the_weights() -> None:
    net = make_net(task="regression", outputs=2)
    net.target_mean.fill_(3.0)
    other = make_net(task="regression", outputs=2, seed=1)
    other.load_state_dict(net.state_dict())
    assert torch.equal(other.target_mean, net.target_mean)


def test_a_positive_output_is_never_negative() -> None:
    net = make_net("none", task="regression", outputs=1, positive_output=True)
    assert net.head(torch.randn(200, 8)).min() == 0


# ---- what is predicted from --------------------------------------------------------------------


@pytest.mark.parametrize("readout", ["sum", "mean", "norm"])
@pytest.mark.parametrize("view", ["clean", "subgraph", "perturbed"])
def test_the_prediction_comes_from_what_was_asked_for(view: Any, readout: str) -> None:
    net = make_net(readout=readout, bottleneck_options={"predict_from": view}).eval()
    batch = CLASSES.batch()
    encoded = net.encode(batch.x, batch.adj, batch.graphs)
    perturbed = net.perturb(encoded)
    keep = torch.ones_like(perturbed.scores)
    if view == "subgraph":
        keep = hard_keep(perturbed.scores, batch.graphs).float()
        assert 0 < keep.sum() < len(keep)
    pooled = []
    for g in range(len(CLASSES)):
        own = batch.graphs.batch == g
        total = (keep[own, None] * encoded.h[own]).sum(0)
        pooled.append(total / {"sum": 1, "mean": keep[own].sum(), "norm": 100}[readout])
    graph = perturbed.graph if view == "perturbed" else torch.stack(pooled)
    output, scores = net.predict(batch.x, batch.adj, batch.graphs)
    assert torch.allclose(output, net.head(graph), atol=1e-6)
    assert torch.equal(scores, perturbed.scores)


def test_the_average_is_the_mean_of_the_three_predictions() -> None:
    net = make_net().eval()
    batch = CLASSES.batch()
    outputs = {}
    for view in ("subgraph", "perturbed", "clean", "average"):
        net.bottleneck.predict_from = view
        outputs[view], _ = net.predict(batch.x, batch.adj, batch.graphs)
    average = outputs.pop("average")
    assert torch.allclose(average, torch.stack(list(outputs.values())).mean(0), atol=1e-6)
    assert not torch.allclose(average, outputs["clean"])


def test_dropout_acts_in_training_only() -> None:
    net = make_net("none", dropout=0.5)
    theirs = PygBatch.from_data_list(random_data())
    inputs = (theirs.x, theirs.edge_index, theirs.batch)
    net.eval()
    assert torch.equal(net(*inputs), net(*inputs))
    net.train()
    assert not torch.equal(net(*inputs), net(*inputs))


@pytest.mark.parametrize(
    ("option", "value"), [("task", "ranking"), ("readout", "max")], ids=["task", "readout"]
)
def test_an_unknown_task_or_readout_is_refused(option: str, value: str) -> None:
    with pytest.raises(InputError, match=f"{option} must be .* got '{value}'"):
        make_net(**{option: value})


# ---- building ----------------------------------------------------------------------------------


def built(**options: Any) -> SubgraphNet:
    defaults: dict[str, Any] = {
        "encoder": "gin",
        "bottleneck": "vgib-paper",
        "cardinalities": None,
        "in_channels": 3,
        "task": "classification",
        "outputs": 3,
        "architecture": Architecture(hidden=8, depth=3, readout="mean", head_hidden=5),
    }
    return build(**(defaults | options))


def test_a_net_is_built_from_names_and_settings() -> None:
    net = built(bottleneck_options={"beta": 0.5})
    assert len(net.encoder.layers) == 3
    assert net.encoder.out_channels == 8
    assert net.readout == "mean"
    assert net.head[0].out_features == 5
    assert net.bottleneck.weights["compression"] == 0.5
    terms_of(net.train(), CLASSES)


def test_codes_are_embedded_and_floats_enter_as_they_are() -> None:
    assert isinstance(built().features, nn.Identity)
    net = built(cardinalities=(4, 2), in_channels=2)
    assert isinstance(net.features, Embedding)
    edges = torch.tensor([[0, 1], [1, 0]])
    assert net.eval()(torch.tensor([[3, 1], [0, 0]]), edges).shape == (1, 3)


def test_a_module_and_an_instance_stand_in_for_names() -> None:
    bottleneck = PaperVGIB(6)
    encoder = pyg.GraphSAGE(3, hidden_channels=6, num_layers=2)
    net = built(encoder=encoder, bottleneck=bottleneck)
    assert isinstance(net.encoder, Wrapped)
    assert net.bottleneck is bottleneck
    terms_of(net.train(), CLASSES)


def test_a_wrong_name_or_option_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'vgib'"):
        built(bottleneck="vgibb")
    with pytest.raises(UnknownNameError, match="did you mean 'beta'"):
        built(bottleneck_options={"betta": 1.0})
