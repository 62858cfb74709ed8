"""Figures by matplotlib: the same text for the same numbers."""

from vgib.experiments.engine.curves import new_figure, svg


def test_a_figure_is_the_same_each_time() -> None:
    def drawn() -> str:
        figure, axes = new_figure(1, 1, (2, 2))
        axes[0, 0].plot([0, 1], [1, 0])
        return svg(figure)

    assert drawn() == drawn() and drawn().startswith("<svg") and "<dc:date>" not in drawn()
