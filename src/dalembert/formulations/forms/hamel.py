r"""Hamel's equations in quasi-velocities adapted to the constraints, both kinds.

The quasi-velocities are eta_s = f_s(q, v, t), k of them, free, and eta_a = f_a(q, v, t), the
constraints themselves, which may be nonlinear. The free ones are the independent velocities, or
what the caller states. With v = F(q, eta, t), L*(q, eta, t), F_is = dF_i/deta_s, d/dpi_s = F_is
d/dq_i, and eta_a = 0 only after all derivatives are formed,

    d/dt dL*/deta_s + dL*/deta_r W_s^r - dL*/dpi_s = (F^T Q)_s        W_s^r = F_js (d/dt df_r/dv_j -
    df_r/dq_j) d/dt dL*/deta_s - (dL/dv_i)* T_s^i - dL*/dpi_s = (F^T Q)_s        T_s^i = d/dt F_is -
    dF_i/dpi_s

(Rumyantsev 3.2 and 3.3 with 1.21). The second kind needs F alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import sympy

from ...algebra.graph import GraphAlgebra
from ...algebra.structure import Verdict
from ...errors import FormError
from ...model.symbols import Parameter, Speed, as_expression, t
from ...model.system import System
from ..blocks import GaussBlocks
from ..constraint_equations import velocity_level
from ..equations import Equations
from ..form import Form
from ..independent_velocities import (
    FormSymbols,
    Reduction,
    Split,
    choose_split,
    reduced_equations,
    velocity_symbols,
)
from .lagrange import lagrangian_and_momenta

if TYPE_CHECKING:
    from ...algebra.protocol import Block

__all__ = [
    "FORM",
    "KINDS",
    "QuasiVelocities",
    "derive",
    "hypotheses",
    "second_kind",
    "transitivity",
    "transitivity_of_inverse",
]

CITATION = "Hamel's equations in nonlinear quasi-velocities (Rumyantsev eqs. 3.2, 3.3, 1.21)"
#: With the symbols W of the quasi-velocities, or with the symbols T of their inverse.
KINDS = ("first", "second")


def hypotheses(system: System) -> None:
    """Raise FormError where the form does not apply."""
    if not choose_split(system).dependent:
        raise FormError(
            "Hamel's form in quasi-velocities adapted to constraints needs constraints",
            seen="none",
            remedy='use the form "lagrange"',
        )


def derive(
    system: System,
    quasi_velocities: Mapping[str, Any] | None = None,
    kind: str = "first",
    velocities: Mapping[Any, Any] | None = None,
) -> Equations:
    """Rates of the free quasi-velocities.

    Parameters
    ----------
    quasi_velocities : mapping of name to expression of q, q_dot and t
        The free quasi-velocities, affine in the independent velocities once the constraints are
        solved; the independent velocities themselves by default. There are as many as degrees of
        freedom; they become symbols of the state.
    kind : "first" or "second"
        With W (Rumyantsev 3.2) or with T (3.3).
    velocities : mapping of coordinate to expression of q, t and speeds
        The inverse v = F(q, eta, t) on the constraints in place of the quasi-velocities, for those
        that are nonlinear. The speeds, made with `speeds`, are the quasi-velocities; the equations
        are of the second kind.

    Examples
    --------
    >>> import dalembert as da
    >>> from sympy import cos, sin
    >>> x, y, theta = da.coordinates("x y theta")
    >>> blade = da.velocity(x.dot*sin(theta) - y.dot*cos(theta), name="blade")
    >>> skate = da.System(
    ...     [x, y, theta], kinetic=(x.dot**2 + y.dot**2 + theta.dot**2) / 2, constraints=[blade]
    ... )
    >>> speeds = {"forward": x.dot*cos(theta) + y.dot*sin(theta), "turn": theta.dot}
    >>> print(derive(skate, quasi_velocities=speeds).state)
    (x, y, theta, forward, turn)
    """
    if velocities is not None:
        if quasi_velocities is not None:
            raise FormError(
                "Give quasi-velocities, or velocities in terms of them",
                seen="both",
                remedy="leave one out",
            )
        return _by_inverse(system, velocities)
    if quasi_velocities is None:
        hypotheses(system)
    if kind not in KINDS:
        raise FormError(
            "Hamel's equations are of two kinds",
            seen=kind,
            remedy='pass kind="first" or kind="second"',
        )
    if quasi_velocities is None:
        return reduced_equations(system, FORM, partial(derive_on, kind=kind), variant=kind)
    stated = _stated(system, quasi_velocities)
    symbols = FormSymbols.named(stated)
    return reduced_equations(
        system,
        FORM,
        partial(derive_on, kind=kind, stated=stated),
        allowed=lambda split: _fits(system, split, stated),
        symbols=lambda _system, _split: symbols,
        variant=(kind, tuple(stated.items())),
    )


def _by_inverse(system: System, velocities: Mapping[Any, Any]) -> Equations:
    """The second kind for a given inverse v = F(q, eta, t)."""
    table = {
        str(getattr(key, "name", key)): as_expression(value) for key, value in velocities.items()
    }
    missing = [q.name for q in system.coordinates if q.name not in table]
    strange = [name for name in table if name not in {q.name for q in system.coordinates}]
    speeds = tuple(
        sorted({s for value in table.values() for s in value.atoms(Speed)}, key=lambda s: s.name)
    )
    freedom = len(choose_split(system).independent)
    if missing or strange or len(speeds) != freedom:
        raise FormError(
            "The velocities must be given for each coordinate, in as many speeds as degrees of"
            " freedom",
            seen=(
                f"{len(speeds)} speeds for {freedom} degrees of freedom, missing"
                f" {', '.join(missing) or 'none'}"
            ),
            remedy="write q_dot = F(q, eta, t) with speeds eta",
        )
    given = tuple(table[q.name] for q in system.coordinates)
    known = {*system.coordinates, *system.parameters, *speeds, t}
    foreign = sorted({s.name for value in given for s in value.free_symbols - known})
    if foreign:
        raise FormError(
            "The velocities contain symbols that have no place there",
            seen=", ".join(foreign),
            remedy="write them in the system's coordinates, its parameters, t and speeds",
        )
    _check_names(system, [s.name for s in speeds])
    obeyed = _check_inverse(system, given, speeds)
    symbols = FormSymbols(speeds, FormSymbols.named(s.name for s in speeds).rates)

    def derivation(reduction: Reduction) -> GaussBlocks:
        algebra = reduction.algebra
        eta, rates, inverse = (
            algebra.vector(speeds),
            algebra.vector(symbols.rates),
            algebra.vector(given),
        )
        residual = second_kind(reduction, eta, rates, inverse)
        independent = algebra.part(inverse, reduction.split.independent, [0])
        return reduction.in_symbols(residual, eta, rates, independent)

    return reduced_equations(
        system,
        FORM,
        derivation,
        symbols=lambda _system, _split: symbols,
        variant=given,
        hypotheses={"the given velocities obey the constraints": obeyed},
    )


def _check_inverse(
    system: System, velocities: tuple[sympy.Expr, ...], speeds: tuple[sympy.Symbol, ...]
) -> Verdict:
    """Check that the velocities obey the constraints and reach all directions they allow."""
    algebra = GraphAlgebra()
    level = velocity_level(system, algebra, lagrangian_and_momenta(system, algebra)[1])
    inverse = algebra.vector(velocities)
    left = algebra.substitute(level.residual, algebra.vector(system.velocities), inverse)
    found = algebra.vanishing(left)
    if not found.holds_to_rounding:
        raise FormError(
            f"The given velocities {'do not' if found.is_refuted else 'are not shown to'} obey the"
            " constraints for all speeds",
            seen=", ".join(c.name for c in system.bilateral),
            remedy=(
                "write them so that every constraint holds, and declare speeds that have to be"
                " positive with speeds(..., positive=True)"
            ),
        )
    rank = algebra.rank(algebra.jacobian(inverse, algebra.vector(speeds))).value
    if rank < len(speeds):
        raise FormError(
            "The speeds do not determine each other's directions",
            seen=f"rank {rank} of {len(speeds)}",
        )
    return found


def _stated(system: System, quasi_velocities: Mapping[str, Any]) -> dict[str, sympy.Expr]:
    """The caller's quasi-velocities by name, in the system's own symbols."""
    found = {
        str(getattr(name, "name", name)): as_expression(value)
        for name, value in quasi_velocities.items()
    }
    freedom = len(choose_split(system).independent)
    if len(found) != freedom:
        raise FormError(
            "The quasi-velocities must be as many as the degrees of freedom",
            seen=f"{len(found)} given, {freedom} degrees of freedom",
            remedy="give the free ones; the constraints are the others",
        )
    _check_names(system, list(found))
    for name, value in found.items():
        strange = value.free_symbols - {
            *system.coordinates,
            *system.velocities,
            *system.parameters,
            t,
        }
        if strange:
            raise FormError(
                f"The quasi-velocity `{name}` contains symbols that have no place there",
                seen=", ".join(sorted(s.name for s in strange)),
                remedy="write it in the system's coordinates, velocities, parameters and t",
            )
    return found


def _check_names(system: System, names: list[str]) -> None:
    """A quasi-velocity is a symbol of the motion, beside all others."""
    state = (
        *system.coordinates,
        *system.velocities,
        *system.momenta,
        *(q.ddot for q in system.coordinates),
    )
    taken = {
        "t",
        "energy",
        *system.outputs,
        *(s.name for s in (*state, *system.inputs)),
        *(f"{name}_dot" for name in names),
    }
    for name in names:
        if name in taken or not name.isidentifier():
            raise FormError(
                f"A quasi-velocity cannot be called `{name}`", remedy="give it a name of its own"
            )


def _fits(system: System, split: Split, stated: Mapping[str, sympy.Expr]) -> bool:
    """Whether the quasi-velocities can be solved for the independent velocities of a split."""
    reduction = Reduction(system, GraphAlgebra(), split)
    algebra = reduction.algebra
    derivative = algebra.jacobian(
        reduction.here(algebra.vector(stated.values())), reduction.independent
    )
    if algebra.without(derivative, reduction.independent) is None:
        return False
    return bool(algebra.rank(derivative).value == len(stated))


class QuasiVelocities:
    """eta = f(q, v, t) and its inverse v = F(q, eta, t) on a reduction.

    Attributes
    ----------
    free, bound : columns of symbols (k x 1), (r x 1)
        eta_s and eta_a.
    rates : column of symbols (k x 1)
        d eta_s / dt.
    definition : column (n x 1)
        f(q, v, t), free ones first.
    velocities : column (n x 1)
        F(q, eta, t), by coordinate.
    frame : matrix (n x k)
        dF / d eta_s on the constraints: the virtual displacements are frame @ anything.
    """

    def __init__(
        self, reduction: Reduction, stated: Mapping[str, sympy.Expr] | None = None
    ) -> None:
        algebra, split = reduction.algebra, reduction.split
        self.reduction = reduction
        symbols = (
            velocity_symbols(reduction.system, split)
            if stated is None
            else FormSymbols.named(stated)
        )
        self.free, self.rates = algebra.vector(symbols.state), algebra.vector(symbols.rates)
        names = [reduction.system.bilateral[k].name for k in split.rows]
        self.bound = algebra.vector(
            [Parameter(f"eta of {name}") for name in names]
        )  # no symbol of a model has such a name
        constraints = algebra.part(reduction.level.residual, split.rows, [0])
        given = reduction.independent if stated is None else algebra.vector(stated.values())
        self.definition = algebra.stack([given, constraints])
        dependent = self._solved(constraints, reduction.dependent, self.bound)
        independent = self.free
        if stated is not None:
            on_constraints = algebra.substitute(given, reduction.dependent, dependent)
            independent = self._solved(on_constraints, reduction.independent, self.free)
            dependent = algebra.substitute(dependent, reduction.independent, independent)
        order = [*split.independent, *split.dependent]
        together = algebra.stack([independent, dependent])
        self.velocities = algebra.part(together, [order.index(k) for k in range(len(order))], [0])
        self.eta = algebra.stack([self.free, self.bound])
        self.independent = self.bound_to_zero(independent)
        self.frame = self.bound_to_zero(algebra.jacobian(self.velocities, self.free))

    def _solved(self, equations: Block, symbols: Block, values: Block) -> Block:
        """The symbols from equations(symbols) = values that are affine in them."""
        algebra = self.reduction.algebra
        if not symbols.shape[0]:
            return algebra.zeros(0)
        matrix = algebra.jacobian(equations, symbols)
        rest = algebra.substitute(equations, symbols, algebra.zeros(symbols.shape[0]))
        return algebra.solve_square(matrix, values - rest)

    def at(self, block: Block) -> Block:
        """A block of q and v as one of q and eta."""
        return self.reduction.algebra.substitute(block, self.reduction.v, self.velocities)

    def bound_to_zero(self, block: Block) -> Block:
        """A block on the constraints."""
        algebra = self.reduction.algebra
        return algebra.substitute(block, self.bound, algebra.zeros(self.bound.shape[0]))

    def rate(self, block: Block) -> Block:
        """The time derivative of a column of (q, eta, t) on the constraints, with eta_a = 0."""
        return self.bound_to_zero(
            self.reduction.rate_of(block, self.free, self.rates, self.velocities)
        )


def transitivity(quasi: QuasiVelocities) -> Any:
    """W_s^r of (1.21), (n x k) over r, s, on the constraints."""
    reduction, algebra = quasi.reduction, quasi.reduction.algebra
    rows = []
    for r in range(quasi.definition.shape[0]):
        entry = algebra.part(quasi.definition, [r], [0])
        derivative = quasi.at(algebra.jacobian(entry, reduction.v).T)
        turn = quasi.rate(derivative) - quasi.bound_to_zero(
            quasi.at(algebra.jacobian(entry, reduction.q).T)
        )
        rows.append((quasi.frame.T @ turn).T)
    return algebra.stack(rows)


def transitivity_of_inverse(quasi: QuasiVelocities) -> Any:
    """T_s^i of (1.21), (n x k) over i, s, on the constraints."""
    reduction, algebra = quasi.reduction, quasi.reduction.algebra
    frame = algebra.jacobian(quasi.velocities, quasi.free)
    spread = quasi.bound_to_zero(algebra.jacobian(quasi.velocities, reduction.q)) @ quasi.frame
    places = range(len(reduction.system.coordinates))
    turns = [quasi.rate(algebra.part(frame, places, [s])) for s in range(quasi.free.shape[0])]
    return algebra.columns(turns) - spread


def second_kind(reduction: Reduction, eta: Block, rates: Block, velocities: Block) -> Block:
    """The left side of (3.3) less the applied force, (k x 1), for v = F(q, eta, t)."""
    algebra = reduction.algebra

    def at(block: Block) -> Block:
        return algebra.substitute(block, reduction.v, velocities)

    lagrangian, momenta = at(reduction.lagrangian), at(reduction.momenta_at_velocity)
    frame = algebra.jacobian(velocities, eta)
    places = range(frame.shape[0])
    columns = [algebra.part(frame, places, [s]) for s in range(frame.shape[1])]
    turns = algebra.stack(
        [reduction.rate_of(column, eta, rates, velocities).T @ momenta for column in columns]
    )
    spread = algebra.jacobian(velocities, reduction.q) @ frame
    return (
        reduction.rate_of(algebra.gradient(lagrangian, eta), eta, rates, velocities)
        - turns
        + spread.T @ momenta
        - frame.T @ (algebra.gradient(lagrangian, reduction.q) + at(reduction.applied_force))
    )


def derive_on(
    reduction: Reduction, kind: str = "first", stated: Mapping[str, sympy.Expr] | None = None
) -> GaussBlocks:
    """The blocks on a reduction."""
    algebra = reduction.algebra
    quasi = QuasiVelocities(reduction, stated)
    stated_at_velocity = algebra.part(quasi.definition, range(quasi.free.shape[0]), [0])
    if kind == "second":
        residual = second_kind(
            reduction, quasi.free, quasi.rates, quasi.bound_to_zero(quasi.velocities)
        )
        return reduction.in_symbols(
            residual, quasi.free, quasi.rates, quasi.independent, stated_at_velocity
        )
    lagrangian = quasi.at(reduction.lagrangian)
    derivative = quasi.bound_to_zero(algebra.gradient(lagrangian, quasi.eta))
    force = algebra.gradient(lagrangian, reduction.q) + quasi.at(reduction.applied_force)
    residual = (
        quasi.rate(algebra.gradient(lagrangian, quasi.free))
        + transitivity(quasi).T @ derivative
        - quasi.frame.T @ quasi.bound_to_zero(force)
    )
    return reduction.in_symbols(
        residual, quasi.free, quasi.rates, quasi.independent, stated_at_velocity
    )


FORM = Form("hamel", CITATION, hypotheses, derive)
