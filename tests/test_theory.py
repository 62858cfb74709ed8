"""The Lemma and the Theorem of Sec. 4.2, and the bound of Sec. 4.3, checked by exact summation.

A model is the list of all its outcomes with their probabilities, so that every mutual information
is a finite sum. `docs/theory.md` derives what is checked here; its tables are recomputed.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from vgib.nn.paper_vgib import compression, node_sums
from vgib.nn.sparse import Segments

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "theory.md"
ROUNDING = 1e-9

Value = Hashable
Model = list[tuple[float, dict[str, Value]]]  # every outcome: its probability and its variables
Graph = tuple[int, ...]  # the features of its nodes; the adjacency is the same for all

seeds = st.integers(0, 2**32 - 1)


def entropy(model: Model, names: str) -> float:
    """H in bits of the variables in ``names``, which are separated by blanks."""
    table: defaultdict[tuple[Value, ...], float] = defaultdict(float)
    for probability, values in model:
        table[tuple(values[name] for name in names.split())] += probability
    return -sum(p * math.log2(p) for p in table.values() if p > 0)


def information(model: Model, a: str, b: str, given: str = "") -> float:
    """I(a; b | given) in bits."""
    joint = entropy(model, f"{a} {b} {given}") + entropy(model, given)
    return entropy(model, f"{a} {given}") + entropy(model, f"{b} {given}") - joint


def lemma(model: Model) -> tuple[float, float]:
    """Both sides of the Lemma: I(sub; n) and I(sub; G) - I(sub; Y)."""
    bound = information(model, "sub", "G") - information(model, "sub", "Y")
    return information(model, "sub", "n"), bound


def theorem(model: Model, perturbed: str = "N") -> tuple[float, float, float]:
    """The three sides of the Theorem: I(sub; n), I(N; n) and I(N; G) - I(N; Y)."""
    bound = information(model, perturbed, "G") - information(model, perturbed, "Y")
    return information(model, "sub", "n"), information(model, perturbed, "n"), bound


# ---- models ------------------------------------------------------------------------------------


def chance(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Random distributions over the last axis; small concentrations make many almost certain."""
    return rng.dirichlet(np.full(shape[-1], rng.choice([0.1, 1.0])), size=shape[:-1])


def chain(rng: np.random.Generator, *, independent: bool = True) -> np.ndarray:
    """p(y, n, g, s) of a random chain (Y, n) -> G -> sub, with n independent of Y or not."""
    y, n, g, s = rng.integers(2, 5, size=4)
    cause = np.outer(chance(rng, y), chance(rng, n))
    if not independent:
        cause = chance(rng, y * n).reshape(y, n)
    return np.einsum("yn,yng,gs->yngs", cause, chance(rng, y, n, g), chance(rng, g, s))


def outcomes(table: np.ndarray) -> Model:
    """The model of a table p(y, n, g, s)."""
    cells = ((float(table[index]), index) for index in np.ndindex(table.shape))
    return [(p, dict(zip(("Y", "n", "G", "sub"), index, strict=True))) for p, index in cells]


def noise_injection(
    graphs: dict[Graph, float],
    label: Callable[[Graph], Value],
    irrelevant: Callable[[Graph], Value],
    keep_prob: Callable[[Graph], tuple[float, ...]],
    noise: dict[int, float],
) -> Model:
    """Sec. 4.1 on a finite set of graphs: gate each node, put noise where the gate is shut.

    ``N`` is the perturbed graph, ``gates`` what was kept, ``sub`` the kept nodes with their
    features (None marks a dropped node), ``sum`` the sum readout of ``N``.
    """

    def gated(graph: Graph) -> Iterator[tuple[float, tuple[int, ...], Graph]]:
        """Every choice of gates and noise for one graph, with its probability."""
        p = keep_prob(graph)
        for gates in itertools.product((0, 1), repeat=len(graph)):
            chosen = math.prod(q if gate else 1 - q for q, gate in zip(p, gates, strict=True))
            for draw in itertools.product(noise, repeat=len(graph)):
                mixed = zip(gates, graph, draw, strict=True)
                z = tuple(h if gate else epsilon for gate, h, epsilon in mixed)
                yield chosen * math.prod(noise[value] for value in draw), gates, z

    return [
        (
            graphs[graph] * probability,
            {
                "G": graph,
                "Y": label(graph),
                "n": irrelevant(graph),
                "N": z,
                "gates": gates,
                "sub": tuple(h if gate else None for gate, h in zip(gates, z, strict=True)),
                "sum": sum(z),
            },
        )
        for graph in graphs
        for probability, gates, z in gated(graph)
        if probability > 0
    ]


