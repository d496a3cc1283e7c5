r"""Systems of equal parts: one part is stated, with its neighbours, and becomes N of them.

The symbols of the part before and of the part after are ``x.before`` and ``x.after``. With the
energies T, V and the forces of one part, the couplings U between a part and its neighbours, and the
constraints g of one part, the system is

    L = sum_k T_k - V_k - U_k,       g_k = 0,       k = 1 .. N

where the symbols of part k are ``x_k``. At the ends of a row, neighbours that are not there have
the values of `first` and `last`. Without values, couplings and constraints that name them are left
out, and energies and forces that do are refused. In a ring the last part is the one before the
first.

The result is a `System` like any other. It remembers the part that it was made from (`Repetition`),
so that its graph is made for all parts at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import sympy

from ...errors import ModelError
from ...typing import Expression, Values
from ..constraints import Constraint
from ..frozen_table import FrozenTable
from ..symbols import Coordinate, Input, Momentum, Velocity, as_expression, t
from ..system import System
from ..without_gc import without_gc
from .renaming import renamed, sum_of_terms
from .repeated_part import RepeatedPart, read_ends

if TYPE_CHECKING:
    from ...algebra.graph import GraphAlgebra

__all__ = ["Repetition", "repeat"]

ZERO = sympy.Integer(0)
#: A system of fewer parts is stated as any other.
FEW = 8


def repeat(
    count: int,
    coordinates: Sequence[Coordinate] | Coordinate,
    *,
    kinetic: Expression,
    potential: Expression = 0,
    coupling: Expression | Sequence[Expression] = (),
    constraints: Sequence[Constraint] = (),
    forces: Mapping[Coordinate, Expression] | None = None,
    dissipation: Expression = 0,
    individual: Sequence[sympy.Symbol] = (),
    first: Values | None = None,
    last: Values | None = None,
    ring: bool = False,
    inputs: Sequence[Input] = (),
    outputs: Values | None = None,
    name: str = "system",
) -> System:
    """A system of `count` equal parts, each coupled to its neighbours.

    Parameters
    ----------
    count : int
        The number N of parts.
    coordinates : sequence of Coordinate
        Those of one part; part k = 1 .. N has ``x_k``. Neighbours are ``x.before``, ``x.after``,
        ``x.after.after``, ...
    kinetic, potential, dissipation, forces, constraints, outputs
        As in `System`, for one part. Names take the number of the part as well: ``rod_1``,
        ``rod_2``, ...
    coupling : expression, or sequence of them
        Potential energies between a part and its neighbours; each is left out where one of them is
        not there.
    individual : sequence of Parameter or Input
        Symbols of which each part has its own: m becomes ``m_1``, ``m_2``, ...; all others are
        shared.
    first, last : mapping of neighbours to expressions of time and parameters
        What stands before the first part, and behind the last: ``first={x.before: 0}`` holds the
        first part at a fixed point.
    ring : bool
        Whether the last part is the one before the first.
    inputs : sequence of Input
        Inputs, shared or individual.

    Examples
    --------
    A chain of a thousand masses on rods, hung up at the origin:

    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> m, g, l = da.parameters("m g l", positive=True)
    >>> rod = da.holonomic((x - x.before)**2 + (y - y.before)**2 - l**2, name="rod")
    >>> chain = da.repeat(1000, [x, y], kinetic=m/2*(x.dot**2 + y.dot**2), potential=m*g*y,
    ...                   constraints=[rod], first={x.before: 0, y.before: 0})
    >>> len(chain.coordinates), chain.constraints[1].expression
    (2000, -l**2 + (-x_1 + x_2)**2 + (-y_1 + y_2)**2)
    """
    listed = (coordinates,) if isinstance(coordinates, sympy.Basic) else tuple(coordinates)
    several: Any = coupling
    couplings = [coupling] if isinstance(coupling, (sympy.Basic, int, float)) else list(several)
    part = RepeatedPart(
        coordinates=listed,
        kinetic=as_expression(kinetic),
        potential=as_expression(potential),
        couplings=tuple(as_expression(value) for value in couplings),
        constraints=tuple(constraints),
        forces={q: as_expression(value) for q, value in (forces or {}).items()},
        dissipation=as_expression(dissipation),
        individual=tuple(individual),
        ends={**read_ends(first, -1), **read_ends(last, 1)},
        inputs=tuple([inputs] if isinstance(inputs, sympy.Basic) else inputs),
        outputs={key: as_expression(value) for key, value in (outputs or {}).items()},
    )
    part.check(count, ring)
    row = _Row(part, int(count), ring, name)
    reach = part.reach[1] - part.reach[0]
    if count <= FEW + 2 * reach:
        return row.stated()
    _Row(part, FEW + 2 * reach, ring, name).stated()  # every fault of a part shows in a few of them
    return row.assembled()


@dataclass(frozen=True)
class Repetition:
    """What the inner parts of a system have in common.

    Attributes
    ----------
    symbols : mapping of symbol to tuple of symbols
        Each symbol of the part, and what it is in every inner part.
    templates : sequence of pairs
        An expression of the part, and the expressions it became in every inner part.
    sums : sequence of triples
        An expression of the part, the sum of all parts, and the terms that the other parts add to
        it.
    """

    symbols: Mapping[sympy.Symbol, tuple[sympy.Symbol, ...]]
    templates: Sequence[tuple[sympy.Expr, Sequence[sympy.Expr]]]
    sums: Sequence[tuple[sympy.Expr, sympy.Expr, Sequence[sympy.Expr]]]

    def lower(self, algebra: GraphAlgebra) -> None:
        """Make a graph algebra know the expressions of the system, for all inner parts at once."""
        parts = algebra.for_parts(self.symbols)
        for template, instances in self.templates:
            algebra.know(instances, parts.column(template))
        for template, whole, others in self.sums:
            if template != 0:
                algebra.know_sum(whole, parts.column(template), others)


class _MissingNeighbourError(Exception):
    """An expression names a neighbour that is not there."""


class _Row:
    """`count` parts in a row or a ring."""

    def __init__(self, part: RepeatedPart, count: int, ring: bool, name: str) -> None:
        self.part, self.count, self.ring, self.name = part, count, ring, name
        self.coordinates = {
            q.name: [Coordinate(f"{q.name}_{k}") for k in range(1, count + 1)]
            for q in part.coordinates
        }
        self.own: dict[tuple[type, str], list[Any]] = {
            (Coordinate, base): row for base, row in self.coordinates.items()
        }
        for base, row in self.coordinates.items():
            self.own[Velocity, base] = [q.dot for q in row]
            self.own[Momentum, base] = [q.momentum for q in row]
        for symbol in part.individual:
            assumptions = symbol._assumptions_orig
            made = [type(symbol)(f"{symbol.name}_{k}", **assumptions) for k in range(1, count + 1)]
            self.own[type(symbol), symbol.name] = made

    # -- symbols -----------------------------------------------------------------------------------

    def symbol(self, k: int, kind: type, base: str, offset: int) -> sympy.Expr:
        """A symbol of the part as it is seen from part k."""
        place = k + offset
        if self.ring:
            place %= self.count
        if 0 <= place < self.count:
            return self.own[kind, base][place]  # type: ignore[no-any-return]
        beyond = place if place < 0 else place - self.count + 1
        value = self.part.ends.get((base, beyond))
        if value is None or kind is Momentum:
            raise _MissingNeighbourError(base, offset)
        return value if kind is Coordinate else sympy.diff(value, t)

    def at(self, k: int, expression: sympy.Expr) -> sympy.Expr:
        """An expression of the part as it is in part k, an end included."""
        symbols = self.part.symbols
        table = {
            symbol: self.symbol(k, *symbols[symbol])
            for symbol in expression.free_symbols
            if symbol in symbols
        }
        return expression.xreplace(table)

    @cached_property
    def inner(self) -> range:
        """The parts all of whose neighbours are parts."""
        before, after = self.part.reach
        return range(self.count) if self.ring else range(-before, self.count - after)

    @cached_property
    def tables(self) -> dict[sympy.Symbol, tuple[sympy.Symbol, ...]]:
        """Each symbol of the part in every inner part."""
        found = {}
        for symbol, (kind, base, offset) in self.part.symbols.items():
            row = self.own[kind, base]
            places = (k + offset for k in self.inner)
            found[symbol] = tuple(row[place % self.count] for place in places)
        return found

    def everywhere(self, expression: sympy.Expr, where: str) -> list[sympy.Expr | None]:
        """An expression in every part; None where a neighbour is not there."""
        used = [symbol for symbol in self.part.symbols if symbol in expression.free_symbols]
        inner = (
            renamed(
                expression, used, list(zip(*(self.tables[symbol] for symbol in used), strict=True))
            )
            if used
            else None
        )
        found: list[sympy.Expr | None] = []
        for k in range(self.count):
            if k in self.inner:
                found.append(inner[k - self.inner.start] if inner is not None else expression)
                continue
            try:
                found.append(self.at(k, expression))
            except _MissingNeighbourError as missing:
                if where:
                    raise self._refusal(where, k, missing) from None
                found.append(None)
        return found

    def _refusal(self, where: str, k: int, missing: _MissingNeighbourError) -> ModelError:
        base, offset = missing.args
        side, word = ("first", "before") if offset < 0 else ("last", "after")
        return ModelError(
            f"The {where} of part {k + 1} names `{base}.{word}`, and there is nothing",
            remedy=(
                f"pass {side}={{{base}.{word}: ...}} or ring=True, or put the energy into coupling="
            ),
        )

    # -- systems -----------------------------------------------------------------------------------

    def stated(self) -> System:
        """The system by the constructor that checks everything."""
        kinetic, potential, dissipation = (
            sympy.Add(*[term for terms in lists for term in terms if term is not None])
            for lists in self._energies()
        )
        return System(
            self._flat_coordinates(),
            kinetic=kinetic,
            potential=potential,
            dissipation=dissipation,
            constraints=self._constraints(),
            forces=self._forces(),
            inputs=self._inputs(),
            outputs=self._outputs(),
            name=self.name,
        )

    def _flat_coordinates(self) -> tuple[Coordinate, ...]:
        return tuple(
            self.coordinates[q.name][k] for k in range(self.count) for q in self.part.coordinates
        )

    @cached_property
    def _coupling_rows(self) -> list[list[sympy.Expr | None]]:
        return [self.everywhere(value, "") for value in self.part.couplings]

    def _energies(self) -> tuple[list[list[sympy.Expr | None]], ...]:
        part = self.part
        return (
            [self.everywhere(part.kinetic, "kinetic energy")],
            [self.everywhere(part.potential, "potential"), *self._coupling_rows],
            [self.everywhere(part.dissipation, "dissipation")],
        )

    @cached_property
    def _constraint_rows(self) -> list[list[sympy.Expr | None]]:
        return [self.everywhere(constraint.expression, "") for constraint in self.part.constraints]

    def _constraints(self) -> tuple[Constraint, ...]:
        found: list[Constraint] = []
        for k in range(self.count):
            for number, (constraint, row) in enumerate(
                zip(self.part.constraints, self._constraint_rows, strict=True), start=1
            ):
                expression = row[k]
                if expression is None:
                    continue
                work = {
                    self.at(k, q): self.at(k, as_expression(value))
                    for q, value in constraint.work.items()
                }
                named = f"{constraint.name or f'c{number}'}_{k + 1}"
                found.append(
                    replace(constraint, expression=expression, name=named, work=FrozenTable(work))
                )
        return tuple(found)

    def _forces(self) -> dict[Coordinate, sympy.Expr]:
        rows = {q: self.everywhere(value, f"force on {q}") for q, value in self.part.forces.items()}
        found = {}
        for k in range(self.count):
            for q, row in rows.items():
                if row[k] is not None and row[k] != 0:
                    found[self.coordinates[q.name][k]] = row[k]
        return found  # type: ignore[return-value]

    def _inputs(self) -> dict[Input, None]:
        found: list[Input] = []
        for symbol in self.part.inputs:
            found += self.own[Input, symbol.name] if symbol in self.part.individual else [symbol]
        return dict.fromkeys(found)

    def _outputs(self) -> dict[str, sympy.Expr]:
        rows = {
            key: self.everywhere(value, f"output `{key}`")
            for key, value in self.part.outputs.items()
        }
        found = ((f"{key}_{k + 1}", row[k]) for key, row in rows.items() for k in range(self.count))
        return {name: value for name, value in found if value is not None}

    @without_gc
    def assembled(self) -> System:
        """The system without the checks, which a few parts have passed."""
        kinetic, potential, dissipation = self._energies()
        coordinates = self._flat_coordinates()
        motive, stored, lost = (_total(rows) for rows in (kinetic, potential, dissipation))
        values: dict[str, Any] = {
            "coordinates": coordinates,
            "kinetic": motive,
            "potential": stored,
            "lagrangian": sum_of_terms([(motive, 1), (stored, -1)]),
            "hamiltonian": None,
            "constraints": self._constraints(),
            "forces": FrozenTable(self._forces()),
            "dissipation": lost,
            "inputs": FrozenTable(self._inputs()),
            "outputs": FrozenTable(self._outputs()),
            "bundle": FrozenTable({}),
            "bundle_lagrangian": None,
            "name": str(self.name),
        }
        for attribute, kind in (("velocities", Velocity), ("momenta", Momentum)):
            values[attribute] = tuple(
                self.own[kind, q.name][k] for k in range(self.count) for q in self.part.coordinates
            )
        repetition = self._repetition(values, kinetic, potential, dissipation)
        system = System.of_checked(values | {"repetition": repetition})
        self._check_names(system)
        return system

    def _check_names(self, system: System) -> None:
        """Numbered names must not meet others, such as a shared parameter x_2."""
        names = [
            symbol.name
            for kind in (Coordinate, Velocity, Momentum)
            for q in self.coordinates
            for symbol in self.own[kind, q]
        ]
        names += [f"{q.name}_ddot" for q in system.coordinates]
        names += [symbol.name for symbol in (*system.parameters, *system.inputs)] + list(
            system.outputs
        )
        taken: set[str] = set()
        for name in names:
            if name in taken:
                raise ModelError(
                    f"The name `{name}` has two meanings",
                    remedy="rename one of the symbols of the part",
                )
            taken.add(name)

    def _repetition(
        self, values: dict[str, Any], *energies: list[list[sympy.Expr | None]]
    ) -> Repetition:
        part, inner = self.part, self.inner
        templates: list[tuple[sympy.Expr, Sequence[sympy.Expr]]] = []
        for constraint, row in zip(part.constraints, self._constraint_rows, strict=True):
            templates.append((constraint.expression, [row[k] for k in inner]))  # type: ignore[misc]
        for q, value in part.forces.items():
            templates.append(
                (value, [values["forces"].get(self.coordinates[q.name][k], ZERO) for k in inner])
            )
        outside = [k for k in range(self.count) if k not in inner]

        def others(lists: list[list[sympy.Expr | None]], sign: int) -> list[sympy.Expr]:
            return [
                sign * term
                for row in lists
                for k in outside
                for term in [row[k]]
                if term is not None
            ]

        template = part.kinetic - part.potential - sympy.Add(*part.couplings)
        sums = [
            (template, values["lagrangian"], [*others(energies[0], 1), *others(energies[1], -1)]),
            (part.dissipation, values["dissipation"], others(energies[2], 1)),
        ]
        return Repetition(self.tables, templates, sums)


def _total(rows: Sequence[Sequence[sympy.Expr | None]]) -> sympy.Expr:
    return sum_of_terms([(term, 1) for row in rows for term in row if term is not None])
