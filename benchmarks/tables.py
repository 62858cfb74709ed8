"""The README's benchmark tables, drawn from the committed results alone.

python -m benchmarks.tables            # writes them between their marks
"""

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "results" / "benchmarks"
README = ROOT / "README.md"

SPEED = {
    "loop_32": "against a loop over graphs as published, batch 32",
    "loop_best": "likewise, our best batch size",
    "pyg_32": "against idiomatic PyG, batch 32",
    "pyg_1024": "against idiomatic PyG, batch 1,024",
    "collab_gcn": "against PyG, an epoch of COLLAB, GCN",
    "collab_gat": "against PyG, an epoch of COLLAB, GAT",
    "vgib_over_attention": "VGIB over attention, batch 32 (the paper: 1.03)",
    "gib_over_vgib": "GIB with 150 inner steps over VGIB, batch 32 (the paper: 11.7)",
}


def ba2motifs() -> str:
    """Accuracy, node AUC and kept share of each variant."""
    rows = ["| variant | accuracy | node AUC | kept share |", "| --- | --- | --- | --- |"]
    for name, found in _load("ba2motifs.json").items():
        cells = [_spread(found["summary"][key]) for key in ("accuracy", "node_auc", "kept_share")]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


def speed() -> str:
    """The ratios of the training benchmark."""
    found = _load("train.json")
    rows = ["| comparison | ratio |", "| --- | --- |"]
    rows += [f"| {text} | {found[key]:.1f} |" for key, text in SPEED.items()]
    return "\n".join(rows)


TABLES = {"ba2motifs": ba2motifs, "speed": speed}


def filled(text: str) -> str:
    """A page with every table put between its marks."""
    for name, draw in TABLES.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        text, count = pattern.subn(lambda mark, d=draw: f"{mark[1]}{d()}\n{mark[2]}", text)
        if count != 1:
            raise SystemExit(f"the page has {count} places for the table {name!r}; expected one")
    return text


def _load(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((RESULTS / name).read_text(encoding="utf-8"))
    return content


def _spread(value: dict[str, float]) -> str:
    return f"{value['mean']:.3f} ± {value['std']:.3f}"


if __name__ == "__main__":
    README.write_text(filled(README.read_text(encoding="utf-8")), encoding="utf-8")