TWO_BITS: dict[Graph, float] = dict.fromkeys(itertools.product((0, 1), repeat=2), 0.25)
LOOKALIKE = {0: 0.5, 1: 0.5}  # noise that could be a feature
FRESH = {2: 0.5, 3: 0.5}  # noise that no feature equals, so that the gates can be read off


def two_bits(
    keep_prob: Callable[[Graph], tuple[float, ...]],
    noise: dict[int, float],
    label: Callable[[Graph], Value] = lambda graph: graph[0],
) -> Model:
    """Two nodes with a fair bit each; the second is the label-irrelevant part."""
    return noise_injection(TWO_BITS, label, lambda graph: graph[1], keep_prob, noise)


def thresholded(model: Model) -> Model:
    """The same with the subgraph of the published rule, p >= 0.5, which keeps both nodes here."""
    return [(p, values | {"sub": values["G"]}) for p, values in model]


def half(graph: Graph) -> tuple[float, ...]:
    return (1.0, 0.5)


THEOREM_CASES = {
    "fresh noise": theorem(two_bits(half, FRESH)),
    "lookalike noise": theorem(two_bits(half, LOOKALIKE)),
    "the choice is the message": theorem(two_bits(lambda g: (float(g[1]), 0.0), LOOKALIKE)),
    "threshold instead of gates": theorem(thresholded(two_bits(half, FRESH))),
    "sum readout": theorem(two_bits(lambda g: (1.0, 1.0), FRESH, lambda g: g[0] ^ g[1]), "sum"),
}

LEMMA_CASES = {
    "the label depends on the irrelevant part": lemma(
        [(0.5, {"Y": bit, "n": bit, "G": bit, "sub": bit}) for bit in (0, 1)]
    ),
    "the irrelevant part reaches the subgraph past the graph": lemma(
        [(0.5, {"Y": 0, "n": bit, "G": 0, "sub": bit}) for bit in (0, 1)]
    ),
    "the label reaches the subgraph past the graph": lemma(
        [
            (0.25, {"Y": y, "n": bit, "G": bit, "sub": (bit, y)})
            for y, bit in itertools.product((0, 1), repeat=2)
        ]
    ),
}


# ---- the Lemma ---------------------------------------------------------------------------------


@given(seeds)
def test_the_lemma_holds_on_random_chains(seed: int) -> None:
    left, right = lemma(outcomes(chain(np.random.default_rng(seed))))
    assert left <= right + ROUNDING


@given(seeds)
def test_the_slack_of_the_lemma_is_the_sum_of_three_informations(seed: int) -> None:
    model = outcomes(chain(np.random.default_rng(seed), independent=False))
    left, right = lemma(model)
    slack = information(model, "sub", "G", given="Y n") + information(model, "n", "Y", given="sub")
    assert right - left == pytest.approx(slack - information(model, "n", "Y"), abs=ROUNDING)


@given(seeds)
def test_a_dependent_label_costs_the_lemma_at_most_their_information(seed: int) -> None:
    model = outcomes(chain(np.random.default_rng(seed), independent=False))
    left, right = lemma(model)
    assert left <= right + information(model, "n", "Y") + ROUNDING


