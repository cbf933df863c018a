"""From recordings under a policy to its evaluation in the run: page and viewer included."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gapless import Policy, Run, Scenario, evaluate
from gapless.cli.main import main
from gapless.reports.viewer_sources import RunSource
from still_policy import write_policy

SMALL = (
    *("--set", 'parameters=["kp@all"]', "windows=4", "members=1", "physics_step=0.005"),
    'trainer_settings={"horizons": [0.3], "iterations": 2, "samples": 100}',
)
COMMANDS = [f"{0.1 * k:.1f},0,0" for k in range(8)]


@pytest.mark.slow
def test_a_policy_is_evaluated_in_the_simulators_of_a_run(tmp_path: Path) -> None:
    """Recorded on a hidden robot, closed, evaluated; the run keeps it, Python says the same."""
    policy, data, run = write_policy(tmp_path / "p"), tmp_path / "data", tmp_path / "run"
    recorded = ["--world", "mujoco:hard", "--episodes", "8", "--seconds", "2.5", "--push", "0.5"]
    recorded += ["--push-every", "1", "--command", *COMMANDS, "--record", str(data)]
    assert main(["evaluate", str(policy), *recorded]) == 0
    assert (
        main(["close", str(data), "--robot", "go2", "--mount", "free", "--out", str(run), *SMALL])
        == 0
    )
    asked = ["--episodes", "3", "--seconds", "2.5", "--push", "2", "--sensitivity", "1"]
    opened = Run.open(run)
    if opened.calibration is None:
        asked = asked[:-2]
    assert main(["evaluate", str(policy), "--run", str(run), *asked]) == 0
    kept = json.loads(next((run / "evaluations").glob("*.json")).read_text())
    scenario = Scenario(episodes=3, seconds=2.5, push=2.0)
    found = evaluate(Policy.load(policy), opened.worlds(), scenario)
    assert kept["worlds"] == json.loads(json.dumps(found.to_dict()))["worlds"]
    assert main(["report", str(run)]) == 0
    assert kept["answer"].split(";")[0] in (run / "report.html").read_text()
    assert "worst episode" in RunSource(opened).names[-1]
