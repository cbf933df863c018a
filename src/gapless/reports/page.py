"""The page: every section of a run or a policy loop in one HTML file that needs nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gapless.artifact import write_text_atomic
from gapless.closing import Run
from gapless.closing.run import FACTS as RUN_FACTS
from gapless.errors import ArtifactError, GaplessError, MissingExtraError
from gapless.progress import ProgressReporter, Watch
from gapless.reports.sections import (
    attribution_section,
    calibration_section,
    checks_section,
    comparison_section,
    correction_section,
    curves_section,
    gap_section,
    loop_curves_section,
    loop_provenance_section,
    loop_replay_section,
    loop_rounds_section,
    loop_summary_section,
    policies_section,
    provenance_section,
    replay_section,
    summary_section,
)
from gapless.tracking.loop_folder import FACTS as LOOP_FACTS
from gapless.tracking.loop_folder import LoopFolder

Gather = Callable[[Any], dict[str, Any] | None]
SECTIONS: dict[str, tuple[str, Gather]] = {
    "summary": ("Summary", summary_section.data),
    "gap": ("The gap", gap_section.data),
    "curves": ("Curves", curves_section.data),
    "replay": ("Replay in 3D", replay_section.data),
    "attribution": ("Likely causes", attribution_section.data),
    "calibration": ("Identified parameters", calibration_section.data),
    "correction": ("Learned correction", correction_section.data),
    "comparison": ("Methods compared", comparison_section.data),
    "policies": ("Policies", policies_section.data),
    "checks": ("Data", checks_section.data),
    "provenance": ("Provenance", provenance_section.data),
}
"""Key (its template's name) -> title, and what gathers its data; None where the run has none.

`figures` in the data are plotly figures by the name of the element that shows them, `scripts`
are JSON values for the page's own program.
"""

LOOP_SECTIONS: dict[str, tuple[str, Gather]] = {
    "loop_summary": ("Policies", loop_summary_section.data),
    "loop_curves": ("Curves", loop_curves_section.data),
    "loop_replay": ("Replay in 3D", loop_replay_section.data),
    "loop_rounds": ("Rounds", loop_rounds_section.data),
    "provenance": ("Provenance", loop_provenance_section.data),
}
"""The same of a policy loop."""

FILE = "report.html"


def report(
    run: Run | LoopFolder | str | Path,
    out: str | Path | None = None,
    watch: Watch | None = None,
) -> Path:
    """Write the report of a run, also of one that is not finished, or of a finished policy loop.

    Args:
        run: the run, the loop, or the folder of one.
        out: the file; report.html in that folder by default.
        watch: told the section that is being made.

    Returns:
        The file.
    """
    require_extra()
    shown = _opened(run) if isinstance(run, (str, Path)) else run
    path = Path(out) if out else shown.path / FILE
    write_text_atomic(path, page(shown, watch))
    return path


def _opened(folder: str | Path) -> Run | LoopFolder:
    if LoopFolder.is_at(folder):
        return LoopFolder.open(folder)
    if not (Path(folder) / RUN_FACTS).is_file():
        raise ArtifactError(
            f"{folder} is neither a run nor a loop: it has no {RUN_FACTS} and no {LOOP_FACTS}; "
            "give the folder of gapless close --out RUN, or of gapless loop --out LOOP"
        )
    return Run.open(folder)


def require_extra() -> None:
    """Say which extra is missing."""
    if missing := [name for name in ("plotly", "jinja2", "viser") if find_spec(name) is None]:
        raise MissingExtraError(", ".join(missing), "report", "a report")


def page(run: Run | LoopFolder, watch: Watch | None = None) -> str:
    """The HTML text."""
    if isinstance(run, LoopFolder):
        return render_page(f"gapless: {run.motion}", LOOP_SECTIONS, run, watch)
    return render_page(f"gapless: {run.fact('robot', 'name')}", SECTIONS, run, watch)


def render_page(
    title: str, sections: dict[str, tuple[str, Gather]], run: Any, watch: Watch | None = None
) -> str:
    """A page of these sections about a run, a loop or a fleet."""
    from plotly.offline import get_plotlyjs

    shown, data, reporter = [], {}, ProgressReporter(watch, "", len(sections))
    for key, (heading, gather) in sections.items():
        reporter.stage = heading
        reporter.tell(len(shown))
        found, html = _shown(key, gather, run)
        shown.append({"key": key, "title": heading, "html": html})
        data[key] = {"figures": found.get("figures", {}), **found.get("scripts", {})}
    return _rendered(
        "page",
        {
            "title": title,
            "sections": shown,
            "style": _text("page.css"),
            "program": _text("page.js"),
            "plotly": get_plotlyjs(),
            "data": in_script(data),
        },
    )


def _shown(key: str, gather: Gather, run: Any) -> tuple[dict[str, Any], str]:
    """A section's data and HTML; one that is missing or damaged says so, the rest is shown."""
    from jinja2 import TemplateError

    try:
        found = gather(run) or {"absent": "not there"}
        in_script([found.get("figures", {}), found.get("scripts", {})])
        return found, _rendered(key, found)
    except GaplessError as error:
        absent = {"absent": str(error)}
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
        TemplateError,
    ) as e:
        # Whoever edited a file of the run sees what is wrong with it, and all other sections.
        absent = {"absent": f"cannot be shown, a file of it is damaged ({type(e).__name__}: {e})"}
    return absent, _rendered(key, absent)


def _rendered(key: str, data: dict[str, Any]) -> str:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(_text),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(f"{key}.html").render(data)


def _text(name: str) -> str:
    return resources.files("gapless.reports").joinpath("templates", name).read_text("utf-8")


def in_script(data: Any) -> str:
    """JSON that cannot end the script element it stands in, whatever names a log has."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
