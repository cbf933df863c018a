"""`--to mjcf`: a folder with the calibrated robot as MuJoCo XML, with lights and a floor."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from gapless.artifact import staged, write_bytes_atomic, write_text_atomic
from gapless.exports.exact_xml import Element, exact_xml
from gapless.exports.exported import Exported, listed
from gapless.exports.simulator_parts import SimulatorParts
from gapless.robots import Robot
from gapless.robots.build import FLOOR, compile_spec

if TYPE_CHECKING:
    import mujoco

ROBOT, WHOLE, README = "robot.xml", "whole.xml", "README.md"
GREY = "0.35 0.38 0.42 1"
LIGHT = {"name": "sun", "directional": "true", "pos": "0 0 4", "dir": "0.2 0.1 -1"}
LOOKS: tuple[tuple[str, dict[str, str]], ...] = (
    (
        "texture",
        {
            **{"type": "skybox", "builtin": "gradient", "rgb1": ".75 .82 .9"},
            **{"rgb2": ".35 .42 .5", "width": "256", "height": "1536"},
        },
    ),
    (
        "texture",
        {
            **{"name": "tiles", "type": "2d", "builtin": "checker", "rgb1": ".55 .58 .6"},
            **{"rgb2": ".48 .51 .53", "width": "256", "height": "256"},
        },
    ),
    ("material", {"name": "tiles", "texture": "tiles", "texrepeat": "4 4", "texuniform": "true"}),
)
"""Sky and floor."""

ABOUT = """# {name}, calibrated

`robot.xml` is the robot as the run simulates it: mass, friction, gains and limits as they were
identified, position actuators in the order of its joints, a key `home`.

    import mujoco
    model = mujoco.MjModel.from_xml_path("robot.xml")

Set `data.ctrl` to joint targets (rad) and hold them for {substeps} steps of {timestep:g} s:
{rate:g} commands a second.
{whole}
Not in this folder:

{lost}
"""
HELD = """
The run held {joints} still, so they are welded in `robot.xml`. `whole.xml` has them as joints with
their nominal drives.
"""


def export_mjcf(parts: SimulatorParts, path: Path, overwrite: bool = False) -> Exported:
    """Write the folder."""
    lost, held = parts.left_out(), tuple(parts.nominal.locked)
    freed = parts.whole if held and parts.whole is not parts.robot else None
    if held and freed is None:
        lost = (*lost, f"{', '.join(held)} as joints: the file of the robot is not there any more")
    with staged(path, overwrite) as folder:
        write_mjcf(parts.robot, parts.world.timestep, folder, lost)
        if freed is not None:
            write_mjcf(freed, parts.world.timestep, folder, lost, WHOLE)
        write_text_atomic(folder / README, _readme(parts, lost, held if freed else ()))
        files = tuple(sorted(str(p.relative_to(folder)) for p in folder.rglob("*.*")))
    return Exported(path, "mjcf", files, lost)


def _readme(parts: SimulatorParts, lost: tuple[str, ...], held: tuple[str, ...]) -> str:
    world = parts.world
    return ABOUT.format(
        name=parts.robot.name,
        substeps=world.substeps,
        timestep=world.timestep,
        rate=world.rate,
        whole=HELD.format(joints=", ".join(held)) if held else "",
        lost=listed(lost),
    )


def write_mjcf(
    robot: Robot, timestep: float, folder: Path, lost: tuple[str, ...] = (), name: str = ROBOT
) -> mujoco.MjModel:
    """Write a robot's XML and the files that it names into a folder; gives what was written."""
    root, model = robot_xml(robot, timestep)
    files = getattr(robot.body, "files", None)
    for asset, data in ({} if files is None else files.assets).items():
        write_bytes_atomic(folder / PurePosixPath(asset), data)  # where the XML looks for it
    ElementTree.indent(root)
    told = "; ".join(lost).replace("--", "- -")
    head = f"<!-- {robot.name}, calibrated. {f'Not in it: {told}' if told else ''} -->\n"
    write_text_atomic(folder / name, head + ElementTree.tostring(root, encoding="unicode") + "\n")
    return model


def robot_xml(robot: Robot, timestep: float, scene: bool = True) -> tuple[Element, mujoco.MjModel]:
    """A robot's XML with all digits, and its model.

    Args:
        robot: calibrated.
        timestep: s.
        scene: with lights, a sky and a floor to look at.
    """
    spec = robot.spec()
    spec.option.timestep = timestep
    model = compile_spec(spec)
    root = exact_xml(spec, model)
    if scene:
        _set_scene(root)
    return root, model


def _set_scene(root: Element) -> None:
    """Light and floor; a robot that meets none gets one that nothing touches."""
    assets = root.find("asset")
    if assets is None:
        assets = ElementTree.Element("asset")
        root.insert(list(root).index(next(root.iter("worldbody"))), assets)
    for tag, values in LOOKS:
        ElementTree.SubElement(assets, tag, values)
    world = next(root.iter("worldbody"))
    world.insert(0, ElementTree.Element("light", LIGHT))
    floors = [g for g in world.findall("geom") if g.get("name") == FLOOR]
    for floor in floors:
        floor.set("material", "tiles")
        floor.set("size", "0 0 1")
    if not floors:
        untouched = {"contype": "0", "conaffinity": "0", "group": "2", "material": "tiles"}
        shape = {"name": FLOOR, "type": "plane", "size": "0 0 1", "pos": "0 0 -0.001"}
        world.append(ElementTree.Element("geom", shape | untouched))
