"""The trained networks that explainers explain: trained once, then shared by all jobs."""

import hashlib
import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from vgib.config import Architecture, Training
from vgib.data.files import write_safetensors
from vgib.data.packed import PackedGraphs
from vgib.data.splits import Split
from vgib.experiments.table3.job import Network
from vgib.nn.net import SubgraphNet, build
from vgib.train.loop import predict, seeded, train

VERSION = 1
"""Part of every file's name: to be raised when the same settings would give other weights."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Backbone:
    """A trained network in evaluation mode, and its accuracies."""

    net: SubgraphNet
    facts: dict[str, Any]


def backbone(
    graphs: PackedGraphs, split: Split, network: Network, training: Training, folder: Path
) -> Backbone:
    """The network of these settings, trained on these graphs; from a file if there is one.

    The same settings give the same weights, so that it does not matter who was first: jobs stay
    independent of each other, and a second one is quicker.
    """
    net = _untrained(graphs, network, training.seed)
    path = folder / f"{_name(graphs, split, network, training)}.safetensors"
    if path.is_file():
        try:
            return Backbone(net, _load(path, net))
        except (SafetensorError, RuntimeError, KeyError) as error:
            logger.warning("%s cannot be used (%s); the network is trained again", path, error)
    index = torch.from_numpy(split.train)
    history = train(net, graphs, index=index, val=graphs[split.val], settings=training)
    facts = {
        "best_epoch": history.best_epoch + 1,
        "val_accuracy": _accuracy(net, graphs[split.val]),
        "test_accuracy": _accuracy(net, graphs[split.test]),
    }
    weights = {name: tensor.detach().clone() for name, tensor in net.state_dict().items()}
    write_safetensors(path, weights, {"facts": json.dumps(facts)})
    return Backbone(net, facts)


def _untrained(graphs: PackedGraphs, network: Network, seed: int) -> SubgraphNet:
    with seeded(seed):
        return build(
            encoder=network.encoder,
            bottleneck="none",
            cardinalities=graphs.cardinalities,
            in_channels=graphs.x.shape[1],
            task="classification",
            outputs=int(graphs.labels.max()) + 1,
            architecture=Architecture.of(
                **network.model_dump(exclude={"encoder"}), head_hidden=network.hidden
            ),
        ).eval()


def _load(path: Path, net: SubgraphNet) -> dict[str, Any]:
    with safe_open(path, "pt") as file:
        net.load_state_dict({name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118
        return dict(json.loads(file.metadata()["facts"]))


def _name(graphs: PackedGraphs, split: Split, network: Network, training: Training) -> str:
    """A hash of everything that the weights depend on."""
    # None of these networks reads features of edges.
    digest = hashlib.sha256(graphs.fingerprint(edge_attr=False).encode())
    for part in (split.train, split.val, split.test):
        digest.update(part.tobytes())
    # Defaults are left out, as in the keys of jobs: a setting that is added later changes no name.
    given = [part.model_dump(mode="json", exclude_defaults=True) for part in (network, training)]
    digest.update(json.dumps([VERSION, torch.__version__, *given], sort_keys=True).encode())
    return digest.hexdigest()[:24]


def _accuracy(net: SubgraphNet, graphs: PackedGraphs) -> float:
    output, _ = predict(net, graphs)
    return float((output.argmax(1) == graphs.labels).double().mean())
