"""Matrix groups and Lie-Poisson structures."""

from ..analysis.stability.energy_casimir import energy_casimir as energy_casimir
from ..analysis.stability.stability import second_variation as second_variation
from ..geometry.lie import LieGroup as LieGroup
from ..geometry.poisson import PoissonStructure as PoissonStructure
from ..geometry.root_systems import RootSystem as RootSystem