@given(seeds)
def test_the_lemma_needs_the_two_markov_chains_singly_not_jointly(seed: int) -> None:
    """Couples Y and n through the subgraph, behind the graph's back, and leaves each pair alone."""
    rng = np.random.default_rng(seed)
    table = chain(rng)
    before = lemma(outcomes(table))
    coupling = rng.normal(size=table.shape[2:])
    coupling -= coupling.mean()
    swap = np.zeros(table.shape)
    swap[0, 0] = swap[1, 1] = coupling
    swap[0, 1] = swap[1, 0] = -coupling
    room = table[swap < 0] / -swap[swap < 0]
    model = outcomes(table + room.min() * swap)
    assert lemma(model) == pytest.approx(before, abs=1e-7)
    assert information(model, "n", "Y") == pytest.approx(0, abs=1e-7)


def test_coupling_through_the_subgraph_does_break_the_joint_chain() -> None:
    """The test above would say nothing if its models were chains after all."""
    table = np.full((2, 2, 2, 2), 1 / 16)
    sign = np.array([[1.0, -1.0], [-1.0, 1.0]])
    model = outcomes(table + np.einsum("yn,s->yns", sign, [1, -1])[:, :, None] / 16)
    assert information(model, "sub", "n", given="G") == pytest.approx(0)
    assert information(model, "sub", "Y", given="G") == pytest.approx(0)
    assert information(model, "sub", "Y n", given="G") == pytest.approx(1)


@pytest.mark.parametrize("case", LEMMA_CASES)
def test_the_lemma_fails_without_any_one_of_its_conditions(case: str) -> None:
    left, right = LEMMA_CASES[case]
    assert left > right + 0.5


# ---- the Theorem -------------------------------------------------------------------------------


def random_injection(rng: np.random.Generator, noise_values: tuple[int, ...]) -> Model:
    """Noise injection with random features, gates, noise, and a label that half the graph sets.

    The two halves are independent, the label is read off the first node and the irrelevant part off
    the others; the gates see the whole graph.
    """
    second = list(itertools.product((0, 1), repeat=2))
    first, rest = chance(rng, 3), chance(rng, 4)
    graphs = {
        (a, *b): float(p * q)
        for (a, p), (b, q) in itertools.product(enumerate(first), zip(second, rest, strict=True))
    }
    label = rng.integers(0, 2, size=3)
    part = {b: int(value) for b, value in zip(second, rng.integers(0, 3, size=4), strict=True)}
    gates = {graph: tuple(rng.random(3).round(1)) for graph in graphs}
    noise = dict(zip(noise_values, chance(rng, len(noise_values)), strict=True))
    return noise_injection(
        graphs, lambda g: int(label[g[0]]), lambda g: part[g[1:]], gates.__getitem__, noise
    )


@given(seeds)
def test_the_theorem_holds_when_the_gates_can_be_read_off_the_perturbed_graph(seed: int) -> None:
    model = random_injection(np.random.default_rng(seed), noise_values=(7, 8))
    assert information(model, "gates", "gates", given="N") == pytest.approx(0, abs=ROUNDING)
    subgraph, perturbed, bound = theorem(model)
    assert subgraph <= perturbed + ROUNDING
    assert perturbed <= bound + ROUNDING


@given(seeds)
def test_hidden_gates_add_to_the_first_step_at_most_what_they_say_themselves(seed: int) -> None:
    model = random_injection(np.random.default_rng(seed), noise_values=(0, 1))
    subgraph, perturbed, bound = theorem(model)
    assert subgraph <= perturbed + information(model, "gates", "n", given="N") + ROUNDING
    assert perturbed <= bound + ROUNDING


def test_the_subgraph_of_the_theorem_is_random_given_its_graph() -> None:
    assert information(two_bits(half, FRESH), "sub", "sub", given="G") == pytest.approx(1)


def test_the_theorem_is_tight_when_the_noise_is_fresh() -> None:
    assert THEOREM_CASES["fresh noise"] == pytest.approx((0.5, 0.5, 0.5))


@pytest.mark.parametrize("case", [case for case in THEOREM_CASES if case != "fresh noise"])
def test_the_first_step_fails_when_the_subgraph_cannot_be_read_off(case: str) -> None:
    subgraph, perturbed, bound = THEOREM_CASES[case]
    assert perturbed <= bound + ROUNDING
    assert subgraph > bound + 0.25


