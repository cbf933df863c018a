"""Every command line in README and docs is one that can be typed."""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import runpy
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from doc_pages import PROGRAMS, ROOT, Command, commands
from doc_running import Parsed, filled_in, parsed, stop_when_parsed, why_not_run

from gapless.cli.main import VERBS, main


def of(*programs: str) -> list[Command]:
    """The commands of these programs."""
    return [c for c in commands() if c.words[0] in programs]


def show(command: Command) -> str:
    """A name for the test."""
    return f"{command.place} {command}"[:120]


def test_pages_have_commands() -> None:
    """The reader of the pages finds what is there, and no program that nothing here checks."""
    assert len(of("gapless")) > 30
    strange = [show(c) for c in commands() if c.words[0] not in PROGRAMS]
    assert not strange


@pytest.mark.parametrize("line", ["mesure data/", "measure data/ --horizn 1", "check", "import x"])
def test_a_wrong_line_is_caught(line: str) -> None:
    """A verb or an option that does not exist, and what is required and missing."""
    with pytest.raises(pytest.fail.Exception, match="is not understood"):
        parsed(line.split())


@pytest.mark.parametrize("command", of("gapless"), ids=show)
def test_gapless_understands_it(command: Command) -> None:
    """The command's own parser accepts the line, or it has the options that a sentence names."""
    words = filled_in(command)
    assert words[0] in VERBS or words[0].startswith("--")
    if why_not_run(command) == "a sentence speaks of it":
        shown = _help(words[0])
        assert [option for option in command.words[2:] if option not in shown] == []
    elif not command.elided:
        parsed(words)


def _help(verb: str) -> str:
    """The text of `gapless VERB --help`."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text), pytest.raises(SystemExit):
        main([verb, "--help"])
    return text.getvalue()


@pytest.mark.parametrize("command", of("python"), ids=show)
def test_scripts_understand_it(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """The script exists, and its own parser accepts the options."""
    script, *options = command.words[1:]
    if Path(script).name == "use.py":  # of a run; tests/close runs it
        return
    assert (ROOT / script).is_file()
    if script.startswith("examples/"):
        assert options == []
        return
    stop_when_parsed(monkeypatch)
    real = argparse.ArgumentParser.parse_args

    def parse_args(self: argparse.ArgumentParser, *args: Any, **kwargs: Any) -> None:
        raise Parsed(real(self, *args, **kwargs))

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse_args)
    monkeypatch.setattr(sys, "argv", [script, *options])
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    with pytest.raises(Parsed):
        runpy.run_path(str(ROOT / script), run_name="__main__")


@pytest.mark.parametrize("command", of("make"), ids=show)
def test_make_has_the_target(command: Command) -> None:
    """The Makefile defines it."""
    rules = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    targets = [word for word in command.words[1:] if "=" not in word]
    assert set(targets) <= set(rules)


@pytest.mark.parametrize("command", of("pytest"), ids=show)
def test_pytest_has_the_tests(command: Command) -> None:
    """The files are there."""
    paths = [word for word in command.words[1:] if word.startswith("tests")]
    assert paths
    assert [path for path in paths if not (ROOT / path.partition("::")[0]).exists()] == []


@pytest.mark.parametrize("command", of("pip"), ids=show)
def test_pip_installs_what_exists(command: Command) -> None:
    """The extras are the project's."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    asked = re.findall(r"\[([\w,]+)\]", str(command))
    assert {name for names in asked for name in names.split(",")} <= set(extras)
