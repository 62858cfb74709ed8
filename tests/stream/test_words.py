"""What a terminal and a page say alike of a recognized molecule and of its model."""

from typing import Any

import pytest

from vgib.model.card import Card
from vgib.model.shipped import cards
from vgib.stream.words import about, facts, part_facts, quantity

PART: dict[str, Any] = {"atoms": [1, 2], "value": 0.6, "effect": -0.05}
ROW: dict[str, Any] = {"prediction": 0.62, "scores": [0.5] * 8, "subgraphs": [PART]}


def card_with(name: str, **changes: Any) -> Card:
    return cards()[name].model_copy(update=changes)


@pytest.mark.parametrize(
    ("card", "told"),
    [
        (card_with("mutagenicity"), "probability of mutagenic"),
        (card_with("mutagenicity", classes=[0, 1, 2]), "probability of the likeliest class"),
        (card_with("qed"), "predicted value"),
        (card_with("qed", targets=["HLM", "RLM"]), "predicted HLM"),
        (card_with("qed", targets=["toxic", "dear"], task="multilabel"), "probability of toxic"),
    ],
)
def test_the_quantity_is_named(card: Card, told: str) -> None:
    assert quantity(card) == told


def test_a_part_tells_its_size_its_value_and_its_effect() -> None:
    assert part_facts(PART, ROW, cards()["qed"]) == ["2 of 8 atoms", "alone 0.6", "effect -0.05"]
    row = ROW | {"prediction": 1, "probability": 0.9}
    told = part_facts(PART, row, cards()["mutagenicity"])
    assert told[1:] == ["alone mutagenic 60 %", "effect -0.05 log-odds of mutagenic"]
    assert part_facts(PART | {"value": None, "effect": None}, ROW, cards()["qed"]) == told[:1]


def test_facts_stand_beside_a_prediction() -> None:
    near = {"similarity": 1.0, "measured": 0.5, "smiles": None}
    row = ROW | {"interval": [0.1, 0.9], "percentile": 99.7, "nearest": [near]}
    assert list(facts(row | {"alerts": ["nitro", "azide"]}, cards()["hlm"])) == [
        ("nine of ten", "between 0.1 and 0.9 log10 mL/min/g"),
        ("among drugs", "a higher predicted value than 99 % of 217 known drugs"),
        ("the same in training", "similarity 1.00, measured 0.5"),
        ("alerts", "nitro; azide"),
    ]
    assert list(facts(ROW, cards()["hlm"])) == []


def test_the_measured_class_of_the_nearest_molecule_is_named() -> None:
    near = {"similarity": 0.5, "measured": 1.0, "smiles": "CCO"}
    (told,) = facts(ROW | {"nearest": [near]}, card_with("mutagenicity"))
    assert told == ("nearest in training", "similarity 0.50, measured mutagenic CCO")


def test_a_model_without_its_training_molecules_says_so() -> None:
    ((title, told),) = facts(ROW | {"nearest": []}, cards()["drd2"])
    assert title == "training" and "does not tell whether it learned from such" in told


def estimate(value: float, half: float = 0.01) -> dict[str, Any]:
    return {"value": value, "low": value - half, "high": value + half, "n": 100}


@pytest.mark.parametrize(
    ("own", "random", "told"),
    [
        (estimate(0.1), estimate(0.2), "better than random ones"),
        (estimate(0.2), estimate(0.1), "worse than random ones"),
        (estimate(0.1, 0.1), estimate(0.12, 0.1), "no better than random ones"),
        (estimate(0.12, 0.1), estimate(0.1, 0.1), "no better than random ones"),
    ],
)
def test_a_model_tells_whether_its_parts_are_better_than_random_ones(
    own: dict[str, Any], random: dict[str, Any], told: str
) -> None:
    metrics = {
        "r_squared": estimate(0.7),
        "subgraph_change": own,
        "control_random_subgraph_change": random,
    }
    first, second, last = about(card_with("hlm", metrics=metrics, caution="Beware."), "mine")
    assert first.startswith("The model mine was asked.") and " 0.70 " in first
    assert second.endswith(f"its parts are {told}.") and "log10 mL/min/g" in second
    assert last == "Beware."


def test_of_classes_the_better_part_has_the_higher_share() -> None:
    metrics = {
        "subgraph_same_class": estimate(0.9),
        "control_random_subgraph_same_class": estimate(0.7),
    }
    (told,) = about(card_with("mutagenicity", metrics=metrics, caution=""), None)
    assert "90 %" in told and "70 %" in told and "are better than" in told


def test_a_model_without_metrics_tells_nothing() -> None:
    assert about(card_with("hlm", metrics={}, caution=""), None) == []
