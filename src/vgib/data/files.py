"""Files that are either whole or absent: everything is written beside its name and then renamed."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from vgib.errors import UnwritableError, VgibError

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
    """Writes a text file atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_safetensors(path: Path, tensors: "dict[str, Tensor]", metadata: dict[str, str]) -> None:
    """Writes named tensors atomically."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    with replacing(path) as temporary:
        try:
            save_file(tensors, temporary, metadata=metadata)
        except SafetensorError as error:
            raise OSError(str(error)) from error


def unwritable(path: Path, error: OSError) -> UnwritableError:
    """The error for a file that the system does not let us write."""
    why = error.strerror or error
    return UnwritableError(
        f"cannot write {str(path)!r}: {why}; free some space or choose another place"
    )
