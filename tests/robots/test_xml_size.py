"""Models that would not fit are refused before they are compiled."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from gapless.errors import GaplessError, ModelError
from gapless.robots import Robot

BODY = '<body><joint type="hinge"/><geom size="0.1" mass="1"/></body>'


def model(inside: str, assets: str = "") -> str:
    """A small robot and something else."""
    return (
        f"<mujoco><asset>{assets}</asset><worldbody>"
        '<body name="arm"><joint name="j" type="hinge"/><geom size="0.1" mass="1"/>'
        f"</body>{inside}</worldbody>"
        '<actuator><position joint="j" kp="10" kv="1"/></actuator></mujoco>'
    )


HUGE = {
    "a billion copies": model(f'<replicate count="1000000000">{BODY}</replicate>'),
    "copies of copies": model(
        f'<replicate count="1000"><replicate count="1000">{BODY}</replicate></replicate>'
    ),
    "a count that is no number of ours": model(f'<replicate count="1e12">{BODY}</replicate>'),
    "a grid": model(
        '<body><flexcomp type="grid" name="f" count="2000 2000 2" spacing="1 1 1"/></body>'
    ),
    "a height field": model(
        '<geom type="hfield" hfield="h"/>',
        '<hfield name="h" nrow="60000" ncol="60000" size="1 1 1 1"/>',
    ),
    "a texture": model("", '<texture name="t" builtin="flat" width="90000" height="90000"/>'),
}


@pytest.mark.parametrize("case", HUGE)
def test_a_few_letters_do_not_ask_for_gigabytes(case: str, tmp_path: Path) -> None:
    """The message names what is too large."""
    (tmp_path / "bomb.xml").write_text(HUGE[case])
    with pytest.raises(ModelError, match=r"more than 50000 elements|cells; at most"):
        Robot.load(str(tmp_path / "bomb.xml"))


def test_included_files_are_counted_where_they_are_included(tmp_path: Path) -> None:
    """As often as they are copied."""
    (tmp_path / "part.xml").write_text(f"<mujoco>{BODY * 200}</mujoco>")
    copied = '<replicate count="300"><include file="part.xml"/></replicate>'
    (tmp_path / "bomb.xml").write_text(model(copied))
    with pytest.raises(ModelError, match="more than 50000 elements"):
        Robot.load(str(tmp_path / "bomb.xml"))


def test_a_field_in_a_file_is_measured_too(tmp_path: Path) -> None:
    """By its own header."""
    (tmp_path / "h.bin").write_bytes(struct.pack("<ii", 60000, 60000))
    text = model(
        '<geom type="hfield" hfield="h"/>', '<hfield name="h" file="h.bin" size="1 1 1 1"/>'
    )
    (tmp_path / "bomb.xml").write_text(text)
    with pytest.raises(ModelError, match=r"h\.bin has 3600000000 cells"):
        Robot.load(str(tmp_path / "bomb.xml"))


def test_deep_nesting_is_no_defect_of_ours(tmp_path: Path) -> None:
    """Whatever MuJoCo says of it, it is one of our errors."""
    depth = 3000
    (tmp_path / "deep.xml").write_text(model("<body>" * depth + "</body>" * depth))
    with pytest.raises(GaplessError):
        Robot.load(str(tmp_path / "deep.xml"))


def test_robots_of_a_normal_size_are_taken(tmp_path: Path) -> None:
    """With a few copies and a floor of bumps."""
    copied = model(
        f'<replicate count="3" offset="0 0 1">{BODY}</replicate>',
        '<hfield name="h" nrow="100" ncol="100" size="1 1 1 1"/>',
    )
    (tmp_path / "robot.xml").write_text(copied)
    robot = Robot.from_mjcf(tmp_path / "robot.xml", root="arm", unactuated="lock")
    assert robot.joints.names == ("j",)
