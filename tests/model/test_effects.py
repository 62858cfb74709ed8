"""Signed effects: the axioms of Shapley and Myerson, and slow references."""

from collections.abc import Callable, Sequence
from itertools import combinations, permutations
from math import factorial

import numpy as np
import pytest

from vgib.errors import InputError, UnknownNameError
from vgib.model.effects import (
    KINDS,
    Effects,
    Game,
    Kind,
    Masks,
    components,
    effects,
    members,
    spread_over_nodes,
)

Worth = Callable[[frozenset[int]], float]


def on_sets(worth: Worth) -> Callable[[list[Masks]], list[list[float]]]:
    """A value function from one on sets of open nodes."""

    def value(asked: list[Masks]) -> list[list[float]]:
        return [[worth(frozenset(np.flatnonzero(row).tolist())) for row in m] for m in asked]

    return value


def path(count: int) -> Game:
    return Game.of(np.arange(count), [(i, i + 1) for i in range(count - 1)])


def complete(count: int) -> Game:
    return Game.of(np.arange(count), combinations(range(count), 2))


def random_game(count: int, seed: int) -> tuple[Game, Worth]:
    """A connected graph, and a worth for every set."""
    random = np.random.default_rng(seed)
    edges = [(int(random.integers(0, node)), node) for node in range(1, count)]
    edges += [(a, b) for a, b in combinations(range(count), 2) if random.random() < 0.2]
    table = random.normal(size=1 << count)
    return (
        Game.of(np.arange(count), edges),
        lambda nodes: float(table[sum(1 << node for node in nodes)]),
    )


def slow_shapley(worth: Worth, count: int) -> list[float]:
    """By the definition: the mean over all orders."""
    total = np.zeros(count)
    for order in permutations(range(count)):
        for place, player in enumerate(order):
            before = frozenset(order[:place])
            total[player] += worth(before | {player}) - worth(before)
    return list(total / factorial(count))


def slow_myerson(worth: Worth, game: Game) -> list[float]:
    def restricted(nodes: frozenset[int]) -> float:
        parts = components(game.links, sum(1 << node for node in nodes))
        return sum(worth(frozenset(members(part))) - worth(frozenset()) for part in parts)

    return slow_shapley(restricted, len(game))


# ---- against slow references ---------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", [0, 1])
def test_exact_effects_equal_the_mean_over_all_orders(count: int, seed: int) -> None:
    game, worth = random_game(count, seed)
    (shapley,) = effects(on_sets(worth), [game], kind="shapley")
    (myerson,) = effects(on_sets(worth), [game], kind="myerson")
    assert shapley.values == pytest.approx(slow_shapley(worth, count))
    assert myerson.values == pytest.approx(slow_myerson(worth, game))
    assert shapley.is_exact and myerson.is_exact and not shapley.error.any()


def test_where_all_parts_touch_myerson_is_shapley() -> None:
    _, worth = random_game(5, 3)
    shapley, myerson = (
        effects(on_sets(worth), [complete(5)], kind=kind)[0] for kind in ("shapley", "myerson")
    )
    assert myerson.values == pytest.approx(shapley.values)


@pytest.mark.parametrize("kind", ["shapley", "myerson"])
def test_sampled_effects_come_near_the_exact_ones(kind: Kind) -> None:
    game, worth = random_game(6, 4)
    (exact,) = effects(on_sets(worth), [game], kind=kind)
    (sampled,) = effects(on_sets(worth), [game], kind=kind, limit=0, samples=600)
    assert not sampled.is_exact
    assert (np.abs(sampled.values - exact.values) < 4 * sampled.error).all()
    assert (sampled.error > 0).all() and sampled.error.max() < 0.1


def test_closing_is_the_drop_without_the_part() -> None:
    game, worth = random_game(4, 5)
    (found,) = effects(on_sets(worth), [game], kind="closing")
    whole = frozenset(range(4))
    assert found.values == pytest.approx([worth(whole) - worth(whole - {i}) for i in range(4)])


