"""Files that are whole or absent, and errors that say what to do."""

import errno
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from vgib.data.files import (
    json_text,
    locked,
    replacing,
    replacing_folder,
    write_safetensors,
    write_text,
)
from vgib.data.packed import PackedGraphs
from vgib.data.synthetic import generate_ba2motifs
from vgib.errors import InputError, UnwritableError, VgibError

REMEDY = "free some space or choose another place"


def litter(folder: Path, *expected: str) -> set[str]:
    """What lies in the folder beside what should."""
    return {path.name for path in folder.iterdir()} - set(expected)


@contextmanager
def room_for(num_bytes: int) -> Iterator[None]:
    """No file may grow beyond this size: the system refuses, as it does when a disk is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with replacing(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
        assert temporary.parent == path.parent
    assert path.read_text() == "new"
    assert not litter(tmp_path, "a.txt")


def test_a_new_file_can_be_read_by_others(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_text(path, "Grüße")
    assert path.read_text(encoding="utf-8") == "Grüße"
    assert path.stat().st_mode & 0o777 == 0o644


def test_missing_folders_are_made(tmp_path: Path) -> None:
    path = tmp_path / "one" / "two" / "a.txt"
    write_text(path, "text")
    assert path.read_text() == "text"


@pytest.mark.parametrize("error", [RuntimeError("no"), KeyboardInterrupt(), InputError("no")])
def test_an_error_inside_the_block_keeps_the_old_file_and_leaves_no_litter(
    tmp_path: Path, error: BaseException
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(type(error)) as caught, replacing(path) as temporary:
        temporary.write_text("half")
        raise error
    assert caught.value is error
    assert path.read_text() == "old"
    assert not litter(tmp_path, "a.txt")


def test_without_an_old_file_a_failure_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), replacing(tmp_path / "a.txt") as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert not litter(tmp_path)


@pytest.mark.parametrize("place", ["under a file", "a read-only file system", "a folder"])
def test_an_unwritable_place_is_named_with_the_remedy(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    path = {
        "under a file": tmp_path / "file" / "a.txt",
        "a read-only file system": Path("/proc/vgib/a.txt"),
        "a folder": tmp_path / "folder",
    }[place]
    with pytest.raises(UnwritableError, match=REMEDY) as caught:
        write_text(path, "text")
    assert repr(str(path)) in str(caught.value)
    assert isinstance(caught.value, VgibError)
    assert isinstance(caught.value, OSError)
    assert not litter(tmp_path, "file", "folder")


def test_a_full_disk_is_named_with_the_remedy_and_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def full(self: Path, *args: Any, **options: Any) -> int:
        with Path("/dev/full").open("w") as file:
            return file.write("text")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(UnwritableError, match=f"No space left on device; {REMEDY}") as caught:
        write_text(path, "new")
    monkeypatch.undo()
    assert isinstance(caught.value.__cause__, OSError)
    assert caught.value.__cause__.errno == errno.ENOSPC
    assert path.read_text() == "old"
    assert not litter(tmp_path, "a.txt")


def test_a_text_that_the_system_refuses_half_way_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with room_for(1000), pytest.raises(UnwritableError, match=REMEDY):
        write_text(path, "x" * 100_000)
    assert path.read_text() == "old"
    assert not litter(tmp_path, "a.txt")


def test_tensors_and_their_description_come_back(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    tensors = {"one": torch.randn(3), "two": torch.arange(4)}
    write_safetensors(path, tensors, {"about": "{}"})
    found = load_file(path)
    assert found.keys() == tensors.keys()
    assert all(torch.equal(found[name], tensors[name]) for name in tensors)


def test_tensors_that_do_not_fit_keep_the_old_file_and_name_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    path.write_bytes(b"old")
    with room_for(1000), pytest.raises(UnwritableError, match=REMEDY) as caught:
        write_safetensors(path, {"one": torch.randn(100_000)}, {})
    assert repr(str(path)) in str(caught.value)
    assert path.read_bytes() == b"old"
    assert not litter(tmp_path, "a.safetensors")


def test_packed_graphs_that_do_not_fit_keep_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "graphs.safetensors"
    few, many = generate_ba2motifs(2), generate_ba2motifs(200)
    few.save(path)
    with room_for(2000), pytest.raises(UnwritableError, match=REMEDY):
        many.save(path)
    assert len(PackedGraphs.load(path)) == 2
    assert not litter(tmp_path, "graphs.safetensors")


def test_packed_graphs_in_an_unwritable_place_say_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UnwritableError, match="cannot write"):
        generate_ba2motifs(2).save(tmp_path / "file" / "graphs.safetensors")


def test_what_a_killed_process_left_behind_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / ".a.xyz.part").write_text("half")
    write_text(tmp_path / "a.txt", "whole")
    assert (tmp_path / "a.txt").read_text() == "whole"


# ---- folders -------------------------------------------------------------------------------------


def test_a_folder_is_replaced_as_a_whole(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    for text in ("old", "new"):
        with replacing_folder(folder, ["a", "b"]) as temporary:
            write_text(temporary / "a", text)
            assert not folder.exists() or (folder / "a").read_text() == "old"
    assert (folder / "a").read_text() == "new" and folder.stat().st_mode & 0o777 == 0o755
    with replacing_folder(folder, ["a", "b"]) as temporary:
        write_text(temporary / "b", "other")
    assert [path.name for path in folder.iterdir()] == ["b"]
    assert not litter(tmp_path, "out")


def test_a_failure_leaves_the_old_folder(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with replacing_folder(folder, ["a"]) as temporary:
        write_text(temporary / "a", "old")
    with pytest.raises(KeyError), replacing_folder(folder, ["a"]) as temporary:
        write_text(temporary / "a", "new")
        raise KeyError
    assert (folder / "a").read_text() == "old" and not litter(tmp_path, "out")


def test_what_is_not_ours_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis").write_text("years")
    with pytest.raises(InputError, match="holds 'thesis'"), replacing_folder(tmp_path, ["a"]):
        pass
    with pytest.raises(InputError, match="is a file"), replacing_folder(tmp_path / "thesis", []):
        pass
    with (
        pytest.raises(UnwritableError, match=REMEDY),
        replacing_folder(tmp_path / "thesis" / "out", []),
    ):
        pass


# ---- locks ---------------------------------------------------------------------------------------


def test_who_holds_a_lock_is_named_and_its_file_goes_with_it(tmp_path: Path) -> None:
    lock = tmp_path / ".lock"
    lock.write_text("process 1 on a machine that was switched off long ago\n")
    told = rf"the page is being written by process {os.getpid()} on [^\n]*; wait until it is done"
    with locked(lock, "the page"), pytest.raises(InputError, match=told), locked(lock, "the page"):
        pass
    assert not litter(tmp_path)
    with locked(lock, "the page"):
        pass


def test_a_lock_that_cannot_be_made_is_named_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / ".lock").mkdir()
    with pytest.raises(UnwritableError, match=REMEDY), locked(tmp_path / ".lock", "the page"):
        pass


def test_a_file_system_without_locks_keeps_nobody_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> None:
        raise OSError(errno.ENOTSUP, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", refuse)
    with locked(tmp_path / ".lock", "the page"), locked(tmp_path / ".lock", "the page"):
        pass
    assert not litter(tmp_path)


def test_the_package_needs_no_module_that_windows_lacks() -> None:
    code = "import sys; sys.modules['fcntl'] = None; import vgib.data.files, vgib.cli.app"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_numbers_that_do_not_exist_are_null() -> None:
    values = {"a": [1.5, float("nan")], "b": (float("inf"), "nan", None, True)}
    assert json.loads(json_text(values)) == {"a": [1.5, None], "b": [None, "nan", None, True]}
