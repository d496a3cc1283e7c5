from .integrals import hamilton_jacobi as hamilton_jacobi
from .integrals import helmholtz as helmholtz
from .principles import principle_integrands as principle_integrands
from .principles import stationarity as stationarity
from .principles import transitivity as transitivity
