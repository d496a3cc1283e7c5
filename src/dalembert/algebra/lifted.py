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

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca

from .scalars import over, plus, times
from .sparse_factor import Column

__all__ = ["Lifting", "add_both", "add_to", "lift"]

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
    rows : list of mappings
        The derivatives of further expressions, which are affine in the symbols.
    """

    n: int
    definitions: list[Column]
    form: list[Column]
    rows: list[Column]

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


def lift(scalar: ca.SX, symbols: ca.SX, affine: ca.SX | None = None) -> Lifting | None:
    """The Hessian of `scalar` with respect to `symbols` (n x 1) as a form in shared nodes.

    None where the symbols occur in other operations than sums, products, and quotients by what does
    not depend on them. Expressions `affine` in the symbols (m x 1) share nodes with the scalar.

    >>> from .lifted_factor import LiftedFactor
    >>> v = ca.SX.sym("v", 3)
    >>> shared = v[0] + 2 * v[1]
    >>> found = lift(v[1] ** 2 + shared**2 + (shared + v[2]) ** 2, v)
    >>> [[(i, float(value)) for i, value in node.items()] for node in found.definitions]
    [[(0, 1.0), (1, 2.0)]]
    >>> right = {0: ca.SX(2), 1: ca.SX(6), 2: ca.SX(0)}
    >>> {i: float(value) for i, value in sorted(LiftedFactor(found).solve(right).items())}
    {0: -1.0, 1: 1.0, 2: -1.0}
    """
    tape = _Tape(scalar, symbols, affine)
    lifter = _Lifter(tape) if tape.is_polynomial else None
    if lifter is None or any(root in lifter.bent for root in tape.roots.values()):
        return None
    return lifter.lifting()


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
    roots : dict
        The nodes that further expressions are, by their number.
    is_polynomial : bool
        Whether all of these nodes could be read.
    """

    def __init__(self, scalar: ca.SX, symbols: ca.SX, affine: ca.SX | None = None) -> None:
        self.n = symbols.numel()
        self.count = 0 if affine is None else affine.numel()
        self.roots: dict[int, int] = {}
        outputs = [scalar] if affine is None else [scalar, ca.densify(affine)]
        self.steps: dict[int, _LiftedStep] = {}
        self.places: dict[int, int] = {}
        self.root, self.is_polynomial = -1, True
        function = ca.Function("tape", [symbols], outputs, {"allow_free": True})
        values: list[Any] = function.instructions_sx().nonzeros()
        of_symbols = ca.vertsplit(function.sx_in(0)) if self.n else []
        slots: dict[int, int] = {}
        known: dict[tuple[Any, ...], int] = {}
        for k in range(function.n_instructions()):
            code = function.instruction_id(k)
            if code == ca.OP_OUTPUT:
                found = slots[function.instruction_input(k)[0]]
                which, number = function.instruction_output(k)
                if which == 0:
                    self.root = found
                elif found in self.steps:
                    self.roots[number] = found
                continue
            (slot,) = function.instruction_output(k)
            if code == ca.OP_INPUT:
                self.places[k] = place = function.instruction_input(k)[1]
                self.steps[k], values[k] = _LiftedStep((), ()), of_symbols[place]
            elif code not in (ca.OP_CONST, ca.OP_PARAMETER):
                arguments = [slots[a] for a in function.instruction_input(k)]
                if self.count:  # what scalar and rows share is often written twice
                    earlier = known.setdefault((code, *arguments), k)
                    if earlier != k:
                        slots[slot] = earlier
                        continue
                if any(a in self.steps for a in arguments):
                    self._read(k, code, arguments, values)
            elif self.count:
                slots[slot] = known.setdefault((code, values[k].element_hash()), k)
                continue
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
        self.bent: set[int] = set()
        for k, step in self.steps.items():
            if step.is_bent or any(a in self.bent for a in step.arguments):
                self.bent.add(k)

    def lifting(self) -> Lifting:
        weights = self._weights()
        made = self._combinations(weights)
        for k, weight in weights.items():
            arguments = self.steps[k].arguments
            if len(set(arguments)) == 1:
                self._add_square(weight, made[arguments[0]])
            else:
                self._add_product(weight, made[arguments[0]], made[arguments[1]])
        rows: list[Column] = [{} for _ in range(self.tape.count)]
        for number, root in self.tape.roots.items():
            rows[number] = made[root]
        return Lifting(self.n, self.definitions, self.form, rows)

    def _weights(self) -> dict[int, Any]:
        """dL/dx_k of the nodes that are products, by the chain rule from the root."""
        bent = self.bent
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
        for root in self.tape.roots.values():
            uses[root] = uses.get(root, 0) + 1
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
            if any(a in self.tape.places for a in step.arguments):
                # a sum that a symbol joins: without the symbol nothing is left of the sum alone
                for a in step.arguments:
                    made[a] = self._named(made[a])
            found: Column = {}
            for a, derivative in zip(step.arguments, step.derivatives, strict=True):
                for unknown, entry in made[a].items():
                    add_to(found, unknown, times(derivative, entry))
            is_shared = uses[k] > 1 or len(found) > WIDEST
            made[k] = self._named(found) if is_shared else found
        return made

    def _named(self, found: Column) -> Column:
        """A node for a combination of several unknowns."""
        if len(found) < 2:
            return found
        self.definitions.append(found)
        self.form.append({})
        return {len(self.form) - 1: _ONE}

    def _add_square(self, weight: ca.SX, base: Column) -> None:
        """weight * base^2 as a term of the scalar: its second derivatives."""
        double, entries = _doubled(weight), list(base.items())
        for number, (i, entry) in enumerate(entries):
            scaled = times(double, entry)
            for j, other in entries[number:]:
                add_both(self.form, i, j, times(scaled, other))

    def _add_product(self, weight: ca.SX, left: Column, right: Column) -> None:
        """weight * left * right as a term of the scalar: its second derivatives."""
        for i, entry in left.items():
            scaled = times(weight, entry)
            for j, other in right.items():
                value = times(scaled, other)
                add_both(self.form, i, j, value if i != j else _doubled(value))


def _doubled(value: ca.SX) -> ca.SX:
    """2 value, with numbers taken together."""
    if value.is_op(ca.OP_MUL):
        for number in (0, 1):
            if value.dep(number).is_constant():
                return times(times(_TWO, value.dep(number)), value.dep(1 - number))
    return times(_TWO, value)


def add_to(column: Column, place: int, value: ca.SX) -> None:
    """Add to an entry of a column."""
    column[place] = plus(column[place], value) if place in column else value


def add_both(form: list[Column], i: int, j: int, value: ca.SX) -> None:
    """Add to an entry of a symmetric form and to its mirror image."""
    known = form[i].get(j)
    form[i][j] = form[j][i] = value if known is None else plus(known, value)
