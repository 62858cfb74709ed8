"""Every setting in one place, each with a sentence that is true, and the presets of the method."""

import tomllib
from collections.abc import Iterable, Mapping
from inspect import Parameter
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from vgib.errors import InputError, unknown_name


class Settings(BaseModel):
    """Frozen settings that refuse unknown names with a suggestion."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @classmethod
    def of(cls, **values: Any) -> Self:
        """The settings with these values; a wrong name or value raises an :class:`InputError`."""
        for name in values:
            if name not in cls.model_fields:
                raise unknown_name(f"{cls.__name__.lower()} setting", name, cls.model_fields)
        try:
            return cls(**values)
        except ValidationError as error:
            raise _wrong_value(error) from None


def _wrong_value(error: ValidationError) -> InputError:
    first = error.errors()[0]
    name = ".".join(map(str, first["loc"]))
    return InputError(f"{name}={first['input']!r}: {first['msg'].lower()}")


def checked_options(parameters: Mapping[str, Parameter], options: dict[str, Any]) -> dict[str, Any]:
    """The options, each of the type with which it is annotated, or an :class:`InputError`.

    >>> from inspect import signature
    >>> def paint(color: Literal["red", "blue"], coats: int = 1) -> None: ...
    >>> checked_options(signature(paint).parameters, {"coats": "two"})
    Traceback (most recent call last):
    vgib.errors.InputError: coats='two': input should be a valid integer, unable to parse string ...
    """
    types: dict[str, Any] = {
        name: (Any if parameter.annotation is Parameter.empty else parameter.annotation, ...)
        for name, parameter in parameters.items()
        if name in options
    }
    strict = ConfigDict(arbitrary_types_allowed=True, allow_inf_nan=False)
    try:
        return dict(create_model("Options", __config__=strict, **types)(**options))
    except ValidationError as error:
        raise _wrong_value(error) from None


def assignments(items: Iterable[str]) -> dict[str, Any]:
    """Settings as they are typed: numbers, ``true`` and ``false``, else text; commas make a list.

    >>> assignments(["lr=1e-2", "encoder=gcn", "dataset=MUTAG,DD", "cosine=True"])
    {'lr': 0.01, 'encoder': 'gcn', 'dataset': ['MUTAG', 'DD'], 'cosine': True}
    """
    found: dict[str, Any] = {}
    for item in items:
        name, equals, text = item.partition("=")
        if not equals or not name or not text:
            raise InputError(f"expected key=value, such as epochs=5; got {item!r}")
        found[name] = _typed(text)
    return found


def _typed(text: str) -> Any:
    """A value as TOML has it, or as Python writes it; what is neither is text."""
    known = {"True": True, "False": False, "None": None, "null": None}
    if text in known:
        return known[text]
    try:
        return tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        return [_typed(part) for part in text.split(",")] if "," in text else text


DEFAULT_EXPLAINER = "vgib"
"""The method that explains a trained network when none is named."""


class Training(Settings):
    """How a model is trained."""

    epochs: int = Field(100, ge=1, description="Passes over the training graphs.")
    steps: int = Field(
        0,
        ge=0,
        description="The least number of training steps; a small set gets more epochs to reach "
        "it. Ignored when epochs is given.",
    )
    batch_size: int = Field(128, ge=1, description="Graphs in one step.")
    lr: float = Field(1e-3, gt=0, description="Learning rate of Adam.")
    weight_decay: float = Field(0.0, ge=0, description="L2 penalty of Adam.")
    halve_at: int | None = Field(
        None, ge=1, description="Halve the learning rate every so many epochs."
    )
    cosine: bool = Field(
        False, description="Let the learning rate fall to zero along half a cosine."
    )
    patience: int | None = Field(
        None, ge=1, description="Stop after so many epochs without a lower validation loss."
    )
    select: Literal["best", "last"] = Field(
        "best", description="Keep the weights of the lowest validation loss, or the last ones."
    )
    inner_lr: float | None = Field(
        None, gt=0, description="Learning rate of the critic of GIB; None: that of the network."
    )
    clip: float | None = Field(None, gt=0, description="Largest norm of the gradient.")
    average: float | None = Field(
        None, gt=0, lt=1, description="Keep a running mean of the weights, with this decay."
    )
    seed: int = Field(0, ge=0, description="Seed of weights, order, noise and dropout.")
    threads: int = Field(1, ge=1, description="Torch threads; small models are faster with one.")


class Architecture(Settings):
    """The network around the bottleneck."""

    hidden: int = Field(16, ge=1, description="Channels of each layer.")
    depth: int = Field(2, ge=1, description="Number of message-passing layers.")
    readout: Literal["sum", "mean", "norm"] = Field(
        "sum",
        description="How the states of nodes become the state of their graph; norm is the sum over "
        "a hundred, so that a network begins close to the mean of its targets and learns gently.",
    )
    head_hidden: int = Field(16, ge=1, description="Hidden channels of the head.")
    dropout: float = Field(0.0, ge=0, lt=1, description="Dropout in the head.")
    last_relu: bool = Field(True, description="Put a ReLU after the last layer.")
    normalize: bool = Field(
        False, description="Put a batch norm after the last layer; gin always has one."
    )
    positive_output: bool = Field(
        False, description="Predict no value below zero: a ReLU after the regression head."
    )
    standardize: bool = Field(
        True, description="Train regression on targets of mean 0 and spread 1."
    )


class Preset(Settings):
    """One named choice of everything."""

    summary: str = Field(description="What it is, in a sentence.")
    method: str = Field(description="The name of its bottleneck.")
    encoder: str = Field(default="gcn", description="The name of its encoder.")
    bond_encoder: str = Field(
        default="gcn", description="That for molecules, whose bonds are known."
    )
    bottleneck: dict[str, Any] = Field(default_factory=dict)
    architecture: dict[str, Any] = Field(default_factory=dict)
    bond_architecture: dict[str, Any] = Field(
        default_factory=dict, description="What is different around the encoder for molecules."
    )
    training: dict[str, Any] = Field(default_factory=dict)


_PUBLISHED_TRAINING = {"epochs": 5, "batch_size": 32, "lr": 1e-3, "weight_decay": 5e-5}
_PUBLISHED_NET = {"hidden": 16, "depth": 2, "head_hidden": 4, "standardize": False}

PRESETS: dict[str, Preset] = {
    "paper": Preset(
        summary="The paper's equations: each graph's own prior, no connectivity term.",
        method="vgib-paper",
        bottleneck={"beta": 1e-3, "temperature": 1.0, "prior": "graph", "clean": 1.0},
        architecture=_PUBLISHED_NET,
        training=_PUBLISHED_TRAINING,
    ),
    "reference": Preset(
        summary="What the authors' published program does where it differs from the paper.",
        method="vgib-reference",
        bottleneck={"beta": 1e-3, "temperature": 1.0, "connectivity": 1.0},
        architecture=_PUBLISHED_NET | {"last_relu": False, "positive_output": True},
        training=_PUBLISHED_TRAINING | {"select": "last"},
    ),
    "recommended": Preset(
        summary="What we found to work best; docs/presets.md says why.",
        method="vgib",
        encoder="gin",
        bond_encoder="gine-skip",
        architecture={"hidden": 64, "depth": 3, "head_hidden": 64},
        bond_architecture={"readout": "norm"},
        training={"epochs": 40, "steps": 1500, "batch_size": 128, "lr": 3e-3, "cosine": True},
    ),
}


def preset(name: str) -> Preset:
    """The preset of that name."""
    if name not in PRESETS:
        raise unknown_name("preset", name, PRESETS)
    return PRESETS[name]
