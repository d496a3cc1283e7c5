from .structures import BergmannConstraint as BergmannConstraint
from .structures import DegenerateSystem as DegenerateSystem
from .structures import DiracStructure as DiracStructure
from .structures import bergmann as bergmann
from .structures import dirac_residual as dirac_residual
from .structures import dirac_structure as dirac_structure
from .structures import lc_circuit as lc_circuit
