"""The account of a run: it adds up, and its folder holds one run only."""

from pathlib import Path

import pytest

from vgib.errors import FileFormatError, InputError
from vgib.stream.manifest import CountError, InputFile, Manifest, begin, by_kind, read_manifest


def manifest(settings: str = "a", **counts: int) -> Manifest:
    return Manifest(settings, [InputFile("in.smi", 10, **counts)])


def test_it_comes_back_as_it_was_written(tmp_path: Path) -> None:
    told = manifest(records=3, recognized=2, rejected=1)
    told.reasons = {"no": 1}
    told.write(tmp_path)
    assert read_manifest(tmp_path) == told
    assert (told.records, told.recognized, told.rejected) == (3, 2, 1)
    told.check()


def test_counts_that_do_not_add_up_are_an_error() -> None:
    with pytest.raises(CountError, match="3 records went in, 1 were recognized and 1 rejected"):
        manifest(records=3, recognized=1, rejected=1).check()
    with pytest.raises(CountError, match="but 0 reasons"):
        manifest(records=3, recognized=1, rejected=2).check()


def test_a_folder_belongs_to_one_run(tmp_path: Path) -> None:
    begin(tmp_path / "out", manifest(), resume=False)
    begin(tmp_path / "out", manifest(), resume=True)
    with pytest.raises(InputError, match="add --resume"):
        begin(tmp_path / "out", manifest(), resume=False)
    with pytest.raises(InputError, match="other settings"):
        begin(tmp_path / "out", manifest("b"), resume=True)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="not empty"):
        begin(tmp_path, manifest(), resume=True)


def test_a_damaged_manifest_is_explained(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(FileFormatError, match="use another folder"):
        read_manifest(tmp_path)


def test_reasons_are_counted_without_their_numbers() -> None:
    found = by_kind(
        ["the ring with atoms 1, 2, 13 is odd", "the ring with atoms 4 is odd", "other"]
    )
    assert found == {"the ring with atoms # is odd": 2, "other": 1}
