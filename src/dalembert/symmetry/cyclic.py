"""Cyclic coordinates and Routh's function."""

from ..analysis.cyclic import recover_cyclic as recover_cyclic
from ..analysis.routhian import nonholonomic_routhian as nonholonomic_routhian
from ..formulations.routh import routh as routh
