"""The page of recognized molecules: self-contained, bounded, and its script at work."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from vgib.page.recognized import Gallery, recognized_page, refusal_line


def row(line: int, **changes: Any) -> dict[str, Any]:
    part = {"smiles": "*CO", "atoms": [1, 2], "score": 0.8, "keep_ratio": 0.6667}
    plain = {"id": f"m{line}", "smiles": "CCO", "note": None, "prediction": line / 7}
    found = {"scores": [0.1, 0.5, 0.9], "subgraphs": [part], "spread": 0.1, "stability": 0.5}
    return {"line": line} | plain | found | changes


ENTRY = {
    "fragment": "*CO",
    "count": 3,
    "share": 0.5,
    "missed": 0,
    "mean_with": 1.0,
    "mean_without": 0.5,
    "difference": 0.5,
    "low": 0.1,
    "high": 0.9,
    "lines": (1, 2, 3),
    "names": ("m1", "m2", "m3"),
}


def page_of(rows: list[dict[str, Any]], **options: Any) -> str:
    gallery = Gallery()
    gallery.add(rows)
    return recognized_page("Title", "Lead.", gallery, [ENTRY], **options)


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'id="recognized">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    content: dict[str, Any] = json.loads(found[1].replace("<\\/", "</"))
    return content


def test_the_script_is_told_everything() -> None:
    page = page_of([row(1), row(2, id="</script><b>", subgraphs=[], spread=None)])
    told = data_of(page)
    first, second = told["molecules"]
    assert (first["line"], first["id"], first["prediction"]) == (1, "m1", 0.14286)
    (part,) = first["parts"]
    assert part == {"smiles": "*CO", "atoms": [1, 2], "score": 0.8, "keep": 0.6667, "facts": ""}
    assert len(first["drawing"]["p"]) == 6 and first["drawing"]["l"] == {"2": "OH"}
    assert second["parts"] == [] and "spread" not in second and second["id"] == "</script><b>"
    assert first["steady"] == "50 %" and not second.keys() & {"stability", "steady"}
    assert page.index("<h2>Molecules") < page.index("<h2>Fragments that recur")
    assert told["ledger"][0]["drawing"]["b"] and told["ledger"][0]["count"] == 3


def test_the_page_loads_nothing_and_escapes_what_it_is_given() -> None:
    page = page_of([row(1, id="</script><b>")], refused=["line 3 (<i>): bad"], about=["a & b"])
    assert not re.search(r'(src|href)="|https?://(?!www\.w3\.org)|@import|url\(', page)
    assert "</script><b>" not in page and "<i>" not in page and "a &amp; b" in page
    assert 'aria-live="polite"' in page and "prefers-color-scheme: dark" in page


def test_of_too_many_molecules_a_choice_is_shown_that_depends_on_their_lines_alone() -> None:
    lines = range(1, 200)
    galleries = [Gallery(most=20) for _ in range(2)]
    for gallery, order in zip(galleries, (lines, reversed(lines)), strict=True):
        for line in order:
            gallery.add([row(line)])
    first, second = ([one["line"] for one in gallery.molecules()] for gallery in galleries)
    assert first == second == sorted(first) and len(first) == 20 and first[-1] > 100
    assert "A random choice of 20 of the 199" in recognized_page("", "", galleries[0], [])


def test_one_scale_colors_all_pictures_and_its_legend_says_what_the_sign_is_about() -> None:
    rows = [row(line, effects=[0.0, -line / 10, 0.01]) for line in range(1, 11)]
    rows.append(row(11))  # of which no effects are known
    page = page_of(rows, prediction="probability of <odd>", unit="log-odds")
    assert data_of(page)["scale"] == 0.9  # the strongest atom of nine molecules in ten
    assert "An orange atom raises the probability of &lt;odd&gt;, a blue one lowers it" in page
    assert "full color stands for an effect of 0.9 log-odds or more." in page
    assert "probability of &lt;odd&gt;, highest first" in page
    scores = page_of(rows[-1:])
    assert "Darker atoms have a higher score" in scores and "orange" not in scores
    assert data_of(page_of([row(1, effects=[0.0] * 3)]))["scale"] == 1


def test_wide_tables_scroll_by_themselves() -> None:
    change = {"before": "F[*:1]", "after": "[*:1][H]", "pairs": 2, "difference": 1.0}
    changes = [change | {"low": None, "high": None, "names": ("a/b",)}]
    series = [{"core": "c1ccccc1", "place": "R1", "group": "F", "count": 2, "mean": 1.0}]
    page = page_of([row(1)], changes=changes, substituents=series)
    assert page.count("<table") == page.count('<div class="scroll"><table') == 3


def test_without_fragments_that_recur_there_is_no_ledger() -> None:
    gallery = Gallery()
    gallery.add([row(1)])
    page = recognized_page("", "", gallery, [])
    assert "Fragments that recur" not in page and "The one recognized molecule." in page


def test_a_refusal_names_what_it_can() -> None:
    told = {"line": 3, "id": "x", "text": "", "reason": "bad"}
    assert refusal_line(told) == "line 3 (x): bad"


@pytest.mark.browser
def test_a_browser_shows_cards_and_the_ledger(tmp_path: Path) -> None:
    """Chromium runs the script; what it made is in the document that it prints."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium to look at the page with")
    path = tmp_path / "page.html"
    rows = [row(line) for line in range(1, 3001)]
    rows[1] |= {"statement": "mutagenic 98.7 %", "probability": 0.987}
    rows[1] |= {"why_none": "every piece is predicted alike", "stability": 0.3}
    rows[1] |= {"warnings": ["is large"], "facts": [("alerts", "nitro (brenk)")]}
    rows[1]["subgraphs"] = [rows[1]["subgraphs"][0] | {"facts": ["2 of 3 atoms", "alone odd 60 %"]}]
    rows[2] |= {"prediction": 0, "probability": 0.8, "second_class_probability": 0.2}
    for one in rows[3:]:
        one |= {"prediction": 1, "probability": 0.6, "second_class_probability": 0.6}
    path.write_text(page_of(rows))
    switches = ["headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run"]
    switches += ["disable-background-networking", "disable-component-update", "disable-sync"]
    switches += [f"user-data-dir={tmp_path / 'profile'}", "virtual-time-budget=3000", "dump-dom"]
    done = subprocess.run(
        [chromium, *(f"--{switch}" for switch in switches), path.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.count("<figure>") == 24  # a page of 3,000
    assert "1 to 24 of 3,000" in done.stdout
    assert 'aria-label="m1, CCO; recognized: *CO"' in done.stdout
    assert "+0.500 [0.100, 0.900]" in done.stdout
    assert "mutagenic 98.7 % ± 10 %" in done.stdout
    assert "why this part: every piece is predicted alike" in done.stdout
    assert "<strong>careful: </strong>this molecule is large" in done.stdout
    assert "stability 30 % (no better than chance)" in done.stdout
    assert "<summary>this part, alerts</summary>" in done.stdout
    assert "<dd>2 of 3 atoms, alone odd 60 %</dd>" in done.stdout
    assert "<dd>nitro (brenk)</dd>" in done.stdout
