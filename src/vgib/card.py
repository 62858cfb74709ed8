"""What a saved model says about itself: one JSON page beside its weights."""

import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vgib.data.files import write_text
from vgib.errors import FileFormatError, InputError

CARD_VERSION = 1
CARD_FILE = "card.json"


class Card(BaseModel):
    """Everything needed to rebuild a model, and to judge it."""

    model_config = ConfigDict(extra="forbid")

    card_version: int = CARD_VERSION
    summary: str = ""
    licence: str = "MIT"
    task: Literal["regression", "classification"]
    outputs: int
    classes: list[int] | None = None
    encoder: str
    bottleneck: str
    bottleneck_options: dict[str, Any]
    architecture: dict[str, Any]
    training: dict[str, Any]
    preset: str
    features: str | None = Field(description="Atom vocabulary, or null for graphs of other kinds.")
    features_version: int | None = None
    cardinalities: list[int] | None
    in_channels: int
    data: dict[str, Any] = Field(default_factory=dict, description="Hash, size and split.")
    metrics: dict[str, Any] = Field(default_factory=dict, description="Quality, with controls.")
    weights_sha256: str = ""
    versions: dict[str, str] = Field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Writes the page into the model's folder."""
        write_text(folder / CARD_FILE, self.model_dump_json(indent=1) + "\n")

    @classmethod
    def read(cls, folder: Path) -> "Card":
        """Reads it back; a page that is missing, broken or too new is refused with a reason."""
        path = folder / CARD_FILE
        if not folder.is_dir():
            raise InputError(f"there is no model folder {str(folder)!r}")
        if not path.is_file():
            raise FileFormatError(
                f"{str(folder)!r} is not a model folder: it has no {CARD_FILE}; expected what "
                "SubgraphRecognizer.save writes"
            )
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise FileFormatError(f"{str(path)!r} is not JSON ({error}); save the model again") from None
        came = content.get("card_version", 0) if isinstance(content, dict) else 0
        if came > CARD_VERSION:
            raise FileFormatError(
                f"{str(path)!r} was written by a newer vgib (card version {came}, this one reads up "
                f"to {CARD_VERSION}); upgrade vgib"
            )
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the page"
            raise FileFormatError(
                f"{str(path)!r}: {where}: {first['msg'].lower()}; save the model again"
            ) from None


def versions() -> dict[str, str]:
    """The versions that a result depends on."""
    names = ("vgib", "torch", "torch_geometric", "rdkit", "numpy")
    return {"python": platform.python_version()} | {name: version(name) for name in names}
