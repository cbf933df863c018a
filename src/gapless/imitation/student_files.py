"""A student as a folder: one network, and for each motion its frames and a small contract."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gapless.artifact import provenance, staged, write_bytes_atomic, write_json, write_text_atomic
from gapless.imitation.flow_weights import FlowWeights, flow_model
from gapless.imitation.student_contract import (
    NETWORK,
    contract_file,
    contract_toml,
    motion_file,
    student_contract,
)
from gapless.imitation.teachers import Teacher
from gapless.policies import Policy
from gapless.policies.mlp_weights import MlpWeights, mlp_model
from gapless.policies.policy_contract import PolicyContract
from gapless.tracking.tracker_files import (
    TRAINING,
    motion_bytes,
    policy_metadata,
    require_parity,
)


@dataclass(frozen=True, eq=False)
class Student:
    """What an imitation gives.

    Attributes:
        teachers: whose motions it follows.
        weights: of its network.
        training: settings, seed, course of the imitation, errors by motion, as JSON.
    """

    teachers: Sequence[Teacher]
    weights: MlpWeights | FlowWeights
    training: dict[str, Any]

    def save(
        self, path: str | Path, seen: np.ndarray, acted: np.ndarray, overwrite: bool = False
    ) -> Policy:
        """Write the folder, complete or absent; gives the student told to follow the first motion.

        Args:
            path: of the folder.
            seen: (N, width) observations of whole episodes.
            acted: (N, A) what was trained does then; the file must agree.
            overwrite: replace a policy that is already there.
        """
        name, many = Path(path).name, range(len(self.teachers))
        contracts = [student_contract(self.teachers, k, name) for k in many]
        with staged(path, overwrite) as folder:
            write_bytes_atomic(folder / NETWORK, self._network(contracts[0]))
            for teacher, contract in zip(self.teachers, contracts, strict=True):
                motion = motion_bytes(teacher.frames, contract)
                write_bytes_atomic(folder / motion_file(teacher), motion)
                write_text_atomic(folder / contract_file(teacher), contract_toml(contract))
            write_json(folder / TRAINING, self.training | {"made_by": provenance()})
            for teacher in self.teachers:
                require_parity(Policy.load(folder / contract_file(teacher)), seen, acted)
        return Policy.load(Path(path) / contract_file(self.teachers[0]))

    def _network(self, contract: PolicyContract) -> bytes:
        metadata = policy_metadata(contract)
        names = contract.ports.seen[0], contract.ports.action
        if isinstance(self.weights, FlowWeights):
            return flow_model(self.weights, metadata, names)
        return mlp_model(self.weights, metadata, names)
