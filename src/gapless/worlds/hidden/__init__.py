"""Hidden robots: worlds that differ from their nominal model in known, seeded ways.

`effect_sizes.py` says how large each effect is, `truth.py` draws the figures of one unit,
`changes.py` builds them into a robot, `readings.py` and `imu.py` are what its log shows,
`hidden_world.py` joins them.
"""

from gapless.worlds.hidden.effect_sizes import EFFECTS as EFFECTS
from gapless.worlds.hidden.effect_sizes import PRESETS as PRESETS
from gapless.worlds.hidden.hidden_world import HiddenWorld as HiddenWorld
