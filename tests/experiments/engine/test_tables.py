"""Tables as Markdown, CSV and LaTeX."""

import csv
import io

from vgib.experiments.engine.tables import TextTable, csv_text

TABLE = TextTable("Share & spread", ("name", "value"), [("a_b", "0.5 ± 0.1"), ("c|d", "50 %")])


def test_markdown_keeps_its_columns() -> None:
    lines = TABLE.markdown().splitlines()
    assert lines[0] == "**Share & spread**"
    assert {line.count("|") for line in lines[2:]} == {3}
    assert "| c/d | 50 % |" in lines


def test_csv_comes_back() -> None:
    rows = TABLE.named_rows()
    assert [row["table"] for row in rows] == [TABLE.title] * 2
    assert list(csv.DictReader(io.StringIO(csv_text(rows)))) == rows


def test_csv_holds_tables_with_different_columns() -> None:
    other = TextTable("Legs", ("name", "legs"), [("cat", "4")])
    rows = [*TABLE.named_rows(), *other.named_rows()]
    read = list(csv.DictReader(io.StringIO(csv_text(rows))))
    assert read[0]["legs"] == "" and read[2] == {"value": ""} | rows[2]


def test_latex_escapes_its_signs() -> None:
    text = TABLE.latex()
    assert r"\caption{Share \& spread}" in text
    assert r"a\_b & 0.5 $\pm$ 0.1 \\" in text
    assert r"50 \%" in text
    assert text.count(r"\\") == 3
