"""The oracles by name."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

from vgib.errors import unknown_name
from vgib.oracles.contract import Oracle
from vgib.oracles.learned import Activity, Learned, ListClearance, MeasuredClearance
from vgib.oracles.qed import Qed

FOLDER = Path(__file__).parent / "weights"
"""Where the files of the learned oracles are."""

LEARNED: dict[str, type[Learned]] = {
    "hlm_list": ListClearance,
    "mlm_list": ListClearance,
    "rlm_list": ListClearance,
    "hlm_measured": MeasuredClearance,
    "mlm_measured": MeasuredClearance,
    "rlm_measured": MeasuredClearance,
    "drd2": Activity,
}
COMPUTED: dict[str, Callable[[], Oracle]] = {"qed": Qed}


def names() -> list[str]:
    """The names of all oracles, sorted."""
    return sorted([*COMPUTED, *LEARNED])


@cache
def get(name: str) -> Oracle:
    """The oracle of a name; the same object, with what it remembers, each time.

    >>> get("qed").card.unit
    'none, in [0, 1]'

    Raises:
        UnknownNameError: no such oracle.
        FileFormatError: its file is missing or damaged.
    """
    if name in COMPUTED:
        return COMPUTED[name]()
    if name not in LEARNED:
        raise unknown_name("oracle", name, names())
    return LEARNED[name].load(FOLDER, name)
