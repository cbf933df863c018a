"""What a contract might have meant: the usual mistakes, each tried by itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gapless.policies import Policy, PolicyContract
from gapless.policies.policy_contract import Block


def contract_variants(policy: Policy) -> Iterator[tuple[str, Policy]]:
    """Name of a mistake -> the policy without it, if it was made."""
    for name, contract in _variants(policy.contract):
        if contract != policy.contract:
            yield name, Policy(contract, policy.network, policy.source)


def _variants(contract: PolicyContract) -> Iterator[tuple[str, PolicyContract]]:
    action, blocks = contract.action, contract.blocks
    for factor in (0.5, 2.0):
        scale = tuple(factor * s for s in action.scale)
        yield f"action scale x {factor:g}", replace(contract, action=replace(action, scale=scale))
    if any(b.frames > 1 for b in blocks):
        yield "history in the other direction", _with(contract, [_turned(b) for b in blocks])
        yield "history filled the other way", _with(contract, [_refilled(b) for b in blocks])
        yield "history by frame instead of by term", _with(contract, _rearranged(blocks))
    for name, term in contract.terms.items():
        if term.kind in ("base_ang_vel", "joint_vel") and term.scale != (1.0,):
            plain = {**contract.terms, name: replace(term, scale=(1.0,))}
            yield f"{name} without its scale", replace(contract, terms=plain)


def _with(contract: PolicyContract, blocks: list[Block]) -> PolicyContract:
    return replace(contract, blocks=tuple(blocks))


def _turned(block: Block) -> Block:
    other = "first" if block.newest == "last" else "last"
    return replace(block, newest=other) if block.frames > 1 else block


def _refilled(block: Block) -> Block:
    other = "zeros" if block.fill == "first" else "first"
    return replace(block, fill=other) if block.frames > 1 else block


def _rearranged(blocks: tuple[Block, ...]) -> list[Block]:
    """Neighbours with the same history as one block, laid out the other way."""
    found: list[Block] = []
    for block in blocks:
        before = found[-1] if found else None
        if (
            before is not None
            and block.frames > 1
            and replace(before, terms=()) == replace(block, terms=())
        ):
            found[-1] = replace(before, terms=(*before.terms, *block.terms))
        else:
            found.append(block)
    flipped = {"term": "frame", "frame": "term"}
    return [replace(b, by=flipped[b.by]) if b.frames > 1 and len(b.terms) > 1 else b for b in found]
