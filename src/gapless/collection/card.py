"""The card of a collection: what is in it, in words and in one picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from gapless.artifact import write_text_atomic
from gapless.collection.collection import CARD, PICTURE, Collection
from gapless.collection.picture import Amounts, draw
from gapless.recordings.conditions import Conditions
from gapless.recordings.dataset import Dataset
from gapless.robots import Robot

NAMED = 20
"""Diverged sequences that the card names; collection.json names all."""


def write_card(collection: Collection, robot: Robot, command: str = "") -> None:
    """Write the picture, then README.md.

    Args:
        collection: whose datasets are whole.
        robot: the nominal robot.
        command: what the user typed.
    """
    datasets = [Dataset.open(collection.path / stored.name) for stored in collection.datasets]
    amounts = _amounts(datasets)
    draw(datasets, robot, amounts, collection.path / PICTURE, collection.plan["seed"])
    text = "\n".join(_lines(collection, robot, amounts, command))
    write_text_atomic(collection.path / CARD, text)


def _amounts(datasets: Sequence[Dataset]) -> Amounts:
    """Robot hours by payload of a link and by unit."""
    hours = [
        (_load(e.conditions), e.conditions.unit or "?", e.frames / data.rate / 3600)
        for data in datasets
        for e in data.episodes
    ]
    return Amounts(
        payload=_sums((f"{kg:g} kg", h) for kg, _, h in sorted(hours)),
        unit=_sums((f"unit {unit}", h) for unit, h in sorted((u, h) for _, u, h in hours)),
    )


def _load(conditions: Conditions) -> float:
    return max((load.mass for load in (conditions.payloads or {}).values()), default=0.0)


def _sums(pairs: Iterable[tuple[str, float]]) -> dict[str, float]:
    return {key: sum(h for _, h in group) for key, group in groupby(pairs, lambda pair: pair[0])}


def _lines(collection: Collection, robot: Robot, amounts: Amounts, command: str) -> Iterable[str]:
    plan = collection.plan
    total = sum(stored.sequences for stored in collection.datasets)
    yield f"# {robot.name}: {total} paired sequences, {collection.hours:.2f} h"
    yield ""
    yield (
        f"Hidden robots (`{plan['hidden']}`, engine {plan['engine']}) and the nominal simulated "
        "replica played the same commands from the same start, under the same known payload. "
        "`q`, `dq`, `torque` (and `temperature`, where heat is among the effects) are the robot's; "
        "`sim_q`, `sim_dq` and `sim_torque` are the replica's, on the same clock."
    )
    yield f"\n![joint ranges and hours]({PICTURE})\n"
    yield from _datasets(collection)
    yield from _table("| payload on each link | hours |", amounts.payload)
    yield from _table("| unit | hours |", amounts.unit)
    yield from _motions(collection)
    yield from _design(collection, robot)
    yield from _left_out(collection)
    yield from _how_to(collection, command)


def _datasets(collection: Collection) -> Iterable[str]:
    yield "| dataset | sequences | hours | frames | MB |\n|---|---|---|---|---|"
    for s in collection.datasets:
        size = f"{s.bytes / 1e6:.1f}"
        yield f"| `{s.name}` | {s.sequences} | {s.hours:.3f} | {s.frames} | {size} |"
    if any(stored.split == "held_out" for stored in collection.datasets):
        yield "\n`held_out` is of units that are never to be used for fitting."


def _table(header: str, hours: dict[str, float]) -> Iterable[str]:
    yield f"\n{header}\n|---|---|"
    yield from (f"| {key} | {value:.3f} |" for key, value in hours.items())


def _motions(collection: Collection) -> Iterable[str]:
    yield "\n| motions | number |\n|---|---|"
    yield from (f"| {level} | {count} |" for level, count in collection.motions.items())


def _design(collection: Collection, robot: Robot) -> Iterable[str]:
    plan = collection.plan
    loads = ", ".join(f"{kg:g}" for kg in plan["payloads"])
    rates = ", ".join(str(rate) for rate in plan["rates"])
    links = ", ".join(plan["payload_links"]) or "no link"
    if plan.get("policy"):
        logged = "logged" if plan["base"] else "not logged"
        yield f"\n- commands were decided by the policy `{plan['policy']}`; the base is {logged}"
    yield f"\n- joints: {', '.join(robot.joints.names)}"
    yield f"- mount: {robot.mount}; welded: {', '.join(robot.locked) or 'none'}"
    yield f"- payloads: {loads} kg on each of {links}"
    yield f"- rates: {rates} Hz; repeats: {plan['repeats']}; seed: {plan['seed']}"
    effects = plan["only"]
    yield f"- effects: {'all of the preset' if effects is None else ', '.join(effects) or 'none'}"
    yield "- motor temperature at the start: drawn for each sequence, 25 to 60 °C"


def _left_out(collection: Collection) -> Iterable[str]:
    lost = collection.left_out
    yield f"- sequences left out because they diverged or fell: {len(lost)}"
    for entry in lost[:NAMED]:
        yield f"  - `{entry['sequence']}`: {entry['what']} at {entry['seconds']} s"
    if len(lost) > NAMED:
        yield f"  - and {len(lost) - NAMED} more, named in collection.json"


def _how_to(collection: Collection, command: str) -> Iterable[str]:
    first = collection.datasets[0]
    if command:
        yield f"\nMade with:\n\n```\n{command}\n```"
    yield (
        "\nTo load it (each dataset is also a LeRobot v3.0 dataset):\n\n```python\n"
        "from gapless.collection import Collection\n\n"
        f'data = Collection.open(".").dataset("{first.split}", {first.rate})\n'
        'gap = data[0].q - data[0].channels["sim_q"]\n```\n'
    )
