"""Replays as one file of rerun: every robot in 3D, every joint as a curve, on one clock."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gapless.artifact import file_name, write_bytes_atomic
from gapless.errors import MissingExtraError
from gapless.measurement.side_by_side import SideBySide
from gapless.reports.colours import COLOURS, rgb
from gapless.reports.rig import Rig
from gapless.reports.robot_scene import colour_of

if TYPE_CHECKING:
    from gapless.reports.viewer_sources import Source

CLOCK, APPLICATION = "replay", "gapless"
CURVE = (120, 120, 120)
"""Colour of a track that has none of its own."""


def write_rerun(source: Source, path: str | Path) -> None:
    """Write all clips of a source as one .rrd file, complete or absent.

    Args:
        source: replays of a run, policies of a loop, or recordings.
        path: of the file.
    """
    try:
        import rerun  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise MissingExtraError("rerun-sdk", "rerun", "writing a file of rerun") from error
    rig = Rig(source.robot)
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "clips.rrd")
        stream = rerun.RecordingStream(APPLICATION)
        stream.save(file)
        for i, name in enumerate(source.names):
            clip, _ = source.clip(i)
            _log_clip(rerun, stream, rig, clip, file_name(name))
        stream.flush()
        stream.disconnect()
        write_bytes_atomic(path, Path(file).read_bytes())


def _log_clip(rerun: Any, stream: Any, rig: Rig, clip: SideBySide, name: str) -> None:
    clock = rerun.TimeColumn(CLOCK, duration=clip.time)
    for track in clip.tracks:
        colour = colour_of(track, clip.tracks)
        _log_robot(rerun, stream, rig, clip, track, f"{name}/robots/{file_name(track)}", colour)
    rows = {"command": clip.target, **{track: found.q for track, found in clip.tracks.items()}}
    for track, values in rows.items():
        for column, joint in enumerate(clip.joints):
            place = f"{name}/joints/{file_name(joint)}/{file_name(track)}"
            colour = rgb(COLOURS[track]) if track in COLOURS else CURVE
            looks = rerun.SeriesLines(colors=[colour], names=[track])
            stream.log(place, looks, static=True)
            columns = rerun.Scalars.columns(scalars=values[:, column])
            stream.send_columns(place, [clock], columns)


def _log_robot(
    rerun: Any, stream: Any, rig: Rig, clip: SideBySide, track: str, place: str, colour: Any
) -> None:
    """Shapes once, poses of all links over time."""
    frames = np.arange(len(clip.target))
    pos, quat = rig.world_poses(clip, track, frames)
    clock = rerun.TimeColumn(CLOCK, duration=clip.time)
    for i, link in enumerate(rig.links):
        mesh = rig.meshes.get(link)
        if mesh is None:
            continue
        at = f"{place}/{file_name(link)}"
        shape = rerun.Mesh3D(
            vertex_positions=mesh.vertices, triangle_indices=mesh.faces, albedo_factor=colour
        )
        stream.log(at, shape, static=True)
        turned = quat[:, i][:, [1, 2, 3, 0]]  # rerun's are xyzw
        columns = rerun.Transform3D.columns(translation=pos[:, i], quaternion=turned)
        stream.send_columns(at, [clock], columns)
