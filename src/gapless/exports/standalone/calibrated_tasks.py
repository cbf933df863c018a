"""A calibrated robot as tasks of mjlab: all figures are in figures.json beside this file."""

# pyright: reportMissingImports=false, reportAttributeAccessIssue=false
from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import mujoco
from mjlab.actuator import BuiltinPositionActuatorCfg
from mjlab.entity import EntityArticulationInfoCfg, EntityCfg
from mjlab.envs import ManagerBasedRlEnvCfg, mdp
from mjlab.envs.mdp import dr
from mjlab.managers.event_manager import EventTermCfg
from mjlab.managers.observation_manager import ObservationGroupCfg, ObservationTermCfg
from mjlab.managers.scene_entity_config import SceneEntityCfg
from mjlab.managers.termination_manager import TerminationTermCfg
from mjlab.rl import RslRlModelCfg, RslRlOnPolicyRunnerCfg, RslRlPpoAlgorithmCfg
from mjlab.scene import SceneCfg
from mjlab.sim import MujocoCfg, SimulationCfg
from mjlab.tasks.registry import register_mjlab_task
from mjlab.tasks.tracking.rl import MotionTrackingOnPolicyRunner
from mjlab.tasks.tracking.tracking_env_cfg import make_tracking_env_cfg
from mjlab.terrains import TerrainEntityCfg

from .calibrated_action import CalibratedActionCfg, draw_delay

HERE = Path(__file__).parent
FIGURES: dict[str, Any] = json.loads((HERE / "figures.json").read_text(encoding="utf-8"))
JOINT_EVENTS = {
    "armature": dr.joint_armature,
    "damping": dr.joint_damping,
    "frictionloss": dr.joint_friction,
}


def robot_cfg() -> EntityCfg:
    """The robot, its drives as they were identified."""
    start = FIGURES["start"]
    return EntityCfg(
        init_state=EntityCfg.InitialStateCfg(
            pos=tuple(start["pos"]),
            joint_pos={re.escape(j): q for j, q in start["joints"].items()},
        ),
        spec_fn=lambda: mujoco.MjSpec.from_file(str(HERE / "robot.xml")),
        articulation=EntityArticulationInfoCfg(
            actuators=tuple(
                BuiltinPositionActuatorCfg(
                    target_names_expr=(re.escape(told["joint"]),),
                    **{k: v for k, v in told.items() if k != "joint"},
                )
                for told in FIGURES["actuators"]
            ),
            soft_joint_pos_limit_factor=1.0,
        ),
    )


def sim_cfg() -> SimulationCfg:
    """Step and solver of the simulator that was calibrated."""
    options = {**FIGURES["options"], "gravity": tuple(FIGURES["options"]["gravity"])}
    return SimulationCfg(
        nconmax=FIGURES["nconmax"],
        njmax=FIGURES["njmax"],
        mujoco=MujocoCfg(timestep=FIGURES["timestep"], **options),
    )


def set_floor(spec: mujoco.MjSpec) -> None:
    """The plane decides its contacts alone, as it did when the robot was calibrated."""
    floor, geom = FIGURES["floor"], spec.geom("terrain")
    geom.friction = [floor["friction"], 0.005, 0.0001]
    geom.solref[:2] = [floor["softness"], 1.0]
    geom.contype, geom.conaffinity, geom.priority = 1, 0, 1


def scene_cfg() -> SceneCfg:
    """The robot, on its floor where it has one."""
    on_floor = FIGURES["floor"] is not None
    return SceneCfg(
        terrain=TerrainEntityCfg(terrain_type="plane") if on_floor else None,
        entities={"robot": robot_cfg()},
        spec_fn=set_floor if on_floor else None,
    )


def action_cfg(**options: Any) -> CalibratedActionCfg:
    """Joint targets through delay and correction."""
    drawn = [high for _, high in FIGURES["ranges"].get("delay", {}).values()]
    return CalibratedActionCfg(
        entity_name="robot",
        actuator_names=(".*",),
        delay=FIGURES["delay"],
        longest=max(drawn, default=0.0),
        correction=str(HERE) if FIGURES["correction"] else None,
        **options,
    )


def event_cfgs(vary: bool) -> dict[str, EventTermCfg]:
    """What differs between environments: figures within their intervals, or nothing at all."""
    events = {
        f"encoder_bias/{joint}": _event(
            dr.encoder_bias,
            {"bias_range": tuple(_within("encoder_bias", joint, value, vary))},
            joint_names=(joint,),
        )
        for joint, value in FIGURES["encoder_bias"].items()
    }
    return {**events, **_drawn_events()} if vary else events


def _within(kind: str, place: str, value: float, vary: bool) -> list[float]:
    return FIGURES["ranges"].get(kind, {}).get(place, [value] * 2) if vary else [value] * 2


def _event(func: Any, params: dict[str, Any], entity: str = "robot", **of: Any) -> EventTermCfg:
    told = {**params, "asset_cfg": SceneEntityCfg(entity, **of)}
    return EventTermCfg(func=func, mode="startup", params=told)


