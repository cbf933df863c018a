"""Named physical numbers of a robot: what excitation is designed for and identification finds."""

from gapless.parameters.applying import apply, as_in, changed
from gapless.parameters.kind import Kind
from gapless.parameters.kinds import KINDS
from gapless.parameters.parameter import Parameter
from gapless.parameters.parameter_names import SETS, parameters_of

__all__ = ["KINDS", "SETS", "Kind", "Parameter", "apply", "as_in", "changed", "parameters_of"]
