"""Records and files that ended the program once, or took all of its memory or its time."""

import gzip
import io
import json
import zipfile
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

ATOMS = 20_000
"""So many atoms end a process in which RDKit writes their SMILES."""


def mixture(atoms: int = ATOMS) -> str:
    """A chain beside a chloride."""
    return f"{'C' * atoms}.[Cl-]"


def bipartite(side: int = 20) -> str:
    """Each of so many atoms bound to each of as many others; RDKit finds the rings in a minute."""
    left = ["".join(f"%({10 + side * i + j})" for j in range(side)) for i in range(side)]
    right = ["".join(f"%({10 + side * i + j})" for i in range(side)) for j in range(side)]
    return ".".join(f"*{labels}" for labels in left + right)


def v3000(atoms: int = ATOMS, declared: int | None = None) -> str:
    """A chain as an SD record of the newer format, which has no bound on atoms."""
    count = atoms if declared is None else declared
    lines = ["chain", "", "", "  0  0  0     0  0            999 V3000", "M  V30 BEGIN CTAB"]
    lines += [f"M  V30 COUNTS {count} {count - 1} 0 0 0", "M  V30 BEGIN ATOM"]
    lines += [f"M  V30 {number + 1} C 0 0 0 0" for number in range(atoms)]
    lines += ["M  V30 END ATOM", "M  V30 BEGIN BOND"]
    lines += [f"M  V30 {number} 1 {number} {number + 1}" for number in range(1, atoms)]
    return "\n".join([*lines, "M  V30 END BOND", "M  V30 END CTAB", "M  END", "$$$$", ""])


RECORDS = {
    "mixture": mixture(),
    "bipartite": bipartite(),
    "bipartite with a salt": f"{bipartite()}.[Na+]",
    "chain": "C" * 100_000,
    "branches": "C(" * 5_000 + "C" + ")" * 5_000,
    "components": ".".join("C" * 5_000),
    "rings": "C1" * 5_000,
    "letters": "C" * 900_000,
    "bracket": "[" * 50_000,
    "isotope": "[999999999999999999999C]",
    "hydrogens": "[CH999999999]",
    "branched hydrogens": f"C{'([H])' * 400}",
    "aromatic ring": f"c1{'c' * 300}1",
}
"""SMILES of which each costs itself, and nothing else."""

NO_TEXT = "C\ud800C"
"""What JSON can say and a command line can be given, and no file of text can hold."""


def gzipped(unit: bytes, times: int) -> bytes:
    """A gzip file of a text that repeats itself: one member after the other, made in no time."""
    step = 1_000_000 // len(unit)
    member = gzip.compress(unit * step, mtime=0)
    return gzip.compress(b"CCO first\n", mtime=0) + member * (times // step)


def endless_line(letters: int = 1_500_000_000) -> bytes:
    """A gzip file of one line."""
    return gzipped(b"C", letters)


def blank_lines(lines: int = 1_000_000_000) -> bytes:
    """A gzip file of lines with nothing on them."""
    return gzipped(b"\n", lines)


def long_cell(letters: int = 30_000_000) -> bytes:
    """A Parquet file of three rows, one of which is long."""
    file = io.BytesIO()
    pq.write_table(pa.table({"smiles": ["CCO", "C" * letters, "CCN"]}), file, compression="zstd")
    return file.getvalue()


def repeated_cell(letters: int = 150_000, rows: int = 100_000) -> bytes:
    """A Parquet file that says the same long word in every row, and stores it once."""
    word = pa.DictionaryArray.from_arrays(
        pa.array([0] * rows, pa.int32()), pa.array(["C" * letters])
    )
    file = io.BytesIO()
    pq.write_table(pa.table({"smiles": word}), file, compression="zstd")
    return file.getvalue()


def tu_zip(lines: int = 5_000_000, name: str = "BOMB") -> bytes:
    """A TU dataset with so many nodes in one graph, compressed a thousandfold."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open(f"{name}/{name}_graph_indicator.txt", "w", force_zip64=True) as member:
            for _ in range(lines // 1_000_000):
                member.write(b"1\n" * 1_000_000)
        archive.writestr(f"{name}/{name}_A.txt", "1, 2\n2, 1\n")
        archive.writestr(f"{name}/{name}_graph_labels.txt", "1\n")
    return file.getvalue()


def expanded_tensor() -> bytes:
    """A ``.pt`` file with a graph of ten billion nodes, all of which are one number."""
    import torch

    file = io.BytesIO()
    x = torch.zeros(1).expand(10**10, 100)
    torch.save({"edge_index": torch.tensor([[0, 1], [1, 0]]), "x": x, "y": torch.tensor([1])}, file)
    return file.getvalue()


def deep_json(depth: int = 100_000) -> bytes:
    """Lists in lists."""
    return b"[" * depth + b"]" * depth


def hostile_requests() -> Iterator[tuple[str, str, bytes, str, dict[str, str]]]:
    """Requests as name, route, body, kind of content and further headers."""
    kind = "application/json"
    for name, smiles in {**RECORDS, "no text": NO_TEXT}.items():
        for route, asked in (
            ("/recognize", {"molecules": ["CCO", smiles]}),
            ("/inspect", {"molecule": smiles}),
            ("/draw", {"molecule": smiles}),
        ):
            yield name, route, json.dumps(asked).encode(), kind, {}
        table = f"smiles\nCCO\n{smiles}\n".encode(errors="surrogatepass")
        yield name, "/table", table, "text/csv", {}
    yield "V3000", "/table?format=sdf", v3000().encode(), "text/plain", {}
    yield "V3000 that lies", "/table?format=sdf", v3000(3, 10**9).encode(), "text/plain", {}
    yield "endless line", "/table?format=smi", endless_line(200_000_000), "text/plain", {}
    yield "blank lines", "/table?format=smi", blank_lines(200_000_000), "text/plain", {}
    yield "long cell", "/table?format=parquet", long_cell(), "text/plain", {}
    yield "repeated cell", "/table?format=parquet", repeated_cell(), "text/plain", {}
    mistakes = b'{"molecules": [' + b"1," * 900_000 + b"1]}"
    yield "a million mistakes", "/recognize", mistakes, kind, {}
    fields = {"molecule": "CCO"} | {f"f{number}": 1 for number in range(150_000)}
    yield "unknown fields", "/inspect", json.dumps(fields).encode(), kind, {}
    yield "a long question", "/recognize", b"1" * 3_000_000, kind, {}
    yield "deep JSON", "/recognize", deep_json(), kind, {}
    body = json.dumps({"molecules": ["CCO"]}).encode()
    yield "another page", "/recognize", body, kind, {"origin": "https://example.org"}
    yield "another site", "/recognize", body, kind, {"sec-fetch-site": "cross-site"}
