"""Settings that refuse what they do not know, and presets that can be built."""

from typing import Any

import pytest
from pydantic import ValidationError

from vgib.config import PRESETS, Architecture, Preset, Settings, Training, assignments, preset
from vgib.errors import InputError, UnknownNameError
from vgib.nn.bottleneck import Site, bottlenecks, build_in
from vgib.nn.paper_vgib import PaperVGIB


@pytest.mark.parametrize("kind", [Training, Architecture])
def test_every_setting_has_a_default_and_a_sentence(kind: type[Settings]) -> None:
    kind()
    for name, field in kind.model_fields.items():
        assert field.description, name
        assert field.description.endswith("."), name


def test_the_sentences_differ() -> None:
    sentences = [
        f.description for kind in (Training, Architecture) for f in kind.model_fields.values()
    ]
    assert len(set(sentences)) == len(sentences)


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Training().epochs = 3


def test_an_unknown_setting_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'batch_size'"):
        Training.of(batchsize=3)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (Training, {"epochs": 0}),
        (Training, {"lr": 0.0}),
        (Training, {"lr": "fast"}),
        (Training, {"select": "first"}),
        (Training, {"patience": 0}),
        (Training, {"clip": -1.0}),
        (Training, {"seed": -1}),
        (Architecture, {"hidden": 0}),
        (Architecture, {"dropout": 1.0}),
        (Architecture, {"readout": "max"}),
    ],
)
def test_a_wrong_value_is_quoted_with_its_name(kind: Any, values: dict[str, Any]) -> None:
    ((name, value),) = values.items()
    with pytest.raises(InputError) as caught:
        kind.of(**values)
    assert str(caught.value).startswith(f"{name}={value!r}: ")


def test_a_learning_rate_is_a_number() -> None:
    with pytest.raises(InputError, match="lr=nan"):
        Training.of(lr=float("nan"))


def test_good_values_are_taken() -> None:
    assert Training.of(epochs=3, lr=0.5).lr == 0.5


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_every_preset_makes_a_bottleneck_an_architecture_and_a_training(name: str) -> None:
    chosen = preset(name)
    site = Site(4, in_channels=3, depth=2, outputs=2, task="classification")
    build_in(chosen.method, site, chosen.bottleneck)
    Architecture.of(**chosen.architecture)
    Training.of(**chosen.training)
    assert chosen.summary.endswith(".")


def test_the_paper_preset_is_the_papers() -> None:
    chosen = PRESETS["paper"]
    bottleneck = bottlenecks.make(chosen.method, channels=4, **chosen.bottleneck)
    assert type(bottleneck) is PaperVGIB
    assert bottleneck.prior == "graph"
    assert bottleneck.temperature == 1
    assert bottleneck.weights == {
        "prediction": 1.0,
        "clean": 1.0,
        "subgraph": 0.0,
        "compression": 1e-3,
    }


def test_the_reference_preset_does_what_the_program_does() -> None:
    chosen = PRESETS["reference"]
    assert chosen.method == "vgib-reference"
    bottleneck = bottlenecks.make(chosen.method, channels=4, **chosen.bottleneck)
    assert bottleneck.weights["connectivity"] == 1
    architecture = Architecture.of(**chosen.architecture)
    assert not architecture.last_relu
    assert architecture.positive_output
    assert Training.of(**chosen.training).select == "last"


def test_the_recommended_preset_is_the_recommended_bottleneck_as_it_is() -> None:
    chosen = PRESETS["recommended"]
    assert chosen.method == "vgib" and not chosen.bottleneck


def test_an_unknown_preset_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'paper'"):
        preset("papers")


def test_a_preset_refuses_unknown_parts() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'training'"):
        Preset.of(summary="One.", method="vgib", trainning={})


def test_assignments_are_read_as_toml_or_text() -> None:
    assert assignments(["a=1", "b=x,2.5", "c=true"]) == {"a": 1, "b": ["x", 2.5], "c": True}
    assert assignments(["a=True", "b=null", "c=[0.1, 0.5]"]) == {
        "a": True,
        "b": None,
        "c": [0.1, 0.5],
    }
    for wrong in ("a", "=1", "a="):
        with pytest.raises(InputError, match="expected key=value"):
            assignments([wrong])
