r"""The equations of motion in the symbols of `sympy.physics.mechanics`.

The record of a form, G z = f + A^T mu and A z = b with the rates of the state, becomes one linear
system in the manner of SymPy's `LagrangesMethod` and `KanesMethod`,

    mass_matrix_full [q' ; u' ; mu] = forcing_full,       [ 1  0   0   ] [q']   [q_dot]
                                                          [ 0  G  -A^T ] [u'] = [  f  ]
                                                          [ 0  A   0   ] [mu]   [  b  ]

for coordinates q and what the state holds beside them, u. Forms on all velocities have u = q', as
Lagrange's method there; forms on fewer symbols (independent velocities, momenta, quasi-velocities)
have symbols u(t) of their own, as Kane's. Where the rate of a symbol is an unknown z or, in the
vakonomic form, -mu, it takes that column itself. Where G^-1 f and G^-1 A^T are known, as for
Hamilton's equations, these rows are [ 1  -G^-1 A^T ] and G^-1 f.

All constraints are in the matrices, also those that depend on others; there `mass_matrix_full` is
singular, and `rhs` takes the multipliers of least norm. The reaction is +A^T mu on the side of the
forces. That is the sign of `mass_matrix_full` of SymPy's LagrangesMethod too; its `eom` has the
other one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import sympy

from ..algebra.lazy import entries_of, now
from ..algebra.simplify.simplifier import simplify
from ..algebra.tree import TreeAlgebra
from ..errors import FormError
from ..formulations.constraint_equations import VelocityLevel, velocity_level
from ..formulations.explicit import KeptRows, kept_rows, pseudo_inverse, solution
from ..formulations.forms import lagrange
from ..model.symbols import Coordinate, Velocity, t
from ..model.system import System
from ..presentation.short_blocks import short_blocks

if TYPE_CHECKING:
    from sympy.physics.mechanics import LagrangesMethod

    from ..formulations.equations import Equations

__all__ = ["SympyEquations", "to_sympy"]

#: The column of an unknown, and the sign that it has there.
Column = tuple[int, int]


class SympyEquations:
    """Equations of motion as SymPy's mechanics writes them, in `dynamicsymbols` of time.

    Attributes
    ----------
    q, u : matrices (n x 1), (k x 1)
        Coordinates, and what the state holds beside them, in the order of the state: the
        derivatives q(t)', or symbols of time such as p_x(t), and u_x(t) for an independent velocity
        x_dot.
    lam : matrix (m x 1)
        The multipliers mu_<constraint>(t) that the equations keep; empty where they have none.
    constants : tuple of symbols
        Parameters as plain symbols, the ones that ``sympy.symbols`` gives, in the order of
        ``system.parameters``.
    specifieds : tuple of dynamic symbols
        Inputs that are left open.
    unknowns : matrix (n_state + m x 1)
        What `mass_matrix_full` multiplies: the derivatives of q and u, and the multipliers.
    form : str

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> m, k = da.parameters("m k", positive=True)
    >>> eom = da.derive(da.System([x], kinetic=m/2*x.dot**2, potential=k/2*x**2)).to_sympy()
    >>> eom.mass_matrix_full.tolist(), list(eom.forcing_full)
    ([[1, 0], [0, m]], [Derivative(x(t), t), -k*x(t)])
    >>> eom.rhs()[1]
    -k*x(t)/m
    """

    def __init__(self, equations: Equations) -> None:
        self.form = equations.form
        self._equations = equations
        self._algebra, self._blocks = short_blocks(equations)
        self._symbols = symbols = _Symbols(equations)
        system = equations.system
        names = {q.name for q in system.coordinates}
        self.q = sympy.Matrix([symbols.dynamic(s) for s in equations.state if s.name in names])
        rest = [symbols.dynamic(s) for s in equations.state if s.name not in names]
        self.u = sympy.Matrix(rest) if rest else sympy.zeros(0, 1)
        self.constants = tuple(sympy.Symbol(p.name) for p in system.parameters)
        free = [symbol for symbol, value in system.inputs.items() if value is None]
        self.specifieds = tuple(symbols.dynamic(symbol) for symbol in free)
        self._assemble()

    def __repr__(self) -> str:
        symbols = f"q {list(self.q)}, u {list(self.u)}"
        return f'<SymPy equations of "{self.form}" of {self._equations.system.name}: {symbols}>'

    # -- the linear system -------------------------------------------------------------------------

    def _assemble(self) -> None:
        """Columns for rates and for other unknowns; rows for rates, balance and constraints."""
        blocks, state = self._blocks, self._equations.state
        z, mu, rates = list(blocks.unknowns), list(blocks.multipliers), list(blocks.rates)
        # A symbol is this sign times the unknown in this column.
        column: dict[sympy.Symbol, Column] = {}
        for place, rate in enumerate(rates):
            for sign in (1, -1):
                if sign * rate in (*z, *mu) and sign * rate not in column:
                    column[sign * rate] = (place, sign)
        own = [symbol for symbol in (*z, *mu) if symbol not in column]
        for place, symbol in enumerate(own, start=len(state)):
            column[symbol] = (place, 1)
        unknowns = [self._symbols.rate(symbol) for symbol in state]
        unknowns += [self._symbols.dynamic(symbol) for symbol in own]
        self.unknowns = sympy.Matrix(unknowns)
        kept = [self._symbols.dynamic(symbol) for symbol in own if symbol in mu]
        self.lam = sympy.Matrix(kept) if kept else sympy.zeros(0, 1)
        table: list[tuple[dict[int, sympy.Expr], sympy.Expr]] = []
        symbols = [*z, *mu]
        taken = {place for place, _ in column.values()}
        for place, rate in enumerate(rates):
            if place not in taken:
                rest = rate.xreplace(dict.fromkeys(symbols, sympy.S.Zero))
                entries = {}
                for symbol in symbols:
                    if rate.has(symbol):
                        index, sign = column[symbol]
                        entries[index] = -sign * sympy.diff(rate, symbol)
                table.append((entries | {place: sympy.S.One}, rest))
        self._kinematic = len(table)
        table += [(_placed(row, symbols, column), right) for row, right in self._balance()]
        table += [(_placed(blocks.rows.row(k), z, column), blocks.right[k]) for k in range(len(mu))]
        self._table = table

    def _balance(self) -> list[tuple[Sequence[sympy.Expr], sympy.Expr]]:
        """The rows [G  -A^T] and f, or [1  -G^-1 A^T] and G^-1 f where these are known."""
        blocks = self._blocks
        n = len(blocks.unknowns)
        if blocks.free is not None and not len(blocks.multipliers):
            left, right = sympy.eye(n), blocks.free
        elif blocks.free is not None and blocks.dual_rows is not None:
            left, right = sympy.eye(n).row_join(-blocks.dual_rows), blocks.free
        else:
            left, right = blocks.metric.row_join(-blocks.rows.T), blocks.force
        return [(list(left.row(k)), right[k]) for k in range(n)]

    @cached_property
    def mass_matrix_full(self) -> sympy.Matrix:
        """The matrix (n_state + m x n_state + m) before `unknowns`."""
        size = len(self.unknowns)
        matrix = sympy.zeros(len(self._table), size)
        for k, (entries, _) in enumerate(self._table):
            for place, entry in entries.items():
                matrix[k, place] = self._written(entry)
        return matrix

    @cached_property
    def forcing_full(self) -> sympy.Matrix:
        """The right side (n_state + m x 1)."""
        return sympy.Matrix([self._written(right) for _, right in self._table])

    @property
    def mass_matrix(self) -> sympy.Matrix:
        """The balance of forces alone, with the columns of u' and multipliers: [G  -A^T]."""
        first, count = self._kinematic, len(self._blocks.unknowns)
        return self.mass_matrix_full[first : first + count, self._moving :]

    @property
    def forcing(self) -> sympy.Matrix:
        """The right side of `mass_matrix`."""
        first, count = self._kinematic, len(self._blocks.unknowns)
        return self.forcing_full[first : first + count, :]

    @property
    def _moving(self) -> int:
        """The first column that is not the rate of a coordinate; a flow has no other."""
        return len(self.q) if self._kinematic else 0

    @property
    def lam_vec(self) -> sympy.Matrix:
        """`lam`, by the name that SymPy gives it."""
        return self.lam

    @cached_property
    def eom(self) -> sympy.Matrix:
        """What vanishes along a motion: mass_matrix_full @ unknowns - forcing_full."""
        return self.mass_matrix_full * self.unknowns - self.forcing_full

    def rhs(self, inv_method: str | None = None) -> sympy.Matrix:
        """`unknowns` solved for: the derivatives of q and u, and the multipliers (n_state + m x 1).

        Where constraints depend on each other, the multipliers are those of least norm, by the
        Moore-Penrose formula of `dalembert.formulations.explicit`; the other unknowns do not
        depend on that choice.

        Raises
        ------
        FormError
            Where they are not determined: a matrix G that is singular on the allowed directions
            leaves accelerations open, and so do dependent constraints in the vakonomic form.
        """
        rows = kept_rows(self._equations)
        if not rows.is_whole:
            return self._by_formula(rows)
        if inv_method is None:
            return self.mass_matrix_full.LUsolve(self.forcing_full)
        return self.mass_matrix_full.inv(inv_method) * self.forcing_full

    def _by_formula(self, rows: KeptRows) -> sympy.Matrix:
        """The unknowns for constraints that depend on each other."""
        blocks, algebra = self._blocks, self._algebra
        found = solution(algebra, blocks, rows)
        z, mu = now(found.unknowns), now(found.multipliers)
        spread = now(pseudo_inverse(algebra, blocks, rows)).T @ mu
        values = dict(zip((*blocks.unknowns, *blocks.multipliers), (*z, *spread), strict=True))
        wanted = [*blocks.rates, *(s for s in values if s not in set(blocks.rates))]
        return sympy.Matrix([self._written(entry.xreplace(values)) for entry in wanted])

    @cached_property
    def energy(self) -> sympy.Expr:
        """Jacobi's energy function, or H, in the symbols of the state."""
        return self._written(entries_of(self._blocks.energy)[0])

    # -- the constraints, and SymPy's own object ---------------------------------------------------

    @cached_property
    def coneqs(self) -> sympy.Matrix:
        """All two-sided constraints at velocity level (m x 1), in q(t) and its derivatives."""
        is_system = isinstance(self._equations.system, System)
        residual = list(self._velocity_level().residual) if is_system else []
        written = [self._symbols.written(simplify(entry)) for entry in residual]
        return sympy.Matrix(written) if written else sympy.zeros(0, 1)

    def _velocity_level(self) -> VelocityLevel:
        algebra = TreeAlgebra()
        _, momenta = lagrange.lagrangian_and_momenta(self._equations.system, algebra)
        return velocity_level(self._equations.system, algebra, momenta)

    def lagranges_method(self) -> LagrangesMethod:
        """The system as a `sympy.physics.mechanics.LagrangesMethod`, for `da.from_sympy` as well.

        Generalised forces stand at points of their own, each moving with the speed of one
        coordinate. Call its ``form_lagranges_equations`` before its matrices are read.

        Raises
        ------
        FormError
            For flows, image constraints, one-sided and nonideal ones, which SymPy has no place for.
        """
        from sympy.physics.mechanics import LagrangesMethod, Point, ReferenceFrame

        system = self._equations.system
        self._refuse_what_sympy_lacks()
        algebra, plain = TreeAlgebra(), self._symbols.written
        function, momenta = lagrange.lagrangian_and_momenta(system, algebra)
        level = velocity_level(system, algebra, momenta)
        applied = lagrange.applied_force(system, algebra, momenta)
        frame, loads = ReferenceFrame("N"), []
        for q, force in zip(system.coordinates, applied, strict=True):
            if force != 0:
                point = Point(f"P_{q.name}")
                point.set_vel(frame, plain(q.dot) * frame.x)
                loads.append((point, plain(force) * frame.x))
        rows = enumerate(level.residual)
        on_velocities = [row for k, row in rows if k not in level.holonomic_rows]
        return LagrangesMethod(
            plain(entries_of(function)[0]),
            [plain(q) for q in system.coordinates],
            forcelist=loads or None,
            frame=frame if loads else None,
            hol_coneqs=[plain(g) for g in level.holonomic] or None,
            nonhol_coneqs=[plain(f) for f in on_velocities] or None,
        )

    def _refuse_what_sympy_lacks(self) -> None:
        system = self._equations.system
        if not isinstance(system, System):
            what = "A flow, or a reduced system, has no Lagrangian of its own"
            raise FormError(what, system.name, "use rhs()")
        working = [c for c in system.constraints if not c.is_ideal and c.work]
        odd = [c.name for c in system.constraints if c not in system.bilateral or c in working]
        if odd:
            what = "LagrangesMethod has no place for these constraints"
            raise FormError(what, ", ".join(odd), "use the matrices of to_sympy()")
        mixed = [c.is_position_level for c in system.bilateral]
        if mixed != sorted(mixed, reverse=True):
            raise FormError(
                "LagrangesMethod takes holonomic constraints first",
                ", ".join(c.name for c in system.bilateral),
                "state the system with its holonomic constraints before the others",
            )

    def _written(self, expression: sympy.Expr) -> sympy.Expr:
        return self._symbols.written(simplify(expression), on_state=True)


