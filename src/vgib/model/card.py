"""A saved model: a folder with its weights and one JSON page that says what it is."""

import hashlib
import json
import platform
from copy import deepcopy
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Self

import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import nn
from torch.overrides import TorchFunctionMode

from vgib.chem.standardize import StandardName
from vgib.chem.vocabulary import vocabulary
from vgib.config import Architecture
from vgib.data.files import write_safetensors, write_text
from vgib.errors import FileFormatError, InputError
from vgib.model.words import Wording
from vgib.nn.bottleneck import Bottleneck, bottlenecks
from vgib.nn.net import Goal, SubgraphNet, build
from vgib.registry import option_names
from vgib.select.policy import By, Rule, Selection

CARD_VERSION = 1
CARD_FILE = "card.json"
WEIGHTS_FILE = "model.safetensors"
MOST_BYTES = 10_000_000
"""Of a page; those of our own models have some thousand."""

CUSTOM = "custom:"

# What earlier commits wrote into cards, and what it is called now, so that their models still load.
FORMER_NAMES = {"licence": "license", "normalise": "normalize"}
FORMER_PRESETS = {"molecules": "recommended"}
FORMER_RULES = {"guided": ("ring_intact", "prediction")}


class Card(BaseModel):
    """Everything needed to rebuild a model, and to judge it."""

    model_config = ConfigDict(extra="forbid")

    card_version: int = CARD_VERSION
    summary: str = ""
    unit: str = Field(default="", description="Of the predicted value, where it has one.")
    targets: list[str] | None = Field(
        default=None, description="What several predicted values are called, in their order."
    )
    class_names: list[str] | None = Field(
        default=None, description="What the classes are called, in their order."
    )
    license: str = "not stated"
    task: Goal
    outputs: int = Field(ge=1)
    classes: list[int] | None = None
    encoder: str
    bottleneck: str
    bottleneck_options: dict[str, Any]
    architecture: dict[str, Any]
    training: dict[str, Any]
    preset: str
    features: str | None = Field(description="Atom vocabulary, or null for graphs of other kinds.")
    features_version: int | None = None
    standard: StandardName = Field(
        default="none",
        description="How molecules are made alike before the model reads them: none, usual "
        "(without salts, charges and isotope labels) or tautomers.",
    )
    cardinalities: list[Annotated[int, Field(ge=1)]] | None
    in_channels: int = Field(ge=0)
    edge_features: str | None = Field(
        default=None,
        description="What the encoder reads of edges: bond, codes or floats; null: nothing.",
    )
    edge_channels: int = Field(default=0, ge=0)
    largest: int | None = Field(
        default=None,
        description="So many heavy atoms, or fewer, had 99 in 100 of the training molecules; "
        "of larger ones the model knows little.",
    )
    data: dict[str, Any] = Field(default_factory=dict, description="Hash, size and split.")
    metrics: dict[str, Any] = Field(default_factory=dict, description="Quality, with controls.")
    headline: str = Field(default="", description="The name of the metric to look at first.")
    caution: str = Field(
        default="", description="What to know before the model is trusted, where there is a reason."
    )
    keep_ratio: float | None = Field(
        default=None, description="The share to keep when none is asked for; null: score >= 0.5."
    )
    rule: Rule | None = Field(
        default=None, description="The selection rule when none is asked for; null: the usual one."
    )
    by: By | None = Field(
        default=None, description="What decides between subgraphs when nothing is asked for."
    )
    tolerance: list[float] | None = Field(
        default=None,
        description="How far the prediction from a sufficient part may lie from that of the whole: "
        "the mean error on held-out graphs, of each value or of the probability of the class.",
    )
    bounds: list[tuple[float, float]] | None = Field(
        default=None,
        description="The lowest and the highest value of each target that is predicted: what "
        "training graphs had, and a tenth of their range beyond. A sum over an unusual graph can "
        "be far off.",
    )
    interval: float | None = Field(
        default=None,
        description="Half the width of the interval that held 90 % of the measured values of "
        "held-out graphs around the predicted ones (split conformal); null for classes.",
    )
    weights_sha256: str = ""
    versions: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        for name in ("classes", "class_names", "targets", "bounds"):
            own = getattr(self, name)
            if own is not None and len(own) != self.outputs:
                raise ValueError(f"size mismatch: {len(own)} {name} for {self.outputs} outputs")
        return self

    @property
    def selection(self) -> Selection:
        """How the model chooses subgraphs when nothing is asked for."""
        return Selection(self.keep_ratio, self.rule, self.by)

    @property
    def words(self) -> Wording:
        """What its predictions are called."""
        return Wording.of(self.unit, self.classes, self.class_names, self.targets)

    def write(self, folder: Path) -> None:
        """Writes the page into the model's folder."""
        write_text(folder / CARD_FILE, self.model_dump_json(indent=1) + "\n")

    @classmethod
    def read(cls, folder: Path) -> "Card":
        """Reads it back; a page that is missing, broken or too new is refused with a reason."""
        path, content = folder / CARD_FILE, _content(folder)
        came = content.get("card_version", 0) if isinstance(content, dict) else 0
        if isinstance(came, int) and came > CARD_VERSION:
            raise FileFormatError(
                f"{str(path)!r} was written by a newer vgib (card version {came}, this one reads "
                f"up to {CARD_VERSION}); upgrade vgib"
            )
        try:
            return cls.model_validate(_as_named_now(content))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the page"
            raise FileFormatError(
                f"{str(path)!r}: {where}: {first['msg'].lower()}; save the model again"
            ) from None


