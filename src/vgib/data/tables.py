"""Lists of molecules in the formats of the catalog -> one data frame with a ``smiles`` column."""

import io
import json
from pathlib import Path

import pandas as pd

from vgib.data.entries import Entry
from vgib.data.unpacking import unpacked_text
from vgib.errors import FileFormatError


def read_table(path: Path, entry: Entry) -> pd.DataFrame:
    """The columns that the entry names, under their names here; the rows stay in the file's order.

    The format goes by the entry's file: ``.csv`` with a header, ``.jsonl``, or lines of values
    between blanks. Compression is recognized by itself, as public and mirrored files differ in it.

    Raises:
        FileFormatError: the file is damaged, or lacks a column.
    """
    suffix = Path(entry.file.removesuffix(".gz")).suffix
    text = unpacked_text(path)
    try:
        if suffix == ".jsonl":
            table = pd.DataFrame([json.loads(line) for line in text.splitlines()])
        elif suffix == ".csv":
            table = pd.read_csv(io.StringIO(text))
        else:
            table = pd.read_csv(io.StringIO(text), sep=r"\s+", header=None)
            table.columns = table.columns.astype(str)
    except (ValueError, AttributeError) as error:  # pandas' and json's errors are ValueErrors
        raise FileFormatError(f"{path} is no {suffix} table of molecules ({error})") from error
    missing = [column for column, _ in entry.columns if column not in table.columns]
    if missing:
        shown = ", ".join(map(str, table.columns[:8]))
        raise FileFormatError(f"{path} lacks the column {missing[0]!r}; it has {shown}")
    table = table[[column for column, _ in entry.columns]].rename(columns=dict(entry.columns))
    for name in table.columns[table.columns.str.endswith("smiles")]:
        if table[name].isna().any():
            row = int(table[name].isna().to_numpy().argmax())
            raise FileFormatError(f"{path} has no SMILES in its row {row + 1}")
        # The public ZINC250K ends each SMILES in a line break.
        table[name] = table[name].astype(str).str.strip()
    return table
