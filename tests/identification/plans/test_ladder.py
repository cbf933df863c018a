"""A ladder of models: what helps is kept, what does not is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from gapless.errors import GaplessError
from gapless.identification import Calibration, IdentifySettings, identify
from gapless.identification.plans import ladder
from gapless.identification.plans.fit_checkpoint import FitCheckpoint
from gapless.identification.plans.fitter import Fitter
from gapless.identification.plans.fitting import NothingToGainError
from gapless.identification.plans.ladder import Footing, Ladder, _once_more, as_folds_agree
from gapless.identification.plans.ladder_step import Step
from gapless.identification.plans.rung_fits import Foothold
from gapless.identification.plans.rungs import BELOW, NOMINAL, Rung, rungs_for
from gapless.recordings import Split
from gapless.recordings.recording import Recordings
from gapless.recordings.splitting import split_recordings
from gapless.robots import Payload, Robot
from gapless.verdict import CLOSED_LOOP
from gapless.worlds import Effects, MujocoWorld
from gapless.worlds.world import World
from hidden_pair import TRUTH, recorded

QUICK = IdentifySettings(horizon=1.0, windows=20, physics_step=0.005)


@pytest.fixture(scope="module")
def pair() -> Robot:
    """Shoulder lift and elbow of an SO-101."""
    return Robot.load("so101", lock=["shoulder_pan", "wrist_flex", "wrist_roll", "gripper"])


@pytest.fixture(scope="module")
def climbed(pair: Robot) -> Calibration:
    """A ladder on recordings of a robot with other gains and friction, and an encoder that errs."""
    hidden = pair.with_joints(**{k: f * getattr(pair.joints, k) for k, f in TRUTH.items()})
    bias = Effects(encoder_bias=np.array([0.03, 0.0]))
    clips = recorded(hidden, [f"wave_{i}" for i in range(5)], effects=bias)
    return identify(Split.of(clips[:3], clips[3:]), pair, "auto", settings=QUICK)


def steps_of(calibration: Calibration) -> dict[str, Step]:
    """Rung -> what came of it."""
    return {
        s["rung"]: Step(**{k: v for k, v in s.items() if k != "errors"}) for s in calibration.ladder
    }


def test_what_is_there_is_found(climbed: Calibration, pair: Robot) -> None:
    """Gains, friction and the bias come back."""
    assert climbed.choose is not None and climbed.choose.reduction > 0.9
    low, high = climbed["encoder_bias/shoulder_lift"].interval
    assert low < 0.03 < high  # strongly correlated with its gain
    assert climbed["encoder_bias/shoulder_lift"].value > 0.015
    robot, _ = climbed.apply(pair)
    assert robot.joints.kp == pytest.approx(TRUTH["kp"] * pair.joints.kp, rel=0.03)
    assert robot.joints.frictionloss == pytest.approx(
        TRUTH["frictionloss"] * pair.joints.frictionloss, rel=0.1
    )


def test_only_rungs_that_help_are_kept(climbed: Calibration) -> None:
    """Each kept rung lowers the error; backlash that is not there is not kept."""
    steps = steps_of(climbed)
    assert steps["by motor type"].kept and steps["encoder bias"].kept
    assert not steps["backlash"].kept and "slopes promise 0.0%" in steps["backlash"].why
    kept = [s for s in steps.values() if s.kept]
    for below, above in pairwise(kept):
        assert above.gain_over(below) >= 0.01


def test_a_rung_that_misleads_a_policy_is_not_kept(pair: Robot) -> None:
    """Though replays improve: what a policy makes of the robot counts as much as a horizon."""
    bias = Effects(encoder_bias=np.array([0.03, 0.0]))
    clips = recorded(pair, [f"wave_{i}" for i in range(4)], effects=bias)

    class Off:
        """Dislikes wrong zeros."""

        chance = 0.0

        def error(self, world: World) -> float:
            return 0.1 + float(np.abs(self.residuals(world)).sum())

        def residuals(self, world: World) -> np.ndarray:
            assert isinstance(world, MujocoWorld)
            return 10.0 * np.broadcast_to(world.effects.encoder_bias, 2)

    climbing = Ladder(
        Fitter(pair, QUICK, FitCheckpoint(None), None, closed_loop=Off()),
        Split.of(clips[:3], clips[3:]),
    )
    climbing.rungs = (Rung("encoder bias", {"encoder_bias": ("encoder_bias",)}),)
    found, _ = climbing.climb()
    ground, step = steps_of(found)["nominal"], steps_of(found)["encoder bias"]
    assert all(step.errors[h] < ground.errors[h] for h in ("1.0", "full"))
    assert step.errors[CLOSED_LOOP] > 2 * ground.errors[CLOSED_LOOP]
    assert not step.kept and "closed loop" in step.why
    assert "closed loop, m" in str(found)


def test_the_table_shows_the_ladder(climbed: Calibration) -> None:
    """People see what was kept and why."""
    text = str(climbed)
    assert "ladder" in text and "by motor type" in text and "kept" in text


def test_a_file_keeps_the_ladder(climbed: Calibration) -> None:
    """And so does the file."""
    assert Calibration.from_dict(climbed.to_dict()).ladder == climbed.ladder


@pytest.fixture
def three_rungs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Motor types, joints and encoders: what tests of the climb itself need no more than."""
    monkeypatch.setattr(ladder, "rungs_for", lambda *asked: rungs_for(*asked)[:3])


