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
    assert first["parts"] == [{"smiles": "*CO", "atoms": [1, 2], "score": 0.8, "keep": 0.6667}]
    assert len(first["drawing"]["p"]) == 6 and first["drawing"]["l"] == {"2": "OH"}
    assert second["parts"] == [] and "spread" not in second and second["id"] == "</script><b>"
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
    rows[1] |= {"why_none": "every piece is predicted alike"}
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
