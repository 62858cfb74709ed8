"""Headerless comma-separated numbers, read fast and with little memory.

The TU format keeps everything in such files; the largest of the usual ones has 24.6 million lines.
"""

import itertools
from collections.abc import Callable
from typing import IO, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from vgib.errors import FileFormatError

Numbers: TypeAlias = npt.NDArray[Any]  # int32, int64 or float64, as the caller asked
Kind: TypeAlias = Literal["int32", "int64", "float64"]

BLOCK_BYTES = 1 << 23


def read_columns(
    open_file: Callable[[], IO[bytes]], name: str, *, kind: Kind, width: int | None = None
) -> Numbers:
    """The numbers of one file, ``[columns, lines]``, each column contiguous.

    The text streams through in blocks, so that the peak is the result and not the text.

    Args:
        open_file: gives the file, positioned at its start; it is called twice.
        name: how errors call the file.
        width: the number of columns that every line must have; by default that of the first line.

    Raises:
        FileFormatError: a line has another number of columns, or something that is no number.
    """
    # Slow to import and needed here only.
    import pyarrow as pa
    from pyarrow import csv

    with open_file() as stream:
        first = next((line for line in stream if line.strip()), b"")
    found = first.count(b",") + 1
    if not first:
        return np.empty((width or 1, 0), dtype=kind)
    names = [str(column) for column in range(width or found)]
    try:
        with open_file() as stream:
            blocks = csv.open_csv(
                stream,
                read_options=csv.ReadOptions(
                    column_names=names, block_size=BLOCK_BYTES, use_threads=False
                ),
                convert_options=csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.type_for_alias(kind)), null_values=[]
                ),
            )
            parts = [[column.to_numpy() for column in block.columns] for block in blocks]
    except pa.ArrowInvalid as error:
        raise _first_bad_line(open_file, name, len(names), kind) or FileFormatError(
            f"{name} cannot be read as numbers: {error}"
        ) from error
    columns = np.empty((len(names), sum(len(part[0]) for part in parts)), dtype=kind)
    for index in range(len(names)):
        np.concatenate([part[index] for part in parts], out=columns[index])
    return columns


def _first_bad_line(
    open_file: Callable[[], IO[bytes]], name: str, width: int, kind: Kind
) -> FileFormatError | None:
    """The error for the first line that is not ``width`` numbers; slow, as only a failure asks."""
    parse = float if kind == "float64" else int
    with open_file() as stream:
        for number, line in zip(itertools.count(1), stream, strict=False):
            cells = line.decode("utf-8", "replace").strip().split(",")
            if cells == [""]:
                continue
            try:
                good = len(cells) == width and all(parse(cell) is not None for cell in cells)
            except ValueError:
                good = False
            if not good:
                plural = "number" if width == 1 else "numbers separated by commas"
                return FileFormatError(
                    f"{name}, line {number}: expected {width} {plural}, got "
                    f"{','.join(cells)[:80]!r}; the file is damaged or of another kind: "
                    "fetch it again or correct that line"
                )
    return None
