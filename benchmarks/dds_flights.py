"""The loop's own work over DDS: a simulated G1 in another process stands, walks, kicks, walks on.

The clock runs on while the loop is held up by other programs, so that counts too; waiting for the
next moment, or for the network, does not. `processor` is what the loop itself worked.

    python benchmarks/dds_flights.py --policies ../shared/data/policies --flights 3
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from asap_contract import asap_contract
from gapless.deployment.deploying import DeploySettings, limits_for
from gapless.deployment.links.unitree_link import CHANNELS
from gapless.errors import SafetyError
from gapless.robots import Robot

RUN = "import sys; from gapless.cli.main import main; sys.exit(main())"
PLAN = "stand 2, walk 4, lower, walk 5 0.5 0 0, walk 1, track, walk 3, damp"
RAISED = {"clamped": "200", "position": "0.3"}
"""Limits that ASAP's kick needs, knowingly: it asks for ankle targets beyond their range."""
PARTS = ("read", "observe", "infer", "filter", "write", "record", "wake", "step", "processor")


def gapless(*words: str | Path) -> subprocess.Popen[str]:
    """A command in a process of its own."""
    command, pipe = [sys.executable, "-c", RUN, *map(str, words)], subprocess.PIPE
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, stdout=pipe, stderr=subprocess.STDOUT, text=True, env=env)


@contextmanager
def simulated(domain: int, world: str) -> Iterator[None]:
    """A G1, ready; ended whatever happens."""
    process = gapless("deploy", "--simulate", "g1", "--domain", str(domain), "--world", world)
    try:
        assert process.stdout is not None and "hangs" in process.stdout.readline()
        yield
    finally:
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=20)
        process.kill()


def signed(folder: Path) -> Path:
    """The limits that the command writes, with those raised that the kick needs."""

    class Link:
        is_real, channels = True, CHANNELS["unitree_hg"]

    file = folder / "safety.toml"
    with suppress(SafetyError):
        limits_for(Link(), Robot.load("g1"), 50, DeploySettings(safety=file))  # type: ignore[arg-type]
    lines = file.read_text().splitlines()
    for k, line in enumerate(lines):
        name = line.split(" ")[0]
        if name in RAISED:
            lines[k] = f'{name} = {{ limit = {RAISED[name]}, action = "damp" }}'
    file.write_text("\n".join(lines).replace('signed_by = ""', 'signed_by = "a benchmark"'))
    return file


def fly(folder: Path, domain: int, args: argparse.Namespace) -> dict[str, Any]:
    """One flight: what the command says of it."""
    policies = args.policies.resolve()
    kick = asap_contract(folder / "kick.toml", policies / "asap_g1_23dof/kick_level1.onnx")
    link = ("--link", "unitree", "--domain", str(domain), "--interface", "lo", "--robot", "g1")
    outputs = ("--record", folder / "data", "--json", folder / "run.json", "--patience", "60")
    safe = ("--safety", signed(folder), "--arm", "--plan", args.plan)
    walker = policies / "unitree_rl_mjlab_g1_velocity"
    with simulated(domain, args.world):
        said, _ = gapless("deploy", walker, kick, *link, *safe, *outputs).communicate(timeout=300)
    if not (folder / "run.json").exists():
        raise SystemExit(said)
    return json.loads((folder / "run.json").read_text())


def show(number: int, run: dict[str, Any]) -> None:
    """One row a flight, and its parts below."""
    parts = run["timings"]

    def ms(part: str) -> str:
        return " / ".join(f"{1000 * parts[part][k]:.2f}" for k in ("p50", "p99", "max"))

    work = f"{ms('step')} ms by the clock, {ms('processor')} ms of processor"
    print(f"flight {number}: p50 / p99 / max of a step {work}; ", end="")
    print(f"{run['missed']} of {run['steps']} deadlines missed; ", end="")
    print("to its end" if run["ok"] else run["damped"])
    print("  " + ", ".join(f"{part} {ms(part)}" for part in PARTS[:-2]), flush=True)


def main() -> None:
    """Parse, fly, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policies", type=Path, required=True)
    parser.add_argument("--flights", type=int, default=3)
    parser.add_argument("--world", default="mujoco")
    parser.add_argument("--plan", default=PLAN)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    runs = []
    for number in range(args.flights):
        with tempfile.TemporaryDirectory() as folder:
            domain = 60 + (os.getpid() + number) % 60
            runs.append(fly(Path(folder), domain, args))
        show(number, runs[-1])
    if args.json:
        args.json.write_text(json.dumps(runs, indent=2))


if __name__ == "__main__":
    main()
