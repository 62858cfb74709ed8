"""What is said of a recognized molecule and of its model, alike in a terminal and on a page."""

import math
from collections.abc import Iterator
from typing import Any

from vgib.metrics import in_words
from vgib.model.card import Card


def quantity(card: Card) -> str:
    """The one number of each prediction that effects, percentile and order are about, in words."""
    if card.classes is not None:
        several = len(card.classes) > 2
        named = "the likeliest class" if several else card.words.name(card.classes[1])
        return f"probability of {named}"
    if not card.targets:
        return "predicted value"
    told = "probability of" if card.task == "multilabel" else "predicted"
    return f"{told} {card.targets[0]}"


def part_facts(part: dict[str, Any], row: dict[str, Any], card: Card) -> list[str]:
    """A part's size, what is predicted from it alone, and by how much it raises the prediction."""
    told = [f"{len(part['atoms'])} of {len(row['scores'])} atoms"]
    words = card.words
    if part["value"] is not None:
        is_class = row.get("probability") is not None
        alone = words.class_of(row["prediction"], part["value"]) if is_class else None
        told.append(f"alone {alone or words.value(part['value'])}")
    if part["effect"] is not None:
        told.append(f"effect {part['effect']:+.2g} {words.effect_unit(card.classes)}".rstrip())
    return told


def facts(row: dict[str, Any], card: Card) -> Iterator[tuple[str, str]]:
    """What stands beside a prediction: a title and a sentence each; warnings are not among them."""
    if row.get("interval"):
        low, high = row["interval"]
        yield "nine of ten", f"between {low:.3g} and {high:.3g} {card.words.unit}".rstrip()
    if row.get("percentile") is not None:
        share = _share_below(row["percentile"])
        yield "among drugs", f"a higher {quantity(card)} than {share} of 217 known drugs"
    for near in (row.get("nearest") or [])[:1]:
        seen = "the same in training" if near["similarity"] == 1 else "nearest in training"
        shown = f" {near['smiles']}" if near["smiles"] else ""
        measured = _measured(near["measured"], card)
        yield seen, f"similarity {near['similarity']:.2f}, measured {measured}{shown}"
    if row.get("nearest") == []:
        yield "training", "the model does not tell whether it learned from such molecules"
    if row.get("alerts"):
        yield "alerts", "; ".join(row["alerts"])


def _measured(value: float, card: Card) -> str:
    """A measured value, or the name of a measured class."""
    is_class = card.classes is not None and not card.targets
    return card.words.name(int(value)) if is_class else f"{value:.3g}"


def _share_below(percentile: float) -> str:
    if percentile in (0, 100):
        return "all" if percentile else "none"
    # 99.5 % of the drugs are not all of them.
    return f"{min(max(round(percentile), 1), 99)} %"


def about(card: Card, name: str | None) -> list[str]:
    """What a model is and what it is worth, how good its parts are, and what to be careful of."""
    told = [f"The model {name} was asked." if name else ""]
    quality = card.metrics.get(card.headline)
    if quality:
        told.append(
            f"What the model is worth, on {quality['n']:,} molecules that it was not trained on: "
            f"{in_words(card.headline)} {quality['value']:.2f} (95 % interval "
            f"{quality['low']:.2f} to {quality['high']:.2f})."
        )
    return list(filter(None, [" ".join(filter(None, told)), _of_parts(card), card.caution]))


def _of_parts(card: Card) -> str:
    """How much better its parts are than random ones; empty where the card does not tell."""
    name = "subgraph_change" if card.classes is None else "subgraph_same_class"
    own, random = card.metrics.get(name), card.metrics.get(f"control_random_{name}")
    if own is None or random is None or None in (*own.values(), *random.values()):
        return ""
    if card.classes is None:
        what = "differs from that for the whole molecule by"
        better = random["value"] - own["value"]
        values = f"{own['value']:.2g} {card.words.unit}".rstrip(), f"{random['value']:.2g}"
    else:
        what = "is the class of the whole molecule in"
        better = own["value"] - random["value"]
        values = f"{100 * own['value']:.0f} %", f"{100 * random['value']:.0f} %"
    # As if the two were independent: they vary together, so that what is sure this way is sure.
    unsure = math.hypot(own["high"] - own["low"], random["high"] - random["low"]) / 2
    told = "no better" if abs(better) <= unsure else "better" if better > 0 else "worse"
    chance = " (a difference that may be chance)" if told == "no better" and better > 0 else ""
    return (
        "What the model predicts from the atoms that score at least one half, on their own, "
        f"{what} {values[0]}, and from a random part of the same size {what.split()[-1]} "
        f"{values[1]}{chance}: its parts are {told} than random ones."
    )
