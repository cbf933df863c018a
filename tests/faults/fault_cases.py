"""The fault suite: every case, what happens, and the tests that show it.

python tests/faults/fault_cases.py        prints the table of docs/reliability.md
"""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
CASES = {
    1: ("a pickle with a malicious reduce", "refused; nothing of it runs"),
    2: ("a joblib file with an object array", "refused"),
    3: ("an npz with object arrays", "refused, the key is named"),
    4: ("a .pt that needs full unpickling", "refused, without a fallback"),
    5: ("an MCAP cut short by a power cut", "what is whole is recovered, and counted"),
    6: ("a flipped bit in an MCAP chunk", "refused by its checksum"),
    7: ("Parquet, HDF5, npz, pt, onnx cut short", "refused with file, size and a hint"),
    8: ("empty files, episodes of no or one sample", "refused with the count"),
    9: ("NaN or Inf in a channel", "masked and counted; too many are refused"),
    10: (
        "time that repeats, runs backwards or starts anew",
        "sorted where that is certain, else split; told",
    ),
    11: ("dropped packets, gaps", "not interpolated; masked, windows split"),
    12: ("seconds, ms and µs", "declared or inferred with a check, else refused"),
    13: ("degrees for radians", "refused with what to type"),
    14: (
        "quaternions in another order, not of length 1, of another sign",
        "checked; refused where they disagree",
    ),
    15: ("joints in another order", "matched by name alone"),
    16: ("a 23-joint log of a 29-joint robot", "joints that are missing must be declared held"),
    17: ("no torque, command or gains", "what is possible is done, the rest is listed"),
    18: ("a stuck encoder, a saturated or clipped channel", "found, masked, listed"),
    19: ("two clocks", "the delay is measured and told; refused beyond a bound"),
    20: ("a log larger than memory", "streamed; memory is bounded"),
    21: ("hostile cells in a CSV", "never evaluated; refused"),
    22: ("paths and links out of a folder", "refused"),
    23: ("compressed bombs, absurd declared shapes", "refused before anything is allocated"),
    24: (
        "a LeRobot dataset with shards missing, of another version or rate",
        "all problems at once",
    ),
    25: ("MuJoCo's own reset after a NaN", "off; the environment has diverged"),
    26: ("NaN commands, which MuJoCo takes for zero", "refused before a step"),
    27: ("a rollout that freezes after a warning", "the frozen tail is never scored"),
    28: ("divergence", "said when, with the last states and what to try"),
    29: ("broken robot models", "refused with the cause, or resolved and listed"),
    30: ("numbers of different simulators", "not compared"),
    31: (
        "a GPU engine that disagrees",
        "the exported package is compared with ours on a CPU; GPUs were not tried",
    ),
    32: ("contacts that find no room", "the environment has diverged"),
    33: ("a fall during a replay", "survival is told beside the errors"),
    34: ("the same command twice", "the same bytes"),
    35: ("parameters that recordings cannot tell", "stay at their prior, and are called so"),
    36: ("a value at its bound, figures that no robot has", "flagged; refused"),
    37: ("a correction outside what it was trained on", "fades to nothing, counted"),
    38: ("a motion that both teaches and tests", "refused"),
    39: ("a correction that makes held-out motions worse", "not kept, and said"),
    40: (
        "a loss that is no number, an exploding std",
        "stopped before the update, the last good state kept",
    ),
    41: ("SIGKILL while a checkpoint is written", "the whole one before it is read"),
    42: ("SIGTERM and Ctrl-C", "stopped, and resumed to the same result"),
    43: ("resumed with other settings, seed or software", "refused, with what differs"),
    44: ("a full or read-only disk", "said; what was there is whole"),
    45: ("no GPU, or the wrong one", "nothing here asks for one: torch runs on the CPU"),
    46: (
        "an ONNX that is not whole, or disagrees with its contract",
        "refused before the first step",
    ),
    47: ("an ONNX that acts otherwise than what was trained", "nothing is written"),
    48: ("a policy that gives NaN or huge numbers", "damped within one step"),
    49: ("targets beyond what joints can do", "clamped and counted; half a second of it damps"),
    50: ("old, missing or damaged states, a late loop", "damped after three steps"),
    51: ("tilt, height, heat, voltage, motor faults", "damped by the sample that shows it"),
    52: (
        "a process that dies",
        "damped on the way out; the robot's own watchdog does after kill -9",
    ),
    53: ("another robot, a start far away", "refused; nothing is sent"),
}
"""Number -> the case, and what happens."""
ELSEWHERE = {
    31: "`make test-mjlab`",
    45: "no test: there is no such path",
}
"""Cases that no default test shows."""


def shown_cases() -> dict[int, list[str]]:
    """Number -> file and name of every test of it."""
    found: dict[int, list[str]] = {}
    for file in sorted(TESTS.rglob("test_*.py")):
        for number, name in re.findall(r"^def test_case_(\d\d)_(\w+)", file.read_text(), re.M):
            found.setdefault(int(number), []).append(f"{file.stem}: {name.replace('_', ' ')}")
    return found


def table() -> str:
    """The table of the page."""
    shown = shown_cases()
    rows = ["| # | case | what happens | tests |", "|---|---|---|---|"]
    for number, (case, happens) in CASES.items():
        own = "; ".join(shown.get(number, [])) or ELSEWHERE[number]
        rows.append(f"| {number} | {case} | {happens} | {own} |")
    return "\n".join(rows)


if __name__ == "__main__":
    print(table())
