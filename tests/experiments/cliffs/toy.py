"""A mirror with one small target: oxygen makes molecules active, nitrogen does not."""

import gzip
import json
from pathlib import Path
from typing import Any


def write_mirror(folder: Path) -> Path:
    """Writes the two files; gives the folder."""
    smiles = [f"{'C' * length}{end}" for length in range(1, 7) for end in "NO"]
    test = {"CCCCN", "CCCCO", "CCCCCO", "CCCCCN"}
    rows = ["target,smiles,pactivity,cliff_mol,split"] + [
        f"T_Ki,{text},{7.0 if 'O' in text else 5.0},{int(text in test)},"
        f"{'test' if text in test else 'train'}"
        for text in smiles
    ]

    def pair(i: str, j: str, diff: float, *differing: list[int]) -> dict[str, Any]:
        splits = ["test" if text in test else "train" for text in (i, j)]
        return {
            "target": "T_Ki",
            "smiles_i": i,
            "smiles_j": j,
            "diff": diff,
            "uncommon_i": differing[0],
            "uncommon_j": differing[1],
            "split_i": splits[0],
            "split_j": splits[1],
        }

    pairs = [
        pair("CCCCN", "CCCCO", -2.0, [4], [4]),
        pair("CCCCCO", "CN", 2.0, [3, 4, 5], []),
        pair("CN", "CO", -2.0, [1], [1]),
        pair("CCCCN", "CCCCCN", -2.0, [], []),
    ]
    place = folder / "cliffs"
    place.mkdir(exist_ok=True)
    with gzip.open(place / "moleculeace_20_targets.csv.gz", "wt") as file:
        file.write("\n".join(rows) + "\n")
    with gzip.open(place / "cliff_pairs_20_targets.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in pairs)
    return folder
