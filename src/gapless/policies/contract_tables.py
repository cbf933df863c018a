"""A contract as tables: what goes in, column by column, and what comes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rich.console import Group
from rich.table import Table
from rich.text import Text

from gapless.policies.terms import KINDS, seen_joints, term_width

if TYPE_CHECKING:
    from gapless.policies.policy import Policy
    from gapless.policies.policy_contract import Block, PolicyContract, Term


def contract_tables(policy: Policy) -> Group:
    """Facts, the observation, the joints, notes."""
    notes = [Text(f"note: {note}", "dim") for note in policy.contract.notes]
    tables = facts_table(policy), observation_table(policy.contract), joints_table(policy.contract)
    return Group(*tables, *notes)


def facts_table(policy: Policy) -> Table:
    """What it is, in a few rows."""
    contract, ports = policy.contract, policy.network.ports
    table = Table(title=Text(f"policy {contract.name}"), title_justify="left", show_header=False)
    step = contract.physics_step
    rows = {
        "network": str(policy.network.path),
        "contract": str(policy.source),
        "robot": contract.robot or "not said",
        "rate": f"{contract.rate:g} Hz"
        + (f", trained with physics steps of {1000 * step:g} ms" if step else ""),
        "observation": f"{contract.width} numbers into {' and '.join(ports.seen)}",
        **({"normaliser": "a mean and a deviation of each number"} if contract.mean else {}),
        "action": f"{len(contract.joints)} numbers from {ports.action!r}: {_meaning(contract)}",
        "memory": ", ".join(f"{a} -> {b}" for a, b in ports.states.items()) or "none",
        "commands": "; ".join(
            f"{name} ({', '.join(c.names)}) from {_row(c.lower)} to {_row(c.upper)}"
            for name, c in contract.commands.items()
        )
        or "none",
        "follows": _followed(policy),
    }
    for name, value in rows.items():
        table.add_row(name, Text(value))
    return table


def _meaning(contract: PolicyContract) -> str:
    base = {
        "offset": "default pose + scale x output",
        "absolute": "scale x output",
        "reference": "reference + scale x output",
        "increment": "last target + scale x output",
    }[contract.action.meaning]
    return f"{base}, scale {_row(sorted(set(contract.action.scale)))}"


def _followed(policy: Policy) -> str:
    contract = policy.contract
    if contract.motion_seconds:
        return f"a motion of {contract.motion_seconds:.3g} s"
    return "the motion in the network" if contract.ports.motion else contract.reference or "nothing"


def observation_table(contract: PolicyContract) -> Table:
    """The network's input from its first column to its last."""
    table = Table(title="observation", title_justify="left")
    for column in ("columns", "term", "what", "unit", "scale", "clip", "frames"):
        table.add_column(column)
    first = 0
    for block in contract.blocks:
        for name in block.terms if block.by == "term" else (block.terms,):
            names = (name,) if isinstance(name, str) else name
            width = block.frames * sum(term_width(contract.terms[n], contract) for n in names)
            for k, one in enumerate(names):
                term = contract.terms[one]
                kind = KINDS[term.kind]
                place = f"{first} to {first + width - 1}" if not k else "with it"
                clip = "" if term.clip is None else _row(term.clip)
                few = len(term.scale) <= 4 and len(set(term.scale)) > 1
                scale = _row(term.scale if few else sorted(set(term.scale)))
                cells = Text(one), Text(_what(term)), kind.unit, scale, clip, _frames(block)
                table.add_row(place, *cells)
            first += width
    return table


def _what(term: Term) -> str:
    """Its kind, and what was said of it besides."""
    said = {"columns": term.columns, "ago": term.ago, **term.options}
    told = {k: v for k, v in said.items() if v and k != "value"}
    more = [f"{k} {_row(np.ravel(v)) if not isinstance(v, str) else v}" for k, v in told.items()]
    return KINDS[term.kind].what + (f" ({'; '.join(more)})" if more else "")


def _frames(block: Block) -> str:
    if block.frames == 1 and block.present:
        return "now"
    parts = [f"{block.frames}", f"newest {block.newest}", f"by {block.by}"]
    parts += [] if block.present else ["without the present"]
    return ", ".join([*parts, "zeros at first" if block.fill == "zeros" else "first repeated"])


def joints_table(contract: PolicyContract) -> Table:
    """The joints in the order of the actions, and those that are only seen or held."""
    table = Table(title="joints, in the order of the actions", title_justify="left")
    for column in ("", "joint", "default, rad", "kp", "kd", "scale, rad"):
        table.add_column(column)
    scale = contract.action.scale * (len(contract.joints) if len(contract.action.scale) == 1 else 1)
    for i, joint in enumerate(contract.joints):
        figures = contract.default[joint], contract.kp[i], contract.kd[i], scale[i]
        table.add_row(str(i), Text(joint), *(f"{v:.4g}" for v in figures))
    for joint, angle in contract.hold.items():
        table.add_row("held", Text(joint), f"{angle:.4g}", "", "", "")
    others = {j for t in contract.terms.values() for j in seen_joints(t, contract)}
    for joint in sorted(others - set(contract.joints) - set(contract.hold)):
        table.add_row("seen", Text(joint), f"{contract.default.get(joint, 0.0):.4g}", "", "", "")
    return table


def _row(values: object) -> str:
    return ", ".join(f"{v:g}" for v in values)  # type: ignore[attr-defined]