# ---- the bound ---------------------------------------------------------------------------------


def gaussian(z: np.ndarray, mean: float, std: float) -> np.ndarray:
    return np.exp(-0.5 * ((z - mean) / std) ** 2) / (std * math.sqrt(2 * math.pi))


def quadrature(integrand: np.ndarray, z: np.ndarray) -> float:
    return float(integrand.sum() * (z[1] - z[0]))


@given(seeds)
def test_the_bound_is_the_divergence_from_the_all_noise_graph_minus_a_constant(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 9))
    h, gate = rng.normal(0.3, 1.5, size=m), rng.uniform(0.05, 0.95, size=m)
    mean, std = float(h.mean()), float(h.std())
    a, b = float(((1 - gate) ** 2).sum()), float((gate * (h - mean)).sum() / std)
    bound = -0.5 * math.log(a) + a / (2 * m) + b**2 / (2 * m)

    center = float((gate * h + (1 - gate) * mean).sum())
    width = math.sqrt(a) * std
    z = np.linspace(center - 12 * width, center + 12 * width, 4001)
    p = gaussian(z, center, width)
    log_q = -0.5 * (z - m * mean) ** 2 / (m * std**2) - 0.5 * math.log(2 * math.pi * m * std**2)
    divergence = quadrature(p * (np.log(np.maximum(p, 1e-300)) - log_q), z)
    assert bound == pytest.approx(divergence - (math.log(m) - 1) / 2, abs=1e-6)


@given(seeds)
def test_a_fixed_marginal_bounds_the_information_gate_by_gate(seed: int) -> None:
    """I(z; G) <= E KL(p(z | G, gates) || q) for every q, because q does not know G."""
    rng = np.random.default_rng(seed)
    graph, gates, z, q = chance(rng, 3), chance(rng, 3, 4), chance(rng, 3, 4, 5), chance(rng, 5)
    table = np.einsum("g,gl,glz->glz", graph, gates, z)
    model = [(float(table[i]), {"G": i[0], "gates": i[1], "z": i[2]}) for i in np.ndindex(3, 4, 5)]
    divergence = float((table * np.log2(np.maximum(z, 1e-300) / np.maximum(q, 1e-300))).sum())
    assert information(model, "z", "G") <= information(model, "z", "G gates") + ROUNDING
    assert information(model, "z", "G gates") <= divergence + ROUNDING


