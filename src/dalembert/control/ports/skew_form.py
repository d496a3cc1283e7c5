r"""The variational test whether a system with inputs and outputs is Hamiltonian.

Crouch and van der Schaft; Bloch 4.7.6.

Along a trajectory (x, u, y) of x_dot = f(x, u), y = h(x, u), variations obey

    dx_dot = f_x dx + f_u du,        dy = h_x dx + h_u du.

Those that vanish with their states before and after some interval are admissible, and the behaviour
of a Hamiltonian system is isotropic for

    omega((d1 u, d1 y), (d2 u, d2 y)) = int (d2 y . d1 u - d1 y . d2 u) dt,

because its integrand is, up to sign, the rate of the symplectic product of d1 x and d2 x. The test
takes more variations of the input than there are states, keeps the combinations that bring the
state back to zero, and evaluates omega on every pair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import sympy

from ...algebra.tabulate import tabulated
from ...errors import ModelError, RunError
from ...integrate.options import Inputs
from ...integrate.simulate import simulate
from ...model.flow_system import Flow
from ...model.symbols import Coordinate, Input, as_expression, t
from ...runtime.gauss.constrained_solve import rank
from ...typing import Array, Values

__all__ = ["SkewForm", "variational_skew_form"]

PANELS, NODES = 48, 8


@dataclass(frozen=True)
class SkewForm:
    """omega on admissible variations along one trajectory.

    Attributes
    ----------
    matrix : array (m, m)
        omega on a basis of admissible variations; skew.
    scale : float
        The largest of the integrals of |d2 y . d1 u| on that basis.
    residual : float
        The largest entry of the matrix, relative to the scale.
    """

    matrix: Array
    scale: float
    residual: float

    @property
    def is_hamiltonian(self) -> bool:
        """Whether omega vanishes, to the accuracy of the integration."""
        return self.residual < 1e-7


def variational_skew_form(
    flow: Flow,
    outputs: Sequence[str],
    inputs: Inputs,
    start: Values,
    span: Sequence[float],
    parameters: Values | None = None,
) -> SkewForm:
    """omega along the trajectory of a flow under inputs that are expressions of time.

    Parameters
    ----------
    outputs : names of outputs of the flow, as many as it has free inputs, in their order
    inputs : mapping of input to an expression of time
    span : (t0, t1)
        The interval in which the variations live.

    Raises
    ------
    ModelError
        Where inputs and outputs do not pair.

    Examples
    --------
    >>> import dalembert as da
    >>> from sympy import cos, sin
    >>> q, p = da.coordinates("q p")
    >>> u = da.inputs("u")
    >>> pendulum = da.control.hamiltonian_control(p**2/2 - cos(q) - u*q, [(q, p)], [u])
    >>> variational_skew_form(pendulum, ["y_u"], {u: sin(da.t)/2}, {q: 0.5}, (0, 4)).is_hamiltonian
    True
    """
    free = [symbol for symbol, law in flow.inputs.items() if law is None]
    given = {str(key): value for key, value in inputs.items()}
    laws = {symbol: as_expression(given.get(symbol.name, 0)) for symbol in free}
    if len(outputs) != len(free) or any(name not in flow.outputs for name in outputs):
        raise ModelError(
            "The skew form pairs each free input with an output",
            f"inputs {', '.join(map(str, free)) or 'none'}; outputs {', '.join(outputs) or 'none'}",
            "name one output for each input, in their order",
        )
    n = len(flow.coordinates)
    shapes = _shapes(free, n, span)
    varied, probes = _varied(flow, laws, shapes, [flow.outputs[name] for name in outputs])
    nodes, weights = _nodes(span)
    at = [*nodes, float(span[1])]
    motion = simulate(varied, start, span, parameters=parameters, at=at, rtol=1e-11)
    if not motion.success:
        what = "The trajectory ends before its span does"
        raise RunError(what, motion.message, "take a shorter span")
    y = np.array([[motion[name][:-1] for name in row] for row in probes])
    bumps = np.array([[_values(bump, nodes) for bump in shape] for shape in shapes])
    numbers = range(len(shapes))
    ends = np.array([[motion[f"{q.name}_var{k}"][-1] for k in numbers] for q in flow.coordinates])
    admissible = rank(ends, 1e-9).null_space
    crossed = np.einsum("lit,kit,t->kl", y, bumps, weights)
    size = np.einsum("lit,kit,t->kl", np.abs(y), np.abs(bumps), weights)
    form = admissible.T @ (crossed - crossed.T) @ admissible
    scale = float(np.max(np.abs(admissible).T @ size @ np.abs(admissible), initial=0.0)) or 1.0
    return SkewForm(form, scale, float(np.max(np.abs(form), initial=0.0)) / scale)


def _shapes(free: Sequence[Input], n: int, span: Sequence[float]) -> list[list[sympy.Expr]]:
    """More variations of the inputs than states, which vanish with their rates at both ends."""
    first, last = (sympy.Float(float(end)) for end in span)
    s = (t - first) / (last - first)
    count = -(-(n + 4) // len(free))
    found = []
    for k in range(1, count + 1):
        for place in range(len(free)):
            angle = (k - 1 + sympy.Rational(place, 3)) * sympy.pi * s
            bump = sympy.sin(sympy.pi * s) ** 2 * sympy.cos(angle)
            found.append([bump if i == place else sympy.S.Zero for i in range(len(free))])
    return found


def _varied(
    flow: Flow, laws: Mapping[Input, sympy.Expr], shapes: Sequence[Sequence[sympy.Expr]],
    outputs: Sequence[sympy.Expr],
) -> tuple[Flow, list[list[str]]]:  # fmt: skip
    """The flow with its variations beside it, and the names of their outputs."""
    x, u = list(flow.coordinates), list(laws)
    imposed = {s: law for s, law in flow.inputs.items() if law is not None}
    f = sympy.Matrix([rate.xreplace(imposed) for rate in flow.rates.values()])
    h = sympy.Matrix([y.xreplace(imposed) for y in outputs])
    fx, fu, hx, hu = f.jacobian(x), f.jacobian(u), h.jacobian(x), h.jacobian(u)
    rates = {q: rate.xreplace(dict(laws)) for q, rate in zip(x, f, strict=True)}
    found: dict[str, sympy.Expr] = {}
    names: list[list[str]] = []
    for k, shape in enumerate(shapes):
        symbols = sympy.Matrix([Coordinate(f"{q.name}_var{k}") for q in x])
        du = sympy.Matrix(shape)
        rates |= dict(zip(symbols, (fx * symbols + fu * du).xreplace(dict(laws)), strict=True))
        names.append([f"out{i}_var{k}" for i in range(h.rows)])
        found |= dict(zip(names[-1], (hx * symbols + hu * du).xreplace(dict(laws)), strict=True))
    return Flow(rates, outputs=found, name=f"{flow.name} with variations"), names


def _nodes(span: Sequence[float]) -> tuple[Array, Array]:
    """Nodes and weights of Gauss's rule on equal panels."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    edges = np.linspace(float(span[0]), float(span[1]), PANELS + 1)
    halves, middles = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    return (middles[:, None] + halves[:, None] * nodes).ravel(), (halves[:, None] * weights).ravel()


def _values(expression: sympy.Expr, times: Array) -> Array:
    if not expression.has(t):
        return np.full(len(times), float(expression))
    found: Array = tabulated([t], [expression])([times])[0]
    return found
