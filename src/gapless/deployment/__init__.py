"""Deployment: a policy on a robot, kept within limits, and recorded.

Neither mujoco nor torch: this runs on the robot's computer.
"""

from gapless.deployment.deploying import DeploySettings as DeploySettings
from gapless.deployment.deploying import deploy as deploy
from gapless.deployment.robot_link import JointCommand as JointCommand
from gapless.deployment.robot_link import LinkState as LinkState
from gapless.deployment.robot_link import RobotLink as RobotLink
