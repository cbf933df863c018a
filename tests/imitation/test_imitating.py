"""Students of trackers: as good as their teachers, the same after a stop, refused where wrong."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gapless
from gapless.artifact import read_json
from gapless.cli.main import main
from gapless.errors import ArtifactError, DataError
from gapless.imitation.imitate_settings import ImitateSettings
from gapless.policies import Policy
from gapless.progress import Progress
from pendulum import pendulum
from quick_students import QUICKLY
from quick_trackers import TINY


class StopError(Exception):
    """Ends an imitation."""


def of(teachers: Sequence[Policy], out: Path, how: ImitateSettings = QUICKLY, **options):
    """A student, and what it says of its making."""
    student = gapless.imitate(teachers, pendulum(out.parent), out, how, **options)
    return student, read_json(out / "training.json")


@pytest.mark.parametrize("model", ["mlp", pytest.param("flow", marks=pytest.mark.slow)])
def test_one_student_is_nearly_as_good_as_its_teachers(
    teachers: Sequence[Policy], tmp_path: Path, model: str
) -> None:
    """At most 20 % more error, motion by motion; a contract for each, one network."""
    student, found = of(teachers, tmp_path / "student", replace(QUICKLY, model=model))
    for name, error in found["errors_m"].items():
        assert error < 1.2 * found["teachers_errors_m"][name] + 0.002
    assert [p.name for p in student.source.parent.glob("*.onnx")] == ["policy.onnx"]
    told = [Policy.load(student.source.parent / f"{t.name}.toml") for t in teachers]
    assert [p.contract.terms["followed_motion"].options["value"] for p in told] == [[1, 0], [0, 1]]
    assert [p.contract.reference for p in told] == [f"{t.name}.npz" for t in teachers]
    seen = np.zeros((3, told[0].contract.width))
    assert told[0].network.run(seen, {}, np.zeros(3, int))[0].shape == (3, 1)


@pytest.mark.slow
def test_dagger_is_ahead_of_cloning_from_as_many_samples(
    teachers: Sequence[Policy], tmp_path: Path
) -> None:
    """Teachers that never err show nothing of what a student comes to; it asks them there."""
    little = replace(
        QUICKLY,
        environments=2,
        samples=800,
        updates=400,
        batch=64,
        start_noise=0.0,
        action_noise=0.0,
    )
    cloned, asked = (
        of(teachers, tmp_path / f"rounds_{n}", replace(little, rounds=n))[1] for n in (0, 3)
    )
    assert asked["samples"] <= cloned["samples"]
    assert sum(asked["errors_m"].values()) < 0.95 * sum(cloned["errors_m"].values())


@pytest.mark.parametrize("model", ["mlp", "flow"])
def test_a_stop_changes_nothing(teachers: Sequence[Policy], tmp_path: Path, model: str) -> None:
    """Every file is the same to the last byte; what was kept meanwhile is gone."""
    how = replace(QUICKLY, model=model, rounds=2, samples=600, updates=90)
    whole, kept = tmp_path / "whole", tmp_path / ".progress"
    of(teachers, whole / "student", how)

    def stop(now: Progress) -> None:
        if now.stage == "round 2, learning":
            raise StopError

    out = tmp_path / "stopped" / "student"
    with pytest.raises(StopError):
        of(teachers, out, how, checkpoint=kept, watch=stop)
    assert kept.exists() and not out.exists()
    with pytest.raises(ArtifactError, match="seed"):
        of(teachers, out, how, checkpoint=kept, seed=1)
    stages: list[str] = []
    of(teachers, out, how, checkpoint=kept, watch=lambda now: stages.append(now.stage))
    assert {*stages} == {"round 2, recording", "round 2, learning"}
    assert not list(tmp_path.glob(".progress*"))
    for file in sorted(p.name for p in out.iterdir() if p.suffix in (".onnx", ".toml", ".npz")):
        assert (out / file).read_bytes() == (whole / "student" / file).read_bytes()


def test_samples_that_are_gone_are_named(teachers: Sequence[Policy], tmp_path: Path) -> None:
    """With what to do."""
    how, kept = replace(QUICKLY, samples=300, updates=20), tmp_path / ".progress"

    def stop(now: Progress) -> None:
        if now.stage == "round 1, learning":
            raise StopError

    with pytest.raises(StopError):
        of(teachers, tmp_path / "student", how, checkpoint=kept, watch=stop)
    (tmp_path / ".progress.0").unlink()
    with pytest.raises(ArtifactError, match=r"\.progress\.0 is gone.*--restart"):
        of(teachers, tmp_path / "student", how, checkpoint=kept)
    of(teachers, tmp_path / "student", how, checkpoint=kept, restart=True)


def test_a_plain_student_is_tuned_like_any_tracker(
    teachers: Sequence[Policy], tmp_path: Path
) -> None:
    """For the motion that its contract tells; a flow is no chain of layers, and refused."""
    small = replace(QUICKLY, samples=300, updates=20, rounds=0)
    of(teachers, tmp_path / "mlp", small)
    chosen = Policy.load(tmp_path / "mlp" / f"{teachers[1].name}.toml")
    world = gapless.MujocoWorld(pendulum(tmp_path), physics_step=0.005)
    tuned = gapless.finetune(chosen, world, tmp_path / "tuned", TINY)
    assert list(tuned.contract.terms["followed_motion"].options["value"]) == [0, 1]
    of(teachers, tmp_path / "flow", replace(small, model="flow"))
    flow = Policy.load(tmp_path / "flow")
    with pytest.raises(DataError, match="no chain of dense layers"):
        gapless.finetune(flow, world, tmp_path / "never", TINY)


def test_the_command_says_what_python_says(
    teachers: Sequence[Policy], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same figures, and the same network."""
    how = replace(QUICKLY, samples=300, updates=20, hidden=(8,), batch=512)
    _, found = of(teachers, tmp_path / "student", replace(how, chunk=ImitateSettings().chunk))
    words = [
        "--robot",
        str(tmp_path / "pendulum.xml"),
        "--out",
        str(tmp_path / "other" / "student"),
    ]
    words += ["--rounds", "1", "--samples", "300", "--updates", "20", "--environments", "16"]
    words += ["--hidden", "8", "--json", str(tmp_path / "found.json")]
    assert main(["imitate", *(str(t.source.parent) for t in teachers), *words]) == 0
    told = json.loads((tmp_path / "found.json").read_text())
    assert told["errors_m"] == found["errors_m"]
    assert "student's" in capsys.readouterr().out
    made = tmp_path / "other" / "student" / "policy.onnx"
    assert made.read_bytes() == (tmp_path / "student" / "policy.onnx").read_bytes()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rate": 100.0}, r"rate: 50\.0 and 100\.0"),
        ({"robot": "so101"}, "robot: .*'so101'"),
        ({"kp": (30.0,)}, "kp"),
    ],
)
def test_teachers_that_differ_are_named(
    teachers: Sequence[Policy], tmp_path: Path, change: dict, said: str
) -> None:
    """Nothing is written."""
    one, other = teachers
    odd = replace(other, contract=replace(other.contract, **change))
    with pytest.raises(DataError, match=f"'{one.name}' and '{other.name}' differ in their {said}"):
        of([one, odd], tmp_path / "student")
    assert not (tmp_path / "student").exists()


def test_wrong_requests_are_refused(teachers: Sequence[Policy], tmp_path: Path) -> None:
    """Each with what was expected."""
    with pytest.raises(DataError, match="no teacher"):
        of([], tmp_path / "student")
    with pytest.raises(DataError, match="are called"):
        of([teachers[0], teachers[0]], tmp_path / "student")
    with pytest.raises(DataError, match="rounds is -1"):
        ImitateSettings(rounds=-1)
    with pytest.raises(gapless.GaplessError, match="mlp"):
        ImitateSettings(model="tree")
