"""Policies: what they see, in which order, what they command; other people's formats.

NumPy and onnxruntime alone: this runs on the robot's computer too.
"""

from gapless.policies.controller import PolicyController as PolicyController
from gapless.policies.policy import Policy as Policy
from gapless.policies.policy_contract import PolicyContract as PolicyContract
