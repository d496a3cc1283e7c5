r"""The transitivity coefficients of the constraints: how d/dt and the variation fail to commute on the dependent velocities.

With the constraints solved for as many velocities as they bind, v_a = phi_a(q, v_s, t), and Chetaev's displacements,

    d(delta q_a)/dt - delta phi_a = A_s^a delta q_s,
    A_s^a = d/dt dphi_a/dv_s - dphi_a/dq_s - dphi_a/dq_b dphi_b/dv_s                  (Rumyantsev 1.9, 1.10)

In quasi-velocities eta_s = v_s, eta_a = f_a(q, v, t), with the inverse v = F(q, eta, t), the same defect is

    W_s^i = F_rs (d/dt df_i/dv_r - df_i/dq_r),    T_s^r = dF_rs/dt - F_is dF_r/dq_i,    W = -f T      (1.20, 1.21)

on the constraints, and W_s^a = -(df_a/dv_b) A_s^b: the A_s^a with the opposite sign where f_a = v_a - phi_a (the print of 1.23
has the same sign). All of them vanish identically just where the constraints are integrable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...algebra.simplify.simplifier import simplify
from ...algebra.tree import TreeAlgebra
from ...errors import ModelError, nearest
from ...formulations.forms import hamel, voronets
from ...formulations.independent_velocities import Reduction, Split
from ...model.constraints import HolonomicConstraint
from ...model.scenario import Scenario
from ...model.symbols import t
from ...model.system import System
from ...model.values import numbers_by_name
from ...presentation.typeset import symbol_latex
from ...runtime.gauss.constrained_solve import solve
from ...typing import Symbol, Values
from ..anatomy import read_model, take_apart
from ..path import split_of
from ..tables import Report, Section

__all__ = ["Transitivity", "transitivity", "transitivity_sizes"]

#: A coefficient below this, relative to its terms, is rounding.
ROUNDING = 1e-9


def transitivity_sizes(reduction: Reduction) -> Any:
    """What every A_s^a could be with its terms unsigned and all velocities as large as the largest, (k x r), as a graph.

    A coefficient that is small beside this vanishes, also where it does so because some velocity does.
    """
    algebra, split = reduction.algebra, reduction.split
    speed, pull = (ca.sum1(abs(column)) for column in (reduction.velocities, reduction.z))
    columns = []
    for place in range(len(split.dependent)):
        phi = algebra.part(reduction.solved, [place], [0])
        derivative = algebra.jacobian(phi, reduction.independent).T
        columns.append(
            ca.sum2(abs(algebra.jacobian(derivative, reduction.q))) * speed
            + ca.sum2(abs(algebra.jacobian(derivative, reduction.independent))) * pull
            + abs(algebra.jacobian(derivative, reduction.time))
            + abs(reduction.frame.T) @ abs(algebra.jacobian(phi, reduction.q).T)
        )
    return algebra.columns(columns) if columns else algebra.zeros(len(split.independent), 0)


@dataclass(frozen=True, repr=False, eq=False)
class Transitivity(Report):
    """A_s^a, W_s^i and T_s^r of a system; n coordinates, k independent velocities, r dependent ones.

    The symbols are SymPy matrices in coordinates, independent velocities, their accelerations (where the constraints are
    nonlinear) and t, made when they are first asked for.

    Attributes
    ----------
    system : System
    independent, dependent : tuples of str (k,), (r,)
        The velocities by name.
    constraints : tuple of str (r,)
        The constraints that were solved for the dependent ones.
    vanishes : bool or None
        Whether every A_s^a vanishes, that is whether the constraints are integrable; None where that is not established.
    largest : float
        The largest |A_s^a| found there, relative to its terms.
    states : int
        The number of states.
    """

    system: System
    split: Split = field(repr=False)
    independent: tuple[str, ...]
    dependent: tuple[str, ...]
    constraints: tuple[str, ...]
    vanishes: bool | None
    largest: float
    states: int

    # -- formulas ------------------------------------------------------------------------------------------------

    @cached_property
    def coefficients(self) -> sympy.ImmutableMatrix:
        """A_s^a of (1.10), (k x r)."""
        return _tidied(voronets.transitivity(self._tree))

    @cached_property
    def solved(self) -> sympy.ImmutableMatrix:
        """phi_a, the dependent velocities as functions of the independent ones, (r x 1)."""
        return _tidied(self._tree.solved)

    @cached_property
    def W(self) -> sympy.ImmutableMatrix:
        """W_s^i of (1.21) on the constraints, (n x k): free quasi-velocities first, then the constraints."""
        return _tidied(hamel.transitivity(self._quasi))

    @cached_property
    def T(self) -> sympy.ImmutableMatrix:
        """T_s^r of (1.21) on the constraints, (n x k), by coordinate."""
        return _tidied(hamel.transitivity_of_inverse(self._quasi))

    @cached_property
    def derivatives(self) -> sympy.ImmutableMatrix:
        """df_i/dv_r of the quasi-velocities on the constraints, (n x n)."""
        return _tidied(_derivatives(self._quasi))

    @cached_property
    def _tree(self) -> Reduction:
        return Reduction(self.system, TreeAlgebra(), self.split)

    @cached_property
    def _quasi(self) -> Any:
        return hamel.QuasiVelocities(self._tree)

    # -- numbers -------------------------------------------------------------------------------------------------

    def at(self, state: Mapping[Any, Any], parameters: Mapping[Any, Any] | None = None) -> Symbols:
        """All symbols at one state.

        Parameters
        ----------
        state : mapping of symbol or name to value
            Coordinates, independent velocities and t; those that are missing are zero. Accelerations of the independent
            velocities are those of the motion unless they are given. Dependent velocities follow from the others.
        parameters : mapping of symbol or name to value
        """
        values = numbers_by_name(state)
        values |= numbers_by_name(parameters)
        system, symbols = self.system, self._numeric.variables
        own = (t, *system.coordinates, *system.velocities, *self._numeric.accelerations, *system.parameters, *system.inputs)
        known = [symbol.name for symbol in own]
        for name in values:
            if name not in known:
                guess = nearest(name, known)
                raise ModelError(
                    f"The coefficients contain no `{name}`",
                    seen=", ".join(known),
                    remedy=f"did you mean {guess}" if guess else "use one of these names",
                )
        missing = [s.name for s in (*system.parameters, *system.inputs) if s.name not in values and s in symbols]
        if missing:
            raise ModelError(f"`{missing[0]}` has no value", remedy=f"pass parameters={{{missing[0]!r}: ...}}")
        return self._numeric.at(values)

    @cached_property
    def _numeric(self) -> _Numeric:
        return _Numeric(Reduction(self.system, GraphAlgebra(), self.split))

    # -- presentation --------------------------------------------------------------------------------------------

    def latex(self) -> str:
        """A_s^a as a LaTeX matrix, rows by independent and columns by dependent velocities."""
        symbols = {symbol for entry in self.coefficients for symbol in entry.free_symbols}
        names = {symbol: symbol_latex(symbol) for symbol in symbols}
        return str(sympy.latex(sympy.Matrix(self.coefficients), symbol_names=names))

    def to_json(self) -> dict[str, Any]:
        """The coefficients as plain data, expressions as text."""
        return {
            "name": self.system.name,
            "independent": list(self.independent),
            "dependent": list(self.dependent),
            "constraints": list(self.constraints),
            "coefficients": [[str(entry) for entry in row] for row in self.coefficients.tolist()],
            "vanishes": self.vanishes,
            "largest": self.largest,
            "states": self.states,
        }

    def _title(self) -> str:
        return self.system.name

    def _sections(self) -> list[Section]:
        count = f"{self.states} generic states"
        verdict = (
            "there are no constraints"
            if not self.dependent
            else "yes: every A_s^a vanishes"
            if self.vanishes
            else f"not established: every A_s^a vanishes at {count}, to {self.largest:.0e} of its terms"
            if self.vanishes is None
            else "no: A_s^a does not vanish"
        )
        solved = list(zip(self.dependent, (str(entry) for entry in self.solved), strict=True))
        entries = [] if self.vanishes else self._entries()
        return [("Dependent velocities", solved), ("A_s^a", entries), ("Constraints", [("integrable", verdict)])]

    def _entries(self) -> list[tuple[str, str]]:
        table = self.coefficients
        return [
            (f"{s}, {a}", str(table[i, j]))
            for i, s in enumerate(self.independent)
            for j, a in enumerate(self.dependent)
            if table[i, j] != 0
        ]


@dataclass(frozen=True)
class Symbols:
    """The symbols at a state.

    Attributes
    ----------
    coefficients : array (k, r)
        A_s^a.
    W, T : arrays (n, k)
    derivatives : array (n, n)
        df_i/dv_r of the quasi-velocities.
    matrix : array (r, r)
        df_a/dv_b of the constraints by the dependent velocities: W_s^a = -matrix A_s.
    """

    coefficients: Any
    W: Any
    T: Any
    derivatives: Any
    matrix: Any


class _Numeric:
    """The symbols as functions of numbers."""

    def __init__(self, reduction: Reduction) -> None:
        algebra = reduction.algebra
        quasi = hamel.QuasiVelocities(reduction)
        blocks = [
            voronets.transitivity(reduction),
            hamel.transitivity(quasi),
            hamel.transitivity_of_inverse(quasi),
            _derivatives(quasi),
        ]
        record = voronets.derive_on(reduction)
        given = {symbol: value for symbol, value in reduction.system.inputs.items() if value is not None}
        names, values = algebra.vector(list(given)), reduction.here(algebra.vector(list(given.values())))
        blocks, problem = (
            [algebra.substitute(block, names, values) if given else block for block in table]
            for table in (blocks, [record.metric, record.force])
        )
        self.reduction = reduction
        self.accelerations = [reduction.system.coordinates[k].ddot for k in reduction.split.independent]
        rows = ca.vertcat(*(ca.vec(block) for block in (*blocks, *problem)))
        self.variables = [s for s, node in algebra.symbols.items() if ca.depends_on(rows, node) or s in self.accelerations]
        inputs = [algebra.symbols[s] for s in self.variables]
        self.moves = any(algebra.depends(block, reduction.z) for block in blocks)
        self.symbols = ca.Function("symbols", inputs, [ca.densify(block) for block in blocks])
        self.problem = ca.Function("problem", inputs, [ca.densify(block) for block in problem])

    def at(self, values: Mapping[str, float]) -> Symbols:
        names = [s.name for s in self.accelerations]
        table = dict(values)
        if self.moves and not all(name in table for name in names):
            metric, force = self._called(self.problem, table)
            table = dict(zip(names, solve(metric, force[:, 0]).z, strict=True)) | table
        coefficients, W, T, derivatives = self._called(self.symbols, table)
        split = self.reduction.split
        k = len(split.independent)
        return Symbols(coefficients, W, T, derivatives, derivatives[k:][:, list(split.dependent)])

    def _called(self, function: Any, table: Mapping[str, float]) -> list[Any]:
        found = [np.asarray(block, dtype=float) for block in function.call([table.get(s.name, 0.0) for s in self.variables])]
        if not all(np.all(np.isfinite(block)) for block in found):
            raise ModelError(
                "The constraints cannot be solved for the dependent velocities at this state",
                seen=", ".join(f"{s.name} = {table.get(s.name, 0.0):g}" for s in self.variables),
                remedy="pass other velocities as independent=",
            )
        return found


def _derivatives(quasi: Any) -> Any:
    """df_i/dv_r on the constraints."""
    reduction = quasi.reduction
    return reduction.here(reduction.algebra.jacobian(quasi.definition, reduction.v))


def _tidied(matrix: Any) -> sympy.ImmutableMatrix:
    return sympy.ImmutableMatrix(matrix.applyfunc(lambda entry: simplify(sympy.together(simplify(entry)))))


def transitivity(
    system: System | Scenario,
    *,
    independent: Sequence[Symbol] | None = None,
    parameters: Values | None = None,
    start: Values | None = None,
    n: int = 8,
) -> Transitivity:
    """The transitivity coefficients of the constraints of a system (Rumyantsev 1.10, 1.21).

    Parameters
    ----------
    system : System or Scenario
    independent : sequence of coordinates, velocities or names
        Which velocities are independent; by default the best choice at generic states.
    parameters, start : mappings
        Where the generic states are looked for that decide whether A vanishes.
    n : int
        How many of them.

    Examples
    --------
    >>> import dalembert as da
    >>> x, y, z = da.coordinates("x y z")
    >>> slope = da.velocity(z.dot - y*x.dot, name="slope")
    >>> particle = da.System([x, y, z], kinetic=(x.dot**2 + y.dot**2 + z.dot**2)/2, constraints=[slope])
    >>> found = transitivity(particle, independent=[x, y])
    >>> found.coefficients, found.dependent, found.vanishes
    (Matrix([
    [ y_dot],
    [-x_dot]]), ('z_dot',), False)
    """
    stated, values, beginning = read_model(system, parameters, start)
    split = split_of(stated, independent)
    vanishes, largest, states = _vanishing(stated, split, values, beginning, n)
    return Transitivity(
        system=stated,
        split=split,
        independent=tuple(stated.velocities[k].name for k in split.independent),
        dependent=tuple(stated.velocities[k].name for k in split.dependent),
        constraints=tuple(stated.bilateral[k].name for k in split.rows),
        vanishes=vanishes,
        largest=largest,
        states=states,
    )


def _vanishing(system: System, split: Split, parameters: Any, start: Any, n: int) -> tuple[bool | None, float, int]:
    """Whether every A_s^a vanishes, and the largest one relative to its terms at how many generic states.

    States refute; only an identity in all symbols proves. Where it fails off the position constraints, nothing is established.
    """
    if not split.dependent:
        return True, 0.0, 0
    anatomy = take_apart(system, parameters, start, n)
    samples, algebra = anatomy.samples, GraphAlgebra()
    reduction = Reduction(system, algebra, split)
    blocks = [voronets.transitivity(reduction), transitivity_sizes(reduction)]
    identity = algebra.vanishing(blocks[0])
    symbols = [algebra.vector([t]), reduction.q, reduction.v, reduction.z, algebra.vector(system.parameters)]
    function = ca.Function("coefficients", symbols, [ca.densify(block) for block in blocks])
    random, worst, used = np.random.default_rng(11), 0.0, 0
    for k in range(len(samples)):
        z = random.uniform(-1.0, 1.0, len(split.independent))
        point = [samples.times[k], samples.coordinates[k], samples.velocities[k], z, samples.parameters]
        values, sizes = (np.asarray(block, dtype=float) for block in function.call(point))
        if np.all(np.isfinite(values)) and np.all(np.isfinite(sizes)):
            scale = float(np.max(sizes, initial=0.0))
            worst, used = max(worst, float(np.max(np.abs(values), initial=0.0)) / scale if scale else 0.0), used + 1
    if identity.holds_to_rounding:
        return True, worst, used
    on_states_alone = any(isinstance(c, HolonomicConstraint) for c in system.bilateral)
    refuted = worst > ROUNDING or (identity.is_refuted and not on_states_alone)
    return False if refuted else None, worst, used
