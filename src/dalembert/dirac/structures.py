"""Dirac structures, by hand and of systems, degenerate Lagrangians, and circuits."""

from ..analysis.symmetry.dirac_structures import dirac_residual as dirac_residual
from ..analysis.symmetry.dirac_structures import dirac_structure as dirac_structure
from ..formulations.dirac.bergmann import bergmann as bergmann
from ..formulations.dirac.control_bundles import ControlBundle as ControlBundle
from ..formulations.dirac.degenerate_system import BergmannConstraint as BergmannConstraint
from ..formulations.dirac.degenerate_system import DegenerateSystem as DegenerateSystem
from ..formulations.dirac.networks import circuit as circuit
from ..formulations.dirac.port_systems import system as system
from ..geometry.dirac import DiracStructure as DiracStructure
from ..geometry.dirac_manifolds import DiracManifold as DiracManifold
from ..model.builders.circuits import lc_circuit as lc_circuit
