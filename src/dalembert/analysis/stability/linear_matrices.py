r"""Mass, damping, gyroscopic, stiffness and circulatory matrices about an equilibrium.

On independent velocities u, with q_dot = V(q, u), the equations are G(q) u_dot = f(q, u, input)
(Maggi's, Rumyantsev eq. 3.1; Lagrange's without constraints). Where f = 0, and a deviation of the
coordinates stays in the directions F = dV/du that the constraints leave, delta q = F x and

    M x_ddot + (C + G) x_dot + (K + N) x = B u,
    M = G(q),   C + G = -f_u,   K + N = -f_q F,   B = f_input,

with symmetric C (damping) and K (stiffness), and skew G (gyroscopic) and N (circulatory). Reactions
are in f already: a constraint that is not integrable may give a circulatory part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import sympy

from ...algebra.simplify.lowest_terms import eliminated
from ...algebra.simplify.trigonometric_ring import TooMuchWorkError, Work
from ...errors import ModelError
from ...formulations.equations import Equations
from ...formulations.registry import derive
from ...model.scenario import Scenario
from ...model.symbols import as_expression
from ...model.system import System
from ...model.values import numbers_by_name
from ...typing import Array, Values
from ..tables import Report, Section
from .linearisation import LinearPoint
from .second_order_point import SecondOrderPoint
from .steady_point import shown_moves

__all__ = ["LinearMatrices", "linear_matrices"]

#: The work that the inverse of the mass matrix may take.
INVERSE_EFFORT = 200_000
#: Numbers that are smaller than this part of the largest in their matrix are shown as zero.
SHOWN = 1e-12

_WORDS = {
    "mass": ("mass", "M", r"M\,\ddot x"),
    "damping": ("damping", "C", r"C\,\dot x"),
    "gyroscopic": ("gyroscopic", "G", r"G\,\dot x"),
    "stiffness": ("stiffness", "K", r"K\,x"),
    "circulatory": ("circulatory", "N", r"N\,x"),
    "input_matrix": ("inputs", "B", r"B\,u"),
}


@dataclass(frozen=True, repr=False)
class LinearMatrices(Report):
    """M x_ddot + (C + G) x_dot + (K + N) x = B u near an equilibrium or a steady motion.

    Attributes
    ----------
    coordinates : tuple of str (d,)
        x: deviations of these coordinates.
    mass, damping, gyroscopic, stiffness, circulatory : matrices (d x d)
        M, C, K symmetric, G, N skew; expressions of the parameters, or numbers.
    inputs, input_matrix : tuple of str (k,), matrix (d x k)
        Free inputs, and B.
    basis : matrix (n x d)
        The deviations of all coordinates are ``basis @ x``; along a steady motion those of the
        coordinates that the dynamics contain.
    point : mapping of name to expression
        The state that they are taken at; velocities of a steady motion included.
    grounds : tuple of str
        What is not proved.
    notes : tuple of str
        What differs from what was asked for, such as values that were moved to an equilibrium.

    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> m, c, k = da.parameters("m c k", positive=True)
    >>> damped = da.System([x], kinetic=m*x.dot**2/2, potential=k*x**2/2, forces={x: -c*x.dot})
    >>> found = linear_matrices(damped)
    >>> found.mass, found.damping, found.stiffness
    (Matrix([[m]]), Matrix([[c]]), Matrix([[k]]))
    """

    coordinates: tuple[str, ...]
    mass: sympy.Matrix
    damping: sympy.Matrix
    gyroscopic: sympy.Matrix
    stiffness: sympy.Matrix
    circulatory: sympy.Matrix
    inputs: tuple[str, ...]
    input_matrix: sympy.Matrix
    basis: sympy.Matrix
    point: Mapping[str, sympy.Expr]
    grounds: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def _title(self) -> str:
        terms = [
            term
            for name, term in (
                ("mass", "M x_ddot"),
                ("damping", "C x_dot"),
                ("gyroscopic", "G x_dot"),
                ("stiffness", "K x"),
                ("circulatory", "N x"),
            )
            if name == "mass" or any(_without_rounding(getattr(self, name)))
        ]
        return f"{' + '.join(terms)} = {'B u' if self.inputs else '0'}"

    def _sections(self) -> list[Section]:
        shown = _without_rounding(sympy.Matrix(list(self.point.values())))
        pairs = zip(self.point, shown, strict=True)
        at = ", ".join(f"{name} = {_shown(value)}" for name, value in pairs if value)
        about = [("x", f"deviations of {', '.join(self.coordinates)}"), ("at", at or "the origin")]
        about += [("u", ", ".join(self.inputs))] if self.inputs else []
        about += [("not proved", ground) for ground in self.grounds]
        about += [("note", note) for note in self.notes]
        return [("Where", about), *((word, rows) for word, rows in self._tables())]

    def _tables(self) -> list[Section]:
        found: list[Section] = []
        for name, (word, symbol, _) in _WORDS.items():
            table = _without_rounding(getattr(self, name))
            if any(table):
                cells = [[_shown(entry) for entry in table.row(i)] for i in range(table.rows)]
                widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
                rows = [
                    "  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in cells
                ]
                lines = [(symbol if k == 0 else "", f"[{row}]") for k, row in enumerate(rows)]
                found.append((f"{word.capitalize()}", lines))
        return found

    def latex(self) -> str:
        """The equation and its matrices as a LaTeX ``aligned`` environment."""
        from ...presentation.typeset import matrix_latex

        there = [n for n in _WORDS if n == "mass" or any(_without_rounding(getattr(self, n)))]
        terms = [_WORDS[n][2] for n in there if n != "input_matrix"]
        right = _WORDS["input_matrix"][2] if self.inputs else "0"
        lines = [f"{' + '.join(terms)} &= {right}"]
        for name, (_, symbol, _) in _WORDS.items():
            table = _without_rounding(getattr(self, name))
            if any(table):
                lines.append(f"{symbol} &= {matrix_latex(table)}")
        body = " \\\\\n".join(lines)
        return f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def state_space(self) -> tuple[sympy.Matrix, sympy.Matrix]:
        """A (2d x 2d) and B (2d x k) of d/dt (x, x_dot) = A (x, x_dot) + B u.

        >>> import dalembert as da
        >>> x, u = da.coordinates("x"), da.inputs("u")
        >>> m, k = da.parameters("m k", positive=True)
        >>> kinetic, potential = m*x.dot**2/2, k*x**2/2
        >>> pushed = da.System([x], kinetic=kinetic, potential=potential, forces={x: u}, inputs=[u])
        >>> linear_matrices(pushed).state_space()
        (Matrix([
        [   0, 1],
        [-k/m, 0]]), Matrix([
        [  0],
        [1/m]]))
        """
        d, k = self.mass.rows, self.input_matrix.cols
        right = sympy.Matrix.hstack(
            -self.stiffness - self.circulatory, -self.damping - self.gyroscopic, self.input_matrix
        )
        try:
            lower = eliminated(self.mass, right, Work(INVERSE_EFFORT))
        except TooMuchWorkError:
            lower = self.mass.LUsolve(right)
        upper = sympy.Matrix.hstack(sympy.zeros(d), sympy.eye(d), sympy.zeros(d, k))
        whole = sympy.Matrix.vstack(upper, lower)
        return whole[:, : 2 * d], whole[:, 2 * d :]

    def numbers(self, parameters: Values | None = None) -> dict[str, Array]:
        """The matrices as arrays of numbers, by name, for values of the parameters."""
        given = numbers_by_name(parameters)
        found = {}
        for name in _WORDS:
            table = getattr(self, name)
            values = {s: given[s.name] for s in table.free_symbols if s.name in given}
            missing = [s.name for s in sorted(table.free_symbols, key=str) if s not in values]
            if missing:
                raise ModelError(
                    "The matrices contain parameters without a value",
                    seen=", ".join(missing),
                    remedy="give their values",
                )
            found[name] = np.array(table.xreplace(values).evalf(), dtype=float).reshape(table.shape)
        return found


def _without_rounding(table: sympy.Matrix) -> sympy.Matrix:
    """The matrix with zeros for floating numbers that are rounding errors beside the largest."""
    sizes = [abs(float(entry)) for entry in table if entry.is_Float]
    limit = SHOWN * max(sizes, default=0.0)
    return table.applyfunc(lambda e: sympy.S.Zero if e.is_Float and abs(e) < limit else e)


def _shown(value: sympy.Expr) -> str:
    return f"{float(value):.6g}" if value.is_Float else str(value)


def linear_matrices(
    model: System | Scenario,
    at: Values | None = None,
    parameters: Values | None = None,
    inputs: Values | None = None,
) -> LinearMatrices:
    """The equations linearised about an equilibrium or a steady motion, as second-order matrices.

    Parameters
    ----------
    at : mapping of coordinate or velocity to expression
        The point; what is missing is zero. Expressions may contain parameters, and the result is
        in symbols then.
    parameters : mapping of parameter to value, optional
        Where they all have values (as in a scenario), the point is moved to the constraints and
        to the equilibrium next to it, and the matrices are numbers.
    inputs : mapping of free input to value, optional
        Their values at the point, zero by default.

    Raises
    ------
    RunError
        Where the point is no equilibrium and no steady motion along cyclic coordinates.
    FormError
        Where the equations depend on time, or deviations along constraints that are not integrable
        obey no equations of second order; `linearise` has their state space.

    Examples
    --------
    >>> import dalembert as da
    >>> from sympy import cos
    >>> theta = da.coordinates("theta")
    >>> m, l, g = da.parameters("m l g", positive=True)
    >>> swing = m * l**2 * theta.dot**2 / 2
    >>> print(linear_matrices(da.System([theta], kinetic=swing, potential=-m*g*l*cos(theta))))
    M x_ddot + K x = 0
    <BLANKLINE>
    Where
      x   deviations of theta
      at  the origin
    <BLANKLINE>
    Mass
      M   [l**2*m]
    <BLANKLINE>
    Stiffness
      K   [g*l*m]
    """
    system = model.system if isinstance(model, Scenario) else model
    if not isinstance(system, System):
        raise ModelError(
            "Second-order matrices need a System",
            seen=type(system).__name__,
            remedy="use da.linearise for other equations",
        )
    values = numbers_by_name(model.parameters if isinstance(model, Scenario) else None, parameters)
    asked, pushes = _by_name(at), _by_name(inputs)
    is_given = bool(system.parameters) and all(s.name in values for s in system.parameters)
    if is_given or any(value.atoms(sympy.Float) for value in (*asked.values(), *pushes.values())):
        return _numeric(model, system, asked, values, pushes)
    given = {s: as_expression(values[s.name]) for s in system.parameters if s.name in values}
    equations = _equations(system, asked, given)
    return LinearMatrices(
        **SecondOrderPoint(equations, asked, given, pushes, is_exact=True).matrices()
    )


def _by_name(given: Values | None) -> dict[str, sympy.Expr]:
    pairs = () if given is None else given.items()
    return {getattr(key, "name", str(key)): as_expression(value) for key, value in pairs}


def _equations(
    system: System, asked: Mapping[str, sympy.Expr], given: Mapping[sympy.Symbol, sympy.Expr]
) -> Equations:
    """The equations on independent velocities, chosen at the point for some values of symbols."""
    if not system.bilateral:
        return derive(system, "lagrange")
    equations = derive(system, "maggi")
    if equations.rechoose is None or equations.chart_is_steady:
        return equations
    numbers = {
        s: given.get(s, sympy.Float(0.7 + 0.6180339887 * k % 1))
        for k, s in enumerate(system.parameters)
    }
    state = (*system.coordinates, *system.velocities)
    place = {s.name: float(asked.get(s.name, sympy.S.Zero).xreplace(numbers)) for s in state}
    place |= {s.name: float(value) for s, value in numbers.items()}
    return equations.rechoose(place | {"t": 0.0})


def _numeric(
    model: System | Scenario,
    system: System,
    asked: Mapping[str, sympy.Expr],
    values: Mapping[str, float],
    pushes: Mapping[str, sympy.Expr],
) -> LinearMatrices:
    """Numbers at the equilibrium next to a point."""
    symbols = {s: as_expression(values[s.name]) for s in system.parameters}
    place = {name: float(value.xreplace(symbols)) for name, value in asked.items()}
    forces = {name: float(value.xreplace(symbols)) for name, value in pushes.items()}
    point = LinearPoint(system, place, dict(values), inputs=forces)
    found = dict(zip(point.field.names, map(sympy.Float, point.point), strict=True))
    equations = point.field.kernel.equations
    if equations.form != "maggi" or equations.row_names:
        equations = _equations(system, found, symbols)
    given = {s: sympy.Float(values[s.name]) for s in system.parameters}
    linear = LinearMatrices(
        **SecondOrderPoint(equations, found, given, pushes, is_exact=False).matrices()
    )
    moved = tuple(f"{label}: {words}" for label, words in shown_moves(point.moved))
    return replace(linear, notes=(*moved, *point.field.notes))
