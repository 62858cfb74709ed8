"""Figure 4 from the records of Table 3: fidelity against the share of atoms that is kept."""

from collections.abc import Sequence

from vgib.experiments.engine.curves import add_legend, new_figure, svg
from vgib.experiments.engine.drawing import Drawn
from vgib.experiments.engine.recipe import Recipe
from vgib.experiments.engine.records import Records
from vgib.experiments.engine.tables import TextTable
from vgib.experiments.table3.table import SIDES, SIGNS, FidelityCell, cells

STYLE = {
    "random": ("#bdbdbd", ":"),
    "gnnexplainer": ("#8c8c8c", "-"),
    "pgexplainer": ("#c9a66b", "-"),
    "graphmask": ("#a3b18a", "-"),
    "ig": ("#3b6ea8", "-"),
    "gradcam": ("#5aa469", "-"),
    "occlusion": ("#d1495b", "-"),
    "subgraphx": ("#2a9d8f", "--"),
    "gib": ("#6c757d", "--"),
    "gsat": ("#90be6d", "--"),
    "vgib-paper": ("#e39a3b", "-"),
    "fidelity-gate": ("#7b2d8b", "-"),
    "fidelity-each": ("#7b2d8b", ":"),
    "pgexplainer-tuned": ("#c9a66b", "-."),
    "graphmask-tuned": ("#a3b18a", "-."),
    "vgib": ("#111111", "-"),
    "vgib-beta0": ("#111111", ":"),
}
"""The color and dashes of each row."""


def draw(made: Recipe, records: Records) -> Drawn:
    found = cells(made, records)
    return Drawn(curve_tables(found), {f"{made.name}.svg": figure(found)})


def curve_tables(found: Sequence[FidelityCell]) -> list[TextTable]:
    """The numbers of Figure 4: each fidelity against the share that is kept."""
    drawn = []
    for target, gnn in dict.fromkeys(cell.place for cell in found if cell.records):
        own = [cell for cell in found if cell.place == (target, gnn) and cell.records]
        ratios = tuple(f"{ratio:g}" for ratio in own[0].ratios)
        for side in SIDES:
            rows = [
                (c.method, *(f"{c.fidelity(side, at):.3f}" for at in range(len(ratios))))
                for c in own
            ]
            title = f"{SIGNS[side]} of {gnn} on {target} against the share that is kept"
            drawn.append(TextTable(title, ("method", *ratios), rows))
    return drawn


def figure(found: Sequence[FidelityCell]) -> str:
    """Figure 4: both fidelities against the share that is kept, a panel for each network."""
    places = list(dict.fromkeys(cell.place for cell in found if cell.records))
    if not places:
        return ""
    targets = list(dict.fromkeys(target for target, _ in places))
    rows = [(gnn, side) for gnn in dict.fromkeys(gnn for _, gnn in places) for side in SIDES]
    size = (2.6 * len(targets) + 0.6, 2.1 * len(rows) + 0.7)
    drawing, axes = new_figure(len(rows), len(targets), size)
    for row, (gnn, side) in enumerate(rows):
        for column, target in enumerate(targets):
            panel = axes[row, column]
            for cell in found:
                if cell.place == (target, gnn) and cell.records:
                    color, dash = STYLE[cell.method]
                    values = [cell.fidelity(side, at) for at in range(len(cell.ratios))]
                    width = 2.2 if cell.method == "fidelity-gate" else 1.1
                    panel.plot(
                        cell.ratios, values, color=color, ls=dash, lw=width, label=cell.method
                    )
            panel.set_title(f"{target.upper()}, {gnn}", fontsize=8)
            if column == 0:
                panel.set_ylabel(f"{SIGNS[side]} {'↑' if side == 'plus' else '↓'}")
            if row == len(rows) - 1:
                panel.set_xlabel("share of the atoms kept")
    add_legend(drawing, axes, 7)
    return svg(drawing)
