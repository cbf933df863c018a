"""identify(): plans, judgement, what cannot be told, stopping and going on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gapless.errors import DataError, GaplessError
from gapless.identification import Calibration, CalibrationRefusedError, IdentifySettings, identify
from gapless.identification.plans import fitting
from gapless.identification.plans.two_stage import loads
from gapless.identification.sign_conventions import find_signs, with_signs
from gapless.progress import Progress
from gapless.recordings import Recording, Split
from gapless.robots import Robot
from gapless.worlds import MujocoWorld
from hidden_pair import STEP, TRUTH, recorded

QUICK = IdentifySettings(physics_step=STEP, windows=24)
SMALL = ("kp", "damping", "frictionloss")


@pytest.fixture(scope="module")
def found(pair: Robot, waves: list[Recording]) -> Calibration:
    """A calibration of the hidden robot."""
    return identify(waves, pair, SMALL, settings=QUICK)


def test_known_changes_come_back_within_their_intervals(pair: Robot, found: Calibration) -> None:
    """Every figure is told, near the truth, and its interval is neither too narrow nor huge."""
    for estimate in found.estimates:
        true = TRUTH[estimate.parameter.kind] * estimate.nominal[0]
        assert estimate.identifiable
        assert abs(estimate.value - true) < max(4 * estimate.std, 0.01 * true), estimate.name
        assert estimate.std < 0.1 * true


def test_held_out_error_falls_to_the_noise(found: Calibration) -> None:
    """One motion of five chose and one was kept back; both are judged before and after."""
    parts = [set(found.split[part]) for part in ("learn", "choose", "test")]
    assert [len(part) for part in parts] == [3, 1, 1] and len(set.union(*parts)) == 5
    for verdict, motions in ((found.choose, parts[1]), (found.test, parts[2])):
        assert verdict is not None and set(verdict.motions) == motions
        assert verdict.after < 0.1 * verdict.before


def test_whole_and_per_joint_agree(pair: Robot, waves: list[Recording], found: Calibration) -> None:
    """The quick first pass changes the way, not the answer."""
    whole = identify(waves, pair, SMALL, plan="whole", settings=QUICK)
    for name, value in whole.values.items():
        assert value == pytest.approx(found.values[name], rel=0.02)


def test_body_positions_tell_the_same(pair: Robot, waves: list[Recording]) -> None:
    """HALO's objective finds the same gains as joint angles."""
    bodies = replace(QUICK, objective="bodies", loss="squared")
    found = identify(waves, pair, ["kp"], settings=replace(bodies, windows=12))
    joints = identify(waves, pair, ["kp"], settings=replace(QUICK, loss="squared", windows=12))
    for name, value in found.values.items():
        assert value == pytest.approx(joints.values[name], rel=0.05)


def test_what_scales_together_is_flagged_and_stays(pair: Robot, waves: list[Recording]) -> None:
    """Gain and damping gain of a drive cannot be told apart from viscous friction."""
    found = identify(waves, pair, ["kd", "damping"], settings=QUICK, keep_anyway=True)
    pairs = [(found[f"kd/{j}"], found[f"damping/{j}"]) for j in pair.joints.names]
    for first, second in pairs:
        assert not (first.identifiable and second.identifiable)
        for estimate in (first, second):
            if not estimate.identifiable:
                assert estimate.value == estimate.parameter.prior
    assert any("not identifiable" in note for note in found.notes)


def test_mass_and_gear_from_unloaded_data_are_not_told(pair: Robot) -> None:
    """Without gravity to weigh against, all forces may be scaled alike: nothing is claimed."""
    flat = pair.with_joints(frictionloss=0.0)
    clips = recorded(flat, ["a", "b", "c"], seconds=4.0)
    names = ["kp@all", "damping@all", "armature@all", "mass@all", "frictionloss@all", "kd@all"]
    found = identify(clips, flat, names, settings=QUICK, keep_anyway=True)
    scale = [found[n] for n in ("damping/all", "kd/all")]
    assert not all(e.identifiable for e in scale)


def test_a_joint_that_never_moved_stays_at_its_prior(pair: Robot, hidden: Robot) -> None:
    """An unexcited joint is named, and its figures are left alone."""
    clips = recorded(hidden, ["a", "b", "c"], seconds=4.0)
    column = pair.joints.index("elbow_flex")
    still = [_frozen(clip, column) for clip in clips]
    found = identify(still, pair, ["armature", "damping"], settings=QUICK, keep_anyway=True)
    assert not found["armature/elbow_flex"].identifiable
    assert found["armature/elbow_flex"].value == pair.joints.armature[column]


