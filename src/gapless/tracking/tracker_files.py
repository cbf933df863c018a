"""A trained tracker as a folder: its network with the contract, its motion, how it was made."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gapless.artifact import provenance, staged, write_bytes_atomic, write_json
from gapless.errors import SimulationError
from gapless.motions.motion_frames import MotionFrames
from gapless.policies import Policy
from gapless.policies.contract_json import KEY, contract_text
from gapless.policies.mlp_weights import MlpWeights, mlp_model
from gapless.policies.policy_contract import PolicyContract
from gapless.tracking.tracking_contract import MOTION_FILE

NETWORK, TRAINING = "policy.onnx", "training.json"
TOLERANCE = 1e-5
"""Largest difference of actions between what was trained and what is written, of their size."""


@dataclass(frozen=True, eq=False)
class Tracker:
    """What a training gives.

    Attributes:
        contract: of the policy.
        weights: of its network.
        frames: of its motion.
        training: settings, seed, samples, course of the training and the software, as JSON.
    """

    contract: PolicyContract
    weights: MlpWeights
    frames: MotionFrames
    training: dict[str, Any]

    def save(
        self, path: str | Path, seen: np.ndarray, acted: np.ndarray, overwrite: bool = False
    ) -> Policy:
        """Write the folder, complete or absent, and read it back as a policy.

        Args:
            path: of the folder.
            seen: (N, width) observations of whole episodes.
            acted: (N, A) what was trained does then; the file must agree.
            overwrite: replace a policy that is already there.
        """
        names = self.contract.ports.seen[0], self.contract.ports.action
        with staged(path, overwrite) as folder:
            network = mlp_model(self.weights, policy_metadata(self.contract), names)
            write_bytes_atomic(folder / NETWORK, network)
            write_bytes_atomic(folder / MOTION_FILE, motion_bytes(self.frames, self.contract))
            write_json(folder / TRAINING, self.training | {"made_by": provenance()})
            require_parity(Policy.load(folder / NETWORK), seen, acted)
        return Policy.load(Path(path) / NETWORK)


def policy_metadata(contract: PolicyContract) -> dict[str, str]:
    """Our contract, and the keys that mjlab and BeyondMimic read."""
    terms = [name for block in contract.blocks for name in block.terms]
    return {
        KEY: contract_text(contract),
        "joint_names": _csv(contract.joints),
        "joint_stiffness": _csv(contract.kp),
        "joint_damping": _csv(contract.kd),
        "default_joint_pos": _csv(contract.pose),
        "action_scale": _csv(np.broadcast_to(contract.action.scale, len(contract.joints))),
        "observation_names": _csv(dict.fromkeys(terms)),
        "command_names": "motion",
        "anchor_body_name": contract.anchor,
        "body_names": _csv(contract.bodies),
        "control_dt": f"{1 / contract.rate:g}",
    }


def _csv(values: Any) -> str:
    return ",".join(v if isinstance(v, str) else f"{float(v):.9g}" for v in values)


def motion_bytes(frames: MotionFrames, contract: PolicyContract) -> bytes:
    """The reference: arrays of mjlab and BeyondMimic, and those of our own motions beside them.

    The former have the joints that the policy moves, in its order; the latter the robot's.
    """
    state, bodies, buffer = frames.state, frames.bodies, io.BytesIO()
    moved = [frames.joints.index(joint) for joint in contract.joints]
    base = {"base_pos": state.base_pos, "base_quat_wxyz": state.base_quat_wxyz}
    np.savez_compressed(
        buffer,
        allow_pickle=False,
        fps=np.array([frames.rate]),
        joint_pos=state.q[:, moved],
        joint_vel=state.dq[:, moved],
        body_pos_w=bodies.pos,
        body_quat_w=bodies.quat_wxyz,
        body_lin_vel_w=bodies.lin_vel,
        body_ang_vel_w=bodies.ang_vel,
        name=np.array(frames.name),
        joints=np.array(frames.joints),
        rate=np.array(frames.rate),
        q=state.q,
        **{k: v for k, v in base.items() if v is not None},
    )
    return buffer.getvalue()


def require_parity(policy: Policy, seen: np.ndarray, acted: np.ndarray) -> None:
    """Refuse a file that acts otherwise than what was trained."""
    network = policy.network
    blank = network.blank(len(seen))
    again, _ = network.run(seen, blank, np.zeros(len(seen), int))
    off = float(np.abs(again - acted).max() / max(1.0, float(np.abs(acted).max())))
    if not off <= TOLERANCE:
        raise SimulationError(
            f"the exported network is off by {off:.2g} of the largest action, {TOLERANCE:g} is "
            "allowed; nothing was written"
        )
