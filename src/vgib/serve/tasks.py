"""What the service computes, as values that travel to the process that computes them."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from vgib.chem.draw import RAMP, SIGNED, draw
from vgib.chem.shapes import as_hex
from vgib.chem.sketch import sketch
from vgib.errors import InputError, VgibError
from vgib.model.results import DECIMALS
from vgib.select.policy import Selection
from vgib.serve import schemas, uploads
from vgib.serve.explaining import Explaining
from vgib.serve.inspection import (
    beside_one,
    inspect,
    keep_atoms,
    pieces_of,
    quantity,
    sizes_of,
)
from vgib.serve.lanes import by_halves
from vgib.serve.recognition import Question, Reply, reply
from vgib.serve.shelf import ModelShelf
from vgib.stream.ledger import LedgerEntry, SeenMolecule
from vgib.stream.recurring import Recurring, what_recurs
from vgib.stream.schema import Recognized


@dataclass
class Desk:
    """The models and methods in a process; called with a task, it does it.

    Args:
        places: Where the models are, by name.
    """

    places: Mapping[str, str | Path]

    @cached_property
    def shelf(self) -> ModelShelf:
        """The models, loaded when they are first asked for."""
        return ModelShelf.at(self.places)

    @cached_property
    def explaining(self) -> Explaining:
        """The methods, with what they have learned."""
        return Explaining(self.shelf)

    def __call__(self, asked: "Sequence[Task | Question] | None") -> list[Any]:
        """What comes of each task, or the error that its user made; ``None`` loads the models.

        The questions of one moment, all of which are molecules to recognize, are computed together.
        """
        if asked is None:
            assert self.shelf
            return []
        questions = [one for one in asked if isinstance(one, Question)]
        answers = iter(reply(self.shelf, questions))
        return [
            _worded(one.model, next(answers)) if isinstance(one, Question) else self._done(one)
            for one in asked
        ]

    def _done(self, task: "Task") -> Any:
        try:
            return task(self)
        except VgibError as error:
            return error


def _worded(model: str, found: Reply | Exception) -> bytes | Exception:
    return found if isinstance(found, Exception) else json_bytes({"model": model} | found)


Task: TypeAlias = Callable[[Desk], Any]


def json_bytes(values: Any) -> bytes:
    """JSON, as a process hands it to the network."""
    return json.dumps(values, separators=(",", ":"), allow_nan=False).encode()


@dataclass(frozen=True)
class Inspect:
    """Everything that the page shows of one molecule."""

    model: str
    asked: schemas.InspectRequest
    max_atoms: int

    def __call__(self, desk: Desk) -> bytes:
        """JSON of :class:`~vgib.serve.schemas.InspectAnswer`."""
        asked, model = self.asked, desk.shelf.get(self.model)
        molecule = inspect(asked.molecule, model, max_atoms=self.max_atoms)
        answer, own = molecule.answer, model.selection(None, asked.rule, asked.by)
        followed = quantity(answer)
        values = answer.values[:, 0, followed.column]
        sizes = sizes_of(answer, replace(own, n=asked.n), followed, with_stability=True)
        (recognized,) = answer.recognitions(replace(own, n=asked.n), effects=True)
        row = recognized.to_json()
        has_choice = answer.members > 1 and row["subgraphs"]
        stability = float(answer.agreement(own)[0]) if has_choice else None
        return json_bytes(
            {
                "model": self.model,
                "smiles": molecule.smiles,
                "note": molecule.note,
                "quantity": followed.label,
                "prediction": row["prediction"],
                "stability": stability,
                "value": float(values.mean()),
                "spread": float(values.std()),
                "members": values.tolist(),
                "statement": row["statement"],
                "scores": row["scores"],
                "effects": row["effects"],
                "effect_unit": answer.effect_unit,
                "subgraphs": [{"atoms": part.pop("nodes"), **part} for part in row["subgraphs"]],
                "why_none": row["why_none"],
                "tolerance": answer.tolerance[0],
                "pieces": pieces_of(answer),
                **beside_one(answer, model),
                "sizes": [asdict(size) for size in sizes],
                "sketch": asdict(sketch(molecule.smiles)),
                "scale": [as_hex(color) for color in RAMP],
                "signed_scale": [as_hex(color) for color in SIGNED],
            }
        )


@dataclass(frozen=True)
class ExplainOne:
    """The atom scores of one molecule by a post-hoc method, and the parts that follow from them."""

    model: str
    asked: schemas.ExplainRequest
    max_atoms: int

    def __call__(self, desk: Desk) -> bytes:
        """JSON of :class:`~vgib.serve.schemas.ExplainAnswer`."""
        asked = self.asked
        molecule = inspect(asked.molecule, desk.shelf.get(self.model), max_atoms=self.max_atoms)
        scores = desk.explaining.scores(self.model, asked.method, molecule.answer.graphs)
        answer = molecule.answer.with_scores(scores)
        by = asked.by or (None if asked.rule else "scores")
        selection = Selection.of(None, asked.rule, by, asked.n)
        sizes = sizes_of(answer, selection, quantity(answer))
        return json_bytes(
            {
                "model": self.model,
                "method": asked.method,
                "smiles": molecule.smiles,
                "scores": [round(score, DECIMALS) for score in scores],
                "sizes": [asdict(size) for size in sizes],
            }
        )


@dataclass(frozen=True)
class WhatIf:
    """The prediction of what is left when only some atoms are kept."""

    model: str
    asked: schemas.WhatIfRequest
    max_atoms: int

    def __call__(self, desk: Desk) -> bytes:
        """JSON of :class:`~vgib.serve.schemas.WhatIfAnswer`."""
        model, atoms = desk.shelf.get(self.model), self.asked.atoms
        molecule = inspect(self.asked.molecule, model, max_atoms=self.max_atoms)
        followed = quantity(molecule.answer)
        kept = keep_atoms(molecule, atoms, followed)
        own = {"model": self.model, "atoms": sorted(set(atoms)), "quantity": followed.label}
        return json_bytes(own | kept._asdict())


@dataclass(frozen=True)
class Draw:
    """A picture of a molecule with its scores and the chosen atoms."""

    asked: schemas.DrawRequest

    def __call__(self, desk: Desk) -> str | bytes:
        """The picture."""
        asked = self.asked
        picture: str | bytes = draw(
            asked.molecule,
            asked.scores,
            asked.atoms,
            effects=asked.effects,
            unit=asked.unit,
            size=(asked.width, asked.height),
            legend=asked.legend,
            transparent=asked.transparent,
            format=asked.format,
        )
        return picture


@dataclass(frozen=True)
class ReadTable:
    """The records of a file that was sent."""

    body: bytes
    how: dict[str, Any]

    def __call__(self, desk: Desk) -> list[pa.Table]:
        """Its chunks."""
        return uploads.read_chunks(self.body, **self.how)


@dataclass(frozen=True)
class RecognizeTable:
    """Some rows of a table."""

    model: str
    options: dict[str, Any]
    chunk: pa.Table

    def __call__(self, desk: Desk) -> Recognized:
        """Their results and refusals."""
        return desk.shelf.recognize(self.model, self.options)(self.chunk)


@dataclass(frozen=True)
class Recur:
    """What recurs over all molecules of a table."""

    kept: Sequence[SeenMolecule] | None
    counted: Sequence[LedgerEntry]

    def __call__(self, desk: Desk) -> Recurring:
        """Fragments, matched pairs and common cores."""
        return what_recurs(self.kept, self.counted)


async def answered(question: Question, ask: Callable[[Question], Awaitable[bytes]]) -> bytes:
    """The answer to a question as JSON; a molecule that no process survives is refused by line."""
    is_refused = False

    def part(molecules: tuple[str, ...]) -> Awaitable[bytes]:
        return ask(replace(question, molecules=molecules))

    def refuse(molecules: tuple[str, ...], why: str) -> bytes:
        nonlocal is_refused
        is_refused = True
        (text,) = molecules
        return json_bytes({"results": [], "rejected": [{"line": 1, "text": text, "reason": why}]})

    found = await by_halves(part, question.molecules, refuse)
    if len(found) == 1 and not is_refused:
        return found[0]
    joined: dict[str, Any] = {"model": question.model, "results": [], "rejected": []}
    start = 0
    for piece in map(json.loads, found):
        for kind in ("results", "rejected"):
            joined[kind] += [row | {"line": row["line"] + start} for row in piece[kind]]
        start = len(joined["results"]) + len(joined["rejected"])
    if not joined["results"]:
        raise InputError(f"no molecule can be used; line 1: {joined['rejected'][0]['reason']}")
    return json_bytes(joined)
