"""The page about presets says what the records say."""

import json
from pathlib import Path

import numpy as np
from benchmarks.recommended import PAGE, RECORDS, VARIANTS, Molecules, filled, table

from vgib.config import PRESETS
from vgib.data.splits import random_split
from vgib.oracles.training import JUDGED_SEEDS


def test_the_table_of_the_page_is_drawn_from_the_records() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert filled(page) == page


def test_each_row_has_a_variant_and_its_intervals() -> None:
    lines = json.loads(RECORDS.read_text(encoding="utf-8"))
    rows = table(lines).splitlines()[2:]
    assert len(rows) == len(lines) / 3
    assert all(row.split(" | ")[1] in VARIANTS and row.count("[") == 4 for row in rows)


def test_what_is_judged_is_new_to_oracle_and_model_and_never_tested(
    mirror: Path, tmp_path: Path
) -> None:
    found = Molecules("mlm", mirror, tmp_path)
    judged, val = set(found.judged.ids or ()), set(found.val.ids or ())
    trained = set(found.smiles[found.train_rows])
    assert len(judged) == 300 and judged <= set(found.smiles)
    assert not judged & val and not judged & trained
    tested = [random_split(len(found.smiles), seed=seed).test for seed in JUDGED_SEEDS]
    assert not judged & set(found.smiles[np.unique(np.concatenate(tested))])


def test_every_preset_is_explained() -> None:
    page = PAGE.with_name("presets.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in page for name in PRESETS)