def _content(folder: Path) -> Any:
    """What the page in a model's folder holds, as JSON gives it."""
    path = folder / CARD_FILE
    if not folder.is_dir():
        raise InputError(f"there is no model folder {str(folder)!r}")
    if not path.is_file():
        raise FileFormatError(
            f"{str(folder)!r} is not a model folder: it has no {CARD_FILE}; expected what "
            "SubgraphRecognizer.save writes"
        )
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError(f"longer than {MOST_BYTES:,} bytes")
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError) as error:  # JSON's and Unicode's: ValueErrors
        raise FileFormatError(
            f"{str(path)!r} is not JSON ({error}); save the model again"
        ) from None


def _as_named_now(content: Any) -> Any:
    """A page that an earlier commit wrote, with everything under its present name."""
    if not isinstance(content, dict):
        return content
    now = _fields_named_now(content)
    if isinstance(now.get("bottleneck_options"), dict):
        now["bottleneck"], now["bottleneck_options"] = bottleneck_named_now(
            now.get("bottleneck"), now["bottleneck_options"]
        )
        now["preset"] = FORMER_PRESETS.get(str(now.get("preset")), now.get("preset"))
    if str(now.get("rule")) in FORMER_RULES:
        now["rule"], now["by"] = FORMER_RULES[now["rule"]]
    return now


def _fields_named_now(content: dict[str, Any]) -> dict[str, Any]:
    """A page's fields, and those of the settings in it, under their present names."""
    return {
        FORMER_NAMES.get(name, name): _fields_named_now(value) if isinstance(value, dict) else value
        for name, value in content.items()
    }