def _frozen(clip: Recording, column: int) -> Recording:
    q, target = clip.q.copy(), np.array(clip.target)
    q[:, column] = q[0, column]
    target[:, column] = q[0, column]
    return replace(clip, q=q, target=target)


def test_two_stages_find_the_load_beyond_the_base(
    pair: Robot, waves: list[Recording], carried: list[Recording]
) -> None:
    """The load is found on a robot whose gains and friction were wrong; one stage errs more."""
    asked = {"payload": ["mass/gripper"], "loaded": ["load_*"], "settings": QUICK}
    both = [*waves, *carried]
    two = identify(both, pair, SMALL, plan="two-stage", **asked)
    one = identify(both, pair, plan="one-stage", keep_anyway=True, **asked)
    assert two.loaded is not None
    errors = [abs(loads(c)[0].mass - 0.3) for c in (two.loaded, one)]
    assert errors[0] < 0.01
    assert errors[0] < errors[1] / 3


def test_two_stages_need_both_kinds_of_recordings(pair: Robot, waves: list[Recording]) -> None:
    """The message says how to name the loaded ones."""
    with pytest.raises(DataError, match="--loaded"):
        identify(waves, pair, SMALL, plan="two-stage", settings=QUICK)


def test_a_fleet_has_a_mean_and_each_unit_its_own(pair: Robot) -> None:
    """Units' own gains come back, and the fleet's interval covers them."""
    factors = {"one": 0.8, "two": 1.0, "three": 1.2}
    clips = []
    for unit, factor in factors.items():
        robot = pair.with_joints(kp=1.3 * factor * pair.joints.kp)
        clips += recorded(robot, ["a", "b"], seconds=4.0, unit=unit)
    few = replace(QUICK, windows=12)
    found = identify(Split.of(clips), pair, ["kp"], plan="fleet", settings=few)
    for joint in pair.joints.names:
        estimate = found[f"kp/{joint}"]
        nominal = pair.joints.kp[pair.joints.index(joint)]
        low, high = estimate.interval
        for unit, factor in factors.items():
            own = found.made_by["units"][unit][f"kp/{joint}"]
            assert own["value"] == pytest.approx(1.3 * factor * nominal, rel=0.03)
            assert low < own["value"] < high
    with pytest.raises(DataError, match="two units"):
        identify(clips[:2], pair, ["kp"], plan="fleet", settings=few)


def test_a_calibration_that_does_not_help_is_refused(pair: Robot, waves: list[Recording]) -> None:
    """The error carries it, and says what to do; keep_anyway returns it."""
    nominal = recorded(pair, ["x", "y", "z"], seconds=3.0, noise=5e-3)
    few = replace(QUICK, windows=6, horizon=0.3, prior_weight=0.0)
    asked = {"data": Split.of(waves[:1], nominal[1:2]), "robot": pair, "settings": few}
    with pytest.raises(CalibrationRefusedError, match="keep-anyway") as refused:
        identify(parameters=["kp"], **asked)
    kept = identify(parameters=["kp"], keep_anyway=True, **asked)
    assert refused.value.calibration.values == pytest.approx(kept.values)


class Stopped(Exception):  # noqa: N818
    """Stands for a kill."""


@pytest.mark.parametrize(
    ("parameters", "after"),
    [(SMALL, 1), (SMALL, 6), pytest.param("auto", 20, marks=pytest.mark.slow)],
)
def test_a_stopped_run_resumes_to_the_same_bytes(
    parameters: str | list[str], after: int, pair: Robot, waves: list[Recording], tmp_path: Path
) -> None:
    """Wherever it was stopped, every number is that of a run which was not."""
    folder, told = tmp_path / "progress", 0

    def stop(_: Progress) -> None:
        nonlocal told
        told += 1
        if told == after:
            raise Stopped

    asked = {"data": waves, "robot": pair, "parameters": parameters}
    asked |= {"settings": replace(QUICK, windows=12)}
    through = identify(**asked)
    with pytest.raises(Stopped):
        identify(**asked, checkpoint=folder, watch=stop)
    again = identify(**asked, checkpoint=folder)
    assert timeless(again) == timeless(through)


