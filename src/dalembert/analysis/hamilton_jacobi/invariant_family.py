r"""The Hamilton-Jacobi method on an invariant family of motions (Rumyantsev, example 5.1).

An equation that does not separate may do so on a set that the canonical equations (5.9) keep:

    pi_c = constant        where dH_1/dq_c = 0 on the set,
    q_s = constant         where dH_1/dpi_s = 0 gives pi_s, and dH_1/dq_s = 0 is a condition between
                           the constants that remain.

On it S_t + h(q_r, S_r) = 0 with the restricted Hamiltonian h, whose complete integral gives q_r(t)
by Jacobi's theorem; the coordinates q_c of the fixed momenta follow from q_c' = dH_1/dpi_c by
quadrature. The family consists of mechanical motions where (5.10) holds on it. A rolling disk with
pi_x = pi_y = 0 and a constant tilt is the paper's case.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import sympy

from ...algebra.graph import GraphAlgebra
from ...algebra.simplify.simplifier import simplify
from ...algebra.structure import Verdict
from ...errors import ModelError, nearest
from ...model.symbols import Coordinate, Parameter, t
from ...model.system import System
from ..proofs.bounded import differs_nowhere, exact, fresh
from ..tables import Report, Section
from ..variational.variational_hamiltonian import VariationalHamiltonian
from .jacobi_condition import condition_terms
from .primitives import primitive
from .separation import CompleteIntegral, separate

__all__ = ["InvariantFamily", "invariant_family"]

ZERO = sympy.S.Zero
Relations = Mapping[sympy.Symbol, sympy.Expr]


@dataclass(frozen=True, repr=False, eq=False)
class InvariantFamily(Report):
    """An invariant family of the canonical equations (5.9), and the method on it.

    Attributes
    ----------
    system : System
    relations : mapping of symbol to expression
        What holds on the family: momenta with their values, coordinates at rest with the symbol of
        their place, ``<coordinate>_0``.
    conditions : tuple of expressions
        dh/dq_s, which must be zero for the coordinates at rest to stay there.
    hamiltonian : sympy.Expr
        h(q_r, pi_r), H_1 on the family.
    integral : CompleteIntegral or None
        A complete integral of S_t + h = 0, with one constant for each remaining coordinate.
    speeds : mapping of symbol to expression
        omega_r = dh/dalpha_r of the coordinates that grow in proportion to time.
    motion : mapping of coordinate to expression or None
        q(t), in the constants and the speeds; None where no closed form was found.
    mechanical : Verdict
        Whether (5.10) holds on the family, so that its motions are those of the mechanical system.
    reason : str
        What was not found, and what was tried; empty where everything was.
    """

    system: System
    relations: Relations
    conditions: tuple[sympy.Expr, ...]
    hamiltonian: sympy.Expr
    integral: CompleteIntegral | None
    speeds: Relations
    motion: Mapping[sympy.Symbol, sympy.Expr] | None
    mechanical: Verdict
    reason: str

    @cached_property
    def sentence(self) -> str:
        """Whether the family consists of mechanical motions, in words."""
        if self.mechanical.is_proved:
            return "every motion of the family: (5.10) is proved on it"
        if self.mechanical.is_refuted:
            return "not in general: (5.10) fails on the family; along(motion) tells for one motion"
        return f"not established: {self.mechanical.grounds}"

    def _title(self) -> str:
        return f"{self.system.name}: an invariant family"

    def _sections(self) -> list[Section]:
        relations = [(str(symbol), str(value)) for symbol, value in self.relations.items()]
        lines = [("S", "none: " + self.reason)]
        if self.integral is not None:
            lines = [("S", str(self.integral.action)), ("certified", self.integral.certified)]
        motion = [] if self.motion is None else [(str(q), str(s)) for q, s in self.motion.items()]
        speeds = [(str(symbol), str(value)) for symbol, value in self.speeds.items()]
        missing = [("not found", self.reason)] if self.reason and self.integral else []
        return [
            ("Relations", relations),
            ("Conditions", [("zero", str(condition)) for condition in self.conditions]),
            ("Hamiltonian", [("h", str(self.hamiltonian))]),
            ("Complete integral", lines),
            ("Motion", [*motion, *speeds, *missing]),
            ("Mechanical motions", [("gives", self.sentence)]),
        ]


def invariant_family(
    found: VariationalHamiltonian, stated: Mapping[sympy.Symbol | str, object]
) -> InvariantFamily:
    """The family on which momenta have values and coordinates rest; see `HamiltonJacobi.on`."""
    family = _Family(found, stated)
    return InvariantFamily(
        system=found.system,
        relations=family.relations,
        conditions=family.conditions,
        hamiltonian=family.hamiltonian,
        integral=family.integral,
        speeds=family.speeds,
        motion=family.motion,
        mechanical=family.mechanical(),
        reason=family.reason,
    )


class _Family:
    """The steps from relations to a motion."""

    def __init__(
        self, found: VariationalHamiltonian, stated: Mapping[sympy.Symbol | str, object]
    ) -> None:
        self.found, self.reason = found, ""
        self.pairs = list(zip(found.system.coordinates, found.momenta, strict=True))
        used = found.hamiltonian.free_symbols.union(found.system.coordinates, found.momenta)
        self.taken = {symbol.name for symbol in used}
        self.fixed, resting = self._read(stated)
        self.places = {q: Parameter(fresh(f"{q.name}_0", self.taken)) for q in resting}
        self.carried = [q for q, pi in self.pairs if pi in self.fixed]
        self.moving = [pair for pair in self.pairs if self._moves(*pair)]
        self.resting = self._resting_momenta()
        self.relations: Relations = {**self.fixed, **self.places, **self.resting}
        self.hamiltonian = simplify(found.hamiltonian.xreplace(self.relations))
        self._check_kept()
        conditions = self._conditions()
        q, pi = [q for q, _ in self.moving], [pi for _, pi in self.moving]
        self.integral = separate(self.hamiltonian, q, pi)
        self.conditions = tuple(condition.xreplace(self._kept()) for condition in conditions)
        if self.integral is None:
            names = ", ".join(symbol.name for symbol in q)
            self.reason = f"the restricted equation was not separated in {names}"
        self.speeds, self.motion = self._motion()

    def _moves(self, q: Coordinate, pi: sympy.Symbol) -> bool:
        return pi not in self.fixed and q not in self.places

    def _read(
        self, stated: Mapping[sympy.Symbol | str, object]
    ) -> tuple[dict[sympy.Symbol, sympy.Expr], list[Coordinate]]:
        """Values of momenta, and the coordinates whose velocity is zero."""
        momenta = {pi.name: pi for _, pi in self.pairs}
        velocities = {q.dot.name: q for q, _ in self.pairs}
        fixed: dict[sympy.Symbol, sympy.Expr] = {}
        resting: list[Coordinate] = []
        for key, given in stated.items():
            name, value = getattr(key, "name", key), _value(given, self.found.system)
            if name in momenta:
                fixed[momenta[name]] = value
            elif name in velocities and value == 0:
                resting.append(velocities[name])
            elif name in velocities:
                what = f"A coordinate of the family is at rest, so that {name} = 0"
                raise ModelError(what, f"{name} = {value}", f'state "{name}": 0')
            else:
                near = nearest(str(name), [*momenta, *velocities])
                what = f"A relation is for a momentum or a velocity, not for `{name}`"
                remedy = f"did you mean {near}" if near else f"use one of {', '.join(momenta)}"
                raise ModelError(what, remedy=remedy)
        return fixed, resting

    def _resting_momenta(self) -> dict[sympy.Symbol, sympy.Expr]:
        """pi_s from dH_1/dpi_s = 0, by elimination of one after the other."""
        wanted = [pi for q, pi in self.pairs if q in self.places and pi not in self.fixed]
        energy = self.found.hamiltonian.xreplace({**self.fixed, **self.places})
        solved: dict[sympy.Symbol, sympy.Expr] = {}
        for pi in wanted:
            rate = sympy.diff(energy, pi)
            derivative = simplify(sympy.diff(rate, pi))
            if derivative == 0 or derivative.has(pi):
                what = f"The momentum {pi} of a coordinate at rest does not follow from its rate"
                raise ModelError(what, f"dH_1/d{pi} = {rate}", f'give "{pi}" a value')
            value = simplify(-rate.xreplace({pi: ZERO}) / derivative)
            solved = {other: simplify(own.xreplace({pi: value})) for other, own in solved.items()}
            solved[pi] = value
            energy = energy.xreplace({pi: value})
        return solved

    def _check_kept(self) -> None:
        """Raise where a fixed momentum has a rate on the family, or its coordinate acts on it."""
        for q in self.carried:
            rate = -sympy.diff(self.found.hamiltonian, q).xreplace(self.relations)
            if not differs_nowhere([(rate, ZERO)]).holds or self.hamiltonian.has(q):
                pi = next(own for other, own in self.pairs if other == q)
                what = f"The momentum {pi} does not keep its value on this family"
                remedy = "fix further momenta, or leave this one free"
                raise ModelError(what, f"its rate is {simplify(rate)}", remedy)

    def _conditions(self) -> tuple[sympy.Expr, ...]:
        """dh/dq_s by place, which contain no coordinate that moves."""
        found = []
        for q, place in self.places.items():
            condition = simplify(sympy.diff(self.hamiltonian, place))
            moving = [str(own) for own, _ in self.moving if condition.has(own)]
            moving += ["t"] * condition.has(t)
            if moving:
                what = f"{q} does not stay at rest while {', '.join(moving)} changes"
                seen = f"its condition is {condition} = 0"
                raise ModelError(what, seen, "let further coordinates rest, or fix their momenta")
            if condition != 0:
                found.append(condition)
        return tuple(found)

    def _kept(self) -> Relations:
        """The momenta that are constants of the complete integral."""
        derivatives = () if self.integral is None else self.integral.derivatives
        cyclic = {d.variable: d.shift for d in derivatives if d.is_cyclic}
        return {pi: cyclic[q] for q, pi in self.moving if q in cyclic}

    def _motion(self) -> tuple[Relations, Mapping[sympy.Symbol, sympy.Expr] | None]:
        """q(t) of the moving coordinates by Jacobi's theorem, of the carried ones by quadrature."""
        if self.integral is None or self.integral.motion is None:
            if self.integral is not None:
                self.reason = "Jacobi's relations were not solved for the coordinates"
            return {}, None
        motion: dict[sympy.Symbol, sympy.Expr] = dict(self.integral.motion)
        speeds: dict[sympy.Symbol, sympy.Expr] = {}
        rates: dict[sympy.Symbol, sympy.Expr] = {q.dot: ZERO for q in self.places}
        for q, _ in self.moving:
            rate = sympy.diff(motion[q], t)
            if not rate.has(t):
                rates[q.dot] = symbol = Parameter(fresh(f"omega_{q.name}", self.taken))
                speeds[symbol] = simplify(rate)
                motion[q] = motion[q].xreplace({t: ZERO}) + symbol * t
        motion |= self.places
        for q in self.carried:
            path = primitive(self._carried_rate(q, rates).xreplace(motion), t)
            if path is None:
                self.reason = f"the quadrature of {q.name} has no closed form by the rules tried"
                return speeds, None
            motion[q] = Parameter(fresh(f"beta_{q.name}", self.taken)) + path
        return speeds, {q: motion[q] for q, _ in self.pairs}

    def _carried_rate(self, q: Coordinate, rates: Relations) -> sympy.Expr:
        """The velocity of a coordinate whose momentum is fixed, in the moving coordinates and t.

        It is phi_q(q, v_I, t) of the constraints where the velocities in it are constant, and
        dH_1/dpi_q otherwise.
        """
        assert self.integral is not None
        solved = self.found.solved[q]
        if solved.free_symbols.intersection(self.found.system.velocities) <= set(rates):
            return solved.xreplace(dict(rates))
        by_variable = {d.variable: d.expression() for d in self.integral.derivatives}
        momenta = {pi: by_variable[own] for own, pi in self.moving}
        return self.found.velocities[q].xreplace(dict(self.relations)).xreplace(momenta)

    def mechanical(self) -> Verdict:
        """Whether (5.10) vanishes on the family, where the conditions hold."""
        if not self.found.system.bilateral:
            return Verdict("proved", "no constraints", holds_to_rounding=True)
        algebra = GraphAlgebra()
        terms = condition_terms(self.found, algebra)
        known = {**self.relations, **self._kept()}
        for condition in self.conditions:
            known |= _eliminated(condition.xreplace(known))
        symbols = algebra.vector(list(known))
        values = algebra.vector([value.xreplace(known) for value in known.values()])
        verdict = algebra.vanishing(algebra.substitute(terms, symbols, values))
        unused = [c for c in self.conditions if not _eliminated(c)]
        if verdict.is_refuted and unused:
            grounds = f"{len(unused)} conditions could not be eliminated"
            return Verdict("not established", grounds)
        return verdict


def _value(given: object, system: System) -> sympy.Expr:
    """A number or an expression of the parameters."""
    value = given
    if isinstance(given, (int, float)):
        value = exact(sympy.Float(given)) if isinstance(given, float) else sympy.Integer(given)
    if isinstance(value, sympy.Expr) and value.free_symbols <= {*system.parameters}:
        return value
    what = "A relation has a number or an expression of the parameters as its value"
    raise ModelError(what, repr(given)[:80], "write pi_x = 0 as {'pi_x': 0}")


def _eliminated(condition: sympy.Expr) -> dict[sympy.Symbol, sympy.Expr]:
    """One symbol of a condition, in which it is linear, by the others; empty where there is none.

    It is exact wherever the coefficient is not zero, so that a proof holds on the condition's set.
    """
    for symbol in sorted(condition.free_symbols, key=lambda symbol: symbol.name):
        derivative = sympy.diff(condition, symbol)
        if derivative != 0 and not simplify(derivative).has(symbol):
            return {symbol: simplify(-condition.xreplace({symbol: ZERO}) / derivative)}
    return {}
