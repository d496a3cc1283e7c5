r"""L D L^T of a Hessian without forming it: velocities that the energy shares become unknowns.

The mass matrix of a chain of N bodies is dense in joint angles, M = J^T Q J with a dense J. But
whoever writes the energy passes velocities on from body to body, and its graph knows them: every
node of it that depends on the symbols v is x_k = phi_k(x_i, x_j), and by the chain rule

    z^T L_vv z = sum_k (dL/dx_k) phi_k''[dx, dx],      dx_k = sum_i (dphi_k/dx_i) dx_i,      dx of
    the symbols = z.

This is a sparse quadratic form Q in the symbols and the shared nodes, with sparse definitions D of
the nodes. Minimising 1/2 z^T L_vv z - f . z is minimising 1/2 x^T Q x - f . z under these
definitions, which are used backwards:

    node k:     Q <- Q with dx_k = sum_i D_ki dx_i put in          once no other node is defined by
    dx_k any more symbol i:   Q <- Q - Q_i Q_i^T / Q_ii                          once no node is
    defined by z_i any more

Every Q_ii met is a pivot of L D L^T of L_vv in the order of the symbols, hence positive where L_vv
is. For chains and trees of bodies the remaining Q is the articulated-body inertia (Featherstone,
Rigid Body Dynamics Algorithms, 2008, section 7.3), and the work grows like N. Without the last line
Q is the composite inertia (section 6.2), and its Q_ii the diagonal of L_vv.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca

from .scalars import minus, over, plus, times
from .sparse_factor import Budget, Column

__all__ = ["LiftedFactor", "Lifting", "lift"]

#: A sum of more terms gets a node of its own even where it is used only once.
WIDEST = 4

_ONE, _TWO = ca.SX(1), ca.SX(2)


@dataclass(frozen=True)
class Lifting:
    """A Hessian as a quadratic form in n symbols and further nodes.

    Attributes
    ----------
    n : int
        The number of symbols; they are the unknowns 0 ... n - 1, and the nodes come after them.
    definitions : list of mappings
        D: each node by earlier unknowns.
    form : list of mappings
        Q, symmetric: its rows without what is zero.
    """

    n: int
    definitions: list[Column]
    form: list[Column]

    @cached_property
    def passing_operations(self) -> int:
        """Products and sums that pass a unit of every symbol on through the nodes behind it."""
        behind = [1 << i for i in range(self.n)]
        count = 0
        for definition in self.definitions:
            reached = 0
            for unknown in definition:
                count += 2 * behind[unknown].bit_count()
                reached |= behind[unknown]
            behind.append(reached)
        return count


def lift(scalar: ca.SX, symbols: ca.SX) -> Lifting | None:
    """The Hessian of `scalar` with respect to `symbols` (n x 1) as a form in shared nodes.

    None where the symbols occur in other operations than sums, products, and quotients by what does
    not depend on them.

    >>> v = ca.SX.sym("v", 3)
    >>> shared = v[0] + 2 * v[1]
    >>> found = lift(v[1] ** 2 + shared**2 + (shared + v[2]) ** 2, v)
    >>> [[(i, float(value)) for i, value in node.items()] for node in found.definitions]
    [[(0, 1.0), (1, 2.0)]]
    >>> right = {0: ca.SX(2), 1: ca.SX(6), 2: ca.SX(0)}
    >>> {i: float(value) for i, value in sorted(LiftedFactor(found).solve(right).items())}
    {0: -1.0, 1: 1.0, 2: -1.0}
    """
    tape = _Tape(scalar, symbols)
    return _Lifter(tape).lifting() if tape.is_polynomial else None


@dataclass(frozen=True)
class _LiftedStep:
    """A node that depends on the symbols: its arguments, and its derivative by each of them."""

    arguments: tuple[int, ...]
    derivatives: tuple[Any, ...]
    is_bent: bool = False


class _Tape:
    """The nodes of a scalar that depend on the symbols, in the order in which they are computed.

    Attributes
    ----------
    steps : dict
        The nodes by their number; a symbol has no arguments.
    places : dict
        The symbol that a node is.
    root : int
        The scalar itself, -1 where it does not depend on the symbols.
    is_polynomial : bool
        Whether all of these nodes could be read.
    """

    def __init__(self, scalar: ca.SX, symbols: ca.SX) -> None:
        self.n = symbols.numel()
        self.steps: dict[int, _LiftedStep] = {}
        self.places: dict[int, int] = {}
        self.root, self.is_polynomial = -1, True
        function = ca.Function("tape", [symbols], [scalar], {"allow_free": True})
        values: list[Any] = function.instructions_sx().nonzeros()
        of_symbols = ca.vertsplit(function.sx_in(0)) if self.n else []
        slots: dict[int, int] = {}
        for k in range(function.n_instructions()):
            code = function.instruction_id(k)
            if code == ca.OP_OUTPUT:
                self.root = slots[function.instruction_input(k)[0]]
                continue
            (slot,) = function.instruction_output(k)
            if code == ca.OP_INPUT:
                self.places[k] = place = function.instruction_input(k)[1]
                self.steps[k], values[k] = _LiftedStep((), ()), of_symbols[place]
            elif code not in (ca.OP_CONST, ca.OP_PARAMETER):
                arguments = [slots[a] for a in function.instruction_input(k)]
                if any(a in self.steps for a in arguments):
                    self._read(k, code, arguments, values)
            slots[slot] = k
        if self.root not in self.steps:
            self.root = -1

    def _read(self, k: int, code: int, arguments: list[int], values: list[Any]) -> None:
        first, last = arguments[0], arguments[-1]
        moves = [a in self.steps for a in arguments]
        is_bent = False
        derivatives: list[Any]
        match code:
            case ca.OP_ADD:
                derivatives = [_ONE, _ONE]
            case ca.OP_SUB:
                derivatives = [_ONE, -_ONE]
            case ca.OP_NEG:
                derivatives = [-_ONE]
            case ca.OP_TWICE:
                derivatives = [_TWO]
            case ca.OP_ASSIGN:
                derivatives = [_ONE]
            case ca.OP_SQ:
                derivatives, is_bent = [times(_TWO, values[first])], True
            case ca.OP_MUL:
                derivatives, is_bent = [values[last], values[first]], all(moves)
            case ca.OP_DIV if not moves[1]:
                derivatives = [over(_ONE, values[last])]
            case _:
                self.is_polynomial = False
                return
        chosen = [
            (a, derivative)
            for a, derivative, moving in zip(arguments, derivatives, moves, strict=False)
            if moving
        ]
        self.steps[k] = _LiftedStep(
            tuple(a for a, _ in chosen), tuple(derivative for _, derivative in chosen), is_bent
        )


class _Lifter:
    """Reads the form and the definitions off a tape."""

    def __init__(self, tape: _Tape) -> None:
        self.tape, self.steps = tape, tape.steps
        self.n = tape.n
        self.definitions: list[Column] = []
        self.form: list[Column] = [{} for _ in range(tape.n)]

    def lifting(self) -> Lifting:
        weights = self._weights()
        made = self._combinations(weights)
        for k, weight in weights.items():
            arguments = self.steps[k].arguments
            if len(set(arguments)) == 1:
                self._add_square(weight, made[arguments[0]])
            else:
                self._add_product(weight, made[arguments[0]], made[arguments[1]])
        return Lifting(self.n, self.definitions, self.form)

    def _weights(self) -> dict[int, Any]:
        """dL/dx_k of the nodes that are products, by the chain rule from the root."""
        bent: set[int] = set()
        for k, step in self.steps.items():
            if step.is_bent or any(a in bent for a in step.arguments):
                bent.add(k)
        derivatives: dict[int, Any] = {self.tape.root: _ONE}
        for k in reversed(self.steps):
            if k not in bent or k not in derivatives:
                continue
            for a, derivative in zip(
                self.steps[k].arguments, self.steps[k].derivatives, strict=True
            ):
                if a in bent:
                    further = times(derivatives[k], derivative)
                    derivatives[a] = plus(derivatives[a], further) if a in derivatives else further
        return {
            k: derivatives[k]
            for k, step in self.steps.items()
            if step.is_bent and k in derivatives and not derivatives[k].is_zero()
        }

    def _combinations(self, weights: dict[int, Any]) -> dict[int, Column]:
        """dx of every node that the form needs, by symbols and shared nodes."""
        uses: dict[int, int] = {}
        for k in weights:
            for a in set(self.steps[k].arguments):
                uses[a] = uses.get(a, 0) + 1
        for k in reversed(self.steps):
            if k in uses:
                for a in self.steps[k].arguments:
                    uses[a] = uses.get(a, 0) + 1
        made: dict[int, Column] = {}
        for k, step in self.steps.items():
            if k not in uses:
                continue
            if k in self.tape.places:
                made[k] = {self.tape.places[k]: _ONE}
                continue
            found: Column = {}
            for a, derivative in zip(step.arguments, step.derivatives, strict=True):
                for unknown, entry in made[a].items():
                    _add(found, unknown, times(derivative, entry))
            if len(found) > 1 and (uses[k] > 1 or len(found) > WIDEST):
                self.definitions.append(found)
                self.form.append({})
                found = {len(self.form) - 1: _ONE}
            made[k] = found
        return made

    def _add_square(self, weight: ca.SX, base: Column) -> None:
        """weight * base^2 as a term of the scalar: its second derivatives."""
        double, entries = _doubled(weight), list(base.items())
        for number, (i, entry) in enumerate(entries):
            scaled = times(double, entry)
            for j, other in entries[number:]:
                _add_both(self.form, i, j, times(scaled, other))

    def _add_product(self, weight: ca.SX, left: Column, right: Column) -> None:
        """weight * left * right as a term of the scalar: its second derivatives."""
        for i, entry in left.items():
            scaled = times(weight, entry)
            for j, other in right.items():
                value = times(scaled, other)
                _add_both(self.form, i, j, value if i != j else _doubled(value))


def _doubled(value: ca.SX) -> ca.SX:
    """2 value, with numbers taken together."""
    if value.is_op(ca.OP_MUL):
        for number in (0, 1):
            if value.dep(number).is_constant():
                return times(times(_TWO, value.dep(number)), value.dep(1 - number))
    return times(_TWO, value)


def _add(column: Column, place: int, value: ca.SX) -> None:
    column[place] = plus(column[place], value) if place in column else value


class LiftedFactor:
    """L D L^T of a lifted Hessian as scalars of the graph, with the interface of a `SparseFactor`.

    The next symbol is always one that the fewest remaining nodes depend on: tips of a tree come
    first. There is no search for pivots by size; the caller looks at the health.

    Attributes
    ----------
    pivots, diagonal : dicts (n,)
        D, and the diagonal of the Hessian, by symbol.
    """

    def __init__(self, lifting: Lifting, budget: Budget | None = None) -> None:
        self.n, self.budget = lifting.n, budget or Budget()
        self._definitions = lifting.definitions
        self._form = [dict(row) for row in lifting.form]
        self._composite = [dict(row) for row in lifting.form]
        self.pivots: dict[int, Any] = {}
        self.diagonal: dict[int, Any] = {}
        self._inverses: dict[int, Any] = {}
        self._columns: dict[int, Column] = {}
        self.order = list(self._order())

    def _order(self) -> Iterator[int]:
        """Eliminate, and give the unknowns in the order in which it happens."""
        depending = self._depending()
        left = (1 << len(self._definitions)) - 1
        waiting = set(range(self.n))
        while waiting:
            symbol = min(
                waiting, key=lambda i: ((depending[i] & left).bit_count(), len(self._form[i]), i)
            )
            waiting.remove(symbol)
            nodes = depending[symbol] & left
            while nodes:
                last = nodes.bit_length() - 1
                nodes ^= 1 << last
                left ^= 1 << last
                self._put_in(self._form, self.n + last)
                self._put_in(self._composite, self.n + last)
                yield self.n + last
            self._eliminate(symbol)
            yield symbol

    def _depending(self) -> list[int]:
        """The nodes that depend on each unknown, as bits."""
        found = [0] * len(self._form)
        for k in reversed(range(len(self._definitions))):
            here = found[self.n + k] | 1 << k
            for i in self._definitions[k]:
                found[i] |= here
        return found

    def _put_in(self, form: list[Column], node: int) -> None:
        """Q with the definition of a node in place of it."""
        row, form[node] = form[node], {}
        own = row.pop(node, None)
        for other in row:
            del form[other][node]
        parents = list(self._definitions[node - self.n].items())
        self.budget.spend(len(parents) * (len(row) + len(parents)))
        others = [
            (j, entry) for j, entry in row.items() if j not in self._definitions[node - self.n]
        ]
        for number, (i, coefficient) in enumerate(parents):
            for j, entry in others:
                _add_both(form, i, j, times(coefficient, entry))
            cross = row.get(i)
            for j, further in parents[number:]:
                # Q_ij + D_i (Q_kk D_j + Q_kj) + Q_ki D_j
                value = None if own is None else times(further, own)
                if j in row:
                    value = row[j] if value is None else plus(value, row[j])
                value = None if value is None else times(coefficient, value)
                if cross is not None:
                    second = times(cross, further)
                    value = second if value is None else plus(value, second)
                if value is not None:
                    _add_both(form, i, j, value)

    def _eliminate(self, symbol: int) -> None:
        row, self._form[symbol] = self._form[symbol], {}
        self.pivots[symbol] = pivot = row.pop(symbol, ca.SX(0))
        composite, self._composite[symbol] = self._composite[symbol], {}
        self.diagonal[symbol] = composite.pop(symbol, ca.SX(0))
        for other in composite:
            del self._composite[other][symbol]
        inverse = self._inverses[symbol] = over(_ONE, pivot)
        column = self._columns[symbol] = {
            other: times(entry, inverse) for other, entry in row.items()
        }
        others = list(row.items())
        self.budget.spend(len(others) * (len(others) + 3) // 2 + 1)
        for number, (i, entry) in enumerate(others):
            del self._form[i][symbol]
            for j, _ in others[number:]:
                value = times(entry, column[j])
                known = self._form[i].get(j)
                value = -value if known is None else minus(known, value)
                self._form[i][j] = self._form[j][i] = value

    def forward(self, right: Column) -> Column:
        """L^-1 of a column over the symbols; entries that are missing are zero."""
        loads, found = dict(right), {}
        for unknown in self.order:
            value = loads.pop(unknown, None)
            if value is None:
                continue
            if unknown >= self.n:
                for i, coefficient in self._definitions[unknown - self.n].items():
                    _add(loads, i, times(coefficient, value))
                continue
            found[unknown] = value
            for other, entry in self._columns[unknown].items():
                step = times(entry, value)
                loads[other] = minus(loads[other], step) if other in loads else -step
        return found

    def divided(self, column: Column) -> Column:
        """D^-1 of a column."""
        return {place: times(value, self._inverses[place]) for place, value in column.items()}

    def backward(self, right: Column) -> Column:
        """L^-T of a column."""
        found: Column = {}
        for unknown in reversed(self.order):
            if unknown >= self.n:
                terms = [
                    times(entry, found[i])
                    for i, entry in self._definitions[unknown - self.n].items()
                    if i in found
                ]
                value = None
                for term in terms:
                    value = term if value is None else plus(value, term)
            else:
                value = right.get(unknown)
                for other, entry in self._columns[unknown].items():
                    if other in found:
                        step = times(entry, found[other])
                        value = -step if value is None else minus(value, step)
            if value is not None:
                found[unknown] = value
        return {place: value for place, value in found.items() if place < self.n}

    def solve(self, right: Column) -> Column:
        """The solution of Hessian x = right, by symbol."""
        return self.backward(self.divided(self.forward(right)))

    @cached_property
    def health(self) -> ca.SX:
        """The least |pivot / diagonal entry|, as one scalar; 1 at best."""
        largest = _ONE
        for symbol, entry in self.diagonal.items():
            if not ca.is_equal(self.pivots[symbol], entry, 1):
                largest = ca.fmax(largest, ca.fabs(times(entry, self._inverses[symbol])))
        return over(_ONE, largest)


def _add_both(form: list[Column], i: int, j: int, value: ca.SX) -> None:
    known = form[i].get(j)
    form[i][j] = form[j][i] = value if known is None else plus(known, value)
