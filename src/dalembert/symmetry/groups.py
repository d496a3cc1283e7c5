"""Groups that act on a system, and whether it notices."""

from ..analysis.invariance import invariance as invariance
from ..analysis.momentum_maps import momentum_map as momentum_map
from ..analysis.symmetries import discover_symmetries as discover_symmetries
from ..geometry.actions import GroupAction as GroupAction
