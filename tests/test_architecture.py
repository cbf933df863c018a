"""The shape of the package: who imports whom, what stays light, what is never written."""

from __future__ import annotations

import ast
import inspect
import pickle
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import gapless

SOURCE = Path(__file__).parents[1] / "src" / "gapless"
ORDER = [
    "errors",
    "field_kinds",
    "verdict",
    "artifact",
    "toml_file",
    "software_versions",
    "printing",
    "progress",
    "processor_share",
    "tasks",
    "robots",
    "recordings",
    "worlds",
    "parameters",
    "motions",
    "measurement",
    "policies",
    "learning",
    "identification",
    "corrections",
    "evaluation",
    "comparison",
    "closing",
    "collection",
    "tracking",
    "imitation",
    "deployment",
    "exports",
    "scale",
    "reports",
    "cli",
]
"""A package imports only from packages before it; cli, which joins them, is last."""
PUBLIC = {**gapless._HOME, "__version__": "errors"}
"""Public name -> the package it comes from."""
MODULES = sorted(SOURCE.rglob("*.py"))


def imports(path: Path) -> list[str]:
    """Every module a file imports, inside functions too."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "gapless":
            found += [f"gapless.{PUBLIC.get(alias.name, alias.name)}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append(node.module)
    return found


def test_packages_import_only_upwards() -> None:
    """The order of data flow is the order of imports."""
    wrong = []
    for path in MODULES:
        package = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if package == "__init__":
            continue
        for module in imports(path):
            parts = module.split(".")
            if (
                parts[0] == "gapless"
                and len(parts) > 1
                and ORDER.index(parts[1]) > ORDER.index(package)
            ):
                wrong.append(f"{path.relative_to(SOURCE)} imports {module}")
    assert wrong == []


def test_every_package_has_its_place() -> None:
    """A new package must be put into the order."""
    packages = {p.relative_to(SOURCE).parts[0].removesuffix(".py") for p in MODULES}
    assert packages - {"__init__"} == set(ORDER)


@pytest.mark.parametrize("code", ["import gapless", "from gapless.cli.main import usage; usage()"])
def test_importing_gapless_loads_neither_torch_nor_mujoco(code: str) -> None:
    """`import gapless` and `gapless --help` stay light."""
    heavy = "torch", "mujoco", "jax", "pyarrow", "scipy"
    check = f"{code}; import sys; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("package", ["robots", "recordings"])
def test_reading_robots_and_recordings_needs_no_engine(package: str) -> None:
    """Data can be looked at without a simulator."""
    check = f"import gapless.{package}, sys; print('mujoco' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_every_public_name_resolves() -> None:
    """What `dir(gapless)` promises exists."""
    for name in dir(gapless):
        assert callable(getattr(gapless, name))
    with pytest.raises(AttributeError):
        _ = gapless.no_such_name


def test_a_name_means_one_thing() -> None:
    """No two modules, and no two classes, share a name."""
    modules = Counter(p.stem for p in MODULES if p.stem != "__init__")
    classes = Counter(
        node.name
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    )
    assert [n for found in (modules, classes) for n, times in found.items() if times > 1] == []


def test_packages_are_nouns_and_functions_verbs() -> None:
    """`gapless.measure` is a function with a signature, never a package; it can be pickled."""
    packages = {p.name for p in SOURCE.iterdir() if p.is_dir()}
    assert packages & set(gapless._HOME) == set()
    for verb in (
        "measure",
        "identify",
        "correct",
        "evaluate",
        "compare",
        "close",
        "export",
        "report",
    ):
        assert inspect.isfunction(pickle.loads(pickle.dumps(getattr(gapless, verb))))


FORBIDDEN = {
    r"\bpickle\.loads?\(": "unpickling runs code",
    r"allow_pickle\s*=\s*True": "object arrays run code",
    r"weights_only\s*=\s*False": "full checkpoints run code",
    r"(?<![\w.])eval\(": "eval runs code",
    r"(?<![\w.])exec\(": "exec runs code",
    r"yaml\.load\(": "yaml.load runs code",
    r"\bos\.system\(|shell\s*=\s*True": "shell",
    r"(?<![\w.])print\(": "library code does not print",
}


@pytest.mark.parametrize("pattern", FORBIDDEN)
def test_source_is_free_of(pattern: str) -> None:
    """Loading a file never runs code; a library does not print."""
    hits = [
        f"{path.relative_to(SOURCE)}:{n}"
        for path in MODULES
        for n, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(pattern, line)
    ]
    assert hits == [], FORBIDDEN[pattern]


def test_only_evaluation_sees_the_true_state_of_a_hidden_robot() -> None:
    """A method that learned from what no log shows would prove nothing."""
    module = "gapless.worlds.hidden.true_state"
    users = {str(p.relative_to(SOURCE).parts[0]) for p in MODULES if module in imports(p)}
    assert users <= {"evaluation"}
