"""Does the jobs: trains or explains, cuts out parts, and compares them with what is known."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from math import ceil
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Unpack

import numpy as np
import torch
from torch import Tensor

from vgib.config import Training
from vgib.data import catalog
from vgib.data.known import KnownAnswers, load_known
from vgib.data.packed import PackedGraphs
from vgib.data.sources import Places
from vgib.data.splits import Split, random_split
from vgib.experiments.engine.finished import Finished
from vgib.experiments.known_answers.job import KnownAnswersJob
from vgib.experiments.known_answers.network import AuthorsGIN
from vgib.experiments.table3.backbones import backbone
from vgib.experiments.table3.job import Network
from vgib.explain.explainer import explainers
from vgib.explain.many import score
from vgib.explain.truth import Answers, agreement, random_connected_scores, sufficient_share
from vgib.metrics import Array
from vgib.model.recognizer import SubgraphRecognizer
from vgib.nn.gmt import FrozenGate
from vgib.nn.net import SubgraphNet
from vgib.select.masks import keep_ratio
from vgib.train.loop import predict, predict_parts, seeded

STOCHASTIC_ATTENTION = ("gsat", "gmt-sam")
"""Methods that attend to edges or nodes, and are told to which."""
RANDOM_CONNECTED = "random-connected"


@dataclass(frozen=True, eq=False)
class Method:
    """What a method says of graphs, in either of its lives.

    Attributes:
        net: Predicts from whole graphs and from parts of them.
        scores: One number in [0, 1] for each node of some graphs.
        edge_scores: One number for each directed edge, where the method has them.
        seconds: Of training and explaining.
    """

    net: SubgraphNet
    scores: Callable[[PackedGraphs], Tensor]
    edge_scores: Callable[[PackedGraphs], Tensor | None]
    seconds: dict[str, float]

    def classes(self, graphs: PackedGraphs, part: Tensor | None = None) -> Array:
        """The class of each graph, predicted from all of it or from the subgraph on some nodes."""
        if part is None:
            said = predict(self.net, graphs)[0]
        else:
            said = predict_parts(self.net, graphs, part)
        found: Array = said.argmax(1).numpy()
        return found


def run(job: KnownAnswersJob, **places: Unpack[Places]) -> Finished:
    """Loads the set and does the job."""
    known = load_known(job.dataset, seed=job.seed, **places)
    return compare(job, known, catalog.cache_folder(places.get("cache")) / "explanation")


def compare(job: KnownAnswersJob, known: KnownAnswers, folder: Path) -> Finished:
    """Does the job on graphs that are at hand; plain networks are kept in the folder."""
    begun = perf_counter()
    if job.life == "protocol":
        known = by_protocol(known, job.seed)
    made = _explained(job, known, folder) if job.life == "posthoc" else _trained(job, known)
    result = judge(job, known, made)
    return Finished(result, made.seconds | {"job": round(perf_counter() - begun, 3)})


def by_protocol(known: KnownAnswers, seed: int) -> KnownAnswers:
    """The split that GSAT's authors use on Mutagenicity: no mutagen without a mark, tested on all.

    80 % of these graphs train and 20 % validate; every mutagen with a mark is tested, seen or not.
    """
    told = np.array([number for number, each in enumerate(known.alternatives) if each is not None])
    cut = random_split(len(told), (0.8, 0.2, 0.0), seed=seed)
    marked = np.array([number for number, each in enumerate(known.alternatives) if each])
    return replace(known, split=Split(told[cut.train], told[cut.val], marked))


def _trained(job: KnownAnswersJob, known: KnownAnswers) -> Method:
    """The network that is trained with the method in it."""
    graphs, split = known.graphs, known.split
    train, val = graphs[split.train], graphs[split.val]
    begun, cpu = perf_counter(), process_time()
    model = _recognizer(job, train, job.module, options_of(job)).fit(train, val=val)
    scorer = model.net_
    if job.module == "gmt-sam":
        gate = FrozenGate(scorer, draws=job.options.get("draws", 10))
        model = _recognizer(job, train, gate, {}).fit(train, val=val)
    seconds = {
        "training": round(perf_counter() - begun, 3),
        "cpu": round(process_time() - cpu, 3),
    }
    return Method(
        model.net_,
        lambda some: predict(scorer, some)[1],
        lambda some: edge_scores_of(scorer, some),
        seconds,
    )


def _recognizer(
    job: KnownAnswersJob, graphs: PackedGraphs, bottleneck: Any, options: dict[str, Any]
) -> SubgraphRecognizer:
    """The model with all its settings, for these training graphs."""
    training = authors_training(job) if job.authors else training_of(job, len(graphs))
    encoder: Any = job.encoder
    if job.authors:
        inputs = job.hidden if graphs.cardinalities else graphs.x.shape[1]
        with seeded(job.seed):
            encoder = AuthorsGIN(inputs, hidden=job.hidden)
    return SubgraphRecognizer(
        encoder,
        bottleneck,
        task="classification",
        hidden=job.hidden,
        depth=job.depth,
        head_hidden=job.hidden,
        **training.model_dump(),
        **options,
    )


def options_of(job: KnownAnswersJob) -> dict[str, Any]:
    """The options of the bottleneck, with what its authors advise for this set."""
    if job.module not in STOCHASTIC_ATTENTION:
        return job.options
    return {"on": job.attention_on, "rate": job.keep_rate} | job.options


def training_of(job: KnownAnswersJob, graphs: int) -> Training:
    """The one training of all methods but GSAT and GMT-sam: few graphs get as many steps."""
    each = ceil(graphs / job.batch_size)
    epochs = max(job.epochs, ceil(job.steps / each))
    return Training.of(
        epochs=epochs, batch_size=job.batch_size, lr=job.lr, cosine=True, seed=job.seed
    )


def authors_training(job: KnownAnswersJob) -> Training:
    return Training.of(
        epochs=job.authors_epochs, batch_size=job.batch_size, lr=job.authors_lr, seed=job.seed
    )


def _explained(job: KnownAnswersJob, known: KnownAnswers, folder: Path) -> Method:
    """The plain network, and the method on it."""
    graphs, split = known.graphs, known.split
    shape = Network(encoder="gin", hidden=job.hidden, depth=job.depth, readout="sum")
    begun = perf_counter()
    net = backbone(graphs, split, shape, training_of(job, len(split.train)), folder).net
    trained = perf_counter()
    if job.module == RANDOM_CONNECTED:
        return Method(net, lambda some: random_connected_scores(some, seed=job.seed), _none, {})
    explainer = explainers.make(job.module, seed=job.seed, **job.options)
    explainer.fit(net, graphs[split.train])
    seconds = {
        "network": round(trained - begun, 3),
        "training": round(perf_counter() - trained, 3),
    }
    return Method(net, lambda some: score(explainer, net, some, batch_size=512), _none, seconds)


def _none(graphs: PackedGraphs) -> None:
    """No edge scores of its own: those of the nodes are lifted."""


@torch.no_grad()
def edge_scores_of(net: SubgraphNet, graphs: PackedGraphs) -> Tensor | None:
    """The weights that a bottleneck puts on the messages, ``[edges]``; ``None`` without any."""
    found = []
    for batch in graphs.batches(1024):
        weight = net.perturb(net.encode(batch.x, batch.adj, batch.graphs)).edge_weight
        if weight is None:
            return None
        found.append(weight)
    return torch.cat(found)


def judge(job: KnownAnswersJob, known: KnownAnswers, made: Method) -> dict[str, Any]:
    """Every measure on the test graphs; the cut by sufficiency is found on validation graphs."""
    val, _ = known.part(known.split.val)
    test, answers = known.part(known.split.test)
    share = sufficient_share(val, made.scores(val), made.classes)
    scores, edge_scores = made.scores(test), made.edge_scores(test)
    parts = {"sufficient": keep_ratio(scores, test.node_ptr, share), "half": scores >= 0.5}
    agrees = {
        name: asdict(agreement(test, answers, scores, part, edge_scores=edge_scores))
        | _right("part_accuracy", made, test, answers, part)
        for name, part in parts.items()
    }
    own = agrees["half" if job.own_cut else "sufficient"]
    return {
        "graphs": len(test),
        "train_graphs": len(known.split.train),
        **_right("accuracy", made, test, answers),
        **own,
        "share": share,
        "by_cut": agrees,
    }


def _right(
    name: str, made: Method, test: PackedGraphs, answers: Answers, part: Tensor | None = None
) -> dict[str, float]:
    """How often the class is right: of all graphs, and of those with an explanation."""
    right = made.classes(test, part) == test.labels.numpy()
    explained = np.array([bool(each) for each in answers])
    return {name: float(right.mean()), f"{name}_explained": float(right[explained].mean())}
