"""Records: on the disk at once, never torn, never twice."""

import json
import logging
from pathlib import Path

import pytest

from vgib.errors import FileFormatError, UnwritableError
from vgib.experiments.engine.records import FIELDS, Record, Records, host


def record(key: str, value: float = 0.5) -> Record:
    return dict.fromkeys(FIELDS) | {"key": key, "result": {"value": value}}


@pytest.fixture
def records(tmp_path: Path) -> Records:
    return Records(tmp_path / "table")


def test_no_folder_means_no_records(records: Records) -> None:
    assert list(records) == [] and records.by_key() == {}


def test_records_come_back_as_they_were(records: Records) -> None:
    records.append("A/sum", record("A/sum/0"))
    records.append("A/sum", record("A/sum/1", 0.1 + 0.2))
    records.append("B/sum", record("B/sum/0"))
    assert [r["key"] for r in records] == ["A/sum/0", "A/sum/1", "B/sum/0"]
    assert records.by_key()["A/sum/1"]["result"]["value"] == 0.1 + 0.2


def test_a_line_is_one_record_with_sorted_names(records: Records) -> None:
    records.append("A", record("a"))
    (line,) = (records.folder / "A.jsonl").read_text().splitlines()
    assert list(json.loads(line)) == sorted(FIELDS)


def test_of_two_records_with_one_key_the_first_counts(records: Records) -> None:
    records.append("A", record("a", 1))
    records.append("A", record("a", 2))
    assert records.by_key()["a"]["result"]["value"] == 1


def test_a_torn_last_line_is_left_out_and_makes_room(
    records: Records, caplog: pytest.LogCaptureFixture
) -> None:
    records.append("A", record("a"))
    path = records.folder / "A.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:-10])
    with caplog.at_level(logging.WARNING):
        assert [r["key"] for r in records] == ["a"]
    assert "in the middle of a record" in caplog.text
    records.append("A", record("b"))
    assert [r["key"] for r in records] == ["a", "b"]
    assert path.read_bytes().startswith(whole)


def test_a_file_that_is_only_a_torn_line_starts_anew(records: Records) -> None:
    records.folder.mkdir(parents=True)
    (records.folder / "A.jsonl").write_bytes(b'{"key": "a')
    records.append("A", record("b"))
    assert [r["key"] for r in records] == ["b"]


@pytest.mark.parametrize("line", [b"nonsense", b"[]", b'{"key": 1}', b"\xff"])
def test_another_broken_line_is_an_error_with_its_place(records: Records, line: bytes) -> None:
    records.append("A", record("a"))
    path = records.folder / "A.jsonl"
    path.write_bytes(line + b"\n" + path.read_bytes())
    with pytest.raises(FileFormatError, match=r"A\.jsonl, line 1"):
        list(records)


def test_a_number_that_json_has_not_is_refused(records: Records) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        records.append("A", record("a", float("nan")))
    assert list(records) == []


def test_a_closed_door_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UnwritableError, match="cannot write the record"):
        Records(tmp_path / "file").append("A", record("a"))


def test_the_host_is_a_kind_of_machine_without_a_name() -> None:
    import platform

    found = host()
    assert found["cpu"] and found["cores"] >= 1
    assert platform.node() not in json.dumps(found)


def test_what_is_forgotten_leaves_the_rest_as_it_was(tmp_path: Path) -> None:
    records = Records(tmp_path)
    for key in ("a", "b", "c"):
        records.append("A", record(key))
    before = (tmp_path / "A.jsonl").read_bytes().splitlines()
    records.forget({"b"})
    assert (tmp_path / "A.jsonl").read_bytes().splitlines() == [before[0], before[2]]
    records.forget({"b"})
    assert list(records.by_key()) == ["a", "c"]


def test_a_record_from_before_still_loads(tmp_path: Path) -> None:
    """Of a row that is called otherwise today, with settings that are gone, without a hash."""
    line = (
        '{"host": {"cores": 2}, "job": {"average": null, "bottleneck": "vgib-recommended", '
        '"dataset": "MUTAG", "encoder": "gcn", "fold": 0, "module": "vgib", "nested": false, '
        '"readout": "sum"}, "key": "MUTAG/sum/gcn/vgib-recommended/0-a6d3a1cd5b1b", '
        '"result": {"test_accuracy": 0.7368}, "seconds": {"cpu": 1.3}, "versions": {}}\n'
    )
    (tmp_path / "old.jsonl").write_text(line)
    (record,) = Records(tmp_path)
    assert record["result"]["test_accuracy"] == 0.7368 and "code" not in record
