"""Connections, phases and height functions over the shapes."""

from ..analysis.connections import connection as connection
from ..analysis.height import area_rule as area_rule
from ..analysis.height import height_function as height_function
from ..analysis.phases import gait_displacement as gait_displacement
from ..analysis.phases import phases as phases
