"""A table of text, written as Markdown, as LaTeX, and as rows for other programs."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

LATEX_SIGNS = {"&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "±": r"$\pm$", "→": r"$\to$"}


@dataclass(frozen=True)
class TextTable:
    """Headers and rows of text.

    >>> print(TextTable("Pets", ("name", "legs"), [("cat", "4")]).markdown())
    **Pets**
    <BLANKLINE>
    | name | legs |
    | --- | --- |
    | cat | 4 |
    """

    title: str
    headers: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    name: str = ""
    """What a page calls it by that shows this table; empty for one that no page shows."""

    def markdown(self) -> str:
        """The table in Markdown, as GitHub shows it."""
        lines = [self.headers, ("---",) * len(self.headers), *self.rows]
        drawn = [f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines]
        return "\n".join([f"**{self.title}**", "", *drawn])

    def named_rows(self) -> list[dict[str, str]]:
        """Each row by the headers, with the title as ``table``."""
        return [
            {"table": self.title} | dict(zip(self.headers, row, strict=True)) for row in self.rows
        ]

    def latex(self) -> str:
        """A ``table`` with the rules of the ``booktabs`` package."""
        head, *body = (
            " & ".join(map(_escaped, row)) + r" \\" for row in (self.headers, *self.rows)
        )
        columns = "l" * len(self.headers)
        return "\n".join(
            [
                r"\begin{table}",
                rf"\caption{{{_escaped(self.title)}}}",
                rf"\begin{{tabular}}{{{columns}}}",
                r"\toprule",
                head,
                r"\midrule",
                *body,
                r"\bottomrule",
                r"\end{tabular}",
                r"\end{table}",
            ]
        )


def crossed(
    title: str,
    heads: Sequence[str],
    cells: Iterable[tuple[Any, str, str]],
    *,
    missing: str = "",
    last: Sequence[tuple[str, ...]] = (),
    name: str = "",
) -> TextTable:
    """A table of cells by row and column, each in the order in which it is first met.

    Args:
        title: Above the table.
        heads: Above the columns that name a row.
        cells: Row (its name, or several), column and text of each.
        missing: What stands where there is no cell.
        last: Further rows below.
        name: What a page calls the table by.

    >>> crossed("Legs", ["pet"], [("cat", "front", "2"), ("bird", "back", "2")], missing="...").rows
    [('cat', '2', '...'), ('bird', '...', '2')]
    """
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    columns: dict[str, None] = {}
    for row, column, text in cells:
        columns[column] = None
        rows.setdefault(row if isinstance(row, tuple) else (row,), {})[column] = text
    filled = [
        (*row, *(texts.get(each, missing) for each in columns)) for row, texts in rows.items()
    ]
    return TextTable(title, (*heads, *columns), [*filled, *last], name)


def csv_text(rows: Sequence[Mapping[str, str]]) -> str:
    r"""Rows as CSV: a column for each name that any row has, empty where a row lacks it.

    >>> csv_text([{"pet": "cat", "legs": "4"}, {"pet": "fish", "fins": "7"}])
    'pet,legs,fins\ncat,4,\nfish,,7\n'
    """
    file = io.StringIO()
    columns = dict.fromkeys(name for row in rows for name in row)
    writer = csv.DictWriter(file, list(columns), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def _escaped(text: str) -> str:
    return "".join(LATEX_SIGNS.get(sign, sign) for sign in text)
