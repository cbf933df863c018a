"""PolicyController: a policy at work in n environments, or on one robot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from gapless.errors import DataError, NameMismatchError
from gapless.policies.action_targets import action_targets, clip_action
from gapless.policies.observer import Observer, term_of_column
from gapless.policies.onnx_network import OnnxNetwork
from gapless.policies.policy_contract import PolicyContract
from gapless.policies.reference import ReferenceMotion
from gapless.policies.terms import KINDS, Readings, Sighting

Anchor = Callable[[Readings], tuple[np.ndarray, np.ndarray]]
"""Position and orientation of a tracker's anchor link in the world."""


class PolicyController:
    """What a policy sees, remembers and commands.

    Args:
        contract: of the policy.
        network: of the policy.
        joints: of the readings and of the targets, in order.
        rest: (J,) targets of joints that the policy neither moves nor holds, rad.
        environments: how many robots.
        reference: the motion that a tracker sees.
        anchor: finds the pose of the contract's anchor; the root's where it is not given.

    Attributes:
        columns: joint -> column of readings and targets.
    """

    def __init__(
        self,
        contract: PolicyContract,
        network: OnnxNetwork,
        joints: Sequence[str],
        rest: np.ndarray,
        environments: int = 1,
        reference: ReferenceMotion | None = None,
        anchor: Anchor | None = None,
    ) -> None:
        self.contract, self.network = contract, network
        self.columns = {name: i for i, name in enumerate(joints)}
        self._require_joints()
        self._moved = [self.columns[j] for j in contract.joints]
        self._rest = np.array(rest, float)
        if self._rest.shape != (len(self.columns),):
            raise DataError(f"rest has shape {self._rest.shape} for {len(self.columns)} joints")
        for joint, angle in contract.hold.items():
            self._rest[self.columns[joint]] = angle
        self._reference, self._anchor = reference, anchor
        self._observer = Observer(contract, environments)
        self._states = network.blank(environments)
        self._now: Sighting | None = None
        self.observation = np.zeros((environments, contract.width))
        self.action = np.zeros((environments, len(contract.joints)))
        self.targets = np.tile(self._rest, (environments, 1))
        self.step = np.zeros(environments, int)
        self.forget()

    def _require_joints(self) -> None:
        asked = {*self.contract.joints, *self.contract.hold}
        asked |= {j for term in self.contract.terms.values() for j in term.joints}
        lacking = sorted(asked - set(self.columns))
        if lacking:
            raise NameMismatchError(
                f"policy {self.contract.name!r} is for a robot with {', '.join(lacking)}; this one "
                f"has {', '.join(self.columns)}"
            )

    def forget(self, which: np.ndarray | None = None) -> None:
        """Begin anew in some environments, by numbers or a mask; in all by default."""
        rows = np.arange(len(self.step))
        rows = rows if which is None else rows[np.asarray(which, None if len(which) else int)]
        self._observer.forget(rows)
        self.network.forget(self._states, rows)
        # Whoever kept the arrays of the last step keeps their numbers.
        self.action, self.targets, self.step = (
            array.copy() for array in (self.action, self.targets, self.step)
        )
        self.action[rows] = 0.0
        self.targets[rows] = self._rest
        self.targets[np.ix_(rows, np.array(self._moved))] = self.contract.pose
        self.step[rows] = 0

    def act(self, readings: Readings, commands: Mapping[str, np.ndarray]) -> np.ndarray:
        """(n, J) targets, rad, for what is read now.

        Args:
            readings: of the sensors.
            commands: name -> (n, C) what is asked for now.
        """
        self.observe(readings, commands)
        return self.decide()

    def observe(self, readings: Readings, commands: Mapping[str, np.ndarray]) -> None:
        """The first half of `act`: build what the network sees now."""
        self._now = self._sight(readings, commands)
        self.observation = self._observer.observe(self._now)
        self._require_finite(self.observation, "the observation")

    def decide(self) -> np.ndarray:
        """The other half: (n, J) targets, rad, for what was observed last."""
        if self._now is None:
            raise DataError(f"policy {self.contract.name!r} has observed nothing yet")
        sight, self._now = self._now, None
        action, states = self.network.run(self.observation, self._states, self.step)
        if action.shape != self.action.shape:
            raise DataError(
                f"{self.network.path} gives actions of shape {action.shape}; expected "
                f"{self.action.shape}: one a joint of the contract"
            )
        self._require_finite(action, "the network's output")
        self._states = states
        self.action = clip_action(self.contract, action)
        wanted = action_targets(self.contract, self.action, sight.target, sight.reference)
        self.targets = self.targets.copy()
        self.targets[:, self._moved] = wanted
        self.step = self.step + 1
        return self.targets

    def _sight(self, readings: Readings, commands: Mapping[str, np.ndarray]) -> Sighting:
        self._require_readings(readings, commands)
        anchor = None
        if self._reference is not None and readings.base_quat_wxyz is not None:
            origin = np.zeros((len(readings.q), 3))
            root = origin if readings.base_pos is None else readings.base_pos
            anchor = self._anchor(readings) if self._anchor else (root, readings.base_quat_wxyz)
        return Sighting(
            readings=readings,
            columns=self.columns,
            action=self.action,
            target=self.targets[:, self._moved],
            step=self.step,
            commands=commands,
            reference=None if self._reference is None else self._reference.at(self.step),
            anchor=anchor,
        )

    def _require_readings(self, readings: Readings, commands: Mapping[str, np.ndarray]) -> None:
        shape = len(self.step), len(self.columns)
        if readings.q.shape != shape or readings.dq.shape != shape:
            raise DataError(
                f"readings have q {readings.q.shape} and dq {readings.dq.shape}; policy "
                f"{self.contract.name!r} was started with {shape}"
            )
        for name, command in self.contract.commands.items():
            if name not in commands:
                raise DataError(f"policy {self.contract.name!r} wants the command {name!r}")
            if np.shape(commands[name])[-1:] != (len(command.lower),):
                raise DataError(
                    f"command {name!r} has shape {np.shape(commands[name])}; expected "
                    f"{len(self.step), len(command.lower)}"
                )
        for term in self.contract.terms.values():
            for need in KINDS[term.kind].needs:
                if getattr(readings, need) is None:
                    raise DataError(
                        f"policy {self.contract.name!r} sees {term.name!r}, which needs {need}; "
                        "these readings have none (a robot that is mounted fixed has no base)"
                    )

    def _require_finite(self, array: np.ndarray, what: str) -> None:
        if np.isfinite(array).all():
            return
        row, column = np.argwhere(~np.isfinite(array))[0]
        seen = array is self.observation
        name = term_of_column(self.contract, column) if seen else self.contract.joints[column]
        raise DataError(
            f"{what} of policy {self.contract.name!r} is not finite: column {column} ({name}) of "
            f"environment {row} at control step {self.step[row]}"
        )
