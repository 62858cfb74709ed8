"""The table of named datasets: what each is, where it comes from, and how to know it.

Plain values only, so that listing the catalog stays instant.
"""

import re
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from vgib.errors import unknown_name

Kind: TypeAlias = Literal["tu", "ba2motifs", "opengraphxai", "generated", "table"]
Columns: TypeAlias = tuple[tuple[str, str], ...]

TU_PREFIX = "TU:"
TU_HOST = "https://www.chrsmrrs.com/graphkerneldatasets"
GITHUB = "https://raw.githubusercontent.com"
TU_LICENSE = "none stated by TU for each set; cite Morris et al. 2020 and the original source"


@dataclass(frozen=True)
class Statistics:
    """Published counts; ``None`` where nothing is published.

    ``nodes`` and ``edges`` are means for each graph, with two decimals; an edge counts once for
    its two directions, and neither repeated edges nor self-loops count.
    """

    graphs: int | None = None
    nodes: float | None = None
    edges: float | None = None
    classes: int | None = None
    rows: int | None = None


@dataclass(frozen=True)
class Entry:
    """One dataset of the catalog.

    Attributes:
        name: how users call it.
        about: one sentence.
        kind: graphs in the TU format, the published BA-2Motifs, graphs of OpenGraphXAI, graphs that
            are generated, or a table with a ``smiles`` column.
        file: its path in a mirror folder; empty when it is generated.
        url: its public address; ``None`` when no public file holds the same content.
        public: how the public file differs from the mirror's, or where the content comes from.
        license: as stated by the source.
        size: about how many bytes the download has.
        statistics: what is checked after reading.
        columns: for tables, pairs of the column in the file and its name here; files without a
            header are read by position.
        extra: further public files that belong into the zip, as pairs of member name and address.
        sha256: the checksum of the file, where only one version of it exists; else empty.
        split_file: the path in a mirror folder of the official division into training, validation
            and test graphs; empty where there is none.
        split_sha256: the checksum of that file.
    """

    name: str
    about: str
    kind: Kind
    file: str
    url: str | None
    license: str
    size: int
    statistics: Statistics = field(default_factory=Statistics)
    public: str = ""
    columns: Columns = ()
    extra: Columns = ()
    sha256: str = ""
    split_file: str = ""
    split_sha256: str = ""

    @property
    def cached_file(self) -> str:
        """Its path in the cache folder: as in a mirror, but bare when the public file is."""
        is_packed = self.url is None or self.url.endswith(".gz")
        return self.file if is_packed else self.file.removesuffix(".gz")


def names() -> list[str]:
    """The names of the catalog, in its order; any other TU set goes by ``TU:NAME``."""
    return list(ENTRIES)


def entry(name: str) -> Entry:
    """The entry of a name, in any spelling of case; ``TU:NAME`` gives any dataset of the TU host.

    >>> entry("mutag").statistics.graphs
    188
    >>> entry("TU:NCI1").url
    'https://www.chrsmrrs.com/graphkerneldatasets/NCI1.zip'
    """
    is_tu = name[: len(TU_PREFIX)].upper() == TU_PREFIX
    plain = name[len(TU_PREFIX) :] if is_tu else name
    folded = {known.lower(): known for known in ENTRIES}
    found = ENTRIES.get(folded.get(plain.lower(), ""))
    if found is not None and (found.kind == "tu" or not is_tu):
        return found
    if is_tu and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.+-]*", plain):
        return _tu(plain, "A dataset of the TU collection.", 0)
    raise unknown_name("dataset", name, [*ENTRIES, f"{TU_PREFIX}NAME"])


def _tu(
    name: str,
    about: str,
    size: int,
    graphs: Statistics | None = None,
    file: str = "",
    extra: Columns = (),
) -> Entry:
    return Entry(
        name=name if graphs else f"{TU_PREFIX}{name}",
        about=about,
        kind="tu",
        file=file or f"tu/{name}.zip",
        url=f"{TU_HOST}/{name}.zip",
        license=TU_LICENSE,
        size=size,
        statistics=graphs or Statistics(),
        extra=extra,
    )


