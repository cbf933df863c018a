"""A learned correction in torch: what to add to joint targets or torques, for many environments.

It reads correction.json and correction.safetensors beside it, and needs torch and safetensors.

    correction = FrozenCorrection.load(folder, environments=4096, device="cuda:0")
    correction.reset(environment_ids)           # of episodes that begin anew
    change = correction(signals)                # (environments, joints), once a control step

`signals` holds q, dq and target, (environments, joints) in the order of `correction.joints`, and
what else `correction.signals` names: height (1), lin_vel, ang_vel and gravity (3 each) of the base
in its own frame, payload (1), kg.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

Signals = dict[str, torch.Tensor]
FILE, WEIGHTS = "correction.json", "correction.safetensors"


class FrozenCorrection(torch.nn.Module):
    """The function, and what it remembers of each environment.

    Args:
        facts: of correction.json.
        weights: of correction.safetensors.
        environments: at once.

    Attributes:
        head: "action" adds to targets (rad), "torque" to joint torques (N·m).
        rate: times a second that it is to be asked.
        joints: order of every column.
        signals: what it looks at.
    """

    bound: torch.Tensor
    columns_outputs: torch.Tensor
    columns_watched: torch.Tensor
    columns_all: torch.Tensor
    columns_asked: torch.Tensor

    def __init__(
        self, facts: dict[str, Any], weights: dict[str, torch.Tensor], environments: int
    ) -> None:
        super().__init__()
        self.facts, self.head, self.rate = facts, facts["head"], facts["rate"]
        self.joints, self.signals = tuple(facts["joints"]), tuple(facts["signals"])
        self.names = {name.replace(".", "_").replace("/", "_"): name for name in weights}
        for name, key in self.names.items():
            self.register_buffer(name, weights[key])
        like = {"dtype": torch.float32, "device": next(iter(weights.values())).device}
        self.register_buffer("bound", torch.tensor(facts["bound"], **like))
        for name, columns in facts["columns"].items():
            self.register_buffer(f"columns_{name}", torch.tensor(columns, device=like["device"]))
        self.environments, joints = environments, len(self.joints)
        self.frames: list[Signals] = []
        self.fresh = torch.ones(environments, dtype=torch.bool, device=like["device"])
        self.asked = torch.zeros(environments, dtype=torch.long, device=like["device"])
        self.start_error = torch.zeros(environments, joints, **like)
        self.output = torch.zeros(environments, len(facts["bound"]), **like)
        self.hidden = None
        if facts["hidden"]:
            self.hidden = torch.zeros(facts["members"], environments, facts["hidden"], **like)

    @classmethod
    def load(
        cls, folder: str | Path, environments: int, device: str | torch.device = "cpu"
    ) -> FrozenCorrection:
        """Read the two files of a folder; nothing in them is run."""
        facts = json.loads((Path(folder) / FILE).read_text(encoding="utf-8"))
        weights = load_file(Path(folder) / WEIGHTS, device=str(device))
        return cls(facts, weights, environments)

    def reset(self, which: torch.Tensor | slice | None = None) -> None:
        """Forget the past of some environments; of all where none are named."""
        self.fresh[slice(None) if which is None else which] = True

    @torch.no_grad()
    def forward(self, now: Signals) -> torch.Tensor:
        """(environments, joints) what to add in this control step."""
        full = self._completed({k: v.float() for k, v in now.items()})
        given = {name: self._gathered(name, full) for name in self.facts["inputs"]}
        raw, hidden = MODELS[self.facts["model"]](self, given)
        output = (self.bound * torch.tanh(self._picked(raw))).mean(0) * self._trusted(full)
        output = self._limited(output)
        due = (self.asked % self.facts["hold"] == 0)[:, None]
        self.output = torch.where(due, output, self.output)
        self.hidden = hidden
        self.frames = [*self.frames[1:], full]
        self.asked += 1
        change = torch.zeros_like(now["q"], dtype=torch.float32)
        change[:, self.columns_outputs] = self.output
        return change

    def weight(self, name: str) -> torch.Tensor:
        """One of the weights, by its name in the file."""
        return getattr(self, name.replace(".", "_").replace("/", "_"))

    def _completed(self, now: Signals) -> Signals:
        """Signals that come from others; environments that begin have the present for a past."""
        full = {**now, "error": now["target"] - now["q"], "ddq": torch.zeros_like(now["dq"])}
        if not self.frames:
            self.frames = [full] * max(1, self.facts["history"])
        rows = self.fresh[:, None]
        self.frames = [{k: torch.where(rows, full[k], f[k]) for k in full} for f in self.frames]
        self.start_error = torch.where(rows, full["error"], self.start_error)
        self.output = torch.where(rows, 0.0, self.output)
        self.asked = torch.where(self.fresh, 0, self.asked)
        if self.hidden is not None:
            self.hidden = torch.where(rows, 0.0, self.hidden)
        self.fresh = torch.zeros_like(self.fresh)
        return {**full, "ddq": (now["dq"] - self.frames[-1]["dq"]) * self.rate}

    def _gathered(self, name: str, full: Signals) -> torch.Tensor:
        """One input of the network, normalised."""
        told = self.facts["inputs"][name]
        seen = {**full, "start_error": self.start_error, "previous": self.output}
        parts = [seen[s] for s in told["now"]]
        for frame in self.frames[len(self.frames) - told["history"] :]:
            parts += [frame[s] for s in told["past"]]
        mean, deviation = self.weight(f"{name}.mean"), self.weight(f"{name}.deviation")
        far = self.facts["far"]
        return ((torch.cat(parts, dim=-1) - mean) / deviation).clamp(-far, far)

    def _picked(self, raw: torch.Tensor) -> torch.Tensor:
        """Outputs of the joints that are corrected."""
        wide = raw.shape[-1] > len(self.bound)
        return raw[..., self.columns_outputs] if wide else raw

    def _trusted(self, full: Signals) -> torch.Tensor:
        """Share that is left outside the data that it was trained on: 1 inside, 0 far away."""
        envelope = self.facts["envelope"]
        if envelope is None:
            return torch.ones_like(self.output)
        rows = torch.cat([full[s] for s in envelope["signals"]], dim=-1)
        mean, whiten = self.weight("envelope/mean"), self.weight("envelope/whiten")
        if not envelope["joint_by_joint"]:
            away = ((rows - mean) @ whiten.T).norm(dim=-1, keepdim=True)
            return self._faded(away / envelope["radius"]).expand_as(self.output)
        away = rows[..., self.columns_watched] - mean
        away = (whiten @ away[..., None])[..., 0].norm(dim=-1)
        return self._faded(away / envelope["radius"])[..., self.columns_outputs]

    def _faded(self, distance: torch.Tensor) -> torch.Tensor:
        return (1 - (distance - 1) / self.facts["envelope"]["fade"]).clamp(0.0, 1.0)

    def _limited(self, output: torch.Tensor) -> torch.Tensor:
        """No faster than allowed from one control step to the next."""
        if self.facts["rate_limit"] is None:
            return output
        most = self.facts["rate_limit"] * self.bound
        return self.output + (output - self.output).clamp(-most, most)


def dense(module: FrozenCorrection, name: str, x: torch.Tensor, pick: Any = None) -> torch.Tensor:
    """Dense layers with ELU between them; weights have a leading axis of members."""
    depth = module.facts["depth"][name]
    for i in range(depth):
        weight, bias = (module.weight(f"{name}.{i}.{kind}") for kind in ("weight", "bias"))
        if pick is not None:
            weight, bias = weight[:, pick], bias[:, pick]
        x = x @ weight.transpose(-1, -2) + bias
        x = torch.nn.functional.elu(x) if i < depth - 1 else x
    return x


Answer = tuple[torch.Tensor, torch.Tensor | None]


def mlp(module: FrozenCorrection, given: Signals) -> Answer:
    """All joints at once."""
    return dense(module, "mlp", given["all"]), None


def actuator(module: FrozenCorrection, given: Signals) -> Answer:
    """Each joint by itself."""
    own = given["all"][..., module.columns_all].swapaxes(-2, -3)
    share = module.facts["share"]
    return dense(module, "mlp", own, share)[..., 0].transpose(-1, -2), None


def gru(module: FrozenCorrection, given: Signals) -> Answer:
    """A recurrent layer, and dense ones that see its state and the present."""
    x, kept, n = given["all"], module.hidden, module.facts["hidden"]
    assert kept is not None
    seen, before = (
        v @ module.weight(f"{name}.0.weight").transpose(-1, -2) + module.weight(f"{name}.0.bias")
        for name, v in (("input", x), ("recurrent", kept))
    )
    reset = torch.sigmoid(seen[..., :n] + before[..., :n])
    update = torch.sigmoid(seen[..., n : 2 * n] + before[..., n : 2 * n])
    candidate = torch.tanh(seen[..., 2 * n :] + reset * before[..., 2 * n :])
    after = (1 - update) * candidate + update * kept
    both = torch.cat([after, x.expand(*after.shape[:-1], x.shape[-1])], dim=-1)
    return dense(module, "mlp", both), after


def operator(module: FrozenCorrection, given: Signals) -> Answer:
    """Answers to probes times what is commanded, summed over a basis."""
    sensors, asked = dense(module, "predictor", given["sensed"]), given["asked"]
    elu, probes, basis = torch.nn.functional.elu, module.facts["probes"], module.facts["basis"]
    if module.facts["local"]:
        answers = sensors.reshape(*sensors.shape[:-1], 2 * probes, -1).swapaxes(-1, -2)
        branch = elu(dense(module, "branch", answers.swapaxes(-2, -3)))
        own = asked[..., module.columns_asked].swapaxes(-2, -3)
        terms = branch * dense(module, "trunk", own)
        return terms.sum(-1).swapaxes(-1, -2), None
    terms = elu(dense(module, "branch", sensors)) * dense(module, "trunk", asked)
    return terms.reshape(*terms.shape[:-1], basis, -1).sum(-2), None


MODELS = {"mlp": mlp, "actuator": actuator, "gru": gru, "operator": operator}
