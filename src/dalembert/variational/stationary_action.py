"""Hamilton's principle along a motion, and whether the action is stationary."""

from ..analysis.variational.principles import principle_integrands as principle_integrands
from ..analysis.variational.transitivity import transitivity as transitivity
from ..analysis.variational.variational import stationarity as stationarity