def _table(
    name: str,
    about: str,
    file: str,
    rows: int,
    size: int,
    columns: Columns,
    *,
    license: str,
    source: str | None = None,
    public: str = "",
) -> Entry:
    """A list of molecules; ``source`` is ``owner/repository/commit/path`` on GitHub."""
    url = None if source is None else f"{GITHUB}/{source}"
    statistics = Statistics(rows=rows)
    return Entry(name, about, "table", file, url, license, size, statistics, public, columns)


_VGIB = (
    "Samyu0304/graph-information-bottleneck-for-Subgraph-Recognition/"
    "f7cf574e7b59718da77fc2702b89a03be1d3d452/graph-interpretation/input"
)
_GRAPH2GRAPH = "wengong-jin/iclr19-graph2graph/e02c14ae857be0e122413845162aeac0251b09c6/data/drd2"
_PHARMABENCH = "mindrank-ai/PharmaBench/16a5258ecbd3917c1eae2dcd739d6534d3041ac3/data"
_OPENADMET = (
    "inventcures/openadmet-expansionrx-challenge/0eb0081d0fd55b6cd3b81a0dd62d24f63e057b1a/data/raw"
)
_EDGE_GT = (
    f"{GITHUB}/LarsHoldijk/RE-ParameterizedExplainerForGraphNeuralNetworks/"
    "46870bddd8da22ebbd28c9eaff78514790753e64/ExplanationEvaluation/datasets/Mutagenicity/"
    "Mutagenicity_edge_gt.txt"
)
_ATTRIBUTION: Columns = tuple((c, c) for c in ("id", "smiles", "label", "split", "explanations"))
_ATTRIBUTION_SOURCE = (
    "Converted from the .npz and .csv files of google-research/graph-attribution, whose object "
    "arrays are pickles, which this package never opens; only a mirror has this file."
)


def _property_list(name: str, about: str, rows: int, size: int) -> Entry:
    return _table(
        f"vgib/{name}",
        f"Molecules with {about}, the list of the GIB and VGIB authors.",
        f"vgib/{name}.txt.gz",
        rows,
        size,
        (("0", "smiles"), ("1", name)),
        license="MIT",
        source=f"{_VGIB}/{name}.txt",
    )


def _clearance(species: str, short: str, rows: int, size: int) -> Entry:
    return _table(
        f"adme/pharmabench_{species}",
        f"PharmaBench: {species} liver microsome clearance, log10 mL/min/g.",
        f"adme/pharmabench_{short}_mic_cl_reg_final_data.csv.gz",
        rows,
        size,
        (
            ("Smiles_unify", "smiles"),
            ("value", "clearance"),
            ("scaffold_train_test_label", "scaffold_split"),
            ("random_train_test_label", "random_split"),
        ),
        license="CC0 (derived from ChEMBL)",
        source=f"{_PHARMABENCH}/final_datasets/{short}_mic_cl_reg_final_data.csv",
    )


def _opengraphxai(
    name: str, statistics: Statistics, size: int, sha256: str, split_sha256: str
) -> Entry:
    return Entry(
        name=f"OpenGraphXAI/{name}",
        about=f"Molecules whose classes were made by a known rule, set {name} of OpenGraphXAI "
        "(Fontanesi et al. 2025), with the nodes that decide.",
        kind="opengraphxai",
        file=f"ogx/{name}.jsonl.gz",
        url=None,
        license="MIT-style (OpenGraphXAI/benchmarks, commit b4a0424)",
        size=size,
        statistics=statistics,
        public="Rebuilt from the specification of https://github.com/OpenGraphXAI/benchmarks "
        "(arXiv 2505.12437) and the TU files that it names; only a mirror has this file.",
        sha256=sha256,
        split_file=f"ogx/{name}_splits.json",
        split_sha256=split_sha256,
    )