@pytest.mark.usefixtures("three_rungs")
def test_few_motions_choose_in_turn(pair: Robot) -> None:
    """Cross-validated rungs, then all motions together."""
    hidden = pair.with_joints(kp=1.3 * pair.joints.kp)
    clips = recorded(hidden, [f"wave_{i}" for i in range(3)])
    split = split_recordings(clips, test=0.0)
    assert split.cross_validated
    found = identify(split, pair, "auto", settings=replace(QUICK, windows=8))
    assert len(found.folds) == len(split.folds)
    assert "all together" in steps_of(found), "rungs go on with slopes of earlier ones"
    assert found.choose is not None and found.choose.reduction > 0.7
    robot, _ = found.apply(pair)
    assert robot.joints.kp == pytest.approx(1.3 * pair.joints.kp, rel=0.03)


@pytest.mark.usefixtures("three_rungs")
def test_a_rung_that_came_too_early_is_tried_again(
    pair: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After one that made much of a difference; not where its figures were freed otherwise."""
    early, doubt = {"by motor type", "each joint"}, Ladder._doubt
    monkeypatch.setattr(
        Ladder,
        "_doubt",
        lambda self, step, *of: "early" if step.rung in early else doubt(self, step, *of),
    )
    hidden = pair.with_joints(kp=1.3 * pair.joints.kp)
    clips = recorded(hidden, ["a", "b", "c"], effects=Effects(encoder_bias=np.array([0.1, -0.1])))
    few = replace(QUICK, windows=8)
    steps = steps_of(identify(Split.of(clips[:2], clips[2:]), pair, "auto", settings=few))
    names = [*steps]
    assert names.index("by motor type, again") == names.index("encoder bias") + 1
    assert steps["by motor type, again"].kept
    assert steps["by motor type, again"].errors["1.0"] < 0.5 * steps["encoder bias"].errors["1.0"]
    assert not any(name.endswith("again, again") for name in names)
    missed = [(Rung("types", {"kp": ("kp@motors",)}), {})]
    assert _once_more(missed, {"kp": ("kp",)}) == []


def two_starts(robot: Robot, *refused: str) -> tuple[Ladder, Callable[..., Foothold]]:
    """A ladder of one rung with two starts, and fits that say where they began."""
    clips = recorded(robot, [f"wave_{i}" for i in range(4)])
    split = Split.of(clips[:3], clips[3:])
    climbing = Ladder(Fitter(robot, QUICK, FitCheckpoint(None), None), split)
    climbing.rungs = (Rung("types", {"kp": ("kp@motors",)}, starts=(NOMINAL, BELOW)),)

    def fitted(fitter: Fitter, learn: Recordings, rung: Rung, *of: object) -> Foothold:
        (start,) = rung.starts
        if start in refused:
            raise NothingToGainError(f"nothing from {start}")
        return Foothold(slopes={start: np.zeros(0)})

    return climbing, fitted


@pytest.mark.parametrize(("below", "taken"), [(0.5, BELOW), (0.995, NOMINAL), (2.0, NOMINAL)])
def test_of_two_starts_the_one_that_explains_more_is_taken(
    pair: Robot, monkeypatch: pytest.MonkeyPatch, below: float, taken: str
) -> None:
    """Of two that are alike, the one that begins at the robot's own model."""
    climbing, fitted = two_starts(pair)
    errors = {NOMINAL: 1.0, BELOW: below}
    monkeypatch.setattr(ladder, "fit_rung", fitted)
    monkeypatch.setattr(
        Ladder,
        "_errors",
        lambda self, footholds: {"1.0": tuple(errors[s] for f in footholds for s in f.slopes)},
    )
    found = climbing._fitted(climbing.rungs[0], {}, Footing.ground(1))
    assert [*found.whole.slopes] == [taken]


def test_a_start_that_promises_nothing_leaves_the_other(
    pair: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rung is left out only where no start comes to anything, and then says why."""
    climbing, fitted = two_starts(pair, BELOW)
    monkeypatch.setattr(ladder, "fit_rung", fitted)
    found = climbing._fitted(climbing.rungs[0], {}, Footing.ground(1))
    assert [*found.whole.slopes] == [NOMINAL]
    climbing, fitted = two_starts(pair, BELOW, NOMINAL)
    monkeypatch.setattr(ladder, "fit_rung", fitted)
    ground = Step("nominal", 0, {"1.0": (4.0,)})
    step, _ = climbing._tried(climbing.rungs[0], {}, Footing.ground(1), ground)
    assert not step.kept and step.why == "nothing from nominal"


def test_a_plan_of_stages_must_be_told_what_to_find(pair: Robot) -> None:
    """Refused, with what to type."""
    clips = recorded(pair, ["wave_0", "wave_1"])
    with pytest.raises(GaplessError, match="--set actuators"):
        identify(Split.of(clips[:1], clips[1:]), pair, "auto", plan="two-stage", settings=QUICK)


def test_rungs_suit_what_was_recorded(pair: Robot) -> None:
    """Loads and floors have rungs of their own."""
    clips = recorded(pair, ["wave"])
    loads = replace(clips[0].conditions, payloads={"gripper": Payload(0.3)})
    names = [r.name for r in rungs_for(pair, [replace(clips[0], conditions=loads)])]
    assert "held load" in names and "masses" not in names
    free = Robot.load("g1", mount="free")
    leaning = {"imu_quat_wxyz": np.tile([1.0, 0, 0, 0], (len(clips[0]), 1))}
    first, types, *_ = rungs_for(free, [replace(clips[0], channels=leaning)])
    assert types.starts == (NOMINAL, BELOW) and first.starts == (BELOW,)
    assert first.adds["mass"] == ("mass/root",) and first.adds["kp"] == ("kp@all",)
    assert "floor_softness" not in first.adds, "an estimated base says nothing of it"
    standing = leaning | {"base_pos": np.tile([0.0, 0, 0.8], (len(clips[0]), 1))}
    first, *_ = rungs_for(free, [replace(clips[0], channels=standing)])
    assert first.adds["floor_softness"] == ("floor_softness",)
    names = [r.name for r in rungs_for(free, clips)]
    assert names[1] == "encoder bias", "feet alone say how it leans, by their angles"
    assert names.count("encoder bias") == 1


def test_a_motion_that_nothing_explains_does_not_drown_the_others() -> None:
    """Each fold counts alike, however large its error is."""
    here = Step("below", 4, {"0.5": (0.003, 0.013, 0.004)})
    above = Step("above", 8, {"0.5": (0.002, 0.0131, 0.003)})
    assert above.gain_over(here) == pytest.approx(1 - np.mean([2 / 3, 131 / 130, 3 / 4]))
    assert above.facts["errors"] == {"0.5": pytest.approx(0.01810 / 3)}


def test_a_fold_sees_no_window_of_what_it_leaves_out(pair: Robot) -> None:
    """And goes by slopes that a fit to all of them had found, without forming its own."""
    hidden = pair.with_joints(kp=1.3 * pair.joints.kp)
    clips = recorded(hidden, [f"wave_{i}" for i in range(3)])
    fitter = Fitter(pair, QUICK, FitCheckpoint(None), None)
    world = fitter.world(clips[0].rate)
    whole = fitter.fit(clips, world, ["kp"])
    asked = {"start": pair.joints.kp, "known": whole.slopes, "unseen": {"wave_1"}}
    fold = fitter.fit(clips, world, ["kp"], quick_start=False, **asked)
    left = set(np.array(fold.problem.windows.names)[fold.problem.windows.recording])
    assert left == {"wave_0", "wave_2"}
    own = fitter.fit(clips, world, ["kp"], quick_start=False, unseen={"wave_1"})
    assert fold.simulated_seconds < own.simulated_seconds
    for found, fresh in zip(fold.estimates(), own.estimates(), strict=True):
        assert found.value == pytest.approx(fresh.value, rel=0.01)


def test_intervals_are_no_narrower_than_motions_agree(climbed: Calibration) -> None:
    """A figure that leaves its interval where a motion is left out is not known so well."""
    name = "encoder_bias/shoulder_lift"

    def moved(by: float) -> Calibration:
        own = [replace(e, value=e.value + by * (e.name == name)) for e in climbed.estimates]
        return replace(climbed, estimates=tuple(own))

    found = as_folds_agree(climbed, [moved(-0.5), moved(0.0), moved(0.5)])
    assert found[name].std == pytest.approx(np.sqrt(2 / 3 * 0.5))
    others = [e for e in climbed.estimates if e.name != name]
    assert [found[e.name] for e in others] == others


def test_servos_that_state_a_damping_gain_have_its_ratio_looked_for(pair: Robot) -> None:
    """A motor may brake less than a data sheet says, and no friction is less than none."""
    assert not pair.joints.kd.any()
    gains = {j: (20.0, 1.5) for j in pair.joints.names}
    clips = recorded(pair, ["wave_0"])
    stated, silent = (
        [replace(c, conditions=replace(c.conditions, gains=told)) for c in clips]
        for told in (gains, {})
    )
    for robot, logs, brake in (
        (pair, stated, "kd_ratio"),
        (pair, silent, "damping"),
        (pair.with_joints(kd=1.0), stated, "damping"),
    ):
        adds = {r.name: r.adds for r in rungs_for(robot, logs)}
        for rung, tied in (("by motor type", "@motors"), ("each joint", "")):
            assert adds[rung][brake] == (brake + tied,)
            assert not {"kd_ratio", "damping"} - {brake} & set(adds[rung])
