"""Files and folders as bytes, for machines that do not share a file system with this one."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from gapless.errors import ArtifactError

MOST_BESIDE = 64 * 2**20
"""Bytes that may lie beside a file which is moved with its neighbours."""


def stamp(path: Path) -> str:
    """Names, sizes and times of what is at a path: equal where two machines see the same files.

    Returns:
        A short hash; "" where there is nothing.
    """
    if not path.exists():
        return ""
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    found = hashlib.sha256()
    for file in files:
        facts = file.stat()
        found.update(f"{file.relative_to(path)} {facts.st_size} {facts.st_mtime_ns}\n".encode())
    return found.hexdigest()[:16]


def pack(path: Path, beside: bool = False) -> bytes:
    """A file or folder as an archive.

    Args:
        path: of it.
        beside: a file is packed with the files of its folder, to which it may refer.
    """
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        if beside and path.is_file():
            for file in _neighbours(path):
                archive.add(file, f"{path.parent.name}/{file.name}")
        else:
            archive.add(path, path.name)
    return data.getvalue()


def _neighbours(path: Path) -> list[Path]:
    files = sorted(p for p in path.parent.iterdir() if p.is_file())
    if sum(p.stat().st_size for p in files) > MOST_BESIDE:
        raise ArtifactError(
            f"{path} must be moved to another machine with the files beside it, which are more "
            f"than {MOST_BESIDE >> 20} MB; put it and what it needs into a folder of its own"
        )
    return files


def unpack(data: bytes, folder: Path, path: Path) -> Path:
    """Write an archive into a folder.

    Args:
        data: of `pack`.
        folder: where.
        path: that was packed.

    Returns:
        Where the same is now.
    """
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        archive.extractall(folder, filter="data")
    whole = folder / path.name
    return whole if whole.exists() else folder / path.parent.name / path.name


def publish(data: bytes, out: Path) -> None:
    """Put what another machine made at its place, whole or not at all."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as folder:
        made = unpack(data, Path(folder), out)
        if out.is_dir():
            os.replace(out, Path(folder, ".previous"))
        os.replace(made, out)
