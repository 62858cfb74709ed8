"""Files that are either whole or absent: everything is written beside its name and then renamed."""

import errno
import json
import os
import platform
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vgib.errors import FileFormatError, InputError, UnwritableError, VgibError

if TYPE_CHECKING:  # listing datasets must not cost the import of torch
    from torch import Tensor


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file beside ``path`` that takes its name once the block ends without an error.

    A killed process leaves the old file (or none), never half of a new one.

    Raises:
        UnwritableError: there is no room, or no permission, or no such place.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.stem}.", suffix=".part", dir=path.parent)
    except OSError as error:
        raise unwritable(path, error) from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except VgibError:
        raise
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def replacing_folder(folder: Path, names: Collection[str]) -> Iterator[Path]:
    """A temporary folder that takes the name of ``folder`` once the block ends without an error.

    What was there under these ``names`` goes with the old folder.

    Raises:
        InputError: the folder holds something else, which is never removed.
        UnwritableError: there is no room, or no permission, or no such place.
    """
    check_replaceable(folder, names)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise unwritable(folder, error) from error
    try:
        yield temporary
        temporary.chmod(0o755)
        if folder.exists():
            # Two renames: in between there is neither, never a mixture of old and new.
            folder.rename(temporary.with_name(f"{temporary.name}.old"))
        temporary.rename(folder)
    except OSError as error:
        raise unwritable(folder, error) from error
    finally:
        for left in (temporary, temporary.with_name(f"{temporary.name}.old")):
            shutil.rmtree(left, ignore_errors=True)


NO_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK, errno.EINVAL)
"""Answers of a file system that has no locks, on which nobody can be kept out."""


@contextmanager
def locked(path: Path, what: str) -> Iterator[None]:
    """Runs a block that no other process may run at the same time; the file names who does.

    Raises:
        InputError: another process does.
        UnwritableError: the file cannot be made.
    """
    from filelock import FileLock, Timeout

    ensure_writable(path.parent)
    lock = FileLock(path, blocking=False, on_acquired=_sign)
    try:
        lock.acquire()
    except Timeout:
        raise InputError(
            f"{what} is being written by {_holder(path)}; wait until it is done, or choose another "
            "place"
        ) from None
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise unwritable(path, error) from error
    try:
        yield
    finally:
        with suppress(PermissionError):  # Windows keeps it until it is released
            path.unlink(missing_ok=True)
        lock.release()


def _sign(file: int) -> None:
    """Writes into a lock's file which process holds it."""
    os.ftruncate(file, 0)
    os.write(file, f"process {os.getpid()} on {platform.node()}\n".encode())


def _holder(path: Path) -> str:
    """The process that holds a lock, as far as its file can be read."""
    try:
        return path.read_text(encoding="utf-8")[:200].strip() or "another process"
    except OSError:  # Windows lets nobody else read it
        return "another process"


def check_name(path: Path) -> None:
    """Refuses a name with bytes that are no text, since Arrow cannot open such a file.

    Raises:
        InputError: the name is such.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise InputError(
            f"the name {str(path)!r} holds bytes that are no text; use another name"
        ) from None


def check_replaceable(folder: Path, names: Collection[str]) -> None:
    """Refuses a folder that holds anything but files of these names, before any work is done."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{str(folder)!r} is a file; choose another folder")
    strange = [path.name for path in folder.glob("*") if path.name not in names]
    if strange:
        raise InputError(
            f"{str(folder)!r} holds {min(strange)!r}, which is not of this command; choose an "
            "empty or a new folder"
        )


def ensure_writable(folder: Path) -> None:
    """Makes a folder and tries it, so that long work does not end at a closed door.

    Raises:
        UnwritableError: files cannot be written there.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise unwritable(folder, error) from error


def write_text(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def json_text(values: Any) -> str:
    """Values as JSON; a number that does not exist is ``null``, as JSON has no NaN."""
    return json.dumps(_plain(values), indent=1, allow_nan=False) + "\n"


def _plain(values: Any) -> Any:
    if isinstance(values, dict):
        return {key: _plain(value) for key, value in values.items()}
    if isinstance(values, list | tuple):
        return [_plain(value) for value in values]
    return None if isinstance(values, float) and not isfinite(values) else values


def write_safetensors(path: Path, tensors: "dict[str, Tensor]", metadata: dict[str, str]) -> None:
    """Writes named tensors atomically."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    with replacing(path) as temporary:
        try:
            save_file(tensors, temporary, metadata=metadata)
        except SafetensorError as error:
            raise OSError(str(error)) from error


def read_safetensors(
    path: Path, form: str | None, what: str
) -> "tuple[dict[str, Tensor], dict[str, Any]]":
    """Named tensors, memory-mapped, and the JSON that the file holds under ``about``.

    ``about`` must name ``form`` as its format, if one is given; errors call the content ``what``.

    Raises:
        InputError: there is no such file.
        FileFormatError: it cannot be read, or its format is not ``form``.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            about = json.loads((file.metadata() or {}).get("about", "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise InputError(f"there is no file {str(path)!r}") from None
    except (SafetensorError, ValueError, RecursionError, OSError) as error:
        raise FileFormatError(
            f"{str(path)!r} is truncated or not a file of {what} ({error}); make it again"
        ) from None
    if not isinstance(about, dict) or (form is not None and about.get("format") != form):
        raise FileFormatError(f"{str(path)!r} holds tensors, but not {what}")
    return tensors, about


def unwritable(path: Path, error: OSError) -> UnwritableError:
    """The error for a file that the system does not let us write."""
    why = error.strerror or error
    return UnwritableError(
        f"cannot write {str(path)!r}: {why}; free some space or choose another place"
    )
