"""A Policy: a controller with its contract, ours or other people's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from gapless.errors import DataError
from gapless.policies.controller import Anchor, PolicyController
from gapless.policies.onnx_network import OnnxNetwork
from gapless.policies.policy_contract import PolicyContract
from gapless.policies.reference import ReferenceMotion, anchor_body, read_reference
from gapless.robots import Robot


@dataclass(frozen=True, eq=False)
class Policy:
    """From observations to joint targets.

    Example:
        policy = Policy.load("walk.onnx")
        controller = policy.start(robot.joints.names, robot.joints.default, environments=64)
        targets = controller.act(world.home(64), {"velocity": commands})

    Attributes:
        contract: everything that is needed to run it.
        network: what thinks.
        source: the file or folder that it was read from.
    """

    contract: PolicyContract
    network: OnnxNetwork
    source: Path

    def __post_init__(self) -> None:
        problems = list(self._mismatches())
        if problems:
            raise DataError(
                f"{self.source}: the contract and the network disagree: " + "; ".join(problems)
            )

    def _mismatches(self) -> list[str]:
        contract, network, found = self.contract, self.network, []
        if network.width is not None and network.width != contract.width:
            found.append(
                f"the contract builds {contract.width} numbers ({_sizes(contract)}), the network "
                f"takes {network.width}"
            )
        if network.actions is not None and network.actions != len(contract.joints):
            found.append(
                f"the contract names {len(contract.joints)} joints, the network gives "
                f"{network.actions} actions"
            )
        return found

    @classmethod
    def load(cls, path: str | Path, robot: Robot | None = None) -> Policy:
        """Read a policy: see `policies.policy_files` for what is known.

        Args:
            path: a folder, a contract (.toml, .yaml) or a network (.onnx).
            robot: whose motors a `deploy.yaml` speaks of, which has no names.
        """
        from gapless.policies.policy_files import load_policy

        return load_policy(Path(path), robot)

    @property
    def name(self) -> str:
        """Of the policy."""
        return self.contract.name

    @cached_property
    def reference(self) -> ReferenceMotion | None:
        """The motion that it sees; None where it sees none, or only how much of it is over."""
        contract, found = self.contract, None
        if self.network.ports.motion:
            anchor = anchor_body(contract.anchor, contract.bodies)
            found = ReferenceMotion.from_arrays(self.network.motion(), anchor)
        elif contract.reference and contract.sees_reference:
            file = self.source.parent / contract.reference
            found = read_reference(file, contract.rate, contract.anchor, contract.bodies)
        count = len(contract.joints)
        if found is not None and found.frames.joint_pos.shape[1:] != (count,):
            raise DataError(
                f"{self.source}: the reference motion has joints of shape "
                f"{found.frames.joint_pos.shape[1:]}; the policy moves {count}"
            )
        return found

    def start(
        self,
        joints: Sequence[str],
        rest: np.ndarray,
        environments: int = 1,
        anchor: Anchor | None = None,
    ) -> PolicyController:
        """The policy at its first step in so many environments; see `PolicyController`."""
        return PolicyController(
            *(self.contract, self.network, joints, rest, environments, self.reference, anchor)
        )


def _sizes(contract: PolicyContract) -> str:
    """How the width of an observation comes about."""
    from gapless.policies.terms import term_width

    return " + ".join(
        f"{name} {term_width(contract.terms[name], contract)}"
        + (f" x {block.frames}" if block.frames > 1 else "")
        for block in contract.blocks
        for name in block.terms
    )
