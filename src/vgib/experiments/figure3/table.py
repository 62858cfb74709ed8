"""Figure 3 from its records: the same molecules with the subgraph of each method side by side."""

from html import escape
from typing import Any

from vgib.chem import draw as chemistry
from vgib.experiments.engine.cells import recorded
from vgib.experiments.engine.drawing import Drawn
from vgib.experiments.engine.recipe import Recipe
from vgib.experiments.engine.records import Records
from vgib.experiments.engine.tables import TextTable

CELL = (220, 170)
LABEL = 30
SIDE = 90

Shown = dict[str, Any]
"""One molecule as a method sees it: SMILES, value, scores, nodes, divergence, and the best."""


def draw(made: Recipe, records: Records) -> Drawn:
    """Figure 3, a picture for each property, and the divergences in it."""
    found = shown(made, records)
    pictures = {
        f"{made.name}_{version}_{target}.svg": picture(methods, target)
        for (version, target), methods in found.items()
        if common(methods)
    }
    return Drawn([table(place, methods) for place, methods in found.items()], pictures)


def shown(made: Recipe, records: Records) -> dict[tuple[str, str], dict[str, list[Shown]]]:
    """The molecules of each (version, property), by method; one seed of each is shown."""
    found: dict[tuple[str, str], dict[str, list[Shown]]] = {}
    for cell in recorded(made, records):
        version, target, method = cell.place
        for record in cell.records.values():
            found.setdefault((version, target), {})[method] = record["result"]["molecules"]
    return found


def common(methods: dict[str, list[Shown]]) -> dict[str, dict[str, Shown]]:
    """The molecules that every method was shown, by SMILES and then by method."""
    by_smiles = [{one["smiles"]: one for one in seen} for seen in methods.values()]
    return {
        smiles: {name: seen[smiles] for name, seen in zip(methods, by_smiles, strict=True)}
        for smiles in by_smiles[0]
        if all(smiles in seen for seen in by_smiles)
    }


def picture(methods: dict[str, list[Shown]], target: str) -> str:
    """Molecules down, methods across, the reachable best last."""
    rows = common(methods)
    columns = [*methods, "reachable best"]
    width, height = CELL
    total = (SIDE + width * len(columns), LABEL + height * len(rows))
    parts = [
        text(SIDE + width * (number + 0.5), LABEL * 0.65, name, bold=True)
        for number, name in enumerate(columns)
    ]
    for row, (smiles, seen) in enumerate(rows.items()):
        top = LABEL + height * row
        some = next(iter(seen.values()))
        parts.append(text(SIDE / 2, top + height / 2, f"{target} {some['value']:.2f}"))
        drawn = [(one["scores"], one["nodes"], one["divergence"]) for one in seen.values()]
        drawn.append((None, some["best_nodes"], some["best_divergence"]))
        for column, (scores, nodes, divergence) in enumerate(drawn):
            left = SIDE + width * column
            svg = chemistry.draw(smiles, scores, nodes, size=(width, height - 22), legend=False)
            parts.append(placed(svg, left, top))
            told = "not judged" if divergence is None else f"divergence {divergence:.2f}"
            parts.append(text(left + width / 2, top + height - 9, told))
    title = f"{target}: subgraphs of {', '.join(columns)}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total[0]} {total[1]}" '
        f'width="{total[0]}" height="{total[1]}" role="img"><title>{escape(title)}</title>'
        f'<rect width="100%" height="100%" fill="#ffffff"/>{"".join(parts)}</svg>\n'
    )


def placed(svg: str, left: float, top: float) -> str:
    """A picture inside another one."""
    return svg.replace("<svg ", f'<svg x="{left:g}" y="{top:g}" ', 1)


def text(x: float, y: float, words: str, *, bold: bool = False) -> str:
    """A line of text around a point."""
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="middle" font-family="sans-serif" '
        f'font-size="12" fill="#1d2433"{weight}>{escape(words)}</text>'
    )


def table(place: tuple[str, str], methods: dict[str, list[Shown]]) -> TextTable:
    """The divergences of the picture as numbers."""
    rows = common(methods)
    headers = ("molecule", *methods, "reachable best")
    filled: list[tuple[str, ...]] = [
        (
            smiles,
            *(number(one["divergence"]) for one in seen.values()),
            number(next(iter(seen.values()))["best_divergence"]),
        )
        for smiles, seen in rows.items()
    ]
    version, target = place
    return TextTable(f"{target}, {version}: divergence of the drawn subgraphs", headers, filled)


def number(value: float | None) -> str:
    """Three decimals, or nothing."""
    return "" if value is None else f"{value:.3f}"
