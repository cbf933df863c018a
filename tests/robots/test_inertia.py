"""Inertias of links and the floor: figures that can be replaced one by one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gapless.errors import ModelError, NameMismatchError
from gapless.robots import Floor, Inertia, Payload, Robot

FLAT = """
<mujoco>
  <worldbody>
    <body name="base">
      <inertial pos="0 0 0" mass="1" diaginertia="0.1 0.1 0.1"/>
      <body name="arm">
        <inertial pos="0.1 0 0" mass="1" diaginertia="0.01 0.02 0.03" quat="0.9 0.3 0.2 0.1"/>
        <joint name="hinge" axis="0 1 0"/>
      </body>
    </body>
  </worldbody>
  <actuator><position joint="hinge" kp="10" kv="1" forcerange="-5 5"/></actuator>
</mujoco>
"""


def test_a_links_own_inertia_changes_nothing(arms: Robot) -> None:
    """Read, written back and read again, the figures are the same."""
    link = "left_elbow_link"
    same = arms.with_inertias({link: arms.inertia(link)})
    assert np.allclose(same.inertia(link).tensor, arms.inertia(link).tensor, rtol=1e-9)
    assert np.allclose(same.model().body_mass, arms.model().body_mass)
    assert np.allclose(same.model().body_inertia, arms.model().body_inertia, rtol=1e-9)


def test_another_inertia_is_in_the_model_and_the_fingerprint(arms: Robot) -> None:
    """Mass, centre and moments arrive."""
    link, body = "left_elbow_link", Inertia(2.0, (0.1, 0.0, 0.0), (0.02, 0.03, 0.04, 0.0, 0.0, 0.0))
    other = arms.with_inertias({link: body})
    assert other.inertia(link).mass == pytest.approx(2.0)
    assert np.allclose(other.inertia(link).tensor, body.tensor)
    assert other.fingerprint() != arms.fingerprint()


def test_a_point_mass_obeys_the_parallel_axis_theorem() -> None:
    """Two equal points: the moment is that of their reduced mass at their distance."""
    point = Inertia(1.0, (0.0, 0.0, 0.0), (1e-9, 1e-9, 1e-9, 0.0, 0.0, 0.0))
    both = point.plus(1.0, np.array([0.2, 0.0, 0.0]))
    assert both.com == pytest.approx((0.1, 0.0, 0.0))
    assert both.tensor[1, 1] == pytest.approx(0.5 * 0.2**2, rel=1e-6)


def test_a_flat_body_can_be_loaded(tmp_path: Path) -> None:
    """Its largest moment is the sum of the others, and rounding must not make it impossible."""
    (tmp_path / "flat.xml").write_text(FLAT)
    robot = Robot.load(tmp_path / "flat.xml", mount="fixed")
    assert robot.with_inertias({"arm": robot.inertia("arm")}).model().nv == 1
    assert robot.with_payloads({"arm": Payload(1.0)}).model().body_mass.sum() == pytest.approx(3)


@pytest.mark.parametrize(
    "figures",
    [
        (-1.0, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)),
        (1.0, (0.0, 0.0, 0.0), (1.0, 1.0, 3.0, 0.0, 0.0, 0.0)),
        (1.0, (np.nan, 0.0, 0.0), (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)),
    ],
)
def test_what_belongs_to_no_body_is_refused(figures: tuple) -> None:
    """Negative masses and moments that no mass distribution has."""
    with pytest.raises(ModelError, match=r"inertia|body"):
        Inertia(*figures)


def test_unknown_links_and_impossible_floors_are_refused(arms: Robot) -> None:
    """With the nearest right name."""
    with pytest.raises(NameMismatchError, match="left_elbow_link"):
        arms.with_inertias({"left_elbow_lnk": arms.inertia("left_elbow_link")})
    with pytest.raises(ModelError, match="floor"):
        Floor(friction=-1.0)


def test_the_floor_decides_contacts() -> None:
    """Friction and softness arrive at the plane."""
    model = Robot.load("go2", mount="free").with_floor(Floor(0.4, 0.05)).model()
    assert model.geom("floor").friction[0] == 0.4
    assert model.geom("floor").solref[0] == 0.05
