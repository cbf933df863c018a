"""Numbers that make no sense are refused before any work, with what was expected."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gapless.closing import CloseSettings
from gapless.corrections.correct_settings import CorrectSettings
from gapless.errors import FormatError, GaplessError, ModelError, require_number
from gapless.identification import IdentifySettings
from gapless.robots import Robot
from gapless.toml_file import MAX_BYTES, load_toml


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (lambda: CloseSettings(horizon=-1), "horizon is -1; expected a number above 0"),
        (lambda: CloseSettings(horizon=math.nan), "horizon is nan"),
        (lambda: CloseSettings(horizon="x"), "horizon is 'x'"),  # type: ignore[arg-type]
        (lambda: CloseSettings(members=0), "members is 0; expected a whole number of 1 or more"),
        (lambda: CloseSettings(seed=-1), "seed is -1; expected a whole number of 0 or more"),
        (lambda: CloseSettings(windows=0), "windows is 0"),
        (lambda: CloseSettings(physics_step=0.0), "physics_step is 0.0"),
        (lambda: CloseSettings(parameters=3), "parameters is 3"),  # type: ignore[arg-type]
        (lambda: CloseSettings(trainer_settings=3), "trainer_settings is 3"),  # type: ignore[arg-type]
        (lambda: IdentifySettings(windows=-1), "windows is -1"),
        (lambda: IdentifySettings(physics_step=math.inf), "physics_step is inf"),
        (lambda: CorrectSettings(members=0), "members is 0"),
        (lambda: CorrectSettings(horizon=0), "horizon is 0"),
    ],
)
def test_settings_that_mean_nothing_are_refused_before_the_work(settings, told):
    """Each says its name, its value and what was expected."""
    with pytest.raises(GaplessError) as refused:
        settings()
    assert told in str(refused.value)


@pytest.mark.parametrize("value", [True, 2.5, "3", None])
def test_a_count_is_a_whole_number(value):
    """Neither a truth value nor a text."""
    with pytest.raises(GaplessError, match="whole number of 1 or more"):
        require_number("windows", value, least=1)


def test_numbers_of_numpy_are_numbers():
    """As settings often are: taken as they are, and refused as others are."""
    require_number("windows", np.int64(3), least=1)
    require_number("horizon", np.float32(0.5), above=0.0)
    with pytest.raises(GaplessError, match="windows"):
        require_number("windows", np.int64(0), least=1)


def test_a_split_with_a_negative_seed_is_refused():
    """NumPy's own words would be a defect."""
    from gapless.recordings.splitting import split_recordings
    from hidden_pair import nominal_pair, recorded

    clips = recorded(nominal_pair(), ["a", "b", "c"], seconds=1.0)
    with pytest.raises(GaplessError, match="seed is -1"):
        split_recordings(clips, seed=-1)


def test_a_default_that_is_no_number_is_refused():
    """The joint is named."""
    robot = Robot.load("so101")
    with pytest.raises(ModelError, match="default or range of joint 'elbow_flex'"):
        robot.with_joints(default={"elbow_flex": math.nan})


def test_toml_too_deep_too_large_or_missing_is_named(tmp_path):
    """Whatever reads TOML."""
    file = tmp_path / "robot.toml"
    with pytest.raises(FormatError, match="does not exist"):
        load_toml(file)
    file.write_text("a = " + "[" * 50_000 + "]" * 50_000)
    with pytest.raises(FormatError, match="no valid TOML file"):
        load_toml(file)
    file.write_text("#" * (MAX_BYTES + 1))
    with pytest.raises(FormatError, match="larger than"):
        load_toml(file)
