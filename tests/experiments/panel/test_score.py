"""The panel of textbook molecules, scored with the shipped models.

The bars are 25 of 30 mutagens, 12 of 17 D2 ligands and 8 of 13 soft spots; docs/panel.md tells how
far the shipped models are from them. These are the least that may be shipped.
"""

from functools import cache
from pathlib import Path

import pytest

from vgib.experiments.panel.expected import PanelGroup
from vgib.experiments.panel.score import BARS, MODELS, PanelAnswer, judge_panel, summary

PAGE = Path(__file__).resolve().parents[3] / "docs" / "panel.md"
LEAST: dict[PanelGroup, int] = {"mutagen": 21, "d2": 9, "soft spot": 1}
judged = cache(judge_panel)


@pytest.mark.parametrize("group", MODELS)
def test_the_default_answer_finds_what_a_chemist_would_point_at(group: PanelGroup) -> None:
    told = summary(group, judged(group))
    assert told["molecules"] == {"mutagen": 30, "d2": 17, "soft spot": 13}[group]
    assert LEAST[group] <= int(told["hits"]) and float(told["kept share"]) <= 0.65
    assert LEAST[group] <= BARS[group]
    for one in judged(group):
        assert one.part is not None or one.why_none is not None
        assert not (one.is_hit and one.part is None)
        assert one.is_alike or one.why_none is not None


def test_parts_are_predicted_alike_and_leave_out_half_of_the_atoms() -> None:
    parts = [one for group in MODELS for one in judged(group) if one.part is not None]
    assert len(parts) >= 40
    assert sum(one.is_alike for one in parts) / len(parts) >= 0.9
    assert sum(one.kept for one in parts) / len(parts) <= 0.5


@pytest.mark.parametrize("further", [False, True], ids=["panel", "further"])
@pytest.mark.parametrize("group", MODELS)
def test_the_page_tells_what_is_found(group: PanelGroup, further: bool) -> None:
    answers: list[PanelAnswer] = judge_panel(group, further=True) if further else judged(group)
    told = summary(group, answers)
    row = [group, told["model"], f"{told['hits']} of {told['molecules']}"]
    row += [] if further else [told["bar"]]
    row += [told[name] for name in ("hits by chance", "parts found", "said to suffice")]
    assert f"| {' | '.join(map(str, row))} |" in PAGE.read_text(encoding="utf-8")
