"""What a model is asked to be: every setting, checked at once; and scikit-learn's side of it."""

from collections.abc import Iterable
from math import ceil
from typing import Any, NamedTuple, Self, get_args

import torch
from torch import nn

from vgib.chem.standardize import Standard, StandardName
from vgib.chem.vocabulary import vocabulary
from vgib.config import Architecture, Training, checked_options
from vgib.config import preset as preset_of
from vgib.data.capped import atom_features
from vgib.data.packed import PackedGraphs
from vgib.errors import InputError, unknown_name
from vgib.model.labels import ClassWeight
from vgib.nn.bottleneck import PLACES, Bottleneck, bottlenecks
from vgib.nn.encoder import NAMES
from vgib.nn.net import Goal
from vgib.registry import option_names, parameters_of
from vgib.train.checkpoint import stage_epochs
from vgib.train.loop import epochs_for


class Resolved(NamedTuple):
    """Every setting of a model, sorted by what it concerns."""

    architecture: Architecture
    training: Training
    bottleneck: dict[str, Any]


class Configured:
    """The settings of a model; :class:`vgib.model.recognizer.SubgraphRecognizer` explains each."""

    def __init__(
        self,
        encoder: str | nn.Module | None = None,
        bottleneck: str | type[Bottleneck] | Bottleneck | None = None,
        *,
        task: Goal | None = None,
        preset: str = "recommended",
        features: str = "rich",
        standard: StandardName = "none",
        device: torch.device | str = "cpu",
        class_weight: ClassWeight = None,
        **options: Any,
    ) -> None:
        self.encoder = encoder
        self.bottleneck = preset_of(preset).method if bottleneck is None else bottleneck
        self._is_of_preset = bottleneck is None
        self.task = task
        self.preset = preset
        self.features = features
        self.standard = standard
        self.device = device
        self.class_weight = class_weight
        self.options = options
        self._check()

    def __repr__(self) -> str:
        own = [] if self.encoder is None else [repr(self.encoder)]
        given = [*own, f"bottleneck={self.bottleneck!r}" if not own else repr(self.bottleneck)]
        given += [f"preset={self.preset!r}"]
        given += [f"{name}={value!r}" for name, value in self.options.items()]
        return f"{type(self).__name__}({', '.join(given)})"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments, as scikit-learn's tools ask for them.

        A bottleneck that was not given is ``None``, so that it follows the preset.
        """
        names = ("encoder", "bottleneck", "task", "preset", "features", "standard", "device")
        own = {name: getattr(self, name) for name in (*names, "class_weight")}
        if self._is_of_preset:
            own["bottleneck"] = None
        return own | self.options

    def set_params(self, **params: Any) -> Self:
        """Changes settings in place, as scikit-learn's tools do it; all of them are checked."""
        vars(self).update(vars(type(self)(**(self.get_params() | params))))
        return self

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn's tools may expect: a classifier or a regressor of graphs.

        By default a classifier, until training has shown what the labels are.
        """
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

        trained = vars(self).get("card_")
        kind = self.task or (trained.task if trained is not None else "classification")
        is_classifier = kind != "regression"
        return Tags(
            estimator_type="classifier" if is_classifier else "regressor",
            target_tags=TargetTags(required=False, multi_output=kind != "classification"),
            input_tags=InputTags(two_d_array=False),
            classifier_tags=ClassifierTags(multi_label=kind == "multilabel")
            if is_classifier
            else None,
            regressor_tags=None if is_classifier else RegressorTags(),
        )

    def _bottleneck_options(self) -> list[str]:
        kind = self._bottleneck_class()
        return [] if kind is None else [o for o in option_names(kind) if o not in PLACES]

    def _bottleneck_class(self) -> type[Bottleneck] | None:
        """The class whose options may be given; ``None`` for an instance, which has its own."""
        kind = self.bottleneck
        if isinstance(kind, str):
            return bottlenecks.get(kind)
        return kind if isinstance(kind, type) else None

    def _check(self) -> None:
        """Refuses at once what training would stumble over later."""
        vocabulary(self.features)
        Standard.named(self.standard)
        if isinstance(self.encoder, str) and self.encoder not in NAMES:
            raise unknown_name("encoder", self.encoder, NAMES)
        if not isinstance(self.encoder, str | nn.Module | None):
            raise InputError(
                f"encoder is {self.encoder!r}; expected a name, or a module that is made already, "
                "such as GIN(in_channels=4, hidden_channels=32, num_layers=2)"
            )
        if self.task is not None and self.task not in get_args(Goal):
            raise unknown_name("task", self.task, get_args(Goal))
        known = [*Architecture.model_fields, *Training.model_fields, *self._bottleneck_options()]
        for name in self.options:
            if name not in known:
                raise unknown_name("option", name, known)
        try:
            torch.empty(0, device=self.device)
        except (RuntimeError, AssertionError) as error:  # the latter where torch knows no CUDA
            why = str(error).splitlines()[0]
            raise InputError(f"cannot compute on device {str(self.device)!r}: {why}") from None
        self.settings()

    def settings(self, encoder: str | nn.Module | None = None) -> Resolved:
        """Every setting: the preset's for such an encoder, with the given options over them."""
        chosen = preset_of(self.preset)
        around = chosen.architecture
        if chosen.bond_encoder in (encoder, self.encoder):
            around = around | chosen.bond_architecture

        def merged(fields: Iterable[str], base: dict[str, Any]) -> dict[str, Any]:
            return base | {k: v for k, v in self.options.items() if k in set(fields)}

        kind = self._bottleneck_class()
        of_preset = chosen.bottleneck if kind is bottlenecks.get(chosen.method) else {}
        options = merged(self._bottleneck_options(), of_preset)
        training = chosen.training
        if "epochs" in self.options:  # who says how many epochs means as many
            training = training | {"steps": 0}
        return Resolved(
            Architecture.of(**merged(Architecture.model_fields, around)),
            Training.of(**merged(Training.model_fields, training)),
            options if kind is None else checked_options(parameters_of(kind), options),
        )

    def _encoder_for(self, graphs: PackedGraphs) -> str | nn.Module:
        """The encoder that was asked for, or that of the preset for such graphs."""
        chosen = preset_of(self.preset)
        has_bonds = atom_features(graphs) is not None and graphs.edge_attr is not None
        own = chosen.bond_encoder if has_bonds else chosen.encoder
        return own if self.encoder is None else self.encoder

    def copies(self, count: int) -> list[Self]:
        """The same model untrained, once for each member to be; seeds count up from its own."""
        given, first = self.get_params(), self.settings().training.seed
        return [type(self)(**given | {"seed": first + number}) for number in range(count)]

    def planned_epochs(self, graphs: int) -> int:
        """How many epochs training on so many graphs takes, in all stages together."""
        training, kind = self.settings().training, self._bottleneck_class() or self.bottleneck
        assert not isinstance(kind, str)
        epochs = epochs_for(training, ceil(graphs / training.batch_size))
        return sum(stage_epochs(stage, epochs) for stage in kind.stages)
