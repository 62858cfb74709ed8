"""A file of molecules that is sent to the service, and its answer line by line."""

import asyncio
import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from vgib.data.records import Format
from vgib.errors import InputError, VgibError
from vgib.limits import FileReading
from vgib.serve.lanes import by_halves
from vgib.serve.limits import BusyError, TooMuchError
from vgib.serve.worker import LostWorkerError
from vgib.stream.chunks import SourceReading, iter_chunks
from vgib.stream.ledger import Ledger, LedgerEntry, SeenMolecule
from vgib.stream.recurring import Recurring
from vgib.stream.schema import Recognized
from vgib.stream.writers import rows_of

CHUNK = 256
"""Rows that are computed before the next line is sent: a second at most."""

BYTES_IN_MEMORY = 8
"""Bytes that a table may take for each byte that it may have."""

MOST_ENTRIES = 1000
"""Fragments of the ledger that are counted, the commonest first, and rows of pairs and series that
are sent."""

REQUEST_BODY: dict[str, Any] = {
    "requestBody": {
        "description": "A file with a column of SMILES, as it is on the disk.",
        "required": True,
        "content": {
            "text/csv": {"schema": {"type": "string"}, "example": "name,smiles\nethanol,CCO\n"},
            "text/plain": {"schema": {"type": "string"}, "example": "CCO ethanol\n"},
        },
    }
}


def read_chunks(
    body: bytes,
    *,
    format: Format,
    smiles_column: str | None = None,
    needed: Sequence[str] = (),
    rows: int,
    most: int,
) -> list[pa.Table]:
    """The records of a file with all their columns, the needed ones among them.

    Raises:
        InputError: it is empty, or has no column of SMILES.
        TooMuchError: it has more than ``rows`` records.
        FileFormatError: it unpacks to more than ``most`` bytes.
    """
    chunks: list[pa.Table] = []
    left, room = rows, BYTES_IN_MEMORY * most
    how = FileReading(max_unpacked=most)
    reading = SourceReading(smiles_column, format=format, size=CHUNK, how=how, needed=tuple(needed))
    for chunk in iter_chunks(io.BytesIO(body), reading):
        left -= len(chunk.records)
        if left < 0:
            raise TooMuchError(
                f"the file has more than {rows:,} molecules; split it, or use `vgib recognize`, "
                "which takes any number"
            )
        room -= chunk.records.nbytes  # a column may say the same in many rows
        if room < 0:
            raise TooMuchError(
                f"the file holds far more than {most:,} bytes of text; split it, or use `vgib "
                "recognize`"
            )
        chunks.append(chunk.records)
    if not chunks:
        raise InputError("the file holds no molecules; expected a header and a row for each")
    return chunks


async def recognize(
    ask: Callable[[pa.Table], Awaitable[Recognized]],
    refuse: Callable[[pa.Table, str], Recognized],
    chunks: Sequence[pa.Table],
    ledger: Ledger,
    recur: Callable[[Sequence[SeenMolecule] | None, Sequence[LedgerEntry]], Awaitable[Recurring]],
    unit: str = "",
) -> AsyncIterator[str]:
    """Lines of JSON: what came of each chunk, then what recurs over all of them.

    A record that no process survives is refused by its line; where no process survives the search
    for what recurs, or in time, the recognized parts are told as they were counted.
    An error in the middle is a last line of its own, since the status is sent by then.

    Args:
        ask: Recognizes a chunk.
        refuse: Refuses a chunk for a reason.
        chunks: The records.
        ledger: Counts the parts.
        recur: Finds what recurs.
        unit: Of effects.

    Raises:
        VgibError: nothing came of the first chunk.
    """
    total, done = sum(len(chunk) for chunk in chunks), 0
    try:
        for chunk in chunks:
            pieces = await by_halves(ask, chunk, refuse)
            recognized = Recognized(*map(pa.concat_tables, zip(*pieces, strict=True)))
            done += len(chunk)
            how_far = {"done": done, "of": total}
            yield await asyncio.to_thread(_of_chunk, recognized, ledger, how_far)
        counted = await asyncio.to_thread(ledger.entries, most=MOST_ENTRIES)
        try:
            found = await recur(ledger.kept, counted)
        except (BusyError, LostWorkerError):
            found = Recurring(counted, {}, [], [])
        yield await asyncio.to_thread(_of_ledger, ledger, found, unit)
    except VgibError as error:
        if not done:
            raise
        yield _line({"error": {"kind": type(error).__name__, "message": str(error)}})


async def begun(lines: AsyncIterator[str]) -> AsyncIterator[str]:
    """The same lines, once the first of them is there: until then an error has a status."""
    first = await anext(lines)

    async def every() -> AsyncIterator[str]:
        yield first
        async for line in lines:
            yield line

    return every()


def _of_chunk(recognized: Recognized, ledger: Ledger, how_far: dict[str, int]) -> str:
    """The line of a chunk, whose fragments are counted."""
    ledger.add(recognized.results)
    refused = recognized.rejected.to_pylist()
    return _line(how_far | {"results": rows_of(recognized.results), "rejected": refused})


def _of_ledger(ledger: Ledger, found: Recurring, unit: str) -> str:
    """The last line."""
    return _line(
        {
            "ledger": found.described(),
            "changes": [asdict(change) for change in found.changes[:MOST_ENTRIES]],
            "substituents": [asdict(one) for one in found.substituents[:MOST_ENTRIES]],
            "property": ledger.column,
            "effect_unit": unit,
            "skipped": ledger.skipped,
        }
    )


def _line(content: dict[str, Any]) -> str:
    return json.dumps(content, separators=(",", ":")) + "\n"
