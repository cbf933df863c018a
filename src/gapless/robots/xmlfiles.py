"""The XML of a model and every file it names, read once and only from its own folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree

from gapless.errors import FormatError, ModelError
from gapless.robots.missing_files import DROPPABLE
from gapless.robots.xml_size import refuse_huge

_MAX_BYTES = 256 * 2**20
_MAX_INCLUDES = 100


@dataclass
class Files:
    """An XML text, the XML files it includes, and its meshes and textures, by the name it uses.

    Attributes:
        xml: the text.
        includes: XML files that it includes.
        assets: meshes, height fields and textures.
        missing: element and name of those that do not exist.
    """

    xml: str
    includes: dict[str, bytes] = field(default_factory=dict)
    assets: dict[str, bytes] = field(default_factory=dict)
    missing: tuple[tuple[str, str], ...] = ()


def parse(path: Path) -> ElementTree.Element:
    """Parse an XML file, or say where it is broken."""
    try:
        return ElementTree.fromstring(read_file(path))
    except ElementTree.ParseError as error:
        raise FormatError(f"{path} is not well-formed XML: {error}") from error


def read_file(path: Path) -> bytes:
    """Read a whole file of sane size."""
    if not path.is_file():
        raise ModelError(f"the model names a file that does not exist: {path}")
    if path.stat().st_size > _MAX_BYTES:
        raise ModelError(f"{path} has {path.stat().st_size} bytes; the limit is {_MAX_BYTES}")
    return path.read_bytes()


def inside(folder: Path, name: str, base: Path) -> Path:
    """The path a model means by `name`, refused where it leaves the folder."""
    target = (base / name).resolve()
    if not target.is_relative_to(folder.resolve()):
        raise ModelError(
            f"the model names {name!r}, which is outside its folder {folder}. Move the file into "
            "the folder, or pass folder= with a folder that holds them all"
        )
    return target


def collect(path: Path, folder: Path | None = None) -> Files:
    """Read an MJCF file with all it includes and names.

    Args:
        path: the XML file.
        folder: no file may lie outside it; None is the folder of `path`.
    """
    if not path.is_file():
        raise ModelError(f"there is no model at {path}")
    folder = folder or path.parent
    root = parse(path)
    if root.tag != "mujoco":
        raise FormatError(f"{path} is not MJCF: its first element is <{root.tag}>, not <mujoco>")
    files = Files(_text(path))
    trees = [root, *_includes(root, path.parent, folder, files)]
    folders = _asset_folders(trees)
    for tree in trees:
        for tag, name in _named_files(tree):
            subfolder = folders["texturedir" if tag == "texture" else "meshdir"]
            source = inside(folder, name, path.parent / subfolder)
            if tag in DROPPABLE and not source.is_file():
                files.missing = (*files.missing, (tag, name))
                continue
            files.assets[str(PurePosixPath(subfolder) / name)] = read_file(source)
    refuse_huge(root, files.includes, files.assets)
    return files


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"{path} is not UTF-8 text ({error.reason}); save it as UTF-8") from None


def _includes(
    tree: ElementTree.Element, base: Path, folder: Path, files: Files
) -> Iterator[ElementTree.Element]:
    for element in tree.iter("include"):
        name = element.get("file", "")
        source = inside(folder, name, base)
        if name in files.includes or len(files.includes) >= _MAX_INCLUDES:
            raise ModelError(f"{name!r} is included twice, or there are too many includes")
        files.includes[name] = read_file(source)
        child = parse(source)
        yield child
        yield from _includes(child, base, folder, files)


def _asset_folders(trees: list[ElementTree.Element]) -> dict[str, str]:
    folders = {"meshdir": "", "texturedir": ""}
    for tree in trees:
        for compiler in tree.iter("compiler"):
            shared = compiler.get("assetdir")
            for key in folders:
                folders[key] = compiler.get(key) or shared or folders[key]
    return folders


def _named_files(tree: ElementTree.Element) -> Iterator[tuple[str, str]]:
    for element in tree.iter():
        for key, value in element.attrib.items():
            if key.startswith("file") and element.tag != "include" and value:
                yield element.tag, value
