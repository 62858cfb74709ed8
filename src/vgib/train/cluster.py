"""The one place that finds Ray and connects to it."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from vgib.errors import InputError, MissingExtraError

log = logging.getLogger(__name__)

OBJECT_STORE = 256 * 2**20
"""Bytes of shared memory of a Ray that we start ourselves: rows travel by files, not through it."""


def library() -> Any:
    """The module ``ray``."""
    try:
        import ray
    except ImportError:
        raise MissingExtraError("ray", "ray") from None
    return ray


@contextmanager
def connected(address: str | None = None, *, cores: int | None = None) -> Iterator[Any]:
    """Runs a block with Ray, and lets go of it afterwards if it was not in use before.

    Args:
        address: Of the head node, or ``auto``. Without one, the cluster that ``RAY_ADDRESS`` names;
            without that either, a Ray of this machine alone, for as long as the block runs.
        cores: How many cores that Ray of this machine may use; all when ``None``.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # What Ray is about to do one day with the graphics cards of tasks that ask for none.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    ray = library()
    if ray.is_initialized():
        yield ray
        return
    where = address or os.environ.get("RAY_ADDRESS")
    options: dict[str, Any] = {"address": where}
    if where is None:
        options = {
            "address": "local",
            "num_cpus": cores,
            "include_dashboard": False,
            "object_store_memory": OBJECT_STORE,
        }
    try:
        ray.init(**options, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, ValueError, RuntimeError, TimeoutError) as error:
        raise InputError(
            f"no Ray cluster answers at {where!r} ({str(error).splitlines()[0]}); start one with "
            "`ray start --head`, or leave the address out to use this machine alone"
        ) from error
    log.info("connected to Ray with %s", ray.cluster_resources())
    try:
        yield ray
    finally:
        ray.shutdown()
