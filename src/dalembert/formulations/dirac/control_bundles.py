r"""Optimal control on a bundle: x_dot = V(x, u, t), v = F(x, u, t), and the cost L(x, v, t).

The velocities and the point of the bundle are given apart (Moreau and van der Schaft 1, 2); F need
not be sigma V for any homomorphism sigma, and both may be nonlinear in the controls u. With a
costate xi and Lambda = L(x, F, t) - xi . V the normal Pontryagin extremals are

    x_dot = V,     xi_dot = dLambda/dx,     dLambda/du = 0        (3-6)

and the last equation stays where Lambda_uu u_dot = - Lambda_ux x_dot + V_u^T xi_dot - Lambda_ut.
Where V = E_a(x) u_a and F = F_a(x) u_a are linear and the fields E_a are in involution, [E_b, E_a]
= c_bad E_d, the costate is eliminated:

    F_a d/dt L_v - E_a L_x = L_v {F_d c_bad + E_a dF_b - E_b dF_a} u_b        (12-14)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sympy

from ...algebra.simplify.simplifier import simplify
from ...algebra.verdicts import Verdict, conjunction
from ...errors import FormError, ModelError
from ...geometry.surfaces import Surface, eliminate
from ...geometry.vanishing import vanish
from ...model.constraints import holonomic
from ...model.flow_system import Flow
from ...model.symbols import Coordinate, Speed, as_expression, t
from ...typing import Expression

__all__ = ["ControlBundle"]

Column = list[sympy.Expr]


@dataclass(frozen=True)
class ControlBundle:
    """A control system over a bundle, with a cost on the bundle.

    Parameters
    ----------
    velocities : mapping of Coordinate to expression
        V(x, u, t).
    fibre : mapping of Speed to expression
        The point of the bundle, v = F(x, u, t), for as many v as the cost needs.
    cost : expression
        L(x, v, t).
    speeds : sequence of Speed
        The controls u.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> u, v = da.speeds("u v")
    >>> bundle = ControlBundle({x: u + u**3}, {v: u}, v**2 / 2 - x, [u])
    >>> flow = bundle.extremals()
    >>> [q.name for q in flow.coordinates], flow.constraints[0].expression
    (['x', 'xi_x', 'u'], u - xi_x*(3*u**2 + 1))
    """

    velocities: Mapping[Coordinate, Expression]
    fibre: Mapping[Speed, Expression]
    cost: Expression
    speeds: Sequence[Speed]

    def __post_init__(self) -> None:
        wrong = [str(s) for s in (*self.speeds, *self.fibre) if not isinstance(s, Speed)]
        foreign = self._action.free_symbols & {*self.fibre}
        if wrong or foreign:
            raise ModelError(
                "Controls and fibre velocities must be different speeds",
                seen=", ".join(wrong or sorted(map(str, foreign))),
                remedy='make them with da.speeds("u v")',
            )

    # -- what is stated ----------------------------------------------------------------------------

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """x."""
        return tuple(self.velocities)

    @property
    def _moved(self) -> Column:
        return [as_expression(value) for value in self.velocities.values()]

    @property
    def _fibre(self) -> Column:
        return [as_expression(value) for value in self.fibre.values()]

    @property
    def _action(self) -> sympy.Expr:
        """L(x, F(x, u, t), t)."""
        values = {v: as_expression(value) for v, value in self.fibre.items()}
        return as_expression(self.cost).xreplace(values)

    @property
    def _symbols(self) -> dict[Speed, Coordinate]:
        """The controls as symbols of a flow."""
        return {u: Coordinate(u.name) for u in self.speeds}

    # -- extremals ---------------------------------------------------------------------------------

    def extremals(self, name: str = "extremals") -> Flow:
        """The normal extremals (3-6) as a flow in x, the costates ``xi_<x>``, and u.

        A start in x and the costates is completed by the u that make dLambda/du zero.

        Raises
        ------
        FormError
            Where Lambda_uu is singular, so that the condition does not determine u.
        """
        x, u = list(self.coordinates), list(self.speeds)
        xi = [Coordinate(f"xi_{q.name}") for q in x]
        moved, own = self._moved, self._action
        hamilton = own - sum(c * v for c, v in zip(xi, moved, strict=True))
        condition = [sympy.diff(hamilton, s) for s in u]
        costate_rates = [sympy.diff(hamilton, q) for q in x]
        rates = dict(zip((*x, *xi), (*moved, *costate_rates), strict=True))
        matrix = [[sympy.diff(c, s) for s in u] for c in condition]
        right = [
            [-sum(sympy.diff(c, s) * rate for s, rate in rates.items()) - sympy.diff(c, t)]
            for c in condition
        ]
        surface = Surface((*u, *xi, *x))
        solved = eliminate(surface, matrix, right)
        if solved.free:
            raise FormError(
                "The maximum condition does not determine the controls",
                seen=f"Lambda_uu of rank {len(solved.pivots)} of {len(u)}",
                remedy="make the cost regular in the controls, or leave dependent ones out",
            )
        named = self._symbols
        full = rates | {named[s]: solved.values[j][0][0] for j, s in enumerate(u)}
        steady = not hamilton.has(t)
        energy = {"energy": (-hamilton).xreplace(named)} if steady else {}
        return Flow(
            {s: simplify(rate).xreplace(named) for s, rate in full.items()},
            integrals=energy,
            outputs={
                v.name: value.xreplace(named)
                for v, value in zip(self.fibre, self._fibre, strict=True)
            },
            constraints=[
                holonomic(c.xreplace(named), name=f"maximum_{s.name}")
                for s, c in zip(u, condition, strict=True)
            ],
            name=name,
        )

    # -- without the costate -----------------------------------------------------------------------

    @property
    def involutivity(self) -> Verdict:
        """Whether V = E u is linear and [E_b, E_a] = c_bad E_d (11): the verdict."""
        linear = self._linearity()
        if not linear.holds:
            return linear
        return conjunction({"linear in the controls": linear, "brackets": self._structure()[0]})

    def without_costate(self, name: str = "extremals without costate") -> Flow:
        """(12-14) as a flow in x and u, where the fields are in involution.

        Raises
        ------
        FormError
            Where they are not: the costate cannot be eliminated.
        """
        if not self.involutivity.holds:
            raise FormError(
                "The costate cannot be eliminated: the fields are not in involution",
                seen=self.involutivity.grounds,
                remedy="keep it: use extremals()",
            )
        x, u = list(self.coordinates), list(self.speeds)
        E, F = (
            [[sympy.diff(e, s) for e in block] for s in u] for block in (self._moved, self._fibre)
        )
        _, structure = self._structure()
        values = dict(zip(self.fibre, self._fibre, strict=True))
        cost = as_expression(self.cost)
        p = [sympy.diff(cost, v).xreplace(values) for v in self.fibre]
        by_place = [sympy.diff(cost, q).xreplace(values) for q in x]
        moved, count = self._moved, len(u)

        def along(column: Column, direction: Column) -> Column:
            pairs = list(zip(x, direction, strict=True))
            return [sum(sympy.diff(e, q) * d for q, d in pairs) for e in column]

        matrix, right = [], []
        for a in range(count):
            bent = [
                sum(structure[b][a][d] * u[b] * F[d][m] for b in range(count) for d in range(count))
                for m in range(len(p))
            ]
            sideways = along(self._fibre, E[a])
            back = along(F[a], moved)
            push = sum(p[m] * (bent[m] + sideways[m] - back[m]) for m in range(len(p)))
            push += sum(E[a][i] * by_place[i] for i in range(len(x)))
            drift = [r + sympy.diff(e, t) for r, e in zip(along(p, moved), p, strict=True)]
            push -= sum(F[a][m] * drift[m] for m in range(len(p)))
            matrix.append([sum(F[a][m] * sympy.diff(p[m], s) for m in range(len(p))) for s in u])
            right.append([push])
        solved = eliminate(Surface((*u, *x)), matrix, right)
        if solved.free:
            raise FormError(
                "The equations do not determine the rates of the controls",
                seen=f"rank {len(solved.pivots)} of {count}",
                remedy="make the cost regular in the controls, or leave dependent ones out",
            )
        named = self._symbols
        rates = dict(zip(x, moved, strict=True))
        full: dict[Coordinate, sympy.Expr] = rates | {
            named[s]: solved.values[j][0][0] for j, s in enumerate(u)
        }
        return Flow({s: simplify(rate).xreplace(named) for s, rate in full.items()}, name=name)

    def _linearity(self) -> Verdict:
        u = list(self.speeds)
        still = dict.fromkeys(u, sympy.Integer(0))
        parts = [*self._moved, *self._fibre]
        second = [sympy.diff(e, a, b) for e in parts for a in u for b in u]
        timed = [sympy.diff(e, t) for e in parts]
        return vanish([*second, *(e.xreplace(still) for e in parts), *timed])

    def _structure(self) -> tuple[Verdict, list[list[Column]]]:
        """Whether brackets stay in the span of the fields, and c_bad."""
        x, u = list(self.coordinates), list(self.speeds)
        fields = [[sympy.diff(e, s) for e in self._moved] for s in u]
        count = len(fields)

        def bracket(b: int, a: int) -> Column:
            pairs = list(enumerate(x))
            return [
                sum(
                    fields[b][j] * sympy.diff(fields[a][i], q)
                    - fields[a][j] * sympy.diff(fields[b][i], q)
                    for j, q in pairs
                )
                for i in range(len(x))
            ]

        places = [(b, a) for b in range(count) for a in range(count)]
        brackets = [bracket(b, a) for b, a in places]
        rows = [[field[i] for field in fields] for i in range(len(x))]
        right = [[column[i] for column in brackets] for i in range(len(x))]
        found = eliminate(Surface(tuple(x)), rows, right)
        rest = [e for column in found.conditions.values() for e in column]
        zero = sympy.Integer(0)
        table = [[[zero] * count for _ in range(count)] for _ in range(count)]
        for d, (values, _) in found.values.items():
            for place, (b, a) in enumerate(places):
                table[b][a][d] = values[place]
        return vanish(rest), table
