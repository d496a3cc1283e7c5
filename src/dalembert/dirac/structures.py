"""Dirac structures, by hand and of systems, degenerate Lagrangians, and circuits."""

from ..analysis.symmetry.dirac_structures import dirac_residual as dirac_residual
from ..analysis.symmetry.dirac_structures import dirac_structure as dirac_structure
from ..formulations.dirac.bergmann import BergmannConstraint as BergmannConstraint
from ..formulations.dirac.bergmann import DegenerateSystem as DegenerateSystem
from ..formulations.dirac.bergmann import bergmann as bergmann
from ..geometry.dirac import DiracStructure as DiracStructure
from ..model.builders.circuits import lc_circuit as lc_circuit
