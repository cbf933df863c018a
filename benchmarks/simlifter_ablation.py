"""SimLifter's ablation of the operator: payload input, rate, history, action duration, sensors.

Each row changes one setting of the operator that is trained by `gradient` on units 1 to 3, without
identification, and is judged on unit 5 and held-out motions: replay error of full replays, rad.
Trainings are a tenth as long as usual, all alike.

    python benchmarks/simlifter_ablation.py --data out/simlifter --json out/ablation.json
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from simlifter import bench, by_payload, corrected

from gapless.artifact import write_json

SHORT = {
    "members": 1,
    "trainer_settings": {"samples": 3000, "iterations": 80, "horizons": (0.3, 0.6)},
}
ROWS: dict[str, dict[str, Any]] = {
    "operator": {},
    "without payload": {"model_settings": {"payload": False}},
    "100 Hz": {"rate": 100},
    "history 2": {"model_settings": {"history": 2}},
    "history 6": {"model_settings": {"history": 6}},
    "history 8": {"model_settings": {"history": 8}},
    "action held 3 steps": {"hold": 3},
    "action held 5 steps": {"hold": 5},
    "sensors are states": {"model_settings": {"absolute": True}},
    "trunk sees the target": {"model_settings": {"trunk_inputs": ("target",)}},
    "all joints in one network": {"model_settings": {"local": False}},
}
"""Row -> what differs from the defaults: payload seen, 50 Hz, history 4, held for one step."""


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("out/simlifter"))
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--rows", nargs="*", default=list(ROWS))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    found: dict[str, list[dict[str, float]]] = {}
    for name in args.rows:
        for seed in range(args.seeds):
            settings = dict(ROWS[name])
            rate = settings.pop("rate", 50)
            data = bench(args.data.with_name(f"{args.data.name}_{rate}hz"), args.hours, rate)
            world = corrected(data, None, seed, model="operator", **SHORT, **settings)
            found.setdefault(name, []).append(by_payload(data, world))
            Console(stderr=True).print(name, found[name][-1])
            if args.json:  # a stopped run keeps the rows it has
                write_json(args.json, found)
    Console(width=120).print(table(found))


def table(found: dict[str, list[dict[str, float]]]) -> Table:
    """Means over seeds."""
    loads = list(next(iter(found.values()))[0])
    shown = Table(title="operator by gradient, unit 5, held-out motions: replay error, rad")
    for column in ("setting", *loads, "mean"):
        shown.add_column(column)
    for name, seeds in found.items():
        means = [sum(s[load] for s in seeds) / len(seeds) for load in loads]
        shown.add_row(name, *(f"{m:.4f}" for m in (*means, sum(means) / len(means))))
    return shown


if __name__ == "__main__":
    main()