# ---- axioms --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["shapley", "myerson"])
@pytest.mark.parametrize("limit", [0, 1024])
@pytest.mark.parametrize("count", [1, 4, 7])
def test_effects_add_up_to_what_the_whole_adds_to_nothing(
    kind: Kind, limit: int, count: int
) -> None:
    game, worth = random_game(count, count)
    (found,) = effects(on_sets(worth), [game], kind=kind, limit=limit, samples=3)
    assert found.values.sum() == pytest.approx(found.whole - found.nothing)
    assert found.whole == worth(frozenset(range(count)))
    assert found.nothing == worth(frozenset())


@pytest.mark.parametrize("kind", ["shapley", "myerson"])
def test_parts_that_play_the_same_role_get_the_same(kind: Kind) -> None:
    (found,) = effects(on_sets(lambda nodes: len(nodes) ** 2), [path(5)], kind=kind)
    assert found.values == pytest.approx(found.values[::-1])


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_that_changes_nothing_has_no_effect(kind: Kind) -> None:
    def worth(nodes: frozenset[int]) -> float:
        return float(len(nodes - {2}) ** 2)

    (found,) = effects(on_sets(worth), [complete(4)], kind=kind)
    assert found.values[2] == pytest.approx(0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("limit", [0, 1024])
def test_what_adds_up_is_given_back_with_its_sign(kind: Kind, limit: int) -> None:
    own = np.array([2.0, -1.0, 0.0, 0.5])
    (found,) = effects(
        on_sets(lambda nodes: 7 + sum(own[list(nodes)])), [path(4)], kind=kind, limit=limit
    )
    assert found.values == pytest.approx(own)


def test_parts_that_stand_in_for_each_other_share_where_closing_sees_nothing() -> None:
    value = on_sets(lambda nodes: float(bool(nodes)))
    assert effects(value, [complete(2)], kind="closing")[0].values.tolist() == [0, 0]
    assert effects(value, [complete(2)], kind="shapley")[0].values.tolist() == [0.5, 0.5]


def test_parts_that_do_not_touch_cannot_work_together() -> None:
    game = Game.of([0, 1], [])
    value = on_sets(lambda nodes: float(len(nodes) == 2))
    assert effects(value, [game], kind="myerson")[0].values.tolist() == [0, 0]
    assert effects(value, [game], kind="shapley")[0].values.tolist() == [0.5, 0.5]


def test_every_prediction_of_myerson_is_about_one_connected_subgraph() -> None:
    game, worth = random_game(9, 6)
    seen: list[int] = []

    def value(asked: list[Masks]) -> list[list[float]]:
        seen.extend(sum(1 << int(node) for node in np.flatnonzero(row)) for row in asked[0])
        return on_sets(worth)(asked)

    for limit in (0, 1024):
        effects(value, [game], kind="myerson", limit=limit, samples=5)
    assert all(len(list(components(game.links, coalition))) <= 1 for coalition in seen)


# ---- many graphs, seeds, sizes -------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("limit", [0, 1024])
def test_many_graphs_in_one_call_equal_each_alone(kind: Kind, limit: int) -> None:
    games = [path(3), complete(4), path(1)]
    calls = 0

    def value(asked: Sequence[Masks]) -> list[np.ndarray]:
        nonlocal calls
        calls += 1
        return [(m * np.arange(1, m.shape[1] + 1)).sum(1) ** 1.5 for m in asked]

    together = effects(value, games, kind=kind, limit=limit)
    assert calls == 1
    for game, found in zip(games, together, strict=True):
        (alone,) = effects(value, [game], kind=kind, limit=limit)
        assert found.values.tolist() == alone.values.tolist()


def test_the_seed_decides_the_orders() -> None:
    game, worth = random_game(7, 8)
    first, same, other = (
        effects(on_sets(worth), [game], limit=0, samples=2, seed=seed)[0] for seed in (0, 0, 1)
    )
    assert first.values.tolist() == same.values.tolist() != other.values.tolist()


def test_a_chain_of_many_parts_is_exact_with_few_predictions() -> None:
    asked_for: list[int] = []

    def value(asked: list[Masks]) -> list[np.ndarray]:
        asked_for.append(len(asked[0]))
        return [m.sum(1) ** 2.0 for m in asked]

    (found,) = effects(value, [path(30)])
    assert found.is_exact and asked_for == [1 + 30 * 31 // 2]


def test_parts_of_several_nodes_are_opened_together() -> None:
    game = Game.of([0, 0, 1, 1, 1], [(0, 1), (1, 2), (2, 3), (3, 4)])
    (found,) = effects(on_sets(lambda nodes: float(len(nodes))), [game])
    assert found.values.tolist() == [2, 3]
    assert spread_over_nodes(game, found.values).tolist() == [1, 1, 1, 1, 1]


def test_no_graphs_and_a_graph_without_nodes() -> None:
    assert effects(on_sets(lambda nodes: 1.0), []) == []
    (found,) = effects(on_sets(lambda nodes: 1.0), [Game.of([], [])])
    assert found.values.size == 0 and found.whole == found.nothing == 1


# ---- what cannot be predicted --------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["shapley", "myerson"])
@pytest.mark.parametrize("limit", [0, 1024])
def test_comparisons_that_cannot_be_made_are_left_out(kind: Kind, limit: int) -> None:
    own = np.array([2.0, -1.0, 0.0, 0.5])

    def worth(nodes: frozenset[int]) -> float:
        return float("nan") if nodes == {1, 2} else float(sum(own[list(nodes)]))

    (found,) = effects(on_sets(worth), [path(4)], kind=kind, limit=limit)
    assert found.values == pytest.approx(own) and found.left_out == 1


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_need_not_be_predicted(kind: Kind) -> None:
    def worth(nodes: frozenset[int]) -> float:
        return 5.0 + len(nodes) if nodes else float("nan")

    (found,) = effects(on_sets(worth), [path(3)], kind=kind)
    assert found.values == pytest.approx([1, 1, 1])
    assert np.isnan(found.nothing) and found.left_out == 1


def test_a_part_of_which_nothing_is_known_has_no_effect_told() -> None:
    (found,) = effects(on_sets(lambda nodes: float("nan")), [path(2)], limit=0)
    assert np.isnan(found.values).all() and np.isnan(found.error).all()


def test_wrong_shapes_and_names_are_told() -> None:
    with pytest.raises(InputError, match="numbered from 0"):
        Game.of([0, 2], [])
    with pytest.raises(InputError, match=r"values of shape \(1,\) came, for 7 masks"):
        effects(lambda asked: [[1.0]], [path(3)])
    with pytest.raises(InputError, match="values for 0 graphs came, for 1"):
        effects(lambda asked: [], [path(3)])
    with pytest.raises(UnknownNameError, match="did you mean 'myerson'"):
        effects(on_sets(lambda nodes: 0.0), [path(3)], kind="meyerson")  # type: ignore[arg-type]


def test_connected_coalitions_are_all_and_each_once() -> None:
    game, _ = random_game(8, 9)
    found = game.connected(1 << 8)
    slow = {c for c in range(1, 1 << 8) if len(list(components(game.links, c))) == 1}
    assert found is not None and len(found) == len(slow) and set(found) == slow
    assert game.connected(len(slow)) is not None
    assert game.connected(len(slow) - 1) is None


def test_effects_are_shown_with_their_sign() -> None:
    found = Effects(np.array([1.5, -0.25]), 2.0, 0.75, np.zeros(2), True)
    assert repr(found) == "Effects([+1.5, -0.25], whole=2, nothing=0.75)"
