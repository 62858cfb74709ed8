"""Any model explained: a function from SMILES to numbers is asked about parts of each molecule."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from vgib.chem.closing import REPLACEMENTS, Replacement, closed_smiles
from vgib.chem.divide import Division, divide
from vgib.chem.fragment import fragment
from vgib.chem.groups import functional_groups
from vgib.chem.mol import Parsed, bonds_of, parse
from vgib.errors import InputError, VgibError, unknown_name
from vgib.model.effects import LIMIT, Effects, Game, Kind, Masks, Values, spread_over_nodes
from vgib.model.effects import effects as effects_of

if TYPE_CHECKING:
    import pandas as pd

logger = logging.getLogger(__name__)

SmilesFunction: TypeAlias = Callable[[list[str]], npt.ArrayLike]
"""A model as a function: SMILES in, one number for each out, NaN for what it cannot judge."""

AT_ONCE = 64
"""Molecules whose closed forms are in memory together."""


NOTHING = "nothing"
"""Stands, among SMILES, for no molecule at all, of which the value is known."""


class FunctionError(VgibError, RuntimeError):
    """A function that failed, or gave something else than one number for each SMILES."""


@dataclass(frozen=True)
class PartEffect:
    """What one part of a molecule adds to what the function says of it.

    Attributes:
        atoms: Its atoms, ascending.
        fragment: Its SMILES, with ``*`` where it is bound to the rest.
        name: The functional group that it is; ``""`` for all else.
        effect: In the units of the function; positive where the part raises the value.
        error: The standard error of sampling; 0 where the effect is exact.
    """

    atoms: tuple[int, ...]
    fragment: str
    name: str
    effect: float
    error: float


@dataclass(frozen=True, eq=False)
class MoleculeEffects:
    """What a function says of one molecule, and what each part of it adds.

    Attributes:
        smiles: The molecule; its atoms are numbered in this order.
        value: What the function says of the whole.
        nothing: What it says of nothing: what the effects start from.
        parts: The parts, by their lowest atom.
        atoms: ``float [atoms]``; the effect of each part, shared equally by its atoms.
        is_exact: Whether every combination of parts that counts was asked.
        left_out: How many combinations the function could not judge. Comparisons that need them
            are left out; the effects then need not add up.
    """

    smiles: str
    value: float
    nothing: float
    parts: tuple[PartEffect, ...]
    atoms: Values
    is_exact: bool
    left_out: int

    def __repr__(self) -> str:
        ranked = sorted(self.parts, key=lambda part: -abs(part.effect))[:5]
        shown = ", ".join(f"{part.fragment} {part.effect:+.3g}" for part in ranked)
        more = f", {len(self.parts) - 5} more" if len(self.parts) > 5 else ""
        return f"MoleculeEffects({self.smiles}: {self.value:.4g}; {shown}{more})"

    def to_frame(self) -> "pd.DataFrame":
        """A row for each part, the strongest first."""
        import pandas as pd

        rows = [
            {
                "smiles": self.smiles,
                "value": self.value,
                "fragment": part.fragment,
                "name": part.name,
                "effect": part.effect,
                "error": part.error,
                "atoms": " ".join(map(str, part.atoms)),
            }
            for part in sorted(self.parts, key=lambda part: -abs(part.effect))
        ]
        return pd.DataFrame(rows)


def explain_function(
    function: SmilesFunction,
    smiles: str | Sequence[str],
    *,
    close: Division = "groups",
    effects: Kind = "myerson",
    replacement: Replacement = "hydrogen",
    nothing: float | None = None,
    limit: int = LIMIT,
    samples: int = 32,
    batch_size: int = 1024,
    progress: bool = False,
    seed: int = 0,
) -> list[MoleculeEffects]:
    """What each part of each molecule adds to what a function says of it.

    >>> from collections import Counter
    >>> count = lambda smiles: [Counter(text)["O"] for text in smiles]
    >>> explain_function(count, "CCC(=O)O")
    [MoleculeEffects(CCC(=O)O: 2; *C(=O)O +2, *CC +0)]

    Args:
        function: Any callable from a list of SMILES to one number for each: a pipeline on
            fingerprints, a graph network, a call to a service. It is asked once for each distinct
            SMILES, in batches.
        smiles: One molecule or several. Of a mixture, the largest component counts.
        close: What is closed at a time: ``"groups"`` (ring systems, functional groups and carbon
            chains), ``"parts"`` (finer: each atom outside of them by itself), ``"rings"``,
            ``"brics"`` or ``"atoms"``.
        effects: ``"myerson"`` shares interactions fairly among parts that touch, and asks only
            about connected molecules. ``"shapley"`` shares them among all parts. ``"closing"`` is
            the change when one part is closed, without regard to interactions.
        replacement: What takes the place of closed atoms. ``"hydrogen"``: they are removed and the
            cut bonds filled with hydrogen, so that the function sees ordinary molecules.
            ``"dummy"``: they become ``*``, for functions that know it.
        nothing: The value of no molecule at all, from which effects are counted. By default the
            function is asked: about hydrogen, ``[H][H]``, or about dummies alone.
        limit: Combinations of parts up to which all are asked.
        samples: Beyond that: random orders of the parts, each with its reversal.
        batch_size: SMILES in one call of the function.
        progress: Whether a bar shows how many molecules are done.
        seed: Of the random orders.

    Returns:
        One result for each molecule, in order. Where the function gives NaN for the molecule
        itself, its effects are NaN; how many there were is logged. Infinity counts as NaN.

    Raises:
        InputError: a SMILES cannot be read.
        FunctionError: the function failed, or gave something else than one number for each.
        UnknownNameError: a choice has no such name.
    """
    if replacement not in REPLACEMENTS:
        raise unknown_name("replacement of atoms", replacement, REPLACEMENTS)
    _check_callable(function)
    molecules = [_parsed(text) for text in ([smiles] if isinstance(smiles, str) else smiles)]
    asked = _Asked(function, batch_size)
    if nothing is not None:
        asked.known[NOTHING] = nothing
    found: list[MoleculeEffects] = []
    with _bar(len(molecules), progress) as advance:
        for start in range(0, len(molecules), AT_ONCE):
            some = molecules[start : start + AT_ONCE]
            games = [Game.of(divide(each.mol, close), bonds_of(each.mol)) for each in some]
            told = effects_of(
                _predictions(asked, some, replacement, nothing),
                games,
                kind=effects,
                limit=limit,
                samples=samples,
                seed=seed,
            )
            found += map(_molecule_effects, some, games, told)
            advance(len(some))
    lost = sum(np.isnan(one.value) for one in found)
    if lost:
        logger.warning("the function gave no value for %d of %d molecules", lost, len(found))
    return found


def _check_callable(function: object) -> None:
    if not callable(function):
        kind, own = type(function).__name__, "predict" if hasattr(function, "predict") else "method"
        raise InputError(
            f"{kind} is no function from SMILES to numbers; give its own, such as model.{own}"
        )


def _molecule_effects(molecule: Parsed, game: Game, told: Effects) -> MoleculeEffects:
    """The effects of a molecule with the names of its parts; NaN where it has no value itself."""
    values = told.values if not np.isnan(told.whole) else np.full(len(game), np.nan)
    names = {group.atoms: group.name for group in functional_groups(molecule.mol)}
    parts = [tuple(np.flatnonzero(game.part == part).tolist()) for part in range(len(game))]
    return MoleculeEffects(
        smiles=molecule.smiles,
        value=told.whole,
        nothing=told.nothing,
        parts=tuple(
            PartEffect(
                atoms=atoms,
                fragment=fragment(molecule.mol, atoms, capped=False).smiles,
                name=names.get(atoms, ""),
                effect=float(values[part]),
                error=float(told.error[part]),
            )
            for part, atoms in enumerate(parts)
        ),
        atoms=spread_over_nodes(game, values),
        is_exact=told.is_exact,
        left_out=told.left_out,
    )


def import_function(name: str) -> SmilesFunction:
    """The function that ``package.module:name`` names; its module is imported, and so run."""
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        raise InputError(f"{name!r} names no function; write package.module:name")
    try:
        found: object = import_module(module)
    except ModuleNotFoundError as error:
        raise InputError(f"no module {error.name!r} to import {name!r} from") from error
    for step in attribute.split("."):
        if not hasattr(found, step):
            raise InputError(f"the module {module!r} has no {attribute!r}; check its spelling")
        found = getattr(found, step)
    if not callable(found):
        raise InputError(f"{name!r} is no function but {type(found).__name__}")
    return cast(SmilesFunction, found)  # what it gives is checked when it is called


def _parsed(text: object) -> Parsed:
    if not isinstance(text, str):
        raise InputError(f"{text!r} is no SMILES; expected text")
    try:
        return parse(text)
    except InputError as error:
        raise InputError(f"{text!r}: {error}") from error


def _predictions(
    asked: "_Asked",
    molecules: Sequence[Parsed],
    replacement: Replacement,
    nothing: float | None,
) -> Callable[[list[Masks]], list[Values]]:
    """The value function of the games: masks to closed SMILES to numbers."""

    def value(masks: list[Masks]) -> list[Values]:
        texts = []
        for molecule, rows in zip(molecules, masks, strict=True):
            closed = closed_smiles(molecule.mol, rows, replacement)
            for row in np.flatnonzero(rows.all(axis=1)):
                closed[row] = molecule.smiles  # as it was given
            if nothing is not None:
                for row in np.flatnonzero(~rows.any(axis=1)):
                    closed[row] = NOTHING  # need not be asked
            texts.append(closed)
        return asked.about(texts)

    return value


class _Asked:
    """A function that is asked once for each SMILES, in batches."""

    def __init__(self, function: SmilesFunction, batch_size: int) -> None:
        self.function, self.batch_size = function, batch_size
        self.known: dict[str, float] = {"": float("nan")}

    def about(self, texts: Sequence[Sequence[str]]) -> list[Values]:
        """The values of many lists of SMILES."""
        distinct = dict.fromkeys(text for some in texts for text in some)
        fresh = [text for text in distinct if text not in self.known]
        for start in range(0, len(fresh), self.batch_size):
            batch = fresh[start : start + self.batch_size]
            self.known.update(zip(batch, self._call(batch).tolist(), strict=True))
        return [np.array([self.known[text] for text in some]) for some in texts]

    def _call(self, batch: list[str]) -> Values:
        try:
            given = self.function(list(batch))
        except Exception as error:
            raise FunctionError(self._culprit(batch, error)) from error
        try:
            given = given.detach().cpu() if hasattr(given, "detach") else given  # torch's
            values = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise FunctionError(
                f"the function gave {type(given).__name__}, not one number for each SMILES"
            ) from error
        if values.shape not in {(len(batch),), (len(batch), 1)}:
            raise FunctionError(
                f"the function gave values of shape {values.shape} for {len(batch)} SMILES; "
                "it must give one number for each"
                + (", such as one column of them" if values.ndim == 2 else "")
            )
        # Of infinity no effect can be told.
        return np.where(np.isinf(values), np.nan, values).reshape(-1)

    def _culprit(self, batch: list[str], error: Exception) -> str:
        """Which SMILES the function fails on, found by asking one by one."""
        for text in batch:
            try:
                self.function([text])
            except Exception as alone:
                hint = (
                    "; give the value of nothing by nothing=..., and it is not asked"
                    if text == "[H][H]"
                    else "; let it give NaN for what it cannot judge"
                )
                return f"the function failed on {text!r}: {alone!r}{hint}"
        return f"the function failed on {len(batch)} SMILES at once, not on one by one: {error!r}"


@contextmanager
def _bar(total: int, shown: bool) -> Iterator[Callable[[int], None]]:
    """A bar on standard error, if it is wanted."""
    if not shown:
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("molecules", total=total)
        yield lambda count: progress.advance(task, count)
