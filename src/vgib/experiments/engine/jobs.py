"""What a job is asked to do: a frozen configuration, JSON in and JSON out."""

import hashlib
import json
from typing import ClassVar

from vgib.config import Settings


class Job(Settings):
    """One unit of work, small enough to lose and known by its key.

    Each experiment has a subclass of its own. A field that is added later gets a default that means
    what was done before, and a default never changes: the key leaves defaults out, so records keep
    theirs.
    """

    axes: ClassVar[tuple[str, ...]] = ()
    """The fields that say which job of its table it is, outermost first; the last one repeats a
    cell (folds, seeds)."""

    headline: ClassVar[str] = ""
    """The number of the result that a run shows as it goes on."""

    def cell(self) -> str:
        """The cell of the table that it is a part of, as a path: ``MUTAG/sum/gcn/gib``."""
        return "/".join(str(getattr(self, axis)) for axis in self.axes[:-1])

    def key(self) -> str:
        """Its cell, its number in it, and a hash of all its settings."""
        return f"{self.cell()}/{getattr(self, self.axes[-1])}-{self.digest()}"

    def digest(self) -> str:
        """A hash of all settings that are not the default."""
        given = self.model_dump(mode="json", exclude_defaults=True)
        return hashlib.sha256(json.dumps(given, sort_keys=True).encode()).hexdigest()[:12]
