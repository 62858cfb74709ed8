"""The page about presets names each of them."""

from pathlib import Path

from vgib.config import PRESETS

PAGE = Path(__file__).parents[1] / "docs" / "presets.md"


def test_every_preset_is_explained() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in page for name in PRESETS)
