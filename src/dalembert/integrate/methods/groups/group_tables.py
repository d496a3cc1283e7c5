"""How the matrices of a flow move, as tables for native code, and their generators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
import sympy

from ....codegen.program import Program, straight_line
from ....errors import FormError
from ....formulations.equations import Equations
from ....model.flow_system import Action, Flow
from ....runtime.gauss.constrained_solve import solve
from ....runtime.kernel import Kernel
from ....typing import Array
from ..hypotheses import refuse_positions

if TYPE_CHECKING:
    from ....typing import IntArray
    from ..fixed.fixed_run import FixedRun

__all__ = ["ActionTables", "action_tables", "bind_actions", "check_actions"]

#: A matrix that leaves its pattern by more than this part of its size does not stay in it.
PATTERN_TOLERANCE = 1e-9


_READ = ("rows", "columns", "left", "right", "place", "first_read", "last_read", "needed")
_ACTION = tuple(f"action_{name}" for name in _READ)
_GENERATOR = tuple(f"generator_{name}" for name in ("size", "place", "unknown", "skew"))


def _columns(names: tuple[str, ...], rows: list[list[int]]) -> dict[str, Array]:
    table = np.array(rows, dtype=np.int64).reshape(-1, len(names))
    return {name: np.ascontiguousarray(column) for name, column in zip(names, table.T, strict=True)}


class ActionTables:
    """The actions of a flow for a method; with `is_linear` factors are sums over stages.

    Attributes
    ----------
    generators : list of matrices
        The different ones among the left and right sides.
    columns : dict of str to array
        Of each generator its size, its place in the output of their program and among the factors,
        its place among the unknowns, whether it is skew; of each action the rows and columns of its
        matrix, the generators on either side or -1, its place among the matrices, where the
        symbols that it reads begin and end, and whether rates depend on them.
    fill_places, fill_factors : arrays (fills, 2) and (fills,)
        Entry, symbol, and the factor with which the symbol stands there; `constants` (entries,) are
        the rest.
    read_places, read_factors : arrays (reads, 2) and (reads,)
        Symbol, entry, and the factor of the entry in the symbol, by least squares.
    rest : array
        The symbols that no action moves.
    width : int
        How many unknowns a stage has.
    """

    def __init__(self, flow: Flow, is_linear: bool, method: str) -> None:
        self.flow, self.is_linear, self.method = flow, is_linear, method
        symbols = {q: k for k, q in enumerate(flow.coordinates)}
        self.generators: list[sympy.ImmutableMatrix] = []
        rows: list[list[int]] = []
        self._patterns = [_Pattern(flow, action, symbols) for action in flow.actions]
        moved = {symbol for p in self._patterns for symbol in p.symbols}
        self.rest = np.array([k for k in range(len(symbols)) if k not in moved], dtype=np.int64)
        read = _symbols_read(flow, self.rest)
        first_entry = first_read = 0
        for action, pattern in zip(flow.actions, self._patterns, strict=True):
            sides = [self._generator(side) for side in (action.left, action.right)]
            last_read = first_read + len(pattern.reads)
            needed = any(flow.coordinates[symbol] in read for symbol in pattern.symbols)
            rows.append([*pattern.shape, *sides, first_entry, first_read, last_read, int(needed)])
            pattern.first_entry, first_entry, first_read = (
                first_entry,
                first_entry + pattern.size,
                last_read,
            )
        self.columns = _columns(_ACTION, rows)
        self.constants = np.concatenate([np.zeros(0), *(p.constants for p in self._patterns)])
        fills = [(p.first_entry + e, symbol, f) for p in self._patterns for e, symbol, f in p.fills]
        reads = [read for p in self._patterns for read in p.reads]
        self.fill_places = np.array([fill[:2] for fill in fills], dtype=np.int64).reshape(-1, 2)
        self.fill_factors = np.array([fill[2] for fill in fills])
        self.read_places = np.array([read[:2] for read in reads], dtype=np.int64).reshape(-1, 2)
        self.read_factors = np.array([read[2] for read in reads])
        self._lay_out()
        _check_owners(self._patterns, flow)

    def _generator(self, side: sympy.ImmutableMatrix | None) -> int:
        """The number of a generator; -1 for none."""
        if side is None or side.is_zero_matrix:
            return -1
        if side not in self.generators:
            self.generators.append(side)
        return self.generators.index(side)

    def _lay_out(self) -> None:
        rows, source, unknown = [], 0, 0
        for generator in self.generators:
            n, is_skew = generator.shape[0], (generator + generator.T).expand().is_zero_matrix
            rows.append([n, source, unknown, int(bool(is_skew))])
            source += n * n
            unknown += n * n * (2 if self.is_linear and not is_skew else 1)
        self.columns |= _columns(_GENERATOR, rows)
        self.factors_size, self.width = source, unknown + len(self.rest)

    @property
    def work_size(self) -> int:
        """The room that products and exponentials need."""
        sizes = [3 * g.shape[0] ** 2 for g in self.generators] + [
            2 * p.size for p in self._patterns
        ]
        return max(sizes, default=1)

    def program(self, kernel: Kernel) -> Program:
        """The program of the entries of all generators, row by row."""
        entries = [entry for generator in self.generators for entry in generator]
        return straight_line("generators", kernel._inputs(), [kernel.lower(entries)])

    def check_patterns(self, kernel: Kernel, parameters: Array) -> None:
        """Refuse matrices that steps lead out of their pattern, by trying random states."""
        entries = [entry for generator in self.generators for entry in generator]
        function = ca.Function("generators", kernel._inputs(), [kernel.lower(entries)])
        random = np.random.default_rng(11)
        u = np.zeros(len(kernel.free_inputs))
        numbers = [
            np.asarray(
                function(0.3, random.uniform(0.2, 1.0, kernel.n_state), parameters, u, np.zeros(0))
            ).ravel()
            for _ in range(2)
        ]
        if not np.isfinite(numbers).all():
            return
        sizes, firsts = self.columns["generator_size"], self.columns["generator_place"]
        sides = zip(self.columns["action_left"], self.columns["action_right"], strict=True)
        for (left_side, right_side), pattern in zip(sides, self._patterns, strict=True):
            value = pattern.matrix(random.uniform(0.2, 1.0, kernel.n_state))
            for side, is_left in ((left_side, True), (right_side, False)):
                if side >= 0:
                    n, source = sizes[side], firsts[side]
                    pair = [block[source : source + n * n].reshape(n, n) for block in numbers]
                    factor = _factor(pair[0], pair[1], is_left, self.is_linear)
                    value = factor @ value if is_left else value @ factor
            left = np.abs(pattern.misfit(value))
            if not left.max(initial=0.0) <= PATTERN_TOLERANCE * (1.0 + np.abs(value).max()):
                row, column = divmod(int(left.argmax()), pattern.shape[1])
                raise FormError(
                    f'Steps of "{self.method}" lead the matrix `{pattern.name}` out of its pattern',
                    seen=f"the entry ({row + 1}, {column + 1})",
                    remedy=(
                        'give it all the symbols that the group can reach, or use method="gauss4"'
                    ),
                )

    def check_identities(self, kernel: Kernel) -> None:
        """Refuse rates that are not shown to be those of the actions, and patterns that are not
        shown to be kept.

        A pattern is kept by exponentials where U X - X V stays in it for all states of U, V and of
        X; by isospectral steps where the products of their stages do, with generators at different
        states.
        """
        algebra, flow = kernel.algebra, self.flow
        state = algebra.vector(flow.coordinates)
        copies = [
            algebra.vector([sympy.Dummy(q.name, real=True) for q in flow.coordinates])
            for _ in range(2)
        ]

        def lowered(matrix: sympy.MatrixBase, at: ca.SX = state) -> ca.SX:
            block = ca.reshape(kernel.lower(list(matrix.T)), *matrix.shape)
            return block if at is state else algebra.substitute(block, state, at)

        for action, pattern in zip(flow.actions, self._patterns, strict=True):
            matrix = lowered(flow.matrices[action.matrix])
            sides = [
                None if side is None else [lowered(side, at) for at in (state, *copies)]
                for side in (action.left, action.right)
            ]
            left, right = (
                [ca.SX.zeros(n, n)] * 3 if s is None else s
                for s, n in zip(sides, matrix.shape, strict=True)
            )
            rate = ca.reshape(
                ca.jacobian(ca.vec(matrix), state) @ kernel.graph.velocities, *matrix.shape
            )
            found = algebra.vanishing(ca.vec(rate - left[0] @ matrix + matrix @ right[0]))
            if not found.holds_to_rounding:
                raise FormError(
                    f"The rates of `{action.matrix}` are not shown to be those of its action",
                    seen=found.grounds,
                    remedy='check left X - X right, or use method="gauss4"',
                )
            if self.is_linear:
                one, last = (ca.SX.eye(n) for n in matrix.shape)
                first = one + left[1] + left[2] @ left[1]
                value = first @ matrix @ (last - right[1] + right[1] @ right[2]) - matrix
            else:
                value = left[1] @ matrix - matrix @ right[1]
            found = algebra.vanishing(pattern.outside(value))
            if not found.holds_to_rounding:
                raise FormError(
                    f'Steps of "{self.method}" are not shown to keep the pattern of the matrix'
                    f" `{pattern.name}`",
                    seen=found.grounds,
                    remedy=(
                        'give it all the symbols that the group can reach, or use method="gauss4"'
                    ),
                )


def _factor(first: Array, second: Array, is_left: bool, is_linear: bool) -> Any:
    """A factor as stages make it: 1 + products of generators, or an exponential."""
    scale = 0.3 / (1e-9 + max(np.abs(first).max(), np.abs(second).max()))
    one, a, b = np.eye(len(first)), scale * first, scale * second
    if is_linear:
        return one + a + b @ a if is_left else one - a + a @ b
    u = a + b if is_left else -(a + b)
    term = total = one
    for k in range(1, 40):
        term = term @ u / k
        total = total + term
    return total


def _symbols_read(flow: Flow, rest: IntArray) -> set[Any]:
    """The symbols that generators, rates of symbols that no action moves, and inputs depend on."""
    found: set[Any] = set()
    for value in flow.inputs.values():
        found |= set(flow.coordinates) if value is None else value.free_symbols
    for action in flow.actions:
        for side in (action.left, action.right):
            found |= set() if side is None else side.free_symbols
    for k in rest:
        found |= flow.rates[flow.coordinates[k]].free_symbols
    return found


class _Pattern:
    """How the symbols of a flow stand in one of its matrices: X = C + sum of symbols times E."""

    def __init__(self, flow: Flow, action: Action, symbols: dict[Any, int]) -> None:
        matrix = flow.matrices[action.matrix]
        self.name, self.shape, self.size, self.first_entry = (
            action.matrix,
            matrix.shape,
            len(matrix),
            0,
        )
        self.constants = np.zeros(self.size)
        self.fills: list[tuple[int, int, float]] = []
        for e, entry in enumerate(matrix):
            if entry in symbols:
                self.fills.append((e, symbols[entry], 1.0))
                continue
            self.constants[e] = float(entry.subs(dict.fromkeys(entry.free_symbols, 0)))
            self.fills += [
                (e, symbols[s], float(sympy.diff(entry, s)))
                for s in sorted(entry.free_symbols, key=str)
            ]
        self.symbols = sorted({symbol for _, symbol, _ in self.fills})
        self.reads = self._reads()

    def _reads(self) -> list[tuple[int, int, float]]:
        """(symbol, entry, factor) of the least-squares inverse, symbol by symbol."""
        by_entry: dict[int, int] = {}
        for e, _, _ in self.fills:
            by_entry[e] = by_entry.get(e, 0) + 1
        if all(count == 1 for count in by_entry.values()):
            lengths: dict[int, float] = {}
            for _, symbol, factor in self.fills:
                lengths[symbol] = lengths.get(symbol, 0.0) + factor**2
            found = [(symbol, e, factor / lengths[symbol]) for e, symbol, factor in self.fills]
            return sorted(found)
        derivatives = self._derivatives()
        inverse = np.array([solve(derivatives.T @ derivatives, row).z for row in derivatives]).T
        return [
            (symbol, e, float(inverse[k, e]))
            for k, symbol in enumerate(self.symbols)
            for e in range(self.size)
            if inverse[k, e]
        ]

    def _derivatives(self) -> Array:
        derivatives = np.zeros((self.size, len(self.symbols)))
        for e, symbol, factor in self.fills:
            derivatives[e, self.symbols.index(symbol)] = factor
        return derivatives

    def matrix(self, y: Array) -> Array:
        """The matrix at a state."""
        entries = self.constants.copy()
        for e, symbol, factor in self.fills:
            entries[e] += factor * y[symbol]
        return entries.reshape(self.shape)

    def misfit(self, value: Array) -> Array:
        """What of a matrix is not in the pattern, entry by entry."""
        flat = np.ravel(value) - self.constants
        y: dict[int, float] = {}
        for symbol, e, factor in self.reads:
            y[symbol] = y.get(symbol, 0.0) + factor * flat[e]
        for e, symbol, factor in self.fills:
            flat[e] -= factor * y[symbol]
        return flat

    def outside(self, change: ca.SX) -> ca.SX:
        """The same of a change of the matrix, a graph."""
        flat = ca.vertsplit(ca.vec(change.T))
        y: dict[int, Any] = {}
        for symbol, e, factor in self.reads:
            y[symbol] = y.get(symbol, 0.0) + factor * flat[e]
        for e, symbol, factor in self.fills:
            flat[e] = flat[e] - factor * y[symbol]
        return ca.vertcat(*flat)


def _check_owners(patterns: list[_Pattern], flow: Flow) -> None:
    """No symbol may be moved by two actions: each would add its own."""
    owner: dict[int, str] = {}
    for pattern in patterns:
        for symbol in pattern.symbols:
            if symbol in owner:
                raise FormError(
                    f"The symbol `{flow.coordinates[symbol].name}` is moved by two actions",
                    seen=f"{owner[symbol]} and {pattern.name}",
                    remedy="state one action for each symbol",
                )
            owner[symbol] = pattern.name


def check_actions(equations: Equations, method: str) -> None:
    """Refuse what is no flow whose matrices move by a group."""
    system = equations.system
    refuse_positions(equations, method)
    if isinstance(system, Flow) and system.actions:
        return
    is_flow = isinstance(system, Flow)
    raise FormError(
        f"The method {method} needs a flow whose matrices move by a group",
        seen="a flow without actions" if is_flow else f'the form "{equations.form}"',
        remedy="state da.Flow(..., matrices={...}, actions=[...]), or use method gauss4",
    )


def action_tables(
    kernel: Kernel, parameters: Array, method: str, is_linear: bool
) -> tuple[ActionTables, int]:
    """The tables of a kernel's flow for a method, and the address of its generators; made once."""

    def make() -> tuple[ActionTables, int]:
        tables = ActionTables(kernel.equations.system, is_linear, method)
        tables.check_patterns(kernel, parameters)
        tables.check_identities(kernel)
        return tables, kernel.load_program(tables.program(kernel))

    return kernel.cache.get(("actions", is_linear), make)


def bind_actions(run: FixedRun, is_linear: bool) -> int:
    """Bind the tables and the program of the generators; return the unknowns of a stage."""
    bind, fields, task = run.context.fields.bind, run.context.fields, run.task
    tables, address = action_tables(run.kernel, task.parameters, task.method, is_linear)
    for name, column in tables.columns.items():
        bind(name, column)
    for name in ("fill_places", "fill_factors", "read_places", "read_factors", "rest", "constants"):
        bind(name, getattr(tables, name))
    for name in ("generators", "left", "right", "algebra"):
        bind(name, np.zeros(tables.factors_size))
    bind("matrices", np.zeros_like(tables.constants))
    bind("matrix_work", np.zeros(tables.work_size))
    fields.generator_program = address
    fields.n_generators, fields.n_actions = len(tables.generators), len(tables.flow.actions)
    fields.n_entries, fields.n_fills = len(tables.constants), len(tables.fill_factors)
    fields.n_rest = len(tables.rest)
    return tables.width
