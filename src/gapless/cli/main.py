"""`gapless VERB ...`: find the verb, run it, turn our errors into one clear message."""

from __future__ import annotations

import sys
from importlib import import_module

from gapless import __version__
from gapless.errors import GaplessError, unknown

VERBS = {
    "close": "do it all: check, measure, identify, learn, verify, write the corrected simulator",
    "report": "write the page that shows what a run found",
    "view": "look at recordings and replays in the browser",
    "robots": "list the built-in robots, or show one",
    "import": "turn a robot's logs into a dataset",
    "check": "say what is wrong with a dataset",
    "measure": "say how far a simulator is from a dataset, where and why",
    "identify": "find a robot's physical parameters, with their uncertainty, from its recordings",
    "correct": "learn what no parameter of a simulator expresses",
    "compare": "train methods on the same recordings, and print their held-out errors",
    "policy": "show what a policy sees and commands, or check it",
    "evaluate": "say whether a policy survives on this robot, and what fails first",
    "train": "train a policy that follows a motion",
    "finetune": "tune such a policy in the corrected simulator of a run",
    "loop": "train, record, close, fine-tune and evaluate, in one go",
    "motion": "make, check and save a motion",
    "retarget": "turn a person's motion (BVH, SMPL joints) into one of a robot",
    "collect": "record motions on hidden robots, each paired with its simulated replica",
    "demo": "record a perturbed robot, measure it, write tables and pictures",
}
"""Verb -> what it does; the module is gapless.cli.<verb>_command."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        sys.stdout.write(usage())
        return 0
    if arguments[0] in ("--version", "version"):
        sys.stdout.write(f"gapless {__version__}\n")
        return 0
    try:
        return _run(arguments[0], arguments[1:])
    except GaplessError as error:
        sys.stderr.write(f"gapless: {error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("gapless: stopped; nothing half-written was kept. The same command again ")
        sys.stderr.write("resumes, where there is a .progress file\n")
        return 130


def _run(verb: str, rest: list[str]) -> int:
    if verb not in VERBS:
        raise unknown("command", verb, VERBS)
    return import_module(f"gapless.cli.{verb}_command").run(rest) or 0


def usage() -> str:
    """The text of `gapless --help`."""
    width = max(map(len, VERBS))
    lines = [f"  {verb:<{width}}  {what}" for verb, what in VERBS.items()]
    return (
        "gapless: from a robot's own recordings to a simulator that behaves like that robot.\n\n"
        "usage: gapless COMMAND [--help] ...\n\n" + "\n".join(lines) + "\n\n"
        "gapless COMMAND --help explains a command.\n"
    )
