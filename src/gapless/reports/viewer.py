"""The live viewer: recorded and simulated robots in the browser, played, paused and scrubbed."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np

from gapless.errors import GaplessError
from gapless.measurement.side_by_side import REAL, SideBySide
from gapless.reports.error_colours import scales_of, shade, worst_joint
from gapless.reports.ghosts import ghosts_of, solid_of
from gapless.reports.person_figure import PersonFigure
from gapless.reports.rig import Poses, Rig
from gapless.reports.robot_scene import BODY, Figure, colour_of
from gapless.reports.scene_stage import SceneStage, frames_of
from gapless.reports.serving import served
from gapless.reports.viewer_panel import SPEEDS, Panel
from gapless.reports.viewer_sources import Source

if TYPE_CHECKING:
    import viser

FPS = 30.0
"""Pictures a second at most."""
SLIDER_EVERY = 0.2
"""Seconds between updates of slider and curves while playing."""


class Viewer:
    """A server that shows clips until it is closed; also a context.

    Args:
        source: what there is to show.
        host: 127.0.0.1 shows it on this machine only.
        port: 0 is any free one.
    """

    def __init__(self, source: Source, host: str = "127.0.0.1", port: int = 8080) -> None:
        self._source, self._rig = source, Rig(source.robot)
        self._lock, self._loading = threading.RLock(), threading.Lock()
        self._over = threading.Event()
        self._chosen = 0
        self.playing, self.now = False, 0.0
        self.clip, note = source.clip(0)
        with ExitStack() as stack:  # what fails below stops the server
            self.server = stack.enter_context(served(host, port))
            self.url = f"http://{_reached(host)}:{self.server.get_port()}"
            self.panel = Panel(self.server, source.names, source.tracks, source.robot.joints.names)
            self.panel.joint.value = worst_joint(self.clip, source.robot.joints.names)
            self._stage = SceneStage(self.server, self._rig, self.clip, FPS)
            self._person = PersonFigure(self.server.scene)
            self._made: dict[tuple[str, int], Figure] = {}
            self._figures: dict[str, Figure] = {}
            self._take(self.clip, note)
            self._stack = stack.pop_all()
        self._listen()
        self._thread = threading.Thread(target=self._play, daemon=True)
        self._thread.start()

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop serving."""
        self._over.set()
        self._thread.join(timeout=2.0)
        self._stack.close()

    def wait(self) -> None:
        """Serve until interrupted."""
        while not self._over.wait(0.5):
            pass

    def choose(self, recording: int) -> None:
        """Show another recording."""
        self._chosen = recording
        self.panel.say("replaying ...")
        try:
            with self._loading:  # takes seconds, while the last one goes on playing
                clip, note = self._source.clip(recording)
        except GaplessError as error:
            self.panel.say(str(error))
            return
        with self._lock:
            if self._chosen == recording:
                self._take(clip, note)

    def scrub(self, seconds: float) -> None:
        """Go to a time."""
        with self._lock:
            self.now = float(np.clip(seconds, 0.0, self._duration))
            self._show()
            self.panel.draw(self.clip, self.now)

    def play(self, playing: bool) -> None:
        """Start or stop the clock."""
        with self._lock:
            self.playing = playing
            self.panel.playing.label = "Pause" if playing else "Play"

    def colour(self) -> None:
        """Paint the real robot by the errors of the chosen simulator, or in its own colour."""
        with self._lock:
            self._dress()
            self._paint()
            self.panel.say(self._legend())

    @property
    def frame(self) -> int:
        """Which of the clip's drawn frames is shown."""
        at = np.searchsorted(self._frames, self.now * self.clip.rate + 1e-6, side="right") - 1
        return int(np.clip(at, 0, len(self._frames) - 1))

    @property
    def _duration(self) -> float:
        return (len(self.clip.target) - 1) / self.clip.rate

    def _take(self, clip: SideBySide, note: str) -> None:
        self.clip, self.now = clip, 0.0
        self._frames = frames_of(clip, FPS)
        self._poses: dict[str, Poses] = {
            name: self._rig.poses(clip, name, self._frames) for name in clip.tracks
        }
        self.panel.begin(clip)
        self._note = note
        self._scales = scales_of(clip)
        self._set_stage()
        self._figures |= {n: self._figure(n, k) for n, k in ghosts_of(clip.tracks).items()}
        self._person.take(clip.person, self._frames)
        self._dress()
        self._show()
        self.panel.draw(clip, 0.0)
        self.panel.say(self._legend())

    def _figure(self, track: str, ghost: int) -> Figure:
        """A robot as a clip shows it: who is a ghost in one may be solid in another."""
        if (track, ghost) not in self._made:
            colour = colour_of(track, dict.fromkeys(self._source.tracks))
            node = f"robot_{len(self._made)}"
            self._made[track, ghost] = Figure(self.server.scene, self._rig, node, colour, ghost)
        return self._made[track, ghost]

    def _set_stage(self) -> None:
        """Suit floor and camera to the clip; who looks at a robot elsewhere is led to it."""
        before = self._stage.sight
        self._stage.set(self.clip)
        if self._stage.sight.differs(before):
            for client in self.server.get_clients().values():
                self._aim(client)

    def _dress(self) -> None:
        """Show the robots that are wanted and there; ghosts would hide the colours of errors."""
        solid, judged = solid_of(self.clip.tracks), self.panel.judged in self._scales
        for (name, _), figure in list(self._made.items()):  # a box may be ticked meanwhile
            wanted = self.panel.tracks[name].value and (name == solid or not judged)
            there = name in self._poses and self._figures.get(name) is figure
            figure.root.visible = there and wanted

    def _show(self) -> None:
        frame = self.frame
        self._stage.follow(frame)
        self._person.pose(frame)
        for name, poses in self._poses.items():
            self._figures[name].pose(poses, frame)
        self._paint()

    def _paint(self) -> None:
        if REAL not in self.clip.tracks:
            return
        simulator = self.panel.judged
        colours = [BODY] * len(self._rig.links)
        if simulator in self._scales:
            errors = self.clip.error(simulator)[self._frames[self.frame]]
            share = self._rig.link_values(self.clip, errors) / self._scales[simulator]
            colours = [shade(float(s)) for s in np.nan_to_num(share)]
        self._figures[REAL].paint(colours)

    def _legend(self) -> str:
        simulator = self.panel.judged
        if simulator is None or REAL not in self.clip.tracks:
            return self._note
        if simulator not in self._scales:
            return f"{self._note} There is no replay to judge."
        degrees = np.degrees(self._scales[simulator])
        return (
            f"{self._note} Each link by the joint that moves it: grey is right, red is "
            f"{degrees:.1f}° or more beside the recording. Ghosts are hidden meanwhile."
        )

    def _listen(self) -> None:
        """What the controls do; what this program sets itself has no client."""
        panel = self.panel

        def asked(handle: Any, act: Any) -> None:
            handle.on_update(lambda event: act() if event.client is not None else None)

        asked(
            panel.recording,
            lambda: self.choose(panel.recording.options.index(panel.recording.value)),
        )
        asked(panel.time, lambda: (self.play(False), self.scrub(panel.time.value)))
        asked(panel.colours, self.colour)
        asked(panel.joint, lambda: self.scrub(self.now))
        for box in panel.tracks.values():
            asked(box, self._dress)
        self.server.on_client_connect(
            lambda client: self._aim(client) if client.camera.aspect < 1.0 else None
        )
        panel.playing.on_click(lambda _: self.play(not self.playing))

    def _aim(self, client: viser.ClientHandle) -> None:
        """Look at the solid robot, also in a narrow window."""
        place, aim = self._stage.sight.camera(client.camera.aspect)
        client.camera.position, client.camera.look_at = place, aim

    def _play(self) -> None:
        before, told = time.monotonic(), 0.0
        while not self._over.wait(1 / FPS):
            passed, before = time.monotonic() - before, time.monotonic()
            if not self.playing:
                continue
            with self._lock:
                self.now += passed * SPEEDS[self.panel.speed.value]
                self.now = self.now % max(self._duration, 1e-9)
                self._show()
                if before - told > SLIDER_EVERY:
                    told = before
                    self.panel.time.value = round(self.now, 3)
                    self.panel.draw(self.clip, self.now)


def _reached(host: str) -> str:
    """The name by which a browser on this machine finds a server."""
    return "localhost" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
