"""Groups that act on a system, and whether it notices."""

from ..analysis.symmetry.invariance import invariance as invariance
from ..analysis.symmetry.momentum_maps import momentum_map as momentum_map
from ..analysis.symmetry.poisson_actions import poisson_momentum_map as poisson_momentum_map
from ..analysis.symmetry.symmetries import discover_symmetries as discover_symmetries
from ..geometry.actions import GroupAction as GroupAction
from ..geometry.polytopes import moment_polytope as moment_polytope