@pytest.mark.parametrize("optimiser", ["gauss-newton", "grid"])
def test_one_that_was_stopped_while_it_was_judged_makes_no_further_round(
    optimiser: str,
    pair: Robot,
    waves: list[Recording],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the rounds found is on disk by then, and is what is judged."""
    asked = {"data": waves, "robot": pair, "parameters": ["kp"]}
    asked |= {"settings": replace(QUICK, windows=6, optimiser=optimiser)}
    through = identify(**asked)

    def stop(*_: object, **__: object) -> None:
        raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr(fitting._Course, "judged", stop)
        with pytest.raises(Stopped):
            identify(**asked, checkpoint=tmp_path / "progress")
    again = identify(**asked, checkpoint=tmp_path / "progress")
    assert timeless(again) == timeless(through)


def timeless(found: Calibration) -> dict[str, Any]:
    """All of a calibration but how long it took."""
    data = found.to_dict()
    data["made_by"] = {k: v for k, v in data["made_by"].items() if k not in ("seconds", "time")}
    return data


def test_a_damaged_or_foreign_checkpoint_is_a_fresh_start(
    pair: Robot, waves: list[Recording], found: Calibration, tmp_path: Path
) -> None:
    """Neither is trusted, nor is the file of an earlier version."""
    folder = tmp_path / "progress"
    folder.write_text("{")
    assert identify(waves, pair, SMALL, settings=QUICK, checkpoint=folder).values == found.values
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    for file in files:
        file.write_bytes(file.read_bytes()[:100])
    assert identify(waves, pair, SMALL, settings=QUICK, checkpoint=folder).values == found.values
    others = replace(QUICK, windows=12)
    other = identify(waves, pair, SMALL, settings=others, checkpoint=folder)
    assert other.values != found.values
    assert identify(waves, pair, SMALL, settings=others).values == other.values


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bounds": {"kp": (30.0, 20.0)}}, "contradict"),
        ({"bounds": {"kp": (100.0, 200.0)}}, "outside its bounds"),
        ({"bounds": {"kpp": (1.0, 2.0)}}, "kpp"),
        ({"loss": "absolute"}, "unknown loss"),
        ({"objective": "torque"}, "unknown objective"),
        ({"optimiser": "newton"}, "unknown optimiser"),
        ({"horizon": 1000.0}, "shorter"),
        ({"horizon": float("nan")}, "horizon is nan"),
        ({"horizon": -1.0}, "above 0"),
        ({"windows": 0}, "1 or more"),
        ({"boxes": {"mass": (0.8, 1.2)}}, "unknown parameter"),
    ],
)
def test_wrong_settings_are_refused(
    pair: Robot, waves: list[Recording], settings: dict, message: str
) -> None:
    """Before any fit, with the name of what is wrong."""
    with pytest.raises(GaplessError, match=message):
        identify(waves, pair, ["kp"], settings=replace(QUICK, **settings))


def test_recordings_of_another_robot_are_refused(pair: Robot, clips: Sequence[Recording]) -> None:
    """The message names joints the robot does not have."""
    with pytest.raises(DataError, match="another robot"):
        identify(clips, pair, ["kp"], settings=QUICK)


def test_a_reading_that_is_not_a_number_is_left_out(pair: Robot, waves: list[Recording]) -> None:
    """Masked samples weigh nothing; the fit is the same without them."""
    clip = waves[0]
    q, mask = clip.q.copy(), clip.mask.copy()
    q[100:103], mask[100:103] = np.nan, False
    spoiled = [replace(clip, q=np.nan_to_num(q), mask=mask), *waves[1:]]
    found = identify(spoiled, pair, ["kp"], settings=QUICK)
    clean = identify(waves, pair, ["kp"], settings=QUICK)
    for name, value in found.values.items():
        assert value == pytest.approx(clean.values[name], rel=0.02)


def test_a_log_that_counts_the_other_way_is_found_out(pair: Robot, hidden: Robot) -> None:
    """Gravity tells the sign of the elbow; the calibration turns it back."""
    clips = [with_signs(c, {"elbow_flex": -1.0}) for c in recorded(hidden, ["a", "b"])]
    assert find_signs(clips, MujocoWorld(pair, 50, physics_step=STEP)) == {"elbow_flex": -1.0}
    found = identify(clips, pair, SMALL, settings=QUICK, find_signs=True)
    assert found.signs == {"elbow_flex": -1.0}
    again = with_signs(with_signs(clips[0], found.signs), found.signs)
    np.testing.assert_array_equal(again.q, clips[0].q)


@pytest.mark.slow
def test_free_starts_are_nearer_the_truth(pair: Robot, hidden: Robot) -> None:
    """With noisy encoders and no velocities, starts that may err cost less accuracy; on average."""
    errors: dict[str, list[float]] = {"read": [], "free": []}
    for first in (0, 10, 20):
        clips = recorded(hidden, ["a", "b", "c", "d"], noise=1e-3, first=first)
        for starts, found in errors.items():
            settings = replace(QUICK, starts=starts, horizon=0.3, windows=48, loss="squared")
            fitted = identify(Split.of(clips), pair, SMALL, settings=settings).estimates
            wrong = [e.value / (TRUTH[e.parameter.kind] * e.nominal[0]) - 1 for e in fitted]
            found.append(float(np.sqrt(np.mean(np.square(wrong)))))
    assert np.mean(errors["free"]) < 0.9 * np.mean(errors["read"])


@pytest.mark.parametrize(
    ("optimiser", "options"), [("grid", {"widen": True}), ("cma", {"iterations": 15})]
)
def test_every_optimiser_serves_every_plan(
    pair: Robot, waves: list[Recording], optimiser: str, options: dict
) -> None:
    """Slower ones end near the same gains, with intervals and a judgement."""
    if optimiser == "cma":
        pytest.importorskip("cma", reason="CMA-ES is not installed: pip install 'gapless[cma]'")
    settings = replace(QUICK, windows=12, optimiser=optimiser, options=options)
    found = identify(waves, pair, ["kp@all"], settings=settings, keep_anyway=True)
    (estimate,) = found.estimates
    assert estimate.identifiable and found.choose is not None and found.test is not None
    assert estimate.value == pytest.approx(1.3 * pair.joints.kp[0], rel=0.1)


def test_masses_may_begin_from_torques(pair: Robot, carried: list[Recording]) -> None:
    """The linear fit is a beginning; the answer is that of the replays."""
    settings = replace(QUICK, begin="torque", loss="squared")
    found = [
        identify(carried, pair, ["mass/gripper"], settings=s, keep_anyway=True)
        for s in (settings, replace(settings, begin="prior"))
    ]
    assert found[0].values == pytest.approx(found[1].values, rel=0.02)


def test_a_finished_stage_is_taken_over_as_it_was(
    pair: Robot, waves: list[Recording], tmp_path: Path
) -> None:
    """A run after a refusal gives the same answer, and another question is asked anew."""
    file = tmp_path / "progress"
    asked = {"settings": replace(QUICK, windows=12), "checkpoint": file}
    first = identify(waves, pair, ["kp", "frictionloss"], **asked)
    again = identify(waves, pair, ["kp", "frictionloss"], **asked)
    assert again.values == first.values
    assert [e.identifiable for e in again.estimates] == [e.identifiable for e in first.estimates]
    assert timeless(again) == timeless(first)
    seen: list[str] = []
    other = {**asked, "settings": replace(asked["settings"], loss="squared")}
    identify(waves, pair, ["kp", "frictionloss"], watch=lambda *_: seen.append("fit"), **other)
    assert seen


def test_what_is_far_from_its_prior_is_told(pair: Robot, waves: list[Recording]) -> None:
    """A dry friction three times the nominal one stays found, however few the windows."""
    found = identify(Split.of(waves), pair, SMALL, settings=replace(QUICK, windows=4))
    for joint in pair.joints.names:
        estimate = found[f"frictionloss/{joint}"]
        assert estimate.identifiable
        assert estimate.value == pytest.approx(3 * estimate.nominal[0], rel=0.15)


def test_untold_figures_widen_what_depends_on_them(pair: Robot, hidden: Robot) -> None:
    """kd may be off by its spread, so damping, which shares its effect, is as uncertain."""
    mixed = hidden.with_joints(kd=0.25, damping=0.75)
    clips = recorded(mixed, ["a", "b", "c"], seconds=4.0)
    found = identify(Split.of(clips), pair, ["kd", "damping"], settings=QUICK)
    for joint in pair.joints.names:
        low, high = found[f"damping/{joint}"].interval
        kd_low, kd_high = found[f"kd/{joint}"].interval
        assert low <= 0.75 <= high and kd_low <= 0.25 <= kd_high


def test_bounds_and_prior_are_changed_together(pair: Robot, waves: list[Recording]) -> None:
    """New bounds around a new prior are no contradiction; both stages may be named."""
    settings = replace(QUICK, bounds={"kp": (20.0, 60.0)}, priors={"kp": (30.0, 5.0)})
    found = identify(waves, pair, ["kp"], settings=settings)
    assert all(e.parameter.prior == 30.0 and e.parameter.lower == 20.0 for e in found.estimates)
    boxed = replace(QUICK, boxes={"kp/*elbow*": (0.9, 1.1)}, bounds={"mass/gripper": (0.01, 2.0)})
    both = [*waves, *recorded(pair, ["load_a", "load_b"], seconds=4.0)]
    asked = {"payload": ["mass/gripper"], "loaded": ["load_*"], "keep_anyway": True}
    assert identify(both, pair, ["kp"], plan="two-stage", settings=boxed, **asked).loaded
