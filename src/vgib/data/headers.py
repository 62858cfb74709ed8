"""Which column of a molecule table holds what."""

from collections.abc import Iterator
from difflib import get_close_matches
from itertools import chain, islice
from typing import TypeAlias

from vgib.chem.mol import parse
from vgib.data.records import ID_NAMES, MOLBLOCK, TITLE, Record, Table, plain_name
from vgib.errors import InputError

Column: TypeAlias = str | int
"""A column by its name or its position from 0."""

SMILES_NAMES = ("smiles", "canonicalsmiles", "isomericsmiles", "smilesstring", "smi", "structure")
INCHI_NAMES = ("inchi", "standardinchi", "stdinchi", "inchistring")
REJECTED_COLUMNS = ["line", "id", "text", "reason"]
"""Of the side file of records that could not be used."""

SAMPLE = 50
"""How many rows are looked at to find the SMILES column by content."""


def structure_column(table: Table, asked: Column | None) -> tuple[str, Iterator[Record]]:
    """The column of structures: the one asked for, else found by name, else by content.

    Gives the records back as well, since looking at their content uses some of them up.

    Raises:
        InputError: there is none, or several may be meant.
    """
    if asked is not None:
        name = named_column(table, asked)
        if isinstance(asked, int):
            _refuse_data_as_header(table, [name])
        return name, table.records
    if table.columns is None:
        return MOLBLOCK if table.format == "sdf" else "0", table.records
    if table.columns == REJECTED_COLUMNS:  # of an earlier run, with its SMILES corrected
        return "text", table.records
    for names in (SMILES_NAMES, INCHI_NAMES):
        if named := [column for column in table.columns if plain_name(column) in names]:
            break
    exact = [column for column in named if column.lower() == "smiles"]
    if len(exact or named) == 1:
        return (exact or named)[0], table.records
    sample = list(islice(table.records, SAMPLE))
    found = named or [column for column in table.columns if _holds_smiles(column, sample)]
    _refuse_data_as_header(table, found or table.columns)
    if len(found) == 1:
        return found[0], chain(sample, table.records)
    listed = ", ".join(map(repr, found or table.columns))
    what = "several columns may hold the SMILES" if found else "no column holds SMILES or InChI"
    raise InputError(f"{table.name}: {what}; name it with smiles_column. Columns: {listed}")


def id_column(table: Table, asked: Column | None) -> str | None:
    """The column of names: the one asked for, else the first that is called like one, else none."""
    if asked is not None:
        return named_column(table, asked)
    if table.columns is None:
        return "name" if table.format == "sdf" else TITLE
    plain = {plain_name(column): column for column in reversed(table.columns)}
    return next((plain[name] for name in ID_NAMES if name in plain), None)


def _refuse_data_as_header(table: Table, columns: list[str]) -> None:
    """A first row that is taken for a header would be lost without a word."""
    if table.columns and any(_is_molecule(column) for column in columns):
        raise InputError(
            f"{table.name}: the first line looks like data; add a header line, "
            "for instance 'smiles,value'"
        )


def _holds_smiles(column: str, sample: list[Record]) -> bool:
    cells = [record.fields[column] for record in sample if record.fields.get(column)]
    return bool(cells) and 2 * sum(map(_is_molecule, cells)) > len(cells)


def _is_molecule(text: str) -> bool:
    try:
        return bool(parse(text, stereo=False).mol.GetNumAtoms() > 1)
    except InputError:
        return False


def named_column(table: Table, column: Column) -> str:
    """A column by name or position.

    Raises:
        InputError: there is none; the nearest name is suggested.
    """
    name = str(column)
    if table.columns is None:
        if table.format == "smi" and not name.isdigit():
            raise InputError(
                f"{table.name} has no header, so there is no column {name!r}; "
                "give its position from 0, or add a header line that starts with 'smiles'"
            )
        return name
    if isinstance(column, int) and 0 <= column < len(table.columns):
        return table.columns[column]
    if name not in table.columns:
        folded = {known.lower(): known for known in table.columns}
        near = get_close_matches(name.lower(), folded, n=1)
        hint = f"did you mean {folded[near[0]]!r}? " if near else ""
        raise InputError(
            f"{table.name} has no column {name!r}; {hint}Columns: {', '.join(table.columns)}"
        )
    return name
