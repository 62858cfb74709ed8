"""The requests of one moment as one table: read, scored and chosen from in one pass."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from vgib.data.molecules import from_smiles
from vgib.data.records import Record
from vgib.errors import VgibError
from vgib.select.policy import ANY, Selection
from vgib.serve.shelf import ModelShelf
from vgib.stream.chunks import table_of
from vgib.stream.schema import LINE, SMILES
from vgib.stream.writers import rows_of


@dataclass(frozen=True)
class Question:
    """What one request asks for."""

    model: str
    molecules: tuple[str, ...]
    selection: Selection = ANY
    scores_only: bool = False
    details: bool = False
    max_atoms: int = 500

    @property
    def options(self) -> dict[str, Any]:
        """What :class:`~vgib.stream.work.Recognize` is told."""
        names = ("selection", "scores_only", "details", "max_atoms")
        return {name: getattr(self, name) for name in names}

    @property
    def key(self) -> tuple[str, str]:
        """Questions with the same key can be answered together."""
        return self.model, repr(self.options)


Reply = dict[str, Any]
"""The rows and the refusals of one request."""


def reply(shelf: ModelShelf, questions: Sequence[Question]) -> list[Reply | Exception]:
    """One reply to each question, in order; what a user did wrong is a reply too."""
    replies: list[Reply | Exception] = [{}] * len(questions)
    places = sorted(range(len(questions)), key=lambda place: questions[place].key)
    for _, group in groupby(places, key=lambda place: questions[place].key):
        together = list(group)
        try:
            found = _together(shelf, [questions[place] for place in together])
        except VgibError as error:
            found = [error] * len(together)
        for place, one in zip(together, found, strict=True):
            replies[place] = one
    return replies


def _together(shelf: ModelShelf, questions: Sequence[Question]) -> list[Reply | Exception]:
    """Questions of one kind; lines of the common table tell whose molecule is whose."""
    first = questions[0]
    texts = [text for question in questions for text in question.molecules]
    chunk = table_of([Record(line, {SMILES: text}) for line, text in enumerate(texts)], SMILES)
    results, rejected = shelf.recognize(first.model, first.options)(chunk)
    rows = {row[LINE]: row for row in rows_of(results)}
    refused = {row[LINE]: row for row in rejected.to_pylist()}
    replies: list[Reply | Exception] = []
    start = 0
    for question in questions:
        lines = range(start, start + len(question.molecules))
        start = lines.stop
        own = _numbered(rows, lines)
        if own:
            replies.append({"results": own, "rejected": _numbered(refused, lines)})
        else:
            replies.append(_why_none(shelf, question))
    return replies


def _numbered(rows: dict[int, dict[str, Any]], lines: range) -> list[dict[str, Any]]:
    """The rows of these lines, with lines counted from 1."""
    found = (rows.get(line) for line in lines)
    return [row | {LINE: row[LINE] - lines.start + 1} for row in found if row is not None]


def _why_none(shelf: ModelShelf, question: Question) -> VgibError:
    """What Python says when it is asked the same."""
    features = shelf.card(question.model).features or "rich"
    try:
        from_smiles(question.molecules, features=features, max_atoms=question.max_atoms)
    except VgibError as error:
        return error
    raise AssertionError("Python can use a molecule that the service cannot")
