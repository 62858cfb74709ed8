"""Every table and figure of every recipe on one page."""

import re
from base64 import b64encode
from collections.abc import Iterable

from vgib.experiments.engine.coverage import of_recipe
from vgib.experiments.engine.drawing import Drawn
from vgib.experiments.engine.recipe import Recipe
from vgib.experiments.engine.records import Records
from vgib.page import html as page

LEAD = (
    "Drawn from records alone. Every divergence stands beside controls of the same size; numbers "
    "in round brackets are the paper's. A cell with [1/3] has one of three seeds so far."
)


def overview(parts: Iterable[tuple[Recipe, Records, Drawn]]) -> str:
    """The page: a section for each recipe, the paper's tables and figures first."""
    ordered = sorted(parts, key=lambda part: place(part[0].name))
    sections = [_section(made, records, drawn) for made, records, drawn in ordered]
    return page.page("vgib: the experiments", LEAD, sections)


def place(name: str) -> tuple[int, str]:
    """Where a recipe stands: tables, figures, then studies of our own.

    >>> sorted(["cliffs", "figure1", "table4_more", "table1"], key=place)
    ['table1', 'figure1', 'cliffs', 'table4_more']
    """
    kinds = (r"table\d+", r"figure\d+\w?")
    found = (number for number, kind in enumerate(kinds) if re.fullmatch(kind, name))
    return next(found, len(kinds)), name


def _section(made: Recipe, records: Records, drawn: Drawn) -> str:
    done = of_recipe(made, records)
    told = (
        f"{done['full_cells']} of {done['cells']} cells are complete; `vgib run {made.name}` "
        "computes the rest."
    )
    shown = [picture(name, svg) for name, svg in drawn.figures.items()]
    for table in drawn.tables:
        shown += [page.paragraph(table.title), page.table(table.headers, table.rows)]
    return page.section(made.summary, page.paragraph(told), *shown)


def picture(name: str, svg: str) -> str:
    """A figure inside the page; as an image, so that the names inside it cannot clash."""
    data = b64encode(svg.encode()).decode()
    return (
        f'<p class="wide"><img alt="{name.removesuffix(".svg")}" '
        f'src="data:image/svg+xml;base64,{data}"></p>'
    )
