"""A small Ray cluster on this machine: a head that does no work, and two nodes of one core."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

MEMORY = 100 * 2**20
SLOWEST = 600
"""Seconds that a busy machine may take to start a node or a process."""

# A lost node is noticed in two seconds, not in fifteen.
PATIENCE = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 500,
    "health_check_failure_threshold": 4,
}
SETTINGS = {
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    # Ray gives its workers a low priority; they starve where other processes compute.
    "RAY_worker_niceness": "0",
    "RAY_worker_register_timeout_seconds": str(SLOWEST),
    "RAY_NUM_REDIS_GET_RETRIES": str(SLOWEST),
    "RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S": str(SLOWEST),
    # What has ended is noticed at once; no node is announced to be taken away.
    "RAY_TRAIN_HEALTH_CHECK_INTERVAL_S": "0.2",
    "RAY_TRAIN_ENABLE_PREEMPTION_WATCHER": "0",
}
for name, value in SETTINGS.items():  # some are read when Ray is imported
    os.environ.setdefault(name, value)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """The cluster, connected; a test that takes a node away puts another one there."""
    pytest.importorskip("ray", reason="Ray is not installed; pip install 'vgib[ray]'")
    import ray
    from ray.cluster_utils import Cluster

    class Patient(Cluster):
        def _wait_for_node(self, node: Any, timeout: float = SLOWEST) -> None:
            super()._wait_for_node(node, timeout)

    small = {"object_store_memory": MEMORY, "include_dashboard": False}
    made = Patient(
        initialize_head=True, head_node_args={"num_cpus": 0, **small, "_system_config": PATIENCE}
    )
    for _ in range(2):
        made.add_node(num_cpus=1, **small)
    ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
    yield made
    ray.shutdown()
    made.shutdown()
