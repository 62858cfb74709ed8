"""What a cell of a table says: a number, also with a decimal comma, or a class by its name."""

import math
import re
from collections.abc import Iterable, Sequence

from vgib.errors import InputError, shortened

DECIMAL_COMMA = re.compile(r"[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+),\d+(?:[eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?P<rest>\.\d*)?")

MOST_CLASSES = 50
"""Different words of one column; more of them are no classes."""

MISSING = ("", "na", "n/a", "nan", "nd", "n.d.", "null", "none")
"""What is written where a number is not known."""

OPPOSITES = {
    "no": "yes",
    "n": "y",
    "false": "true",
    "f": "t",
    "negative": "positive",
    "neg": "pos",
    "-": "+",
    "fail": "pass",
    "failed": "passed",
    "low": "high",
    "off": "on",
    "absent": "present",
}
"""Words for what is not, each with its word for what is."""

_NOT = re.compile("(?:not|non|no|in|un)[ _-]?")


def dotted(cell: str) -> str:
    """A number with a decimal comma as one with a point; every other cell as it is.

    >>> dotted("0,25"), dotted("1.234,5"), dotted("1,2-diol")
    ('0.25', '1234.5', '1,2-diol')
    """
    if "," not in cell or not DECIMAL_COMMA.fullmatch(cell):
        return cell
    return cell.replace(".", "").replace(",", ".")


def number(cell: str, where: str = "") -> float:
    """The number that a cell holds; ``where`` that is, is told when there is none.

    >>> number("2.5"), number("2,5"), number("1,234.5")
    (2.5, 2.5, 1234.5)

    Raises:
        InputError: it holds none, or one that can be read in two ways.
    """
    try:
        return float(cell)
    except ValueError:
        pass
    if thousands := _THOUSANDS.fullmatch(cell):
        if thousands["rest"] is None and cell.count(",") == 1:
            either = cell.replace(",", "."), cell.replace(",", "")
            raise InputError(
                f"{cell!r}{where} may mean {' or '.join(either)}; write it without the comma, or "
                "separate the columns by semicolons"
            )
        return float(cell.replace(",", ""))
    try:
        return float(dotted(cell))
    except ValueError:
        raise InputError(f"{shortened(cell)!r}{where} is not a number") from None


def is_number(cell: str) -> bool:
    """Whether a cell holds a number, however it is written."""
    try:
        return not math.isnan(number(cell))
    except InputError:
        return bool(_THOUSANDS.fullmatch(cell))


def holds_words(cells: Iterable[str]) -> bool:
    """Whether the filled cells of a column are names of classes: words that come again."""
    filled = [cell for cell in cells if cell.lower() not in MISSING]
    different = len({cell.lower() for cell in filled})
    recur = different <= max(2, len(filled) // 2)
    return bool(filled) and recur and 2 * sum(map(is_number, filled)) < len(filled)


def in_order(names: Sequence[str]) -> list[str]:
    """The names of classes, of two opposite ones first the one for what is not.

    >>> in_order(["Active", "Inactive"]), in_order(["yes", "no"]), in_order(["b", "c", "a"])
    (['Inactive', 'Active'], ['no', 'yes'], ['a', 'b', 'c'])
    """
    ranked = sorted(names, key=str.lower)
    if len(names) == 2 and _is_not(ranked[1].lower(), ranked[0].lower()):
        return ranked[::-1]
    return ranked


def _is_not(word: str, other: str) -> bool:
    """Whether the word says that what the other says is not so."""
    denied = _NOT.match(word)
    return OPPOSITES.get(word) == other or (denied is not None and word[denied.end() :] == other)
