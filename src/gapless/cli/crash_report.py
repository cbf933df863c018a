"""What a user sees of a defect of ours: one sentence, and where the rest is written."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from datetime import datetime
from pathlib import Path

from gapless.artifact import provenance
from gapless.errors import lacks_memory

CRASHED = 70
"""Exit code of a defect (EX_SOFTWARE); 1 means unfit, 2 an error of the input."""


def report_crash(error: Exception, arguments: list[str]) -> int:
    """Write the traceback to a file, say so, and give the exit code."""
    if lacks_memory(error):
        tell("gapless: there is not enough memory for this; give fewer or shorter recordings")
        return CRASHED
    facts = "\n".join(f"{k} {v}" for k, v in provenance(time=True).items())
    told = "".join(traceback.format_exception(error))
    text = f"gapless {' '.join(arguments)}\n{facts}\n\n{told}"
    where = _written(text)
    short = " ".join(str(error).split())[:200]
    tell(
        f"gapless: this is a defect of gapless, not of your input ({type(error).__name__}: "
        f"{short}). {where}; please report it with that text"
    )
    return CRASHED


def _written(text: str) -> str:
    name = f"gapless-crash-{datetime.now():%Y%m%d-%H%M%S}-{os.getpid()}.txt"
    for folder in (Path(tempfile.gettempdir()), Path.cwd()):
        try:
            (folder / name).write_text(text, encoding="utf-8", errors="backslashreplace")
        except OSError:  # a full disk must not hide what happened
            continue
        return f"What happened is in {folder / name}"
    return "No file could be written to say more"


def tell(text: str) -> None:
    """Write a line to standard error, whatever letters it can show."""
    stream = sys.stderr
    letters = getattr(stream, "encoding", None) or "utf-8"
    try:
        stream.write(text.encode(letters, "replace").decode(letters) + "\n")
    except OSError:  # closed: nobody reads
        return


def close_output() -> None:
    """Leave standard output such that Python does not complain about it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
