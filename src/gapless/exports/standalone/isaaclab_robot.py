"""Isaac Lab's configuration of the articulation in articulation.json beside this file.

Importing this needs nothing; `articulation_cfg` needs Isaac Lab.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ARTICULATION: dict[str, Any] = json.loads(
    Path(__file__).with_name("articulation.json").read_text(encoding="utf-8")
)
FIGURES = {
    "stiffness": "stiffness",
    "damping": "damping",
    "effort_limit": "effort_limit_sim",
    "velocity_limit": "velocity_limit_sim",
    "armature": "armature",
    "friction": "friction",
    "dynamic_friction": "dynamic_friction",
    "viscous_friction": "viscous_friction",
}
"""Name in the data -> field of Isaac Lab's actuators."""


def actuator_fields(group: dict[str, Any]) -> dict[str, Any]:
    """Fields of a group's configuration; joints without a limit are left out of it."""
    fields: dict[str, Any] = {"joint_names_expr": group["joint_names_expr"]}
    for name, field in FIGURES.items():
        known = {joint: value for joint, value in group[name].items() if value is not None}
        if known:
            fields[field] = known
    if "max_delay" in group:
        # An explicit drive limits its torque itself; the engine's limit must not bind first.
        fields["effort_limit"] = fields.get("effort_limit_sim")
        fields |= {"min_delay": group["min_delay"], "max_delay": group["max_delay"]}
    return {k: v for k, v in fields.items() if v is not None}


def articulation_cfg(usd_path: str, prim_path: str = "{ENV_REGEX_NS}/Robot") -> Any:
    """An ArticulationCfg of the calibrated robot.

    Args:
        usd_path: the model, converted from robot.xml.
        prim_path: where Isaac Lab puts it.
    """
    import isaaclab.sim as sim_utils
    from isaaclab.actuators import DelayedPDActuatorCfg, ImplicitActuatorCfg
    from isaaclab.assets import ArticulationCfg

    kinds = {"DelayedPDActuator": DelayedPDActuatorCfg, "ImplicitActuator": ImplicitActuatorCfg}
    start = ARTICULATION["init_state"]
    return ArticulationCfg(
        prim_path=prim_path,
        spawn=sim_utils.UsdFileCfg(
            usd_path=usd_path,
            articulation_props=sim_utils.ArticulationRootPropertiesCfg(
                fix_root_link=ARTICULATION["fix_base"],
                enabled_self_collisions=ARTICULATION["self_collisions"],
            ),
        ),
        init_state=ArticulationCfg.InitialStateCfg(
            pos=tuple(start["pos"]), joint_pos=start["joint_pos"]
        ),
        actuators={
            name: kinds[group["class_name"]](**actuator_fields(group))
            for name, group in ARTICULATION["actuators"].items()
        },
    )
