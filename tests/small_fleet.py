"""Datasets of a small fleet, closed in seconds, and the bytes of what was made of them."""

from __future__ import annotations

import re
from pathlib import Path

from gapless.closing import CloseSettings
from gapless.recordings import Dataset
from hidden_pair import LOCKED, STEP, nominal_pair, recorded

GAINS = {"u1": 0.6, "u2": 0.9}
"""Unit -> its motors' gain, as a share of the nominal one."""
HOW = {"lock": LOCKED}
QUICK = CloseSettings(
    parameters=("kp",),
    windows=4,
    members=1,
    physics_step=STEP,
    trainer_settings={"horizons": [0.3], "iterations": 2, "samples": 100},
)
OPTIONS = [
    *("--lock", *LOCKED, "--set", 'parameters=["kp"]', "windows=4", "members=1"),
    f"physics_step={STEP}",
    'trainer_settings={"horizons": [0.3], "iterations": 2, "samples": 100}',
]
"""The same, as they are typed."""
TOOK = re.compile(rb'"(seconds|time)": [^\n]*')
"""When something was made and how long it took: the only figures that no two runs share."""


def write_units(folder: Path) -> list[Path]:
    """A dataset of six short motions for each unit: enough for one of them to choose."""
    pair, paths = nominal_pair(), []
    for unit, gain in GAINS.items():
        soft = pair.with_joints(kp=gain * pair.joints.kp)
        waves = recorded(soft, list("abcdef"), seconds=2.0, unit=unit)
        Dataset.from_recordings(waves, "so101").save(folder / unit)
        paths.append(folder / unit)
    return paths


def made(folder: Path) -> dict[str, bytes]:
    """Every file of a fleet's runs, without pages and what the clock alone decides."""
    files = (p for p in sorted(folder.rglob("*")) if p.is_file())
    return {
        str(p.relative_to(folder)): TOOK.sub(b"", p.read_bytes())
        for p in files
        if p.suffix != ".html" and not p.name.endswith(".part")
    }
