r"""Transitivity coefficients: how d/dt and the variation fail to commute on the constraints.

With the constraints solved for as many velocities as they bind, v_a = phi_a(q, v_s, t), and
Chetaev's displacements,

    d(delta q_a)/dt - delta phi_a = A_s^a delta q_s,
    A_s^a = d/dt dphi_a/dv_s - dphi_a/dq_s - dphi_a/dq_b dphi_b/dv_s          (Rumyantsev 1.9, 1.10)

In quasi-velocities eta_s = v_s, eta_a = f_a(q, v, t), with the inverse v = F(q, eta, t), the same
defect is

    W_s^i = F_rs (d/dt df_i/dv_r - df_i/dq_r),  T_s^r = dF_rs/dt - F_is dF_r/dq_i,  W = -f T
        (1.20, 1.21)

on the constraints, and W_s^a = -(df_a/dv_b) A_s^b: the A_s^a with the opposite sign where f_a = v_a
- phi_a (the print of 1.23 has the same sign). All of them vanish identically just where the
constraints are integrable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...algebra.simplify.simplifier import simplify
from ...algebra.tree import TreeAlgebra
from ...errors import ModelError, nearest
from ...formulations.forms import hamel, voronets
from ...formulations.forms.maggi import derive_on
from ...formulations.independent_velocities import Reduction, Split, speed_symbols
from ...formulations.quasi_velocities import StatedSpeeds, stated_speeds
from ...formulations.registry import without_speeds
from ...formulations.velocity_branches import velocity_branches
from ...model.scenario import Scenario
from ...model.symbols import t
from ...model.system import System
from ...model.values import numbers_by_name
from ...presentation.typeset import symbol_latex
from ...runtime.gauss.constrained_solve import solve
from ...typing import Array, Expression, Symbol, Values
from ..anatomy import read_model, take_apart
from ..path import split_of
from ..tables import Report, Section

if TYPE_CHECKING:
    from ...algebra.protocol import Block

__all__ = ["Transitivity", "transitivity", "transitivity_sizes"]

#: A coefficient below this, relative to its terms, is rounding.
ROUNDING = 1e-9


def transitivity_sizes(reduction: Reduction) -> Block:
    """The size of every A_s^a with unsigned terms and equal velocities, (k x r), as a graph.

    A coefficient that is small beside this vanishes, also where a velocity does.
    """
    algebra, split = reduction.algebra, reduction.split
    speed, pull = (ca.sum1(abs(column)) for column in (reduction.velocities, reduction.z))
    columns = []
    for place in range(len(split.dependent)):
        phi = algebra.part(reduction.solved, [place], [0])
        derivative = reduction.map.by_speeds(phi).T
        by_q, by_v = reduction.map.by_places(derivative), reduction.map.by_speeds(derivative)
        size = ca.sum2(abs(by_q)) * speed + ca.sum2(abs(by_v)) * pull
        size = size + abs(algebra.jacobian(derivative, reduction.time))
        carried = abs(reduction.frame.T) @ abs(reduction.map.by_places(phi).T)
        columns.append(size + carried)
    return algebra.columns(columns) if columns else algebra.zeros(len(split.independent), 0)


@dataclass(frozen=True, repr=False, eq=False)
class Transitivity(Report):
    """A_s^a, W_s^i and T_s^r: n coordinates, k independent velocities, r dependent ones.

    The symbols are SymPy matrices in coordinates, independent velocities, their accelerations
    (where the constraints are nonlinear) and t, made when they are first asked for.

    Attributes
    ----------
    system : System
    independent, dependent : tuples of str (k,), (r,)
        The velocities by name.
    constraints : tuple of str (r,)
        The constraints that were solved for the dependent ones.
    vanishes : bool or None
        Whether every A_s^a vanishes (integrable constraints); None where not established.
    largest : float
        The largest |A_s^a| found there, relative to its terms.
    states : int
        The number of states.
    quasi_velocities : tuple of str
        The free quasi-velocities of W and T: the independent velocities, or stated ones.
    """

    system: System
    split: Split = field(repr=False)
    independent: tuple[str, ...]
    dependent: tuple[str, ...]
    constraints: tuple[str, ...]
    vanishes: bool | None
    largest: float
    states: int
    quasi_velocities: tuple[str, ...] = ()
    stated: StatedSpeeds | None = field(default=None, repr=False)

    # -- formulas ----------------------------------------------------------------------------------

    @cached_property
    def coefficients(self) -> sympy.ImmutableMatrix:
        """A_s^a of (1.10), (k x r)."""
        return _shortened(voronets.transitivity(self._tree))

    @cached_property
    def solved(self) -> sympy.ImmutableMatrix:
        """phi_a, the dependent velocities as functions of the independent ones, (r x 1).

        Where they follow from the constraints implicitly, they stand for themselves.
        """
        return _shortened(self._tree.solved)

    @cached_property
    def W(self) -> sympy.ImmutableMatrix:
        """W_s^i of (1.21) on the constraints, (n x k): free quasi-velocities first."""
        return _shortened(hamel.transitivity(self._quasi))

    @cached_property
    def T(self) -> sympy.ImmutableMatrix:
        """T_s^r of (1.21) on the constraints, (n x k), by coordinate."""
        return _shortened(hamel.transitivity_of_inverse(self._quasi))

    @cached_property
    def derivatives(self) -> sympy.ImmutableMatrix:
        """df_i/dv_r of the quasi-velocities on the constraints, (n x n)."""
        return _shortened(_derivatives(self._quasi))

    @cached_property
    def _tree(self) -> Reduction:
        return Reduction(self.system, TreeAlgebra(), self.split)

    @cached_property
    def _quasi(self) -> Reduction:
        if self.stated is None:
            return self._tree
        return Reduction(self.stated.system, TreeAlgebra(), self.stated.near())

    # -- numbers -----------------------------------------------------------------------------------

    def at(self, state: Values, parameters: Values | None = None) -> TransitivitySymbols:
        """All symbols at one state.

        Parameters
        ----------
        state : mapping of symbol or name to value
            Coordinates, independent velocities and t, zero where missing; all velocities where
            quasi-velocities were stated. Accelerations of the independent velocities, and rates of
            the quasi-velocities, are those of the motion unless they are given. Dependent
            velocities that follow implicitly are found, and must be given where the constraints
            have several branches.
        parameters : mapping of symbol or name to value
        """
        values = numbers_by_name(state) | numbers_by_name(parameters)
        system, symbols = self.system, self._numeric.variables
        fixed = (*system.parameters, *system.inputs)
        moving = (*system.coordinates, *system.velocities, *self._numeric.rates)
        known = [symbol.name for symbol in (t, *moving, *fixed)]
        for name in values:
            if name not in known:
                guess = nearest(name, known)
                remedy = f"did you mean {guess}" if guess else "use one of these names"
                raise ModelError(f"The coefficients contain no `{name}`", ", ".join(known), remedy)
        missing = [s.name for s in fixed if s.name not in values and s in symbols]
        if missing:
            remedy = f"pass parameters={{{missing[0]!r}: ...}}"
            raise ModelError(f"`{missing[0]}` has no value", remedy=remedy)
        return self._numeric.at(values | self._on_branch(values))

    def _on_branch(self, values: Mapping[str, float]) -> dict[str, float]:
        """Dependent velocities that were not given, where they follow implicitly."""
        missing = [name for name in self.dependent if name not in values]
        if not self.split.is_implicit or not missing or self.stated is not None:
            return {}
        names = (*self.independent, "t", *(q.name for q in self.system.coordinates))
        fixed = {name: value for name, value in values.items() if name in names}
        fixed |= {s.name: values[s.name] for s in self.system.parameters if s.name in values}
        found = velocity_branches(self.system, fixed, independent=self.independent)
        if len(found) != 1:
            listed = [
                ", ".join(f"{name} = {value:.6g}" for name, value in branch.velocities.items())
                for branch in found
            ]
            raise ModelError(
                f"The constraints have {len(found) or 'no'} solutions for the dependent velocities",
                " or ".join(listed) or ", ".join(self.dependent),
                "give all velocities" if found else "give other independent velocities",
            )
        return dict(found[0].velocities)

    @cached_property
    def _numeric(self) -> _Numeric:
        plain = Reduction(self.system, GraphAlgebra(), self.split)
        if self.stated is None:
            return _Numeric(plain, plain)
        choice = replace(self.stated.near(), is_implicit=True)
        split = replace(self.split, is_implicit=True)
        shared = GraphAlgebra()
        return _Numeric(
            Reduction(self.system, shared, split), Reduction(self.stated.system, shared, choice)
        )

    # -- presentation ------------------------------------------------------------------------------

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
        verdict = "yes: every A_s^a vanishes" if self.vanishes else "no: A_s^a does not vanish"
        if not self.dependent:
            verdict = "there are no constraints"
        elif self.vanishes is None:
            verdict = f"not established: every A_s^a vanishes at {self.states} generic states,"
            verdict += f" to {self.largest:.0e} of its terms"
        entries = [] if self.vanishes else self._entries()
        return [
            ("Dependent velocities", self._dependent_lines()),
            ("A_s^a", entries),
            ("Constraints", [("integrable", verdict)]),
        ]

    def _dependent_lines(self) -> list[tuple[str, str]]:
        """phi_a, or for an implicit velocity the constraints that it follows from."""
        lines = []
        rows = [c for c in self.system.bilateral if c.name in self.constraints]
        for name, place, entry in zip(
            self.dependent, self.split.dependent, self.solved, strict=True
        ):
            symbol = self.system.velocities[place]
            written = str(entry)
            if entry == symbol:
                own = [f"{c.expression} = 0 (`{c.name}`)" for c in rows if c.expression.has(symbol)]
                written = "follows from " + " and ".join(own)
            lines.append((name, written))
        return lines

    def _entries(self) -> list[tuple[str, str]]:
        table = self.coefficients
        return [
            (f"{s}, {a}", str(table[i, j]))
            for i, s in enumerate(self.independent)
            for j, a in enumerate(self.dependent)
            if table[i, j] != 0
        ]


@dataclass(frozen=True)
class TransitivitySymbols:
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

    coefficients: Array
    W: Array
    T: Array
    derivatives: Array
    matrix: Array


class _Numeric:
    """The symbols as functions of numbers, of velocities in `plain` and quasi-velocities."""

    def __init__(self, plain: Reduction, quasi: Reduction) -> None:
        algebra = plain.algebra
        inverse, derivatives = hamel.transitivity_of_inverse(quasi), _derivatives(quasi)
        symbols = hamel.transitivity(quasi)
        blocks = [voronets.transitivity(plain), symbols, inverse, derivatives]
        records = [voronets.derive_on(plain), *([] if quasi is plain else [derive_on(quasi)])]
        given = {symbol: law for symbol, law in plain.system.inputs.items() if law is not None}
        names = algebra.vector(list(given))
        values = plain.here(algebra.vector(list(given.values())))
        problems = [block for record in records for block in (record.metric, record.force)]
        blocks, problem = (
            [algebra.substitute(block, names, values) if given else block for block in table]
            for table in (blocks, problems)
        )
        self.reduction = plain
        self.unknowns = [
            speed_symbols(on.system, on.choice).rates for on in dict.fromkeys((plain, quasi))
        ]
        self.rates = [symbol for group in self.unknowns for symbol in group]
        rows = ca.vertcat(*(ca.vec(block) for block in (*blocks, *problem)))
        nodes, own = algebra.symbols, self.rates
        self.variables = [s for s in nodes if ca.depends_on(rows, nodes[s]) or s in own]
        inputs = [algebra.symbols[s] for s in self.variables]
        every = algebra.vector(self.rates)
        self.moves = any(algebra.depends(block, every) for block in blocks)
        self.symbols = ca.Function("symbols", inputs, [ca.densify(block) for block in blocks])
        self.problem = ca.Function("problem", inputs, [ca.densify(block) for block in problem])

    def at(self, values: Mapping[str, float]) -> TransitivitySymbols:
        table = dict(values)
        if self.moves and not all(symbol.name in table for symbol in self.rates):
            found = self._called(self.problem, table)
            for group, metric, force in zip(self.unknowns, found[::2], found[1::2], strict=True):
                names = [symbol.name for symbol in group]
                table = dict(zip(names, solve(metric, force[:, 0]).z, strict=True)) | table
        coefficients, W, T, derivatives = self._called(self.symbols, table)
        split = self.reduction.split
        k = len(split.independent)
        matrix = derivatives[k:][:, list(split.dependent)]
        return TransitivitySymbols(coefficients, W, T, derivatives, matrix)

    def _called(self, function: ca.Function, table: Mapping[str, float]) -> list[Array]:
        values = function.call([table.get(s.name, 0.0) for s in self.variables])
        found = [np.asarray(block, dtype=float) for block in values]
        if not all(np.all(np.isfinite(block)) for block in found):
            what = "The constraints cannot be solved for the dependent velocities at this state"
            seen = ", ".join(f"{s.name} = {table.get(s.name, 0.0):g}" for s in self.variables)
            raise ModelError(what, seen, "pass other velocities as independent=")
        return found


def _derivatives(reduction: Reduction) -> Block:
    """df_i/dv_r on the constraints."""
    return reduction.here(reduction.algebra.jacobian(reduction.definition, reduction.v))


def _shortened(matrix: sympy.MatrixBase) -> sympy.ImmutableMatrix:
    short = matrix.applyfunc(lambda entry: simplify(sympy.together(simplify(entry))))
    return sympy.ImmutableMatrix(short)


def transitivity(
    system: System | Scenario,
    *,
    independent: Sequence[Symbol] | None = None,
    quasi_velocities: Mapping[str, Expression] | None = None,
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
    quasi_velocities : mapping of name to expression of q, q_dot and t
        The free quasi-velocities of W and T, linear or not; the independent velocities by default.
    parameters, start : mappings
        Where the generic states are looked for that decide whether A vanishes.
    n : int
        How many of them.

    Examples
    --------
    >>> import dalembert as da
    >>> x, y, z = da.coordinates("x y z")
    >>> tilt = da.velocity(z.dot - y*x.dot, name="tilt")
    >>> kinetic = (x.dot**2 + y.dot**2 + z.dot**2) / 2
    >>> particle = da.System([x, y, z], kinetic=kinetic, constraints=[tilt])
    >>> found = transitivity(particle, independent=[x, y])
    >>> found.coefficients, found.dependent, found.vanishes
    (Matrix([
    [ y_dot],
    [-x_dot]]), ('z_dot',), False)
    """
    stated, values, beginning = read_model(system, parameters, start)
    split = split_of(stated, independent)
    if quasi_velocities is None:
        quasi_velocities = stated.quasi_velocities
    stated = without_speeds(stated)
    speeds = stated_speeds(stated, quasi_velocities) if quasi_velocities else None
    names = tuple(stated.velocities[k].name for k in split.independent)
    vanishes, largest, states = _vanishing(stated, split, values, beginning, n)
    return Transitivity(
        system=stated,
        split=split,
        independent=names,
        dependent=tuple(stated.velocities[k].name for k in split.dependent),
        constraints=tuple(stated.bilateral[k].name for k in split.rows),
        vanishes=vanishes,
        largest=largest,
        states=states,
        quasi_velocities=names if speeds is None else tuple(name for name, _ in speeds.table),
        stated=speeds,
    )


