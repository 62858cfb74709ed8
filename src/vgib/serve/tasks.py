"""What the service computes: functions that travel with what was asked to a process with a desk."""

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
from vgib.serve.inspection import inspect, keep_atoms, pieces_of, quantity, sizes_of
from vgib.serve.lanes import by_halves
from vgib.serve.recognition import Question, Reply, reply
from vgib.serve.shelf import ModelShelf
from vgib.stream.ledger import LedgerEntry, SeenMolecule
from vgib.stream.recurring import Recurring, what_recurs
from vgib.stream.schema import LINE, Recognized
from vgib.stream.writers import rows_of


@dataclass
class Desk:
    """The models and methods in a process, which does the tasks that it is called with.

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
"""One of the functions below with all that it needs but the desk, as :func:`functools.partial`."""


def json_bytes(values: Any) -> bytes:
    """JSON, as a process hands it to the network."""
    return json.dumps(values, separators=(",", ":"), allow_nan=False).encode()


def inspected(name: str, asked: schemas.InspectRequest, max_atoms: int, desk: Desk) -> bytes:
    """JSON of :class:`~vgib.serve.schemas.InspectAnswer`: what the page shows of one molecule."""
    model = desk.shelf.get(name)
    molecule = inspect(asked.molecule, model, max_atoms=max_atoms)
    answer, followed = molecule.answer, quantity(molecule.answer)
    selection = model.selection(None, asked.rule, asked.by, asked.n)
    sizes = sizes_of(answer, selection, followed, with_stability=True)
    work = desk.shelf.recognize(name, {"selection": selection, "details": True})
    (row,) = rows_of(work.results(answer, pa.table({LINE: [1]}), [molecule.note]))
    values = answer.values[:, 0, followed.column]
    told = {field: row[field] for field in schemas.MoleculeAnswer.model_fields}
    return json_bytes(
        told
        | {
            "effects": [round(effect, DECIMALS) for effect in answer.effects.tolist()],
            "quantity": followed.label,
            "value": float(values.mean()),
            "spread": float(values.std()),
            "members": values.tolist(),
            "effect_unit": answer.effect_unit,
            "pieces": [piece.model_dump() for piece in pieces_of(answer)],
            "tolerance": answer.tolerance[0],
            "sizes": [size.model_dump() for size in sizes],
            "sketch": asdict(sketch(molecule.smiles)),
            "scale": [as_hex(color) for color in RAMP],
            "signed_scale": [as_hex(color) for color in SIGNED],
        }
    )


def explained(name: str, asked: schemas.ExplainRequest, max_atoms: int, desk: Desk) -> bytes:
    """JSON of :class:`~vgib.serve.schemas.ExplainAnswer`: scores by a method, and their parts."""
    molecule = inspect(asked.molecule, desk.shelf.get(name), max_atoms=max_atoms)
    scores = desk.explaining.scores(name, asked.method, molecule.answer.graphs)
    answer = molecule.answer.with_scores(scores)
    by = asked.by or (None if asked.rule else "scores")
    sizes = sizes_of(answer, Selection.of(None, asked.rule, by, asked.n), quantity(answer))
    return json_bytes(
        {
            "model": name,
            "method": asked.method,
            "smiles": molecule.smiles,
            "scores": [round(score, DECIMALS) for score in scores],
            "sizes": [size.model_dump() for size in sizes],
        }
    )


def what_if(name: str, asked: schemas.WhatIfRequest, max_atoms: int, desk: Desk) -> bytes:
    """JSON of :class:`~vgib.serve.schemas.WhatIfAnswer`: what is left when some atoms are kept."""
    molecule = inspect(asked.molecule, desk.shelf.get(name), max_atoms=max_atoms)
    followed = quantity(molecule.answer)
    kept = keep_atoms(molecule, asked.atoms, followed)
    own = {"model": name, "atoms": sorted(set(asked.atoms)), "quantity": followed.label}
    return json_bytes(own | kept.model_dump())


def drawn(asked: schemas.DrawRequest, desk: Desk) -> str | bytes:
    """A picture of a molecule with its scores and the chosen atoms."""
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


def table_chunks(body: bytes, how: dict[str, Any], desk: Desk) -> list[pa.Table]:
    """The records of a file that was sent."""
    return uploads.read_chunks(body, **how)


def recognized(name: str, options: dict[str, Any], chunk: pa.Table, desk: Desk) -> Recognized:
    """The results and refusals of some rows of a table."""
    return desk.shelf.recognize(name, options)(chunk)


def recurring(
    kept: Sequence[SeenMolecule] | None, counted: Sequence[LedgerEntry], desk: Desk
) -> Recurring:
    """What recurs over all molecules of a table: fragments, matched pairs and common cores."""
    return what_recurs(kept, counted)


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
