"""A Ray cluster of two nodes on this machine, small enough for a test."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

SOURCES = [str(Path(__file__).parents[1] / "src"), str(Path(__file__).parent)]
PATIENCE = int(os.environ.get("GAPLESS_RAY_START", "180"))
"""Seconds that a node may take to start: a computer that is busy with other tests is slow."""
ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",
    "RAY_raylet_start_wait_time_s": str(PATIENCE),
    "RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S": str(PATIENCE),
    "PYTHONPATH": os.pathsep.join([*SOURCES, os.environ.get("PYTHONPATH", "")]),
}
MEMORY = 100 * 2**20
START = """
import sys
from ray.cluster_utils import Cluster
from ray.util import get_node_ip_address
cluster, port, memory = Cluster(), int(sys.argv[1]), int(sys.argv[2])
node = {"num_cpus": 1, "object_store_memory": memory, "node_ip_address": get_node_ip_address()}
cluster.add_node(ray_client_server_port=port, include_dashboard=False, **node)
cluster.add_node(**node)
print(cluster.address, flush=True)
sys.stdin.read()
cluster.shutdown()
"""


@contextmanager
def two_nodes() -> Iterator[tuple[str, str]]:
    """A head and one worker node, a processor each.

    Yields:
        Their address, and the address for clients (ray://HOST:PORT).
    """
    with TemporaryFile("w+") as errors, _started(_free_port(), errors) as addresses:
        yield addresses


@contextmanager
def _started(port: int, errors: IO[str]) -> Iterator[tuple[str, str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", START, str(port), str(MEMORY)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        env=os.environ | ENVIRONMENT,
        start_new_session=True,
    )
    assert process.stdin and process.stdout
    try:
        lines = (line.strip() for line in process.stdout)
        address = next((n for n in lines if n.rpartition(":")[2].isdigit()), "")
        if not address:
            errors.seek(0)
            raise RuntimeError(f"Ray did not start: {errors.read()[-3000:]}")
        yield address, f"ray://{address.partition(':')[0]}:{port}"
    finally:
        process.stdin.close()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]