class _Symbols:
    """Takes the symbols of a model to dynamic symbols and plain symbols, one to one."""

    def __init__(self, equations: Equations) -> None:
        from sympy.physics.mechanics import dynamicsymbols

        system = equations.system
        self._clock = dynamicsymbols._t
        self._table: dict[sympy.Symbol, sympy.Expr] = {t: self._clock}
        self._taken = {p.name for p in system.parameters}
        for q in system.coordinates:
            moving = self._function(q.name)
            self._table[q] = moving
            if isinstance(q, Coordinate):
                self._table[q.dot] = moving.diff(self._clock)
                self._table[q.ddot] = moving.diff(self._clock, 2)
        chosen = [s for s in equations.state if isinstance(s, Velocity)]
        independent = chosen if len(chosen) < len(system.coordinates) else []
        symbols = (*equations.state, *system.inputs, *getattr(system, "momenta", ()))
        own = dict.fromkeys(s for s in symbols if s not in self._table)
        self._table |= {s: self._function(s.name) for s in own}
        self._table |= {p: sympy.Symbol(p.name) for p in system.parameters}
        #: Velocities in the state without all the others are speeds, as in Kane's method.
        self.speeds = {s: self._function(f"u_{s.coordinate.name}") for s in independent}

    def _function(self, name: str) -> sympy.Expr:
        """A function of time by a name that is free, of any characters."""
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return sympy.Function(name)(self._clock)

    def dynamic(self, symbol: sympy.Symbol) -> sympy.Expr:
        """q(t), its derivative or a speed for a velocity; another function of time otherwise."""
        if symbol in self.speeds:
            return self.speeds[symbol]
        if symbol not in self._table:
            self._table[symbol] = self._function(symbol.name)
        return self._table[symbol]

    def rate(self, symbol: sympy.Symbol) -> sympy.Expr:
        """The time derivative of a symbol of the state."""
        return self.dynamic(symbol).diff(self._clock)

    def written(self, expression: sympy.Expr, on_state: bool = False) -> sympy.Expr:
        """An expression in these symbols; `on_state` where its velocities are in the state."""
        return expression.xreplace(self._table | self.speeds if on_state else self._table)


def _placed(
    row: Iterable[sympy.Expr], symbols: Sequence[sympy.Symbol], column: dict[sympy.Symbol, Column]
) -> dict[int, sympy.Expr]:
    """The entries of a row before the symbols, by the column that each symbol has."""
    found: dict[int, sympy.Expr] = {}
    for entry, symbol in zip(row, symbols, strict=True):
        if entry != 0:
            place, sign = column[symbol]
            found[place] = found.get(place, sympy.S.Zero) + sign * entry
    return found


def to_sympy(equations: Equations) -> SympyEquations:
    """The equations in SymPy's symbols; see `dalembert.Equations.to_sympy`."""
    return SympyEquations(equations)
