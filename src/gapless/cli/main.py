"""`gapless VERB ...`: find the verb, run it, turn our errors into one clear message."""

from __future__ import annotations

import sys
from importlib import import_module
from io import TextIOWrapper

from gapless import __version__
from gapless.artifact import is_refusal, refusal
from gapless.cli.crash_report import close_output, report_crash, tell
from gapless.errors import GaplessError, unknown
from gapless.software_versions import allow_version_mismatch

MISMATCH = "--allow-version-mismatch"
"""With any command: use results of another MuJoCo all the same."""

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
    "export": "write the simulator of a run for mjlab, Isaac Lab, MuJoCo, URDF, MCAP or as JSON",
    "policy": "show what a policy sees and commands, or check it",
    "evaluate": "say whether a policy survives on this robot, and what fails first",
    "train": "train a policy that follows a motion",
    "finetune": "tune such a policy in the corrected simulator of a run",
    "imitate": "make one student of several trackers",
    "loop": "train, record, close, fine-tune and evaluate, in one go",
    "deploy": "run a policy on a robot, within signed limits, and record what happens",
    "motion": "make, check and save a motion",
    "retarget": "turn a person's motion (BVH, SMPL joints) into one of a robot",
    "collect": "record motions on hidden robots, each paired with its simulated replica",
    "demo": "record a perturbed robot, measure it, write tables and pictures",
}
"""Verb -> what it does; the module is gapless.cli.<verb>_command."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    _show_any_letter()
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        sys.stdout.write(usage())
        return 0
    if arguments[0] in ("--version", "version"):
        sys.stdout.write(f"gapless {__version__}\n")
        return 0
    differ = MISMATCH in arguments
    arguments = [a for a in arguments if a != MISMATCH]
    try:
        with allow_version_mismatch(differ):
            return _run(arguments[0], arguments[1:])
    except GaplessError as error:
        tell(f"gapless: {error}")
        return 2
    except KeyboardInterrupt:
        tell(
            "gapless: stopped; nothing half-written was kept. The same command again resumes, "
            "where there is a .progress file"
        )
        return 130
    except BrokenPipeError:  # whoever read our output has enough
        close_output()
        return 141
    except OSError as error:
        if not is_refusal(error):
            return report_crash(error, arguments)
        tell(f"gapless: cannot write {error.filename or 'there'}: {refusal(error)}")
        return 2
    except Exception as error:
        return report_crash(error, arguments)


def _show_any_letter() -> None:
    """A terminal that knows ASCII alone shows a question mark for what it lacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


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
        "gapless COMMAND --help explains a command. With "
        f"{MISMATCH} any of them uses results of another MuJoCo.\n"
    )
