"""The tables of names and structures that lie beside these modules, for chemists to read."""

from importlib.resources import files


def table_text(name: str) -> str:
    """A table without its comments: columns between tabs, a row on each line."""
    lines = files("vgib.chem").joinpath(name).read_text(encoding="utf-8").splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("#"))


def table_rows(name: str) -> list[list[str]]:
    """The cells of each row."""
    return [line.split("\t") for line in table_text(name).splitlines()]
