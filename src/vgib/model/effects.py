r"""Signed effects: by how much a prediction changes when parts of a graph are closed.

A game has the parts of one graph as players, and the value of a coalition is what a model predicts
when only its parts are open. Three ways to say what one part adds:

- *closing*: :math:`\phi_i = v(N) - v(N \setminus i)`; simple, but two parts that can stand in for
  each other get nothing;
- *Shapley*: the mean of :math:`v(S \cup i) - v(S)` over all orders in which the parts may be opened
  (Shapley, "A value for n-person games", 1953): interactions are shared fairly;
- *Myerson*: the same, where parts that do not touch cannot work together (Myerson, "Graphs and
  cooperation in games", 1977): the worth of a coalition is the sum over its connected components,

  .. math:: v^g(S) = \sum_{C \in S/g} v(C).

  Only connected coalitions are ever predicted, so it is the cheapest on trees of parts, and each
  prediction is about one connected subgraph.

Shapley effects add up to :math:`v(N) - v(\emptyset)`; so do Myerson effects where the graph is
connected.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import factorial
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix  # type: ignore[import-untyped]  # ships no types

from vgib.errors import InputError, unknown_name
from vgib.select.blocktree import BlockTree, connected_subgraphs

Kind = Literal["closing", "shapley", "myerson"]
KINDS: tuple[Kind, ...] = get_args(Kind)

Masks: TypeAlias = npt.NDArray[np.bool_]
Values: TypeAlias = npt.NDArray[np.float64]
ValueFunction: TypeAlias = Callable[[list[Masks]], Sequence[npt.ArrayLike]]
"""Predictions for many graphs in one call: for each graph ``bool [masks, nodes]``, True where a
node is open, to ``float [masks]``; NaN for what cannot be predicted."""

LIMIT = 1024
"""Coalitions of one graph up to which effects are exact: ten parts, or many more in a chain."""


@dataclass(frozen=True, eq=False)
class Game:
    """The parts of one graph.

    Attributes:
        part: ``int [nodes]``; the part of each node, from 0.
        links: For each part the parts that touch it, as the bits of a number.
    """

    part: npt.NDArray[np.int64]
    links: tuple[int, ...]

    @classmethod
    def of(cls, part: npt.ArrayLike, edges: Iterable[tuple[int, int]]) -> "Game":
        """From the part of each node, and the edges between nodes."""
        parts = np.asarray(part, dtype=np.int64)
        count = int(parts.max()) + 1 if parts.size else 0
        if parts.size and set(parts.tolist()) != set(range(count)):
            raise InputError("the parts must be numbered from 0, each with at least one node")
        links = [0] * count
        for a, b in edges:
            first, second = int(parts[a]), int(parts[b])
            if first != second:
                links[first] |= 1 << second
                links[second] |= 1 << first
        return cls(parts, tuple(links))

    def __len__(self) -> int:
        return len(self.links)

    def masks(self, coalitions: Sequence[int]) -> Masks:
        """Which nodes are open in each coalition, ``bool [coalitions, nodes]``."""
        opened = np.zeros((len(coalitions), len(self)), dtype=np.bool_)
        for row, coalition in enumerate(coalitions):
            opened[row, list(members(coalition))] = True
        chosen: Masks = opened[:, self.part]
        return chosen

    def connected(self, limit: int) -> list[int] | None:
        """Every connected coalition, each once; ``None`` if there are more than ``limit``.

        >>> Game.of([0, 1, 2], [(0, 1), (1, 2)]).connected(limit=10)
        [1, 3, 7, 2, 6, 4]
        """
        neighbors = [list(members(touching)) for touching in self.links]
        parts = BlockTree(self.part, weights=[1] * len(self), neighbors=neighbors)
        found = connected_subgraphs(parts, 1, len(self), cap=limit)
        return found.masks if found.complete else None


@dataclass(frozen=True, eq=False)
class Effects:
    """What each part of one graph adds to the prediction, in the units of the prediction.

    Attributes:
        values: ``float [parts]``; positive where the part raises the prediction.
        whole: The prediction with every part open.
        nothing: The prediction with no part open.
        error: ``float [parts]``; the standard error of sampling, 0 where the effects are exact.
        is_exact: Whether every coalition that counts was predicted.
        left_out: How many coalitions could not be predicted. Comparisons that need them are left
            out of the mean; the effects then need not add up.
    """

    values: Values
    whole: float
    nothing: float
    error: Values
    is_exact: bool
    left_out: int = 0

    def __repr__(self) -> str:
        shown = ", ".join(f"{value:+.3g}" for value in self.values)
        return f"Effects([{shown}], whole={self.whole:.3g}, nothing={self.nothing:.3g})"


def effects(
    value: ValueFunction,
    games: Sequence[Game],
    *,
    kind: Kind = "myerson",
    limit: int = LIMIT,
    samples: int = 32,
    seed: int = 0,
) -> list[Effects]:
    """The effects of the parts of many graphs, with one call of the value function.

    Args:
        kind: ``"closing"``, ``"shapley"`` or ``"myerson"``, see above.
        limit: The largest number of coalitions of one graph that are all predicted.
        samples: Beyond that: orders of the parts that are drawn, each with its reversal.
        seed: Of the orders; the same seed gives the same effects, whatever graphs stand beside.

    Raises:
        InputError: the value function gave another number of values than masks.
        UnknownNameError: there is no such kind.
    """
    if kind not in KINDS:
        raise unknown_name("kind of effects", kind, KINDS)
    plans = [_plan(game, kind, limit, samples, seed) for game in games]
    asked = [game.masks(plan.coalitions) for game, plan in zip(games, plans, strict=True)]
    answers = list(value(asked)) if games else []
    if len(answers) != len(games):
        raise InputError(f"values for {len(answers)} graphs came, for {len(games)} were asked")
    return [
        plan.effects(len(game), _checked(answer, len(plan.coalitions)))
        for game, plan, answer in zip(games, plans, answers, strict=True)
    ]


def _checked(answer: npt.ArrayLike, count: int) -> Values:
    found = np.asarray(answer, dtype=np.float64)
    if found.shape != (count,):
        raise InputError(f"values of shape {found.shape} came, for {count} masks were asked")
    return found


def members(coalition: int) -> Iterator[int]:
    """The parts of a coalition, ascending."""
    while coalition:
        lowest = coalition & -coalition
        yield lowest.bit_length() - 1
        coalition ^= lowest


# ---- which coalitions are compared ---------------------------------------------------------------


@dataclass
class _Comparisons:
    """Comparisons: what one player adds when it joins, each with its weight.

    A comparison is the worth of one coalition minus the worths of others. The first two
    coalitions are nothing and everything.
    """

    everything: int
    is_exact: bool = True
    draws: int = 1
    places: dict[int, int] = field(init=False)
    player: list[int] = field(default_factory=list)
    weight: list[float] = field(default_factory=list)
    draw: list[int] = field(default_factory=list)
    cells: list[tuple[int, int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.places = {0: 0}
        self.places.setdefault(self.everything, 1)

    @property
    def coalitions(self) -> list[int]:
        return list(self.places)

    def add(
        self, player: int, plus: Iterable[int], minus: Iterable[int], weight: float, draw: int = 0
    ) -> None:
        row = len(self.player)
        for sign, coalitions in ((1, plus), (-1, minus)):
            for coalition in coalitions:
                place = self.places.setdefault(coalition, len(self.places))
                self.cells.append((row, place, sign))
        self.player.append(player)
        self.weight.append(weight)
        self.draw.append(draw)

    def effects(self, players: int, values: Values) -> Effects:
        nothing, whole = float(values[0]), float(values[self.places[self.everything]])
        missing = np.isnan(values)
        row, place, sign = np.array(self.cells, dtype=np.int64).reshape(-1, 3).T
        shape = (len(self.player), len(values))
        matrix = csr_matrix((sign.astype(np.float64), (row, place)), shape=shape)
        # What a coalition is worth is counted from nothing, which most comparisons cancel.
        needs_nothing = np.asarray(matrix.sum(axis=1)).ravel() != 0
        valid = (abs(matrix) @ missing == 0) & ~(needs_nothing & missing[0])
        gain = matrix @ np.where(missing, 0.0, values - (0.0 if missing[0] else nothing))
        weight = np.array(self.weight) * valid
        player, draw = (np.array(each, dtype=np.int64) for each in (self.player, self.draw))

        def mean(place: npt.NDArray[np.int64], size: int) -> Values:
            """The weighted mean at each place; NaN where nothing is known."""
            found: Values = np.bincount(place, weight * gain, minlength=size) / np.bincount(
                place, weight, minlength=size
            )
            return found

        with np.errstate(invalid="ignore", divide="ignore"):
            error = np.zeros(players)
            if not self.is_exact:
                error = _error(mean(player * self.draws + draw, players * self.draws), self.draws)
            return Effects(
                values=mean(player, players),
                whole=whole,
                nothing=nothing,
                error=error,
                is_exact=self.is_exact,
                left_out=int(missing.sum()),
            )


def _error(means: Values, draws: int) -> Values:
    """The standard error over independent draws, each an order and its reversal."""
    each = means.reshape(-1, draws)
    known = (~np.isnan(each)).sum(axis=1)
    center = np.nansum(each, axis=1) / known
    spread = np.nansum((each - center[:, None]) ** 2, axis=1) / (known - 1)
    error: Values = np.sqrt(spread / known)
    return error


def _plan(game: Game, kind: Kind, limit: int, samples: int, seed: int) -> _Comparisons:
    count = len(game)
    if kind == "closing":
        return _closing(count)
    if kind == "shapley":
        return _exact_shapley(count) if 1 << count <= limit else _sampled(game, kind, samples, seed)
    connected = game.connected(limit)
    if connected is None:
        return _sampled(game, kind, samples, seed)
    return _exact_myerson(game, connected)


def _closing(count: int) -> _Comparisons:
    everything = (1 << count) - 1
    plan = _Comparisons(everything)
    for player in range(count):
        plan.add(player, [everything], [everything & ~(1 << player)], 1.0)
    return plan


def _exact_shapley(count: int) -> _Comparisons:
    r"""Each coalition :math:`S` without :math:`i`, with weight :math:`|S|!\,(n-|S|-1)!/n!`."""
    plan = _Comparisons((1 << count) - 1)
    weights = [
        factorial(size) * factorial(count - size - 1) / factorial(count) for size in range(count)
    ]
    for coalition in range(1 << count):
        for player in range(count):
            if not coalition >> player & 1:
                joined = coalition | 1 << player
                plan.add(player, [joined], [coalition], weights[coalition.bit_count()])
    return plan


def _exact_myerson(game: Game, connected: Sequence[int]) -> _Comparisons:
    r"""Each connected coalition as the one that a player completes.

    In a random order, a player's component when it joins is :math:`C` exactly if :math:`C` comes
    before all its :math:`k` neighbors and the player last of :math:`C`: with probability
    :math:`(|C|-1)!\,k!/(|C|+k)!`.
    """
    plan = _Comparisons((1 << len(game)) - 1)
    for coalition in connected:
        size, around = coalition.bit_count(), _around(game.links, coalition).bit_count()
        weight = factorial(size - 1) * factorial(around) / factorial(size + around)
        for player in members(coalition):
            rest = list(components(game.links, coalition & ~(1 << player)))
            plan.add(player, [coalition], rest, weight)
    return plan


def _sampled(game: Game, kind: Kind, samples: int, seed: int) -> _Comparisons:
    """Random orders of the parts and their reversals, each opened part by part."""
    count = len(game)
    plan = _Comparisons((1 << count) - 1, is_exact=False, draws=samples)
    random = np.random.default_rng(seed)
    for draw in range(samples):
        order = random.permutation(count).tolist()
        for players in (order, order[::-1]):
            opened = 0
            for player in players:
                joined = opened | 1 << player
                if kind == "shapley":
                    plan.add(player, [joined], [opened], 1.0, draw)
                else:
                    component = next(
                        part for part in components(game.links, joined) if part >> player & 1
                    )
                    rest = components(game.links, component & ~(1 << player))
                    plan.add(player, [component], rest, 1.0, draw)
                opened = joined
    return plan


# ---- which parts touch ---------------------------------------------------------------------------


def components(links: Sequence[int], coalition: int) -> Iterator[int]:
    """The connected components of a coalition, by their lowest part.

    >>> list(components([0b010, 0b101, 0b010], 0b101))
    [1, 4]
    """
    while coalition:
        found, fresh = 0, coalition & -coalition
        while fresh:
            found |= fresh
            fresh = _around(links, found) & coalition
        yield found
        coalition &= ~found


def _around(links: Sequence[int], coalition: int) -> int:
    """The parts that touch a coalition and are not in it."""
    touched = 0
    for part in members(coalition):
        touched |= links[part]
    return touched & ~coalition


def spread_over_nodes(game: Game, values: Values) -> Values:
    """The effect of each part shared equally by its nodes, ``float [nodes]``; the sum stays."""
    sizes: npt.NDArray[Any] = np.bincount(game.part, minlength=len(game))
    shared: Values = (values / sizes)[game.part]
    return shared
