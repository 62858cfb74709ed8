"""A recipe: a TOML file that says which jobs make a table."""

import tomllib
from collections.abc import Iterable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

from pydantic import Field

from vgib.config import Settings
from vgib.errors import FileFormatError, InputError, unknown_name
from vgib.experiments.engine import folders
from vgib.experiments.engine.jobs import Job

Assignments = Mapping[str, Any]
"""Settings by name, as a user gives them."""


class Recipe(Settings):
    """The jobs of a table: every combination of the values on its axes.

    >>> recipe("table4").jobs({"folds": 3, "dataset": ["MUTAG"]})[0].key()
    'MUTAG/sum/gcn/none/0-...'
    """

    name: str = Field(description="The name of its folder, or of its file.")
    summary: str = Field(description="What it makes, in a sentence.")
    job: str = Field(description="The experiment whose jobs these are; a folder's own by itself.")
    control: str | None = Field(None, description="The value that others are compared with.")
    shares: str | None = Field(None, description="The recipe whose jobs and records these are.")
    grid: dict[str, list[Any]] = Field(description="The values on each axis, outermost first.")
    settings: dict[str, Any] = Field(default_factory=dict, description="What all jobs share.")
    values: dict[str, dict[str, dict[str, Any]]] = Field(
        default_factory=dict,
        description="What a value on an axis stands for, by axis and value; `like` names another "
        "value of the axis that it starts from.",
    )
    skip: list[dict[str, list[Any]]] = Field(
        default_factory=list,
        description="Combinations that are left out: of some axes, the values that do not meet.",
    )
    cost: dict[str, dict[str, float]] = Field(
        default_factory=dict,
        description="About how many seconds a job takes, by its first axis and its row.",
    )

    @property
    def folder(self) -> str:
        """The name of the folder of its records."""
        return self.shares or self.name

    @property
    def job_type(self) -> type[Job]:
        """The kind of its jobs."""
        return folders.job_type(self.job)

    @property
    def drawn_by(self) -> str:
        """The experiment whose ``table.py`` draws its records."""
        return self.name if folders.text(self.name, "table.py") is not None else self.job

    def jobs(
        self, overrides: Assignments | None = None, subset: Assignments | None = None
    ) -> list[Job]:
        """The jobs, in order.

        Args:
            overrides: Other values for axes (lists) or for settings.
            subset: Of the recipe's own values on some axes, those to keep.
        """
        grid, given = self._overridden(overrides or {})
        self._narrow(grid, subset or {})
        if "fold" in self.job_type.axes and "fold" not in grid:
            shared = self.settings | given
            folds = shared.get("folds", self.job_type.model_fields["folds"].default)
            grid["fold"] = list(range(folds))
        found = []
        for chosen in product(*grid.values()):
            named = dict(zip(grid, chosen, strict=True))
            if self._is_skipped(named):
                continue
            # What a value on an axis stands for goes before what all share; a user before both.
            found.append(self.job_type.of(**(self.settings | self._resolved(named) | given)))
        return found

    def _is_skipped(self, named: dict[str, Any]) -> bool:
        """Whether the recipe leaves out these values on its axes."""
        return any(all(named.get(axis) in out for axis, out in rule.items()) for rule in self.skip)

    def _overridden(self, given: Assignments) -> tuple[dict[str, list[Any]], dict[str, Any]]:
        """The grid, and the settings that a user gives."""
        grid, settings = {axis: list(values) for axis, values in self.grid.items()}, {}
        known = [*self.job_type.model_fields]
        for name, value in given.items():
            if name not in known:
                raise unknown_name(f"setting of {self.name}", name, known)
            if name in self.job_type.axes:
                grid[name] = list(value) if isinstance(value, list | tuple) else [value]
                self._check_values(name, grid[name])
            else:
                settings[name] = value
        return grid, settings

    def _narrow(self, grid: dict[str, list[Any]], subset: Assignments) -> None:
        for axis, wanted in subset.items():
            if axis not in self.job_type.axes:
                raise unknown_name(f"axis of {self.name}", axis, self.job_type.axes)
            chosen = wanted if isinstance(wanted, list | tuple) else [wanted]
            known = grid.get(axis)
            if known is None:  # folds, which the settings count
                grid[axis] = list(chosen)
                continue
            for value in chosen:
                if value not in known:
                    raise unknown_name(f"{axis} in {self.name}", value, map(str, known))
            grid[axis] = [value for value in known if value in chosen]

    def _check_values(self, axis: str, values: Iterable[Any]) -> None:
        """A value that stands for settings must be one of those that the recipe explains."""
        for value in values:
            if axis in self.values and value not in self.values[axis]:
                raise unknown_name(f"{axis} in {self.name}", value, self.values[axis])

    def _resolved(self, named: dict[str, Any]) -> dict[str, Any]:
        """The settings that the values on the axes stand for, with the values themselves."""
        meant: dict[str, Any] = {}
        for axis, value in named.items():
            meant |= self._meaning(axis, value)
        return meant | named

    def _meaning(self, axis: str, value: Any) -> dict[str, Any]:
        """What a value stands for; of one that is like another, only what differs is written."""
        own = dict(self.values.get(axis, {}).get(value, {}))
        if (other := own.pop("like", None)) is None:
            return own
        base = self._meaning(axis, other)
        options = {"options": base.get("options", {}) | own.get("options", {})}
        return base | own | {name: value for name, value in options.items() if value}

    def cost_of(self, job: Job) -> float:
        """About how many seconds a job takes, for the time that is left; one where not known."""
        first, row = (str(getattr(job, axis)) for axis in (job.axes[0], job.axes[-2]))
        return self.cost.get(first, {}).get(row, 1.0)


def recipe(name: str | Path) -> Recipe:
    """A recipe by its name, or by the path of a TOML file of one's own.

    Raises:
        UnknownNameError: there is no such recipe, or it names something unknown.
        FileFormatError: the file is not TOML.
    """
    content = _content(name)
    if (source := content.get("shares")) is not None:
        content = {"job": source} | _content(source) | content
    stem = Path(name).stem
    found: Recipe = Recipe.of(**{"name": stem, "job": stem} | content)
    folders.work_module(found.job)
    return found


def _content(name: str | Path) -> dict[str, Any]:
    path = Path(name)
    if path.suffix == ".toml":
        if not path.is_file():
            raise InputError(f"there is no file {str(name)!r}")
        text = path.read_text(encoding="utf-8")
    elif (found := folders.text(str(name), "recipe.toml")) is not None:
        text = found
    else:
        raise unknown_name("recipe", str(name), folders.names())
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FileFormatError(f"{str(name)!r} is not a recipe: {error}") from None
