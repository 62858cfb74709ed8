"""The models that a service offers, loaded once."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from vgib.errors import InputError, unknown_name
from vgib.model import shipped as zoo
from vgib.model.card import Card
from vgib.model.recognizer import SubgraphRecognizer
from vgib.stream.work import Recognize


class ModelShelf:
    """Models by name: those that ship with the package, and folders under their own names.

    Args:
        folders: Models of one's own.
        shipped: Whether those of the package are offered too.

    Raises:
        InputError: there is no model, two have one name, or one is not for molecules.
    """

    def __init__(self, folders: Iterable[str | Path] = (), *, shipped: bool = True) -> None:
        places: dict[str, str | Path] = {name: name for name in zoo.names()} if shipped else {}
        for folder in folders:
            name = Path(folder).resolve().name
            if name in places and Path(places[name]) != Path(folder).resolve():
                raise InputError(f"two models are called {name!r}; rename one of the folders")
            places[name] = Path(folder).resolve()
        if not places:
            raise InputError("there is no model to serve; name one with --model folder")
        self._load(places)

    @classmethod
    def at(cls, places: Mapping[str, str | Path]) -> "ModelShelf":
        """A shelf with the models of another one, in another process."""
        shelf = cls.__new__(cls)
        shelf._load(places)
        return shelf

    def _load(self, places: Mapping[str, str | Path]) -> None:
        self.places = places
        self.models = {name: SubgraphRecognizer.load(place) for name, place in places.items()}
        for name, model in self.models.items():
            if model.card_.features is None:
                raise InputError(f"{name} was not trained on molecules; use it from Python")

    def names(self) -> list[str]:
        """The names, sorted."""
        return sorted(self.places)

    @property
    def default(self) -> str:
        """The model that is taken when none is named."""
        return zoo.DEFAULT if zoo.DEFAULT in self.places else self.names()[0]

    def card(self, name: str) -> Card:
        """What a model says about itself."""
        return self.get(name).card_

    def get(self, name: str) -> SubgraphRecognizer:
        """A model with its members.

        Raises:
            UnknownNameError: there is none of that name.
        """
        if name not in self.models:
            raise unknown_name("model", name, self.models)
        return self.models[name]

    def recognize(self, name: str, options: Mapping[str, Any]) -> Recognize:
        """The unit of work of ``vgib recognize``, on one of these models."""
        return Recognize(self.get(name), called=name, **options)
