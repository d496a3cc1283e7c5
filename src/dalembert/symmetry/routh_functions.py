"""Cyclic coordinates and Routh's function."""

from ..analysis.symmetry.cyclic import recover_cyclic as recover_cyclic
from ..analysis.symmetry.nonholonomic_routhian import nonholonomic_routhian as nonholonomic_routhian
from ..formulations.reduction.routh import routh as routh
