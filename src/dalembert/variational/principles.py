"""Hamilton's principle along a motion, and whether the action is stationary."""

from ..analysis.principles import principle_integrands as principle_integrands
from ..analysis.transitivity import transitivity as transitivity
from ..analysis.variational import stationarity as stationarity
