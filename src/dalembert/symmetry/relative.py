"""Relative equilibria and their stability."""

from ..analysis.energy_momentum import energy_momentum as energy_momentum
from ..analysis.planar_reduction import relative_equilibria as relative_equilibria
