from .problems import hamilton_jacobi as hamilton_jacobi
from .problems import helmholtz as helmholtz
from .stationary_action import principle_integrands as principle_integrands
from .stationary_action import stationarity as stationarity
from .stationary_action import transitivity as transitivity
from .tangent import tangent_bundle as tangent_bundle
