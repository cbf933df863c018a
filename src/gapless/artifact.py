"""Artifacts: folders and files that are complete or absent.

A folder is written beside its target under a hidden name and published by one `os.replace`, so its
name never shows a half-written artifact. Every published folder carries MARKER, which names
the software that made it; only a folder with that marker is ever replaced.
"""

from __future__ import annotations

import errno
import importlib.metadata
import json
import os
import platform
import re
import secrets
import shutil
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gapless.errors import ArtifactError, DataError, FormatError

UNKNOWN = "not installed"
"""Version of a package that is not there."""

MOST_DIGITS = 300
"""Of a whole number that still fits a float."""

MARKER = ".gapless.json"
"""File in the root of every published folder: the provenance of the artifact."""

_REASONS = {
    errno.ENOSPC: "the disk is full: free some space or choose another --out",
    errno.EDQUOT: "the disk quota is used up: free some space or choose another --out",
    errno.EFBIG: "the file system or a limit of this process refuses files that large",
    errno.EROFS: "the file system is read-only: choose another --out",
    errno.EACCES: "permission denied: choose another --out",
    errno.EPERM: "permission denied: choose another --out",
    errno.ENOTEMPTY: "something else was written there meanwhile: choose another --out",
    errno.EEXIST: "something else was written there meanwhile: choose another --out",
}

_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO}
"""What the body of `staged` may raise about the disk; any other OSError is its own affair."""


def provenance(time: bool = False) -> dict[str, str]:
    """The software that makes an artifact.

    Args:
        time: also say when (UTC). Off by default, so that equal inputs give equal bytes.
    """
    facts = {name: version(name) for name in ("gapless", "mujoco", "numpy")}
    facts["python"] = platform.python_version()
    facts["platform"] = f"{platform.system()} {platform.machine()}"
    return facts | ({"time": datetime.now(UTC).isoformat(timespec="seconds")} if time else {})


def file_name(text: str) -> str:
    """A harmless file name from a name that a log may have filled with anything."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", text).strip("._")[:60] or "unnamed"


def version(package: str) -> str:
    """The version of an installed package."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return UNKNOWN


