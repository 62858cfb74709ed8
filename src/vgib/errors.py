"""The errors that a user can cause: what came, what was expected, what to do next."""

from collections.abc import Iterable
from difflib import get_close_matches


class VgibError(Exception):
    """The root of every error that this package raises on purpose."""

    def __str__(self) -> str:
        # KeyError would show repr(message); a sentence for people must stay a sentence.
        return str(self.args[0]) if self.args else ""


class InputError(VgibError, ValueError):
    """A value, file or column that cannot be used as it is."""


class UnknownNameError(VgibError, KeyError):
    """A name that no registry, catalog or table knows."""


class FileFormatError(VgibError, ValueError):
    """A file that is truncated, of another kind, or from a newer version."""


class DownloadError(VgibError, OSError):
    """A public file that could not be fetched or is not what it should be."""


class UnwritableError(VgibError, OSError):
    """A file that cannot be written: no room, no permission, no such place."""


class NotFittedError(VgibError, RuntimeError):
    """A model that is asked for results before ``fit`` or ``load``."""


class MissingExtraError(VgibError, ImportError):
    """An optional dependency that is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"this needs the package {package!r}; pip install 'vgib[{extra}]' brings it"
        )


def shortened(text: str, most: int = 80) -> str:
    """A text of a user for a sentence: of a long one, the beginning and how long it is.

    >>> shortened("CCO"), shortened("C" * 1000, most=5)
    ('CCO', 'CCCCC... (1,000 letters)')
    """
    return text if len(text) <= most else f"{text[:most]}... ({len(text):,} letters)"


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UnknownNameError:
    """The error for a name that is not among ``known``, with the nearest one suggested.

    >>> str(unknown_name("bottleneck", "vgibb", ["gib", "vgib"]))
    "no bottleneck named 'vgibb'; did you mean 'vgib'? Known: gib, vgib"
    """
    names, name = sorted(known), shortened(str(name))
    folded = {candidate.lower(): candidate for candidate in names}
    near = get_close_matches(name.lower(), folded, n=1)
    hint = f"did you mean {folded[near[0]]!r}? " if near else ""
    return UnknownNameError(
        f"no {kind} named {name!r}; {hint}Known: {', '.join(dict.fromkeys(names))}"
    )