def _vanishing(
    system: System,
    split: Split,
    parameters: Mapping[str, float],
    start: Mapping[str, float],
    n: int,
) -> tuple[bool | None, float, int]:
    """Whether every A_s^a vanishes, and the largest relative one at how many generic states.

    States refute; only an identity in all symbols proves. Where it fails off the position
    constraints, nothing is established.
    """
    if not split.dependent:
        return True, 0.0, 0
    anatomy = take_apart(system, parameters, start, n)
    samples, algebra = anatomy.samples, GraphAlgebra()
    reduction = Reduction(system, algebra, split)
    blocks = [voronets.transitivity(reduction), transitivity_sizes(reduction)]
    identity = algebra.vanishing(blocks[0])
    time, p = algebra.vector([t]), algebra.vector(system.parameters)
    symbols = [time, reduction.q, reduction.v, reduction.z, p]
    function = ca.Function("coefficients", symbols, [ca.densify(block) for block in blocks])
    random, worst, used = np.random.default_rng(11), 0.0, 0
    for k in range(len(samples)):
        z = random.uniform(-1.0, 1.0, len(split.independent))
        state = [samples.times[k], samples.coordinates[k], samples.velocities[k]]
        point = function.call([*state, z, samples.parameters])
        values, sizes = (np.asarray(block, dtype=float) for block in point)
        if np.all(np.isfinite(values)) and np.all(np.isfinite(sizes)):
            scale, used = float(np.max(sizes, initial=0.0)), used + 1
            size = float(np.max(np.abs(values), initial=0.0)) / scale if scale else 0.0
            worst = max(worst, size)
    if identity.holds_to_rounding:
        return True, worst, used
    on_states_alone = split.is_implicit or any(c.is_position_level for c in system.bilateral)
    refuted = worst > ROUNDING or (identity.is_refuted and not on_states_alone)
    return False if refuted else None, worst, used
