"""Relative equilibria and periodic orbits, their stability and perturbations."""

from ..analysis.stability.energy_momentum import energy_momentum as energy_momentum
from ..analysis.stability.melnikov import chain_melnikov as chain_melnikov
from ..analysis.symmetry.orbit_branches import continue_orbit as continue_orbit
from ..analysis.symmetry.planar_reduction import relative_equilibria as relative_equilibria
from ..analysis.symmetry.relative_orbits import relative_periodic_orbit as relative_periodic_orbit