def bottleneck_named_now(name: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The present name and options of a bottleneck, which an earlier commit may have called vgib.

    That class had the options of the paper, of its authors' program and of studies. Those that have
    left concern training alone, so that what is predicted stays the same.

    >>> bottleneck_named_now("vgib", {"beta": 0.1, "prior": "population", "budget": None})
    ('vgib-paper', {'beta': 0.1, 'prior': 'population'})
    """
    if name != "vgib" or not options.keys() & {"prior", "clean", "subgraph", "predict_from"}:
        return name, options
    now = "vgib-reference" if options.get("noise") == "uniform" else "vgib-paper"
    known = option_names(bottlenecks.get(now))
    return now, {option: value for option, value in options.items() if option in known}


def versions() -> dict[str, str]:
    """The versions that a result depends on."""
    names = ("vgib", "torch", "torch_geometric", "rdkit", "numpy")
    return {"python": platform.python_version()} | {name: version(name) for name in names}


def part_name(part: Any) -> str:
    """A registered name, or one that says that the user must bring the part."""
    if isinstance(part, str):
        return part
    return CUSTOM + str(getattr(part, "__name__", type(part).__name__))


def save_model(folder: Path, net: SubgraphNet, card: Card) -> None:
    """Writes the weights, then the page with their checksum."""
    weights = {
        # Cloned, since the parts that a user brings may share tensors, which the format refuses.
        name: tensor.detach().cpu().clone()
        for name, tensor in net.state_dict().items()
    }
    write_safetensors(folder / WEIGHTS_FILE, weights, {"format": "vgib-model"})
    card.weights_sha256 = _sha256(folder / WEIGHTS_FILE)
    card.write(folder)


def network_of(
    card: Card,
    encoder: str | nn.Module | None = None,
    bottleneck: str | type[Bottleneck] | Bottleneck | None = None,
) -> SubgraphNet:
    """The network that a page describes, untrained, with copies of the parts that a user brings."""
    is_built = isinstance(bottleneck, Bottleneck)
    return build(
        encoder=card.encoder if encoder is None else deepcopy(encoder),
        bottleneck=card.bottleneck if bottleneck is None else deepcopy(bottleneck),
        cardinalities=tuple(card.cardinalities) if card.cardinalities else None,
        in_channels=card.in_channels,
        task=card.task,
        outputs=card.outputs,
        architecture=Architecture.of(**card.architecture),
        bottleneck_options={} if is_built else card.bottleneck_options,
        edge_channels=card.edge_channels,
    )


def load_model(
    folder: Path,
    encoder: nn.Module | None = None,
    bottleneck: type[Bottleneck] | Bottleneck | None = None,
) -> tuple[SubgraphNet, Card]:
    """Reads both and builds the network; parts that the user brought must be brought again."""
    card = Card.read(folder)
    _check_own_parts(folder, card, encoder=encoder, bottleneck=bottleneck)
    if card.features is not None:
        _check_features(folder, card)
    try:
        shapes = _shapes(folder, card)
        if encoder is None and bottleneck is None:
            _compare_shapes(card, shapes)
        net = network_of(card, encoder, bottleneck)
        # What is infinite before training, as a variance that is not known yet, may be so after it.
        unknown = {name for name, part in net.state_dict().items() if not part.isfinite().all()}
        found = load_file(folder / WEIGHTS_FILE)
        net.load_state_dict(found)
    except (SafetensorError, OSError, RuntimeError) as error:
        raise FileFormatError(
            f"the weights in {str(folder)!r} cannot be used ({error}); save the model again"
        ) from None
    broken = [n for n, part in found.items() if n not in unknown and not part.isfinite().all()]
    if broken:
        raise FileFormatError(
            f"the weights in {str(folder)!r} hold values that are no numbers, in {broken[0]!r}; "
            "train the model again"
        )
    return net, card


def _check_own_parts(folder: Path, card: Card, **given: Any) -> None:
    """Refuses a model of which a part is a class of the user's, and was not brought."""
    for part, own in given.items():
        name: str = getattr(card, part)
        if name.startswith(CUSTOM) and own is None:
            raise InputError(
                f"{str(folder)!r} was trained with your own {part} {name.removeprefix(CUSTOM)}; "
                f"pass {part}="
            )


def _shapes(folder: Path, card: Card) -> dict[str, tuple[int, ...]]:
    """The shapes of the weights that the page describes; their values are not read yet."""
    weights = folder / WEIGHTS_FILE
    if not weights.is_file():
        raise OSError(f"there is no file {WEIGHTS_FILE}")
    if _sha256(weights) != card.weights_sha256:
        raise FileFormatError(
            f"{str(weights)!r} is not the file that {CARD_FILE} describes: the checksum "
            "differs; copy or save the model again"
        )
    with safe_open(weights, "pt") as file:
        shapes = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118  # no mapping
    depth = card.architecture.get("depth")
    if isinstance(depth, int) and depth > len(shapes):
        raise FileFormatError(
            f"the page of {str(folder)!r} asks for {depth} layers, but there are weights for "
            f"{len(shapes)} at most; save the model again"
        )
    return shapes


class _Unfilled(TorchFunctionMode):
    """Weights get no first values: to draw normal ones without memory, torch loads its compiler,
    which takes longer than all the rest of an answer.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is nn.init.normal_:
            return args[0] if args else (kwargs or {})["tensor"]
        return func(*args, **(kwargs or {}))


def _compare_shapes(card: Card, there: dict[str, tuple[int, ...]]) -> None:
    with torch.device("meta"), _Unfilled():  # without memory, since the page may lie
        weights = network_of(card).state_dict().items()
        planned = {name: tuple(part.shape) for name, part in weights}
    for name in sorted(planned.keys() | there.keys()):
        if planned.get(name) != there.get(name):
            raise RuntimeError(
                f"size mismatch: {name!r} is {there.get(name, 'missing')} where the page asks for "
                f"{planned.get(name, 'none')}"
            )


def _check_features(folder: Path, card: Card) -> None:
    words = vocabulary(str(card.features))
    if card.features_version != words.version:
        raise FileFormatError(
            f"{str(folder)!r} was trained with version {card.features_version} of the "
            f"{card.features} atom features, this vgib has version {words.version}; train it again"
        )
    if tuple(card.cardinalities or ()) != words.cardinalities:
        raise FileFormatError(
            f"the page of {str(folder)!r} tells of other columns than the {card.features} atom "
            "features have; save the model again"
        )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
