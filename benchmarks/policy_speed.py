"""Policies for many environments at once: one graph for all against one by one.

Public networks are often exported for a single observation. gapless makes the same graph take many;
this prints how much faster that is than a loop over environments, in the same run.

    python benchmarks/policy_speed.py POLICY --environments 64 256
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from gapless import Policy
from gapless.policies.onnx_network import OnnxNetwork

ROUNDS = 20


def seconds(network: OnnxNetwork, environments: int) -> float:
    """Of one call, the fastest of some."""
    width = network.width or 1
    drawn = np.random.default_rng(0).normal(size=(environments, width))
    states, step = network.blank(environments), np.zeros(environments, int)
    network.run(drawn, states, step)  # the first call makes the graph
    spent = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        network.run(drawn, states, step)
        spent.append(time.perf_counter() - began)
    return min(spent)


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("policy", type=Path, nargs="+")
    parser.add_argument("--environments", type=int, nargs="+", default=[64, 256])
    args = parser.parse_args()
    print("policy                          environments  together, us  one by one, us  ratio")
    for path in args.policy:
        policy = Policy.load(path)
        one = seconds(policy.network, 1)
        for environments in args.environments:
            together = seconds(policy.network, environments)
            print(
                f"{policy.name:30.30s}  {environments:12d}  {1e6 * together:12.0f}  "
                f"{1e6 * one * environments:14.0f}  {one * environments / together:5.1f}"
            )


if __name__ == "__main__":
    main()
