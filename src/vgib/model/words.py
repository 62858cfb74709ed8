"""What a model predicts, in the words of its user: named classes, values with their unit."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Wording:
    """What classes and values are called.

    >>> words = Wording(unit="log10 mL/min/g")
    >>> words.value(1.5234)
    '1.523 log10 mL/min/g'
    >>> Wording.of("class 1: mutagenic", [0, 1]).class_of(0, 0.944)
    'not mutagenic 94 %'
    >>> Wording(targets=("solubility", "HLM")).value([1.5, 0.2])
    'solubility 1.5, HLM 0.2'

    Attributes:
        unit: Of the values; empty where they have none.
        names: The name of each class that has one.
        targets: The name of each value, where there are several.
    """

    unit: str = ""
    names: Mapping[int, str] = field(default_factory=dict)
    targets: Sequence[str] = ()

    @classmethod
    def of(
        cls,
        unit: str,
        classes: Sequence[int] | None,
        names: Sequence[str] | None = None,
        targets: Sequence[str] | None = None,
    ) -> "Wording":
        """From a card: its unit, which may say ``class 1: active``, and names of what it tells."""
        if classes is None:
            return cls("" if unit.startswith("none") else unit, targets=targets or ())
        if names is not None:
            return cls("", dict(zip(classes, names, strict=True)))
        number, _, name = unit.removeprefix("class ").partition(": ")
        if not (name and number.isdigit()):
            return cls()
        told = {int(number): name}
        if len(classes) == 2:
            told = {each: name if each == int(number) else f"not {name}" for each in classes}
        return cls("", told)

    def name(self, number: int) -> str:
        """What a class is called."""
        return self.names.get(number, f"class {number}")

    def class_of(self, number: int, probability: float) -> str:
        """A class with its probability; digits where they matter: 94 %, 98.7 %, 99.95 %."""
        percent = 100 * probability
        digits = 0 if percent < 95 else 1 if percent < 99.5 else 2
        return f"{self.name(number)} {percent:.{digits}f} %"

    def effect_unit(self, classes: Sequence[int] | None) -> str:
        """What an effect of 1 means, such as ``"log-odds of mutagenic"``."""
        if classes is None:
            return " of ".join(filter(None, (self.unit, *self.targets[:1])))
        named = self.name(classes[1]) if len(classes) == 2 else "the predicted class"
        return f"log-odds of {named}"

    def value(self, value: float | list[float]) -> str:
        """A value, or several, with their unit."""
        each = value if isinstance(value, list) else [value]
        if len(each) == len(self.targets):
            told = zip(self.targets, each, strict=True)
            return ", ".join(f"{name} {one:.4g} {self.unit}".rstrip() for name, one in told)
        return f"{' '.join(f'{one:.4g}' for one in each)} {self.unit}".rstrip()


def unit_of(column: str) -> str:
    """The unit that stands at the end of a column's name, in brackets; empty where there is none.

    >>> unit_of("IC50 [nM]"), unit_of("LOG HLM_CLint (mL/min/kg)"), unit_of("pIC50")
    ('nM', 'log mL/min/kg', '')
    """
    found = re.fullmatch(r"(.*\S)\s*[\[(]([^\[\]()]{1,40})[\])]", column.strip())
    if found is None:
        return ""
    is_log = re.match(r"log(?:10)?(?![a-z])", found[1], re.IGNORECASE) is not None
    return f"log {found[2]}" if is_log else found[2]


PLAIN = Wording()
"""Classes by their numbers, values without a unit."""
