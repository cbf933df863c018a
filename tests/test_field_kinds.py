"""A robot's file that somebody edited: fields of another kind are named, not stumbled over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gapless.errors import FormatError
from gapless.robots import Robot
from gapless.robots.saved import FILE, load_robot, save_robot


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("name", 1e30, "name of Robot"),
        ("joints", "x", "joints of Robot"),
        ("rate", None, "rate of Robot"),
        ("locked", {"=": "dict", "of": [["a", "b"]]}, "locked of Robot"),
        ("payloads", {"=": "dict", "of": [["hand", {"=": "Payload", "mass": []}]]}, "payloads of"),
    ],
)
def test_a_field_of_another_kind_is_named(
    key: str, value: object, said: str, so101: Robot, tmp_path: Path
) -> None:
    """At any depth."""
    save_robot(so101, tmp_path / "r")
    data = json.loads((tmp_path / "r" / FILE).read_text())
    data["robot"][key] = value
    (tmp_path / "r" / FILE).write_text(json.dumps(data))
    with pytest.raises(FormatError, match=rf"damaged: .*{said}"):
        load_robot(tmp_path / "r")


@pytest.mark.parametrize("held", [None, "x", 3.0, []])
def test_what_is_no_robot_is_said_to_be_none(held: object, so101: Robot, tmp_path: Path) -> None:
    """Even where its JSON is fine."""
    save_robot(so101, tmp_path / "r")
    data = {**json.loads((tmp_path / "r" / FILE).read_text()), "robot": held}
    (tmp_path / "r" / FILE).write_text(json.dumps(data))
    with pytest.raises(FormatError, match="holds no robot"):
        load_robot(tmp_path / "r")
