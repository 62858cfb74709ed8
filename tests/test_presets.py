"""The page about presets says what the records say."""

import json

from benchmarks.recommended import PAGE, RECORDS, VARIANTS, filled, table

from vgib.config import PRESETS


def test_the_table_of_the_page_is_drawn_from_the_records() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert filled(page) == page


def test_each_row_has_a_variant_and_its_intervals() -> None:
    lines = json.loads(RECORDS.read_text(encoding="utf-8"))
    rows = table(lines).splitlines()[2:]
    assert len(rows) == len(lines) / 3
    assert all(row.split(" | ")[1] in VARIANTS and row.count("[") == 4 for row in rows)


def test_every_preset_is_explained() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in page for name in PRESETS)
