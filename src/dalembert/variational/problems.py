"""The Hamilton-Jacobi method and the inverse problem."""

from ..analysis.hamilton_jacobi.hamilton_jacobi import hamilton_jacobi as hamilton_jacobi
from ..analysis.variational.inverse_problem import helmholtz as helmholtz
