"""Robots: our own tables of figures, or any MJCF or URDF from a path."""

from gapless.robots.builtin import names as names
from gapless.robots.inertia import Floor as Floor
from gapless.robots.inertia import Inertia as Inertia
from gapless.robots.joints import Alias as Alias
from gapless.robots.joints import Joints as Joints
from gapless.robots.joints import TrackingPoint as TrackingPoint
from gapless.robots.kinematics import Kinematics as Kinematics
from gapless.robots.payload import Payload as Payload
from gapless.robots.robot import Robot as Robot
