"""Connections, phases and height functions over the shapes."""

from ..analysis.symmetry.connections import connection as connection
from ..analysis.symmetry.height import area_rule as area_rule
from ..analysis.symmetry.height import height_function as height_function
from ..analysis.symmetry.phases import gait_displacement as gait_displacement
from ..analysis.symmetry.phases import phases as phases
