"""Finding Ray, connecting to it and letting go."""

import builtins
from typing import Any

import pytest

from vgib.errors import InputError, MissingExtraError
from vgib.train.cluster import connected, library


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = builtins.__import__

    def without_ray(name: str, *rest: Any) -> Any:
        if name == "ray":
            raise ImportError(name)
        return usual(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_ray)
    with pytest.raises(MissingExtraError, match=r"pip install 'vgib\[ray\]'"):
        library()


def test_a_connection_that_is_there_is_used_and_stays(cluster: Any) -> None:
    with connected("nowhere:1") as ray:
        assert ray.cluster_resources()["CPU"] == 2
    assert ray.is_initialized()


def test_an_address_without_a_cluster_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", lambda **_: refuse())
    with (
        pytest.raises(InputError, match=r"no Ray cluster answers at '10\.0\.0\.1:6379'"),
        connected("10.0.0.1:6379"),
    ):
        pass


def refuse() -> None:
    raise ConnectionError("timed out")