@pytest.mark.parametrize("gate", [0.9, 0.99, 0.999])
def test_near_the_pole_the_floored_loss_falls_short_of_the_divergence(gate: float) -> None:
    m, floor = 5, 0.1
    h = torch.randn(m, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    keep = torch.full((m,), gate, dtype=torch.float64)
    mean, std = h.mean(0), h.std(0, correction=0)
    graph = Segments.from_batch(torch.zeros(m, dtype=torch.int64))
    exact, floored = (
        float(compression(node_sums(h, keep, graph), mean, std, least)) for least in (0, floor)
    )
    a = m * (1 - gate) ** 2
    assert exact - floored == pytest.approx(0.5 * math.log(floor / a))
    assert floored < exact


def all_noise(offset: float, m: int = 20) -> float:
    """Bits that an all-noise graph tells about which of two equally likely priors it came from.

    The graphs have m nodes, spread 1 and means +offset or -offset; the readout is the sum.
    """
    center, width = m * offset, math.sqrt(m)
    z = np.linspace(-center - 12 * width, center + 12 * width, 20001)
    low, high = gaussian(z, -center, width), gaussian(z, center, width)
    mixture = (low + high) / 2
    terms = (p * np.log2(np.maximum(p, 1e-300) / mixture) / 2 for p in (low, high))
    return quadrature(sum(terms), z)


LEAK_CASES = {
    "the graph's own, means ±0.25": (all_noise(0.25), 0.0),
    "the graph's own, means ±1": (all_noise(1.0), 0.0),
    "the population's": (all_noise(0.0), 0.0),
}


def test_a_prior_of_the_graphs_own_leaks_and_a_population_prior_does_not() -> None:
    assert LEAK_CASES["the graph's own, means ±0.25"][0] > 0.5
    assert LEAK_CASES["the population's"][0] == pytest.approx(0, abs=ROUNDING)


# ---- a price for each node, and a gate that writes the label ------------------------------------


def gated_label(gate: Callable[[int], int], *, together: bool) -> tuple[float, float, float]:
    """Three nodes of which the first holds the label; ``gate`` names the one that is kept.

    Bits about the label in the kept features, in what the predictor makes of them, and the bits
    that its prediction misses. Trained together it knows the posterior given features and gate;
    trained under random masks, that given the features of this mask alone.
    """
    model: Model = []
    for y in (0, 1):
        graph = (y, 2, 2)
        kept = gate(y)
        model.append((0.5, {"Y": y, "S": kept, "x": graph[kept]}))
    seen = "S x" if together else "x"  # a feature tells here which of the two kinds of node it is
    known = information(model, "Y", seen)
    return information(model, "Y", "x"), known, entropy(model, "Y") - known


def honest(y: int) -> int:
    return 0


def coding(y: int) -> int:
    return 1 + y


CODE_CASES = {
    "honest gate, trained together": gated_label(honest, together=True),
    "coding gate, trained together": gated_label(coding, together=True),
    "honest gate, predictor of random masks": gated_label(honest, together=False),
    "coding gate, predictor of random masks": gated_label(coding, together=False),
}


@given(seeds)
def test_masks_that_know_nothing_say_nothing(seed: int) -> None:
    """P(Y | x_M, M) = P(Y | x_M as if M were fixed), when M is independent of graph and label."""
    rng = np.random.default_rng(seed)
    graphs = chance(rng, 2 * 2 * 2).reshape(2, 2, 2)  # p(y, x1, x2)
    masks = chance(rng, 4)
    model: Model = []
    for (y, *x), (number, mask) in itertools.product(
        np.ndindex(2, 2, 2), enumerate(itertools.product((0, 1), repeat=2))
    ):
        shown = tuple(value if keep else None for value, keep in zip(x, mask, strict=True))
        probability = float(graphs[y, x[0], x[1]] * masks[number])
        model.append((probability, {"Y": y, "M": mask, "shown": shown}))
    for mask in itertools.product((0, 1), repeat=2):
        own = [(p, values) for p, values in model if values["M"] == mask]
        total = sum(p for p, _ in own)
        if total < ROUNDING:
            continue
        fixed = graphs.sum(axis=tuple(1 + i for i in range(2) if not mask[i]), keepdims=True)
        for values in {v["shown"] for _, v in own}:
            at = tuple(0 if value is None else value for value in values)
            expected = fixed[:, at[0], at[1]]
            found = [sum(p for p, v in own if v["shown"] == values and v["Y"] == y) for y in (0, 1)]
            if expected.sum() > ROUNDING:
                assert found[1] * expected.sum() == pytest.approx(expected[1] * sum(found))


def test_a_coding_gate_is_caught_by_a_predictor_of_random_masks() -> None:
    assert CODE_CASES["coding gate, trained together"][2] == pytest.approx(0)
    assert CODE_CASES["coding gate, predictor of random masks"][2] == pytest.approx(1)


# ---- the document ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "numbers"),
    (LEMMA_CASES | THEOREM_CASES | LEAK_CASES | CODE_CASES).items(),
    ids=[*LEMMA_CASES, *THEOREM_CASES, "own 0.25", "own 1", "population", *CODE_CASES],
)
def test_the_tables_of_the_document_are_true(name: str, numbers: tuple[float, ...]) -> None:
    rows = [line.strip("| ").split(" | ") for line in DOCUMENT.read_text("utf-8").splitlines()]
    (row,) = [cells for cells in rows if cells[0] == name]
    assert tuple(map(float, row[1:])) == pytest.approx(numbers, abs=5e-5)
