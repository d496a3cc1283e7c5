"""Relative equilibria and their stability."""

from ..analysis.stability.energy_momentum import energy_momentum as energy_momentum
from ..analysis.symmetry.planar_reduction import relative_equilibria as relative_equilibria
