"""Dirac structures, by hand and of systems, and circuits."""

from ..analysis.symmetry.dirac_structures import dirac_residual as dirac_residual
from ..analysis.symmetry.dirac_structures import dirac_structure as dirac_structure
from ..geometry.dirac import DiracStructure as DiracStructure
from ..model.builders.circuits import lc_circuit as lc_circuit
