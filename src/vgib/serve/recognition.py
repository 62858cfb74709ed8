"""The requests of one moment as one table: read, scored and cut in one pass."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pyarrow as pa

from vgib.data.molecules import from_smiles
from vgib.errors import VgibError
from vgib.serve.shelf import Shelf
from vgib.stream.schema import LINE, SMILES

DECIMALS = 4
"""Of atom scores, as ``vgib recognize --json`` writes them."""


@dataclass(frozen=True)
class Question:
    """What one request asks for."""

    model: str
    molecules: tuple[str, ...]
    n: int = 1
    keep_ratio: tuple[float, ...] | None = None
    rule: str | None = None
    max_atoms: int = 500

    @property
    def options(self) -> dict[str, Any]:
        """What :class:`~vgib.stream.work.Recognize` is told."""
        names = ("n", "keep_ratio", "rule", "max_atoms")
        return {name: getattr(self, name) for name in names}

    @property
    def key(self) -> tuple[str, str]:
        """Questions with the same key can be answered together."""
        return self.model, repr(self.options)


Answer = dict[str, Any]


def answer(shelf: Shelf, questions: Sequence[Question]) -> list[Answer | Exception]:
    """One answer for each question, in order; what a user did wrong is an answer too."""
    answers: list[Answer | Exception] = [{}] * len(questions)
    places = sorted(range(len(questions)), key=lambda place: questions[place].key)
    for _, group in groupby(places, key=lambda place: questions[place].key):
        together = list(group)
        try:
            found = _together(shelf, [questions[place] for place in together])
        except VgibError as error:
            found = [error] * len(together)
        for place, one in zip(together, found, strict=True):
            answers[place] = one
    return answers


def _together(shelf: Shelf, questions: Sequence[Question]) -> list[Answer | Exception]:
    """Questions of one kind; lines of the common table tell whose molecule is whose."""
    first = questions[0]
    texts = [text for question in questions for text in question.molecules]
    chunk = pa.table({LINE: range(len(texts)), SMILES: texts})
    results, rejected = shelf.recognize(first.model, first.options)(chunk)
    rows = {row[LINE]: row for row in rows_of(results)}
    refused = {row[LINE]: row for row in rejected.to_pylist()}
    answers: list[Answer | Exception] = []
    start = 0
    for question in questions:
        lines = range(start, start + len(question.molecules))
        start = lines.stop
        own = _numbered(rows, lines)
        if own:
            answers.append({"results": own, "rejected": _numbered(refused, lines)})
        else:
            answers.append(_why_none(shelf, question))
    return answers


def row_of(shelf: Shelf, name: str, smiles: str, options: dict[str, Any]) -> dict[str, Any]:
    """The one row of a molecule that is known to be good."""
    chunk = pa.table({LINE: [1], SMILES: [smiles]})
    (row,) = rows_of(shelf.recognize(name, options)(chunk).results)
    return row


def _numbered(rows: dict[int, dict[str, Any]], lines: range) -> list[dict[str, Any]]:
    """The rows of these lines, with lines counted from 1."""
    found = (rows.get(line) for line in lines)
    return [row | {LINE: row[LINE] - lines.start + 1} for row in found if row is not None]


def _why_none(shelf: Shelf, question: Question) -> VgibError:
    """What Python says when it is asked the same."""
    features = shelf.card(question.model).features or "rich"
    try:
        from_smiles(question.molecules, features=features, max_atoms=question.max_atoms)
    except VgibError as error:
        return error
    raise AssertionError("Python can use a molecule that the service cannot")


def rows_of(results: pa.Table) -> list[dict[str, Any]]:
    """Recognized molecules as plain values, scores with four decimals."""
    rows: Iterable[dict[str, Any]] = results.to_pylist()
    return [row | {"scores": [round(score, DECIMALS) for score in row["scores"]]} for row in rows]
