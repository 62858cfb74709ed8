"""A small Ray cluster on this machine: a head that does no work, and two nodes of one core."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

MEMORY = 100 * 2**20
# A lost node is noticed in two seconds, not in fifteen.
PATIENCE = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 500,
    "health_check_failure_threshold": 4,
}


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """The cluster, connected; a test that takes a node away puts another one there."""
    pytest.importorskip("ray", reason="Ray is not installed; pip install 'vgib[ray]'")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    # A busy machine starts processes slowly.
    os.environ.setdefault("RAY_worker_register_timeout_seconds", "180")
    import ray
    from ray.cluster_utils import Cluster

    small = {"object_store_memory": MEMORY, "include_dashboard": False}
    made = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, **small, "_system_config": PATIENCE}
    )
    for _ in range(2):
        made.add_node(num_cpus=1, **small)
    ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
    yield made
    ray.shutdown()
    made.shutdown()