@contextmanager
def staged(path: str | Path, overwrite: bool = False) -> Iterator[Path]:
    """Write a folder that appears at `path` complete, or not at all.

    Args:
        path: where the folder shall be.
        overwrite: replace an artifact that is already there; it stays until the new one is whole.

    Yields:
        The staging folder to write into.

    Raises:
        ArtifactError: the target exists, or the disk refused; the previous artifact is intact.
    """
    target = Path(path).resolve()
    with _explained(target):
        _recover(target)
        refuse_occupied(target, overwrite)
        staging = _sibling(target, "staging")
        staging.mkdir(parents=True)
    try:
        with _explained(target, only=_DISK):
            yield staging
        with _explained(target):
            write_json(staging / MARKER, provenance())
            sync_tree(staging)
            refuse_occupied(target, overwrite)
            _publish(staging, target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def write_json(path: str | Path, data: Any) -> None:
    """Write JSON atomically. NaN and infinity are refused: JSON has no such numbers."""
    try:
        text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
        text.encode("utf-8")
    except (TypeError, ValueError) as error:
        raise DataError(
            f"cannot write {path}: {error}; expected plain JSON values, None for NaN"
        ) from error
    write_text_atomic(path, text + "\n")


def read_json(path: str | Path) -> Any:
    """Read a JSON file, or say what is wrong with it."""
    path = Path(path)
    try:
        return _decoded(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FormatError(f"{path} does not exist; check the path") from None
    except OSError as error:
        raise FormatError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        size = path.stat().st_size
        raise FormatError(
            f"{path} ({size} bytes) is no valid JSON, perhaps cut short: {error}; restore the file"
        ) from error


def _decoded(text: str) -> Any:
    """JSON of which everything can be computed with and written again.

    Half a letter (a lone surrogate) can be read but not written, and a whole number of hundreds
    of digits is no float.
    """
    found = json.loads(text, parse_int=_whole_number)
    if "\\ud" in text.lower():
        json.dumps(found, ensure_ascii=False).encode("utf-8")
    return found


def _whole_number(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a whole number of {len(digits)} digits")
    return int(digits)


def write_text_atomic(path: str | Path, text: str) -> None:
    """Write a text file that is complete or absent; a previous one stays until then."""
    write_bytes_atomic(path, text.encode("utf-8"))


def write_bytes_atomic(path: str | Path, data: bytes) -> None:
    """Write a file that is complete or absent; a previous one stays until then.

    A link is followed to its file; a device or a pipe, such as /dev/stdout, is written through.

    Raises:
        ArtifactError: the disk refused, or the target is a folder or another thing that is no file.
    """
    target = Path(path)
    with _explained(target):
        if passes_through(target):
            with target.open("wb") as file:
                file.write(data)
            return
        target = Path(os.path.realpath(target))
        temporary = _sibling(target, "part")
        target.parent.mkdir(parents=True, exist_ok=True)
        _recover(target)
        try:
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
            sync(target.parent)
        finally:
            temporary.unlink(missing_ok=True)


def passes_through(target: Path) -> bool:
    """Whether what is written there goes through; False where a file is, or can be.

    Raises:
        ArtifactError: there is something else.
    """
    try:
        mode = target.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    if stat.S_ISCHR(mode) or stat.S_ISFIFO(mode):
        return True
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "neither a file nor a pipe"
        raise ArtifactError(f"cannot write {target}: it is {kind}; choose the name of a file")
    # A file that a shell holds open as a standard stream would be replaced behind its back.
    return target.absolute().is_relative_to("/dev") or target.absolute().is_relative_to("/proc")


@contextmanager
def _explained(target: Path, only: set[int] | None = None) -> Iterator[None]:
    """Turn what the operating system says into an error that tells what to do."""
    try:
        yield
    except OSError as error:
        if only is not None and error.errno not in only:
            raise
        raise ArtifactError(
            f"cannot write {target}: {refusal(error)}. Nothing was published; what was there "
            "is intact"
        ) from error


def refusal(error: OSError) -> str:
    """Why the operating system refused to write, and what to do."""
    return _REASONS.get(error.errno or 0, error.strerror or str(error))


def is_refusal(error: OSError) -> bool:
    """Whether it is the disk, or who may write there, that is the matter."""
    return error.errno in _REASONS


def refuse_occupied(target: Path, overwrite: bool) -> None:
    """A target is free when it is absent, empty, or ours and to be replaced."""
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    if not overwrite:
        raise ArtifactError(f"{target} already exists; choose another --out or pass --overwrite")
    if not (target / MARKER).is_file():
        raise ArtifactError(
            f"{target} has no {MARKER}, so gapless did not write it and will not replace it; "
            "choose another --out, or delete it yourself"
        )


def _publish(staging: Path, target: Path) -> None:
    """Put the staging folder in the target's place; on failure the previous one comes back."""
    previous = _sibling(target, "previous")
    replacing = (target / MARKER).is_file()
    if replacing:
        os.replace(target, previous)
    try:
        os.replace(staging, target)
    except OSError:
        if replacing:
            os.replace(previous, target)
        raise
    sync(target.parent)
    shutil.rmtree(previous, ignore_errors=True)


def _sibling(target: Path, kind: str) -> Path:
    """A hidden name beside the target that says which process owns it."""
    owner = f"{_host()}.{os.getpid()}.{secrets.token_hex(4)}"
    return target.with_name(f".{target.name}.{owner}.{kind}")


def _recover(target: Path) -> None:
    """Undo what a killed process left: restore a swapped-out artifact, delete half-written ones."""
    pattern = re.compile(
        rf"\.{re.escape(target.name)}\.{re.escape(_host())}\.(\d+)\.[0-9a-f]{{8}}\.(\w+)"
    )
    if not target.parent.is_dir():
        return
    for path in sorted(target.parent.iterdir()):
        match = pattern.fullmatch(path.name)
        if match is None or _alive(int(match[1])):
            continue
        if match[2] == "previous" and not target.exists():
            os.replace(path, target)
        elif path.is_file():
            path.unlink(missing_ok=True)
        else:
            shutil.rmtree(path, ignore_errors=True)


def _host() -> str:
    return re.sub(r"\W", "_", socket.gethostname())


def _alive(pid: int) -> bool:
    """Whether a process of this machine runs; when in doubt, it does."""
    if os.name != "posix":  # there, signal 0 would end the process
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def sync_tree(folder: Path) -> None:
    """Force everything in a folder to the disk."""
    for parent, _, files in os.walk(folder):
        for name in files:
            sync(Path(parent, name))
        sync(Path(parent))


def sync(path: Path) -> None:
    """Force a file or folder to the disk, where the platform can."""
    if os.name != "posix" and path.is_dir():
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
