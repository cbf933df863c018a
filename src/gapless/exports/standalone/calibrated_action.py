"""The action term of a calibrated robot in mjlab: targets, what was learned, and the delay.

A target is corrected once a control step, and then reaches each joint its own delay later; a new
one that arrives within a physics step counts for the part of the step that it has.
"""

# pyright: reportMissingImports=false, reportAttributeAccessIssue=false
from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import torch
from mjlab.envs.mdp.actions import JointPositionAction, JointPositionActionCfg
from mjlab.utils.lab_api.math import quat_apply_inverse

from .frozen_correction import FrozenCorrection

LONGEST = 1e-9
"""Seconds over which rounding may not move a command into the next step."""


@dataclass(kw_only=True)
class CalibratedActionCfg(JointPositionActionCfg):
    """Of a CalibratedAction.

    Attributes:
        delay: seconds from a command to its effect, by joint.
        longest: seconds; no delay that is drawn is longer.
        correction: folder of the learned correction, or None.
        payload: mass that is carried, kg, where the correction looks at it.
    """

    delay: dict[str, float] = field(default_factory=dict)
    longest: float = 0.0
    correction: str | None = None
    payload: float = 0.0

    def build(self, env: Any) -> CalibratedAction:
        """The term."""
        return CalibratedAction(self, env)


class CalibratedAction(JointPositionAction):
    """Joint targets as the real drives receive them."""

    def __init__(self, cfg: CalibratedActionCfg, env: Any) -> None:
        super().__init__(cfg, env)
        joints, shape = self._target_names, (self.num_envs, len(self._target_names))
        rows = torch.tensor([cfg.delay.get(j, 0.0) for j in joints], device=self.device)
        self.delay = rows.expand(shape).clone()
        rate, self._substeps, self._substep = 1 / env.step_dt, env.cfg.decimation, 0
        self._rate, longest = rate, max([cfg.longest, *cfg.delay.values()])
        self._history = torch.zeros(2 + math.ceil(longest * rate), *shape, device=self.device)
        self._fresh = torch.ones(self.num_envs, dtype=torch.bool, device=self.device)
        self._correction = None
        if cfg.correction is not None:
            self._correction = FrozenCorrection.load(cfg.correction, self.num_envs, self.device)
            names = list(self._entity.joint_names)
            order = [names.index(j) for j in self._correction.joints]
            self._all = torch.tensor(order, device=self.device)
            self._mine = torch.tensor(
                [self._correction.joints.index(j) for j in joints], device=self.device
            )

    def reset(self, env_ids: torch.Tensor | slice | None = None) -> None:
        """Environments that begin anew have no earlier commands."""
        super().reset(env_ids)
        self._fresh[slice(None) if env_ids is None else env_ids] = True
        if self._correction is not None:
            self._correction.reset(env_ids)

    def process_actions(self, actions: torch.Tensor) -> None:
        """Once a control step."""
        super().process_actions(actions)
        target = self._processed_actions
        if self._correction is not None:
            target = target + self._learned(target)
        seen = self._entity.data.joint_pos_biased[:, self._target_ids]
        earlier = torch.where(self._fresh[:, None], seen, self._history)
        self._history = torch.cat([earlier[1:], target[None]])
        self._fresh[:], self._substep = False, 0

    def apply_actions(self) -> None:
        """Once a physics step."""
        self._substep += 1
        bias = self._entity.data.encoder_bias[:, self._target_ids]
        target = self._in_force() - bias
        self._entity.set_joint_position_target(target, joint_ids=self._target_ids)

    def _in_force(self) -> torch.Tensor:
        """The command that has arrived; a part of the one before where it came within the step."""
        behind = self._substep / self._substeps - self.delay.double() * self._rate
        newest = torch.ceil(behind - LONGEST) - 1
        share = ((behind - newest) * self._substeps).clamp(0.0, 1.0).float()
        row = newest.long() + len(self._history) - 1
        now, before = (self._history.gather(0, r.clamp(min=0)[None])[0] for r in (row, row - 1))
        return share * now + (1 - share) * before

    def _learned(self, target: torch.Tensor) -> torch.Tensor:
        """What to add to the targets; a torque goes to the joints at once."""
        correction, data = self._correction, self._entity.data
        assert correction is not None
        every = data.default_joint_pos[:, self._all].clone()
        every[:, self._mine] = target
        seen = {"q": data.joint_pos_biased[:, self._all], "dq": data.joint_vel[:, self._all]}
        change = correction({**seen, "target": every, **self._of_base()})
        if correction.head == "action":
            return change[:, self._mine]
        dofs = self._entity.indexing.joint_v_adr[self._all]
        self._env.sim.data.qfrc_applied[:, dofs] = change
        return torch.zeros_like(target)

    def _of_base(self) -> dict[str, torch.Tensor]:
        """Signals of the base in its own frame, and of the load."""
        carried = torch.full((self.num_envs, 1), self.cfg.payload, device=self.device)
        index, data = self._entity.indexing, self._env.sim.data
        if not len(index.free_joint_q_adr):
            return {"payload": carried}
        pose, speed = data.qpos[:, index.free_joint_q_adr], data.qvel[:, index.free_joint_v_adr]
        turn, down = pose[:, 3:7], torch.tensor([0.0, 0.0, -1.0], device=self.device)
        return {
            "payload": carried,
            "height": pose[:, 2:3],
            "lin_vel": quat_apply_inverse(turn, speed[:, :3]),
            "ang_vel": speed[:, 3:6],
            "gravity": quat_apply_inverse(turn, down.expand(self.num_envs, 3)),
        }


def draw_delay(env: Any, env_ids: torch.Tensor, ranges: dict[str, list[float]]) -> None:
    """An event: delays of environments, uniform within each joint's interval."""
    term = env.action_manager.get_term("joint_pos")
    for joint, (low, high) in ranges.items():
        column = term.target_names.index(joint)
        drawn = low + (high - low) * torch.rand(len(env_ids), device=env.device)
        term.delay[env_ids, column] = drawn
