"""Fixtures of the tests of scale: a fleet that this process closed, and a cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gapless.scale import Fleet, close_fleet
from gapless.scale.ray_workers import RayWorkers
from ray_cluster import ENVIRONMENT, two_nodes
from small_fleet import HOW, QUICK, write_units


@pytest.fixture(scope="session")
def units(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Datasets of two units."""
    return write_units(tmp_path_factory.mktemp("units"))


@pytest.fixture(scope="session")
def closed(units: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    """Both, closed one after the other in this process."""
    return close_fleet(units, tmp_path_factory.mktemp("closed") / "fleet", settings=QUICK, **HOW)


@pytest.fixture(scope="session")
def cluster() -> Iterator[tuple[str, str]]:
    """Addresses of two nodes of Ray on this machine."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'gapless[scale]'")
    with two_nodes() as addresses:
        yield addresses


@pytest.fixture(scope="session")
def ray_workers(cluster: tuple[str, str]) -> Iterator[RayWorkers]:
    """Workers of that cluster, connected once for all tests."""
    import ray

    os.environ["RAY_USAGE_STATS_ENABLED"] = ENVIRONMENT["RAY_USAGE_STATS_ENABLED"]
    ray.init(cluster[0], log_to_driver=False, logging_level="ERROR")
    yield RayWorkers()
    ray.shutdown()
