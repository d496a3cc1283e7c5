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
    VelocityFrame,
    choose_split,
    reduced_equations,
    speed_equations_of,
)
from ..quasi_velocities import check_names
from ..velocity_maps import velocities_at
from .lagrange import lagrangian_and_momenta

if TYPE_CHECKING:
    from ...algebra.protocol import Block

__all__ = [
    "FORM",
    "KINDS",
    "bound_symbols",
    "derive",
    "extended_lagrangian",
    "hypotheses",
    "is_extendable",
    "quasi_momenta",
    "second_kind",
    "transitivity",
    "transitivity_of_inverse",
]

CITATION = "Hamel's equations in nonlinear quasi-velocities (Rumyantsev eqs. 3.2, 3.3, 1.21)"
#: With the symbols W of the quasi-velocities, or with the symbols T of their inverse.
KINDS = ("first", "second")


def hypotheses(system: System) -> None:
    """Raise FormError where the form does not apply."""
    if not choose_split(system, implicit=True).dependent:
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
        The free quasi-velocities, as many as degrees of freedom; by default a global frame of the
        constraint distribution, or some of the velocities. They are symbols of the state where they
        can be solved for the velocities; where they are nonlinear, the state keeps the velocities.
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
    return speed_equations_of(
        system, FORM, partial(derive_on, kind=kind), quasi_velocities, variant=kind
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
    freedom = choose_split(system, implicit=True).freedom
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
    check_names(system, [s.name for s in speeds])
    obeyed = _check_inverse(system, given, speeds)
    frame = VelocityFrame(
        speeds=speeds,
        rates=FormSymbols.named(s.name for s in speeds).rates,
        definition=(),
        rows=choose_split(system, implicit=True).rows,
        velocities=given,
    )
    return reduced_equations(
        system,
        FORM,
        partial(derive_on, kind="second"),
        stated=lambda _: frame,
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


def transitivity(reduction: Reduction) -> Any:
    """W_s^r of (1.21), (n x k) over r, s, on the constraints: free quasi-velocities first."""
    algebra, rows = reduction.algebra, []
    for r in range(reduction.definition.shape[0]):
        entry = algebra.part(reduction.definition, [r], [0])
        derivative = reduction.here(algebra.jacobian(entry, reduction.v).T)
        turn = reduction.rate(derivative) - reduction.here(algebra.jacobian(entry, reduction.q).T)
        rows.append((reduction.frame.T @ turn).T)
    return algebra.stack(rows)


def transitivity_of_inverse(reduction: Reduction) -> Any:
    """T_s^i of (1.21), (n x k) over i, s, on the constraints."""
    algebra, frame = reduction.algebra, reduction.frame
    spread = reduction.map.by_places(reduction.velocities) @ frame
    places = range(len(reduction.system.coordinates))
    turns = [reduction.rate(algebra.part(frame, places, [s])) for s in range(reduction.freedom)]
    return algebra.columns(turns) - spread


def quasi_momenta(reduction: Reduction) -> Any:
    """dL*/deta_r of all quasi-velocities on the constraints, (n x 1), free ones first."""
    return reduction.map.inverse.T @ reduction.here(reduction.momenta_at_velocity)


def is_extendable(reduction: Reduction) -> bool:
    """Whether the velocities are written out for any values of the constraints."""
    choice = reduction.choice
    return not reduction.is_implicit and (isinstance(choice, Split) or bool(choice.definition))


def extended_lagrangian(reduction: Reduction) -> tuple[Any, Any]:
    """L*(q, eta, t) in all quasi-velocities, and symbols of those that the constraints are."""
    algebra = reduction.algebra
    bound = algebra.vector(bound_symbols(reduction))
    velocities = velocities_at(reduction, bound)
    return algebra.substitute(reduction.lagrangian, reduction.v, velocities), bound


def bound_symbols(reduction: Reduction) -> list[sympy.Symbol]:
    """Symbols of the quasi-velocities that the constraints are; no model has such names."""
    names = [reduction.system.bilateral[k].name for k in reduction.choice.rows]
    return [Parameter(f"eta of {name}") for name in names]


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


def derive_on(reduction: Reduction, kind: str = "first") -> GaussBlocks:
    """The blocks on a reduction."""
    lagrangian = reduction.here(reduction.lagrangian)
    if kind == "first":
        turning = transitivity(reduction).T @ quasi_momenta(reduction)
    else:
        momenta = reduction.here(reduction.momenta_at_velocity)
        turning = -(transitivity_of_inverse(reduction).T @ momenta)
    residual = (
        reduction.rate(reduction.map.speed_gradient(lagrangian))
        + turning
        - reduction.frame.T @ reduction.map.place_gradient(lagrangian)
        - reduction.applied
    )
    return reduction.from_residual(residual)


FORM = Form("hamel", CITATION, hypotheses, derive)