def _drawn_events() -> dict[str, EventTermCfg]:
    ranges, events = FIGURES["ranges"], {}
    for kind, func in JOINT_EVENTS.items():
        if kind in ranges:
            told = {re.escape(j): tuple(pair) for j, pair in ranges[kind].items()}
            events[kind] = _event(func, {"ranges": told, "operation": "abs"})
    for joint, pairs in ranges.get("gains", {}).items():
        params = {"kp_range": tuple(pairs["kp"]), "kd_range": tuple(pairs["kd"])}
        events[f"gains/{joint}"] = _event(dr.pd_gains, params, actuator_names=(joint,))
    for joint, pair in ranges.get("effort", {}).items():
        params = {"effort_limit_range": tuple(pair)}
        events[f"effort/{joint}"] = _event(dr.effort_limits, params, actuator_names=(joint,))
    for link, pair in ranges.get("density", {}).items():
        params = {"alpha_range": tuple(pair)}
        events[f"mass/{link}"] = _event(dr.pseudo_inertia, params, body_names=(link,))
    for link, axes in ranges.get("com", {}).items():
        params = {"ranges": {int(a): tuple(p) for a, p in axes.items()}, "operation": "add"}
        events[f"com/{link}"] = _event(dr.body_com_offset, params, body_names=(link,))
    if "floor_friction" in ranges:
        params = {"ranges": tuple(ranges["floor_friction"]), "operation": "abs"}
        events["floor_friction"] = _event(
            dr.geom_friction, params, "terrain", geom_names=("terrain",)
        )
    if "delay" in ranges:
        params = {"ranges": ranges["delay"]}
        events["delay"] = EventTermCfg(func=draw_delay, mode="reset", params=params)
    return events


def targets_env_cfg(vary: bool = False) -> ManagerBasedRlEnvCfg:
    """Actions are joint targets in rad, and nothing ends or rewards an episode: to build upon."""
    seen = {
        "joint_pos": ObservationTermCfg(func=mdp.joint_pos_rel, params={"biased": True}),
        "joint_vel": ObservationTermCfg(func=mdp.joint_vel_rel),
    }
    reset = EventTermCfg(func=mdp.reset_scene_to_default, mode="reset")
    return ManagerBasedRlEnvCfg(
        decimation=FIGURES["decimation"],
        scene=scene_cfg(),
        observations={"actor": ObservationGroupCfg(terms=seen)},
        actions={"joint_pos": action_cfg(use_default_offset=False)},
        events={"reset_scene_to_default": reset, **event_cfgs(vary)},
        terminations={"time_out": TerminationTermCfg(func=mdp.time_out, time_out=True)},
        sim=sim_cfg(),
        episode_length_s=1e6,
    )


def tracking_env_cfg(play: bool = False) -> ManagerBasedRlEnvCfg:
    """mjlab's tracking task (BeyondMimic) of the motion beside this file."""
    cfg = make_tracking_env_cfg()
    cfg.scene, cfg.sim, cfg.decimation = scene_cfg(), sim_cfg(), FIGURES["decimation"]
    scale = {re.escape(j): s for j, s in FIGURES["action_scale"].items()}
    cfg.actions = {"joint_pos": action_cfg(scale=scale, use_default_offset=True)}
    motion = cfg.commands["motion"]
    motion.motion_file = str(HERE / "motion.npz")
    motion.anchor_body_name, motion.body_names = FIGURES["anchor"], tuple(FIGURES["bodies"])
    pushes = {} if play else {"push_robot": cfg.events["push_robot"]}
    cfg.events = {**pushes, **event_cfgs(vary=not play)}
    cfg.rewards.pop("self_collisions")
    cfg.terminations["ee_body_pos"].params["body_names"] = tuple(FIGURES["ends"])
    cfg.viewer.body_name = FIGURES["anchor"]
    if play:
        cfg.episode_length_s = int(1e9)
        cfg.observations["actor"].enable_corruption = False
        motion.pose_range, motion.velocity_range, motion.sampling_mode = {}, {}, "start"
    return cfg


def ppo_cfg() -> RslRlOnPolicyRunnerCfg:
    """mjlab's own figures for tracking."""
    sizes: dict[str, Any] = {"hidden_dims": (512, 256, 128), "obs_normalization": True}
    noise = {"class_name": "GaussianDistribution", "init_std": 1.0, "std_type": "scalar"}
    return RslRlOnPolicyRunnerCfg(
        actor=RslRlModelCfg(**sizes, distribution_cfg=noise),
        critic=RslRlModelCfg(**sizes),
        algorithm=RslRlPpoAlgorithmCfg(),
        experiment_name=FIGURES["robot"],
        max_iterations=30_000,
    )


def register() -> None:
    """Add the tasks to mjlab's list."""
    name = FIGURES["task"]
    register_mjlab_task(f"{name}-Targets", targets_env_cfg(True), targets_env_cfg(), ppo_cfg())
    if FIGURES["motion"]:
        register_mjlab_task(
            f"{name}-Tracking",
            tracking_env_cfg(),
            tracking_env_cfg(play=True),
            ppo_cfg(),
            MotionTrackingOnPolicyRunner,
        )
