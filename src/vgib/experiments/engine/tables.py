"""A table of text, written three ways: Markdown, CSV, LaTeX."""

import csv
import io
from dataclasses import dataclass, field

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

    def csv(self) -> str:
        """The table as CSV with a header line; the title is left out."""
        file = io.StringIO()
        csv.writer(file, lineterminator="\n").writerows([self.headers, *self.rows])
        return file.getvalue()

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


def _escaped(text: str) -> str:
    return "".join(LATEX_SIGNS.get(sign, sign) for sign in text)
