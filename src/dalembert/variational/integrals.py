"""The Hamilton-Jacobi method and the inverse problem."""

from ..analysis.hamilton_jacobi import hamilton_jacobi as hamilton_jacobi
from ..analysis.inverse_problem import helmholtz as helmholtz
