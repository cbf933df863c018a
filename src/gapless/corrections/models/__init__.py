"""Networks by name: each says what it looks at, how it begins, and what it gives."""

from __future__ import annotations

from typing import Any

from gapless.corrections.models.actuator import Actuator
from gapless.corrections.models.deep_operator import Operator
from gapless.corrections.models.gru import Gru
from gapless.corrections.models.mlp import Mlp
from gapless.corrections.models.model import Inputs as Inputs
from gapless.corrections.models.model import Model as Model
from gapless.errors import unknown

MODELS: dict[str, type[Model]] = {
    "mlp": Mlp,
    "gru": Gru,
    "operator": Operator,
    "actuator": Actuator,
}
"""Name -> its class."""


def model_of(name: str, settings: dict[str, Any] | None = None) -> Model:
    """A network by name, with other settings than its own where they are given."""
    if name not in MODELS:
        raise unknown("model", name, MODELS)
    kind, settings = MODELS[name], settings or {}
    known = kind.__dataclass_fields__  # type: ignore[attr-defined]
    for key in settings:
        if key not in known:
            raise unknown(f"setting of the {name}", key, known)
    return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in settings.items()})
