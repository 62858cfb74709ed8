"""Names for interchangeable parts: one table per kind, with helpful refusals."""

import inspect
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from vgib.errors import InputError, unknown_name

T = TypeVar("T")


class Registry(Generic[T]):
    """A table from public, lower-case names to the classes that implement them.

    >>> pets: Registry[object] = Registry("pet")
    >>> @pets.register("cat")
    ... class Cat:
    ...     def __init__(self, lives: int = 9) -> None:
    ...         self.lives = lives
    >>> pets.make("cat", lives=7).lives
    7
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._classes: dict[str, type[T]] = {}

    def register(self, name: str) -> Callable[[type[T]], type[T]]:
        """Class decorator that files the class under ``name``."""

        def file(cls: type[T]) -> type[T]:
            if name in self._classes:
                raise InputError(f"a {self.kind} named {name!r} is registered already")
            self._classes[name] = cls
            return cls

        return file

    def names(self) -> list[str]:
        """The registered names, sorted."""
        return sorted(self._classes)

    def get(self, name: str) -> type[T]:
        """The class behind a name; an unknown name is answered with the nearest known one."""
        if name not in self._classes:
            raise unknown_name(self.kind, name, self._classes)
        return self._classes[name]

    def make(self, spec: "str | type[T] | T", **options: Any) -> T:
        """An instance from a name, a class or a finished instance (which takes no options)."""
        if not isinstance(spec, str | type):
            if options:
                raise InputError(
                    f"{self.kind} {type(spec).__name__} is built already and takes no options; "
                    f"got {', '.join(sorted(options))}"
                )
            return spec
        cls: Callable[..., T] = self.get(spec) if isinstance(spec, str) else spec
        name = spec if isinstance(spec, str) else spec.__name__
        refuse_unknown_options(f"{self.kind} {name}", cls, options)
        return cls(**options)


def refuse_unknown_options(owner: str, call: Callable[..., Any], options: dict[str, Any]) -> None:
    """Raises when ``call`` does not take one of ``options`` by name."""
    known = option_names(call)
    for option in options:
        if option not in known and not _takes_any(call):
            raise unknown_name(f"option of {owner}", option, known)


def _takes_any(call: Callable[..., Any]) -> bool:
    return any(each.kind is each.VAR_KEYWORD for each in parameters_of(call).values())


def option_names(call: Callable[..., Any]) -> list[str]:
    """The names of the arguments that ``call`` takes."""
    return list(parameters_of(call))


def parameters_of(call: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The arguments that ``call`` takes, by name.

    A class that takes ``**rest`` hands it to the class above it, whose arguments are then its own.
    """
    found = dict(inspect.signature(call, eval_str=True).parameters)
    if isinstance(call, type) and found.pop("rest", None) is not None:
        kinds = call.__mro__
        above = next(n for n, kind in enumerate(kinds, 1) if "__init__" in vars(kind))
        found |= {k: v for k, v in parameters_of(kinds[above]).items() if k not in found}
    return found
