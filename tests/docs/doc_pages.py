"""What the pages tell a reader to type: command lines, Python blocks, configuration files."""

from __future__ import annotations

import re
import shlex
import tomllib
from dataclasses import dataclass
from pathlib import Path
from string import Template

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROGRAMS = ("gapless", "python", "make", "pytest", "pip", "git", "cd")
VENV = ".venv/bin/"
INLINE = ("gapless ", "python benchmarks/", "python examples/", "make ", "pytest ")
SHELL = ("bash", "sh", "console")
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
COMMENT = re.compile(r"(^|\s)#.*$", re.MULTILINE)
HEREDOC = re.compile(r"^cat > (\S+) <<'?(\w+)'?\n(.*?)^\2$", re.MULTILINE | re.DOTALL)
ASSIGNED = re.compile(r"(\w+)=(\S.*)")


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        page: file, from the project's root.
        line: of its first line.
        language: after the fence.
        text: inside.
    """

    page: str
    line: int
    language: str
    text: str

    @property
    def place(self) -> str:
        """Page and line, as an editor understands it."""
        return f"{self.page}:{self.line}"


@dataclass(frozen=True)
class Command:
    """A command line.

    Attributes:
        place: page and line.
        words: as a shell hands them over.
        inline: from within a sentence, where required options may be left out.
    """

    place: str
    words: tuple[str, ...]
    inline: bool

    @property
    def page(self) -> str:
        """The page it is on."""
        return self.place.partition(":")[0]

    @property
    def elided(self) -> bool:
        """Something is left to the reader."""
        return any("..." in word or "…" in word for word in self.words)

    @property
    def mention(self) -> bool:
        """A sentence speaks of a verb, or of one of its options; it is nothing to type."""
        return self.inline and all(word.startswith("--") for word in self.words[2:])

    def __str__(self) -> str:
        return shlex.join(self.words)


def blocks(*languages: str) -> list[Block]:
    """Every fenced block in these languages."""
    return [block for page in PAGES for block in _blocks(page) if block.language in languages]


def commands() -> list[Command]:
    """Every command line of every page, each once."""
    found: dict[tuple[str, ...], Command] = {}
    for page in PAGES:
        for command in (*_fenced(page), *_inline(page)):
            known = found.setdefault(command.words, command)
            if known.inline and not command.inline:
                found[command.words] = command
    return list(found.values())


def documented_table(page: str, key: str, own: bool = False) -> str:
    """The TOML text that sets a key: the page's own, or else (unless `own`) that of another."""
    texts = [(block.page, block.text) for block in blocks("toml")]
    for block in blocks(*SHELL):
        texts += [(block.page, m[3]) for m in HEREDOC.finditer(block.text) if ".toml" in m[1]]
    with_key = [(where, text) for where, text in texts if key in tomllib.loads(text)]
    found = [one for one in with_key if one[0] == page] or ([] if own else with_key)
    return found[0][1] if found else ""


def _blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    name = page.relative_to(ROOT).as_posix()
    return [
        Block(name, text.count("\n", 0, match.start()) + 2, match[1], match[2])
        for match in FENCE.finditer(text)
    ]


def _fenced(page: Path) -> list[Command]:
    found = []
    for block in _blocks(page):
        if block.language in (*SHELL, ""):
            found += _lines(block)
    return found


def _lines(block: Block) -> list[Command]:
    """The lines of a shell block, continued ones joined and its own variables filled in."""
    text = COMMENT.sub("", HEREDOC.sub("", block.text).replace("\\\n", " "))
    variables: dict[str, str] = {}
    found = []
    for line in filter(None, map(str.strip, text.splitlines())):
        line = Template(line.removeprefix("$ ").removeprefix(VENV)).safe_substitute(variables)
        assigned = ASSIGNED.fullmatch(line)
        if assigned:
            variables[assigned[1]] = " ".join(shlex.split(assigned[2]))
        elif block.language in SHELL or line.split()[0] in PROGRAMS:
            found += [Command(block.place, tuple(shlex.split(p)), False) for p in line.split("&&")]
    return found


def _inline(page: Path) -> list[Command]:
    text = page.read_text(encoding="utf-8")
    blank = FENCE.sub(lambda match: "\n" * match[0].count("\n"), text)
    name = page.relative_to(ROOT).as_posix()
    found = []
    for match in SPAN.finditer(blank):
        span = " ".join(match[1].replace("\\|", "|").split()).removeprefix(VENV)
        if span.startswith(INLINE):
            place = f"{name}:{blank.count(chr(10), 0, match.start()) + 1}"
            found.append(Command(place, tuple(shlex.split(span)), True))
    return found
