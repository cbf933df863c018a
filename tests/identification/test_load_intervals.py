"""Loads: intervals that own up to the robot's own errors, and loads that pull upwards."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gapless.identification import IdentifySettings, identify
from gapless.identification.calibration import Calibration
from gapless.identification.plans.two_stage import loads
from gapless.recordings import Split
from gapless.robots import Inertia, Payload
from hidden_pair import STEP, nominal_pair, recorded

SETTINGS = IdentifySettings(physics_step=STEP, windows=12)
HUNG = 0.45


@pytest.fixture(scope="module")
def found() -> Calibration:
    """An arm with other gains, bare and with a load that it can hardly hold."""
    pair = nominal_pair()
    hidden = pair.with_joints(kp=1.2 * pair.joints.kp)
    bare = recorded(hidden, ["a", "b"])
    full = recorded(hidden.with_payloads({"gripper": Payload(HUNG)}), ["c", "d"], first=7)
    return identify(
        Split.of([*bare, *full]),
        pair,
        ["kp", "frictionloss"],
        plan="two-stage",
        payload=["payload/gripper"],
        loaded=["c", "d"],
        settings=SETTINGS,
    )


def test_a_load_is_no_better_known_than_the_gains(found: Calibration) -> None:
    """It hangs on motors whose gains are known to a few per cent, and is found."""
    assert found.loaded is not None
    (load,) = loads(found.loaded)
    assert abs(load.mass - HUNG) < 1.96 * load.std
    assert load.mass == pytest.approx(HUNG, rel=0.05)
    gain = min(e.std / e.value for e in found.estimates if e.parameter.kind == "kp")
    assert 0.3 * gain < load.std / load.mass < 0.3


def test_a_load_that_pulls_upwards_is_said_so() -> None:
    """A hand lighter than its model asks for a load below nothing: its notes say what to check."""
    pair = nominal_pair()
    own = pair.inertia("gripper")
    light = pair.with_inertias({"gripper": Inertia.of(0.2 * own.mass, own.com, own.tensor)})
    found = identify(
        Split.of(recorded(light, ["a", "b"])),
        pair,
        ["payload/gripper"],
        settings=replace(SETTINGS, starts="free"),
        keep_anyway=True,
    )
    (note,) = (n for n in found.notes if "wants to be -0." in n)
    assert "mounted" in note and found["payload/gripper"].value == 0
