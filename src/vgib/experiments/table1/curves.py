"""The figures of Table 1: divergence against size, and the share of the gap that is closed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vgib.experiments.engine.curves import COLORS, OTHER, add_legend, new_figure, svg
from vgib.experiments.table1.cells import SHORT, DivergenceCell

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def size_curves(found: Sequence[DivergenceCell]) -> str:
    """Divergence against size: methods between the random band and the reachable best."""
    places = list(dict.fromkeys((cell.version, cell.target) for cell in found if cell.records))
    if not places:
        return ""
    versions = list(dict.fromkeys(version for version, _ in places))
    names = list(dict.fromkeys(name for _, name in places))
    width, height = 3.1 * len(names), 2.7 * len(versions) + 0.5
    figure, axes = new_figure(len(versions), len(names), (max(width, 4.5), height))
    for row, version in enumerate(versions):
        for column, name in enumerate(names):
            own = [c for c in found if (c.version, c.target) == (version, name) and c.records]
            panel = axes[row, column]
            _panel(panel, own)
            panel.set_title(f"{name.upper()}, {SHORT[version]}", fontsize=9)
            if row == len(versions) - 1:
                panel.set_xlabel("share of the atoms kept")
            if column == 0:
                panel.set_ylabel("divergence")
    add_legend(figure, axes, 5)
    return svg(figure)


def _panel(panel: "Axes", found: Sequence[DivergenceCell]) -> None:
    if not found:
        panel.set_axis_off()
        return
    first = found[0]
    kept = first.curve("kept_share")
    random, best = first.curve("random"), first.curve("best")
    panel.fill_between(kept, best, random, color="#000000", alpha=0.07, linewidth=0)
    grown = first.grown_curve("kept_share"), first.grown_curve("divergence")
    panel.plot(*grown, color="#000000", linestyle=":", linewidth=1, label="random connected")
    panel.plot(
        kept, random, color="#000000", linestyle="--", linewidth=1, label="random ring-intact"
    )
    panel.plot(kept, best, color="#000000", linewidth=1, label="reachable best")
    for cell in found:
        panel.plot(
            cell.curve("kept_share"),
            cell.curve("divergence"),
            color=COLORS.get(cell.method, OTHER),
            marker="o",
            markersize=2.5,
            linewidth=1.3,
            label=cell.method,
        )
    panel.set_ylim(bottom=0)


def gap_bars(found: Sequence[DivergenceCell]) -> str:
    """The share of the gap that each method closes at half size, with its interval."""
    recorded = [cell for cell in found if cell.records]
    places = list(dict.fromkeys((cell.version, cell.target) for cell in recorded))
    if not places:
        return ""
    methods = list(dict.fromkeys(cell.method for cell in recorded))
    versions = list(dict.fromkeys(version for version, _ in places))
    figure, axes = new_figure(len(versions), 1, (8.5, 2.4 * len(versions) + 0.6))
    for row, version in enumerate(versions):
        panel = axes[row, 0]
        names = [name for where, name in places if where == version]
        for cell in recorded:
            if cell.version != version:
                continue
            gap = cell.gap_closed("half")
            step = 0.8 / len(methods)
            x = names.index(cell.target) + step * (methods.index(cell.method) + 0.5) - 0.4
            color = COLORS.get(cell.method, OTHER)
            label = cell.method if names.index(cell.target) == 0 else None
            panel.bar(x, 100 * gap.value, width=0.92 * step, color=color, label=label)
            panel.plot([x, x], [100 * gap.low, 100 * gap.high], color="#222222", linewidth=1)
        panel.axhline(0, color="#222222", linewidth=0.8)
        panel.set_xticks(range(len(names)), [name.upper() for name in names])
        panel.set_ylabel("gap closed, %")
        panel.set_title(f"{SHORT[version]}: 0 is chance, 100 the reachable best", fontsize=9)
    add_legend(figure, axes, 4)
    return svg(figure)