def _spmotif(bias: float) -> Entry:
    return Entry(
        name=f"SPMotif-{bias}",
        about="Trees, ladders and wheels with a cycle (0), a house (1) or a crane (2) attached, "
        f"generated here by seed; in training the base tells the class in {bias:.0%} of graphs.",
        kind="generated",
        file="",
        url=None,
        license="MIT (part of this package)",
        size=0,
        statistics=Statistics(graphs=18_000, classes=3),
    )


def _drd2_smiles(name: str, about: str, rows: int, size: int) -> Entry:
    return _table(
        f"drd2/{name}",
        f"{about} of the DRD2 task of Jin et al., ICLR 2019.",
        f"drd2/graph2graph_{name}.txt.gz",
        rows,
        size,
        (("0", "smiles"),),
        license="MIT",
        source=f"{_GRAPH2GRAPH}/{name}.txt",
    )


_ALL = (
    _tu(
        "MUTAG",
        "Nitroaromatic compounds, mutagenic or not.",
        24_098,
        Statistics(188, 17.93, 19.79, 2),
    ),
    _tu("PROTEINS", "Proteins, enzymes or not.", 454_517, Statistics(1113, 39.06, 72.82, 2)),
    _tu(
        "IMDB-BINARY",
        "Ego networks of actors, action or romance.",
        575_598,
        Statistics(1000, 19.77, 96.53, 2),
    ),
    _tu(
        "DD",
        "Large protein structures, enzymes or not.",
        4_632_808,
        Statistics(1178, 284.32, 715.66, 2),
    ),
    _tu(
        "COLLAB",
        "Ego networks of scientists in three fields of physics.",
        50_000_000,
        # Published as 2457.78, which counts each of the 2,837 self-loops as an edge.
        Statistics(5000, 74.49, 2457.22, 3),
    ),
    _tu(
        "REDDIT-BINARY",
        "Online discussions, question-and-answer or debate.",
        6_264_270,
        Statistics(2000, 429.63, 497.75, 2),
    ),
    _tu(
        "Mutagenicity",
        "Molecules, mutagenic (0) or not (1), with the toxicophore edges marked by PGExplainer.",
        926_745,
        Statistics(4337, 30.32, 30.77, 2),
        file="extra/Mutagenicity.zip",
        extra=(("Mutagenicity/Mutagenicity_edge_gt.txt", _EDGE_GT),),
    ),
    Entry(
        name="BA-2Motifs",
        about="Random trees with a five-cycle (0) or a house (1) attached, generated here by seed.",
        kind="generated",
        file="",
        url=None,
        license="MIT (part of this package)",
        size=0,
        statistics=Statistics(1000, 25.0, 25.5, 2),
    ),
    Entry(
        name="BA-2Motifs-published",
        about="The BA-2Motifs graphs of PGExplainer (Luo et al., NeurIPS 2020).",
        kind="ba2motifs",
        file="extra/BA_2Motifs.npz",
        url=None,
        license="none stated",
        size=41_285,
        # 25.48 with the 40 self-loops, which stand for the joining edge in 40 graphs.
        statistics=Statistics(1000, 25.0, 25.46, 2),
        public="The public file is a pickle, which this package never opens; only a mirror has the "
        "converted one. 'BA-2Motifs' is generated here and has no such gap.",
    ),
    _spmotif(0.5),
    _spmotif(0.7),
    _spmotif(0.9),
    _opengraphxai(
        "alfa",
        Statistics(1103, 32.93, 35.72, 2),
        77_232,
        "993d2c27403208d2c6e7aab85ff5067f82d9815efc825416325ccf83965b0061",
        "dc92898f0ec4e14acfc61b89af9477b82b17d9158471a518ac15cc978400c5b9",
    ),
    _opengraphxai(
        "bravo",
        Statistics(1124, 33.92, 36.99, 2),
        83_680,
        "b097adf05796b4065e0b6e56e93883b015de0368ceae5a9bc4d1e3c15ef3cf44",
        "46363332a43d44f1cf7e8265681245d00c5720d19e6e852a3240b45876c51be7",
    ),
    _opengraphxai(
        "charlie",
        Statistics(1006, 31.59, 34.23, 2),
        67_162,
        "45eabd89ff6193f3b3ab5fe01dd491cc489227b519a588530cadc0fde903e052",
        "7d25c844ae07bff17a5ac1eb8f38c84b8283c1f057c1855a80cf867187d1839b",
    ),
    _table(
        "ZINC250K",
        "Drug-like molecules with logP, QED and synthetic accessibility.",
        "zinc/zinc250k.csv.gz",
        249_455,
        24_000_000,
        (("smiles", "smiles"), ("logP", "logp"), ("qed", "qed"), ("SAS", "sas")),
        license="Apache-2.0 (repository); the terms of ZINC were not checked",
        source="aspuru-guzik-group/chemical_vae/master/models/zinc_properties/"
        "250k_rndm_zinc_drugs_clean_3.csv",
        public="As many molecules; the values of the public file come from an older RDKit, those "
        "of a mirror may have been computed anew and differ a little.",
    ),
    _property_list("qed", "drug-likeness of at least 0.85", 35_000, 2_166_172),
    _property_list(
        "hlm", "predicted human liver microsome clearance of at least 2", 25_850, 1_690_000
    ),
    _property_list(
        "mlm", "predicted mouse liver microsome clearance of at least 2", 16_666, 1_080_000
    ),
    _property_list("rlm", "predicted rat liver microsome clearance of at least 2", 14_125, 920_000),
    _property_list("drd2", "predicted DRD2 activity of at least 0.5", 3_000, 190_000),
    _table(
        "adme/biogen",
        "Biogen: human and rat liver microsome clearance, log10 mL/min/kg (Fang et al. 2023).",
        "adme/biogen_adme_public_set_3521.csv.gz",
        3_521,
        400_000,
        (
            ("SMILES", "smiles"),
            ("LOG HLM_CLint (mL/min/kg)", "hlm"),
            ("LOG RLM_CLint (mL/min/kg)", "rlm"),
        ),
        license="MIT",
        source="molecularinformatics/Computational-ADME/b00df003de117ce9e5b381afd886095c5f2af2d5/"
        "ADME_public_set_3521.csv",
    ),
    _clearance("human", "hum", 2_286, 240_000),
    _clearance("rat", "rat", 1_129, 120_000),
    _clearance("mouse", "mou", 1_403, 150_000),
    _table(
        "adme/pharmabench_all",
        "PharmaBench clearance of three species before its final filtering, log10 mL/min/g.",
        "adme/pharmabench_microsomal_cl_preprocessing_finished.csv.gz",
        5_252,
        900_000,
        (
            ("Smiles_unify", "smiles"),
            ("value", "clearance"),
            ("unit", "unit"),
            ("species", "species"),
            ("source", "source"),
        ),
        license="CC0 (derived from ChEMBL)",
        source=f"{_PHARMABENCH}/data_processing_result/microsomal_cl_preprocessing_finished.csv",
    ),
    _table(
        "adme/openadmet",
        "OpenADMET ExpansionRx: human and mouse microsome clearance, mL/min/kg, exact values only.",
        "adme/openadmet_expansionrx_train.csv.gz",
        5_326,
        500_000,
        (("SMILES", "smiles"), ("HLM CLint", "hlm"), ("MLM CLint", "mlm")),
        license="none stated",
        source=f"{_OPENADMET}/train.csv",
    ),
    _table(
        "adme/openadmet_raw",
        "OpenADMET ExpansionRx as adme/openadmet, with the censored values and their marks.",
        "adme/openadmet_expansionrx_train_raw.csv.gz",
        5_331,
        800_000,
        (
            ("SMILES", "smiles"),
            ("HLM CLint", "hlm"),
            ("MLM CLint", "mlm"),
            ("HLM CLint modifier", "hlm_modifier"),
            ("MLM CLint modifier", "mlm_modifier"),
        ),
        license="none stated",
        source=f"{_OPENADMET}/train_raw.csv",
    ),
    _table(
        "adme/astrazeneca",
        "AstraZeneca: human liver microsome clearance, uL/min/mg, censored at 3 and 150.",
        "adme/az_chembl_clearance_microsome_admetica.csv.gz",
        1_102,
        70_000,
        (("Drug", "smiles"), ("Y", "clearance")),
        license="MIT (ChEMBL deposit CHEMBL3301361)",
        source="datagrok-ai/admetica/d4f70569901c189f39fa37871e2aeabeef3adc83/ADMET/excretion/"
        "cl-micro/cl-micro.csv",
    ),
    _table(
        "drd2/excape_test",
        "ExCAPE-DB: DRD2 actives (1) and inactives (0), the test part of ReinventCommunity.",
        "drd2/excape_drd2_reinventcommunity_test.csv.gz",
        68_944,
        3_500_000,
        (("canonical", "smiles"), ("activity", "activity")),
        license="MIT (repository); the license of ExCAPE-DB was not checked",
        source="MolecularAI/ReinventCommunity/d9fa00faaccb5bf40913d21250aac1dde52cdad7/notebooks/"
        "data/drd2.test.csv",
    ),
    _table(
        "drd2/excape_actives",
        "ExCAPE-DB: DRD2 actives; most actives of drd2/excape_test are among them.",
        "drd2/excape_drd2_actives.smi.gz",
        4_211,
        38_040,
        (("0", "smiles"),),
        license="MIT (repository); the license of ExCAPE-DB was not checked",
        source="undeadpixel/reinvent-scaffold-decorator/37d0a8a571cc633a54b8a1d90884763bf503c347/"
        "training_sets/drd2.excapedb.smi.gz",
    ),
    _table(
        "drd2/train_pairs",
        "Pairs of similar molecules, DRD2 inactive and active, of Jin et al., ICLR 2019.",
        "drd2/graph2graph_train_pairs.txt.gz",
        34_404,
        3_300_000,
        (("0", "smiles"), ("1", "target_smiles")),
        license="MIT",
        source=f"{_GRAPH2GRAPH}/train_pairs.txt",
    ),
    _drd2_smiles("target", "The active molecules", 6_636, 330_000),
    _drd2_smiles("valid", "The inactive molecules for validation", 500, 22_000),
    _drd2_smiles("test", "The inactive molecules for testing", 1_000, 43_000),
    _table(
        "drd2/oracle_scores",
        "Molecules with the score of the DRD2 oracle of Olivecrona et al.; mostly high scores.",
        "drd2/graph2graph_oracle_scores.csv.gz",
        4_741,
        77_258,
        (("smiles", "smiles"), ("drd2_score", "drd2")),
        license="MIT",
        public="Collected from the columns 2 and 4 of results.drd2 in diff_vae/results and "
        "diff_vae_gan/results of wengong-jin/iclr19-graph2graph; only a mirror has this file.",
    ),
    _table(
        "attribution/benzene",
        "ZINC molecules with (1) or without (0) a benzene ring, and the atoms of the rings.",
        "extra/attribution/benzene.jsonl.gz",
        12_000,
        258_229,
        _ATTRIBUTION,
        license="Apache-2.0; ZINC12 subset by permission of John Irwin",
        public=_ATTRIBUTION_SOURCE,
    ),
    _table(
        "attribution/fluoride_carbonyl",
        "ZINC molecules with (1) or without (0) both a fluoride and a carbonyl, and their atoms.",
        "extra/attribution/fluoride_carbonyl_logic7.jsonl.gz",
        4_326,
        83_653,
        _ATTRIBUTION,
        license="Apache-2.0; ZINC12 subset by permission of John Irwin",
        public=_ATTRIBUTION_SOURCE,
    ),
)

ENTRIES: dict[str, Entry] = {item.name: item for item in _ALL}
