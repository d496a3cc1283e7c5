r"""Normal Pontryagin extremals: curves with stationary action that the constraints allow.

With q_dot = V(q, u, t) (an image E u, or the velocities that the constraints allow), a costate xi,
Lambda = L(q, V) - xi . V,

    dLambda/du = 0,     q_dot = V,     xi_dot = dLambda/dq + Q                          (Moreau and
    van der Schaft 3-6)

which for V = E u, v = sigma E u are M (3)-(6). They are the vakonomic motions: xi = p + chi . f_v.
The costate is free data where the constraints leave it so. Only where the fields E_a are in
involution (11) can it be eliminated, which gives (12)-(14) and the motion of d'Alembert's
principle; ``derive(system, "pontryagin", eliminate_costate=True)`` does that. Abnormal extremals
are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...algebra.graph import GraphAlgebra
from ...errors import FormError
from ...model.legendre import conjugate_symbols
from ...model.symbols import Parameter
from ...model.system import System
from ..blocks import GaussBlocks, Projection
from ..equations import Equations
from ..fibre_velocities import Fibre
from ..form import Form
from ..independent_velocities import Reduction, choose_split
from ..speeds import OnSpeeds
from . import implicit_lagrangian, lagrange

if TYPE_CHECKING:
    from ...algebra.protocol import Algebra, Block, Scalar

__all__ = ["FORM", "costates", "derive", "hypotheses", "is_involutive"]

CITATION = "Normal Pontryagin extremals (Moreau and van der Schaft eqs. 3-6)"


def hypotheses(system: System) -> None:
    """Raise FormError where the form does not apply."""
    if system.image is not None and system.bilateral:
        raise FormError(
            "Extremals need all constraints in the image",
            seen=", ".join(c.name for c in system.bilateral),
            remedy="put them into the image, or state all of them by velocities",
        )
    if system.image is None and not choose_split(system).dependent:
        raise FormError(
            "Extremals of a constrained problem need constraints",
            seen="none",
            remedy='use the form "lagrange"',
        )
    on = _directions(system, GraphAlgebra())
    algebra = on.algebra
    if not on.frame.shape[1]:
        raise FormError(
            "There is nothing to choose: the constraints leave no freedom",
            remedy='use the form "lagrange"',
        )
    if algebra.without(on.frame, _speeds(on)) is None:
        raise FormError(
            "The maximum condition needs constraints that are affine in the velocities",
            seen="a constraint that is nonlinear in them",
            remedy='use the form "vakonomic"',
        )
    metric, _ = algebra.hessian(on.here(_lagrangian(system, algebra)), _speeds(on))
    rank, count = algebra.rank(metric).value, metric.shape[0]
    if algebra.without(metric, _speeds(on)) is None:
        raise FormError(
            "The maximum condition cannot be solved for the speeds",
            seen="a Lagrangian that is not quadratic in them",
            remedy='use the form "vakonomic"',
        )
    if rank < count:
        raise FormError(
            "The maximum condition does not determine the speeds",
            seen=f"rank {rank} of {count}",
            remedy='use the form "vakonomic"',
        )


def costates(system: System) -> tuple[Parameter, ...]:
    """xi, one for each coordinate."""
    return tuple(Parameter(f"xi_{q.name}") for q in system.coordinates)


def derive(system: System, eliminate_costate: bool = False) -> Equations:
    """Extremals of the action on the curves that the constraints allow."""
    hypotheses(system)
    if eliminate_costate:
        return _without_costate(system)
    by_multipliers = system.image is None and _has_regular_mass(system)
    return Equations(
        system=system,
        form=FORM.name,
        citation=FORM.citation,
        state=(*system.coordinates, *costates(system)),
        unknowns=tuple(Parameter(f"{xi.name}_dot") for xi in costates(system)),
        row_names=(),
        derivation=lambda algebra: derive_with(system, algebra, by_multipliers),
    )


def _has_regular_mass(system: System) -> bool:
    algebra = GraphAlgebra()
    metric, _ = algebra.hessian(_lagrangian(system, algebra), algebra.vector(system.velocities))
    return bool(algebra.rank(metric).value == len(system.coordinates))


def _lagrangian(system: System, algebra: Algebra) -> Scalar:
    return lagrange.lagrangian_and_momenta(system, algebra)[0]


def _directions(system: System, algebra: Algebra) -> Reduction | OnSpeeds:
    """The velocities that the constraints allow, on speeds."""
    if system.image is None:
        return Reduction(system, algebra)
    velocities = algebra.vector([system.image.velocities[q] for q in system.coordinates])
    return OnSpeeds(system, algebra, system.image.speeds, velocities)


def _speeds(on: Reduction | OnSpeeds) -> Any:
    return on.independent if isinstance(on, Reduction) else on.u


def _by_speeds(on: Reduction | OnSpeeds, xi: Block) -> tuple[Any, Any]:
    """V and dLambda/dq at the extremal speeds, as functions of q, xi and t."""
    algebra, u = on.algebra, _speeds(on)
    function = on.here(_lagrangian(on.system, algebra)) - algebra.inner(xi, on.velocities)
    speeds = conjugate_symbols(algebra, function, u, algebra.zeros(u.shape[0]))
    found = algebra.substitute(
        algebra.stack([on.velocities, algebra.gradient(function, on.q)]), u, speeds
    )
    n = len(on.system.coordinates)
    return algebra.part(found, range(n), [0]), algebra.part(found, range(n, 2 * n), [0])


def _by_multipliers(on: Reduction | OnSpeeds, xi: Block) -> tuple[Any, Any]:
    """The same without speeds: v makes L - xi . v + lambda . f stationary."""
    assert isinstance(on, Reduction)
    algebra, rows = on.algebra, on.split.rows
    residual = algebra.part(on.level.residual, rows, [0])
    derivative = algebra.jacobian(residual, on.v)
    shift = algebra.substitute(residual, on.v, algebra.zeros(len(on.system.coordinates)))
    free = conjugate_symbols(algebra, on.lagrangian, on.v, xi)
    mass, _ = algebra.hessian(on.lagrangian, on.v)
    compliance = algebra.solve(mass, derivative.T)
    multipliers = algebra.solve(derivative @ compliance, -(shift + derivative @ free))
    velocities = free + compliance @ multipliers
    # L_v = xi + f_v^T lambda there, so that dLambda/dq = L_q - lambda . f_q, as in Euler's
    # equations of L - lambda . f.
    bent = algebra.gradient(on.lagrangian, on.q) - algebra.jacobian(residual, on.q).T @ multipliers
    return velocities, algebra.substitute(bent, on.v, velocities)


def derive_with(system: System, algebra: Algebra, by_multipliers: bool = False) -> GaussBlocks:
    """The blocks in one algebra; the metric is the identity, since the rates are known."""
    on = _directions(system, algebra)
    xi = algebra.vector(costates(system))
    z = algebra.vector([Parameter(f"{symbol.name}_dot") for symbol in costates(system)])
    full, n = on.full, len(system.coordinates)
    velocities, derivative = _by_multipliers(on, xi) if by_multipliers else _by_speeds(on, xi)
    applied = lagrange.applied_force(system, algebra, full.momenta)
    force = derivative + algebra.substitute(applied, on.v, velocities)

    def here(block: Block) -> Any:
        return algebra.substitute(block, on.v, velocities)

    acceleration = (
        algebra.along(velocities, on.q, velocities)
        + algebra.along(velocities, xi, z)
        + algebra.jacobian(velocities, on.time)
    )
    identity = algebra.jacobian(on.q, on.q)
    return GaussBlocks.of_rates(
        algebra,
        z,
        force,
        rates=algebra.stack([velocities, z]),
        velocities=velocities,
        accelerations=acceleration,
        momenta=here(full.momenta),
        energy=here(full.energy),
        reactions={"constraints": here(full.metric) @ acceleration - here(full.force)},
        position=Projection(
            here(full.position.residual),
            here(full.position.rows),
            algebra.stack([identity, algebra.zeros(n, n)]),
            here(full.metric),
        ),
        velocity=Projection(algebra.zeros(0), algebra.zeros(0, n), algebra.zeros(2 * n, n)),
        residuals=(here(full.residuals[0]), here(full.residuals[1])),
        outputs={name: here(value) for name, value in full.outputs.items()},
    )


# -- without the costate ---------------------------------------------------------------------------


def is_involutive(system: System) -> bool:
    """Whether brackets of the fields E_a, and their time derivatives, stay in their span (11).

    A frame that turns with time is a frame on (q, t), beside d/dt, whose bracket with E_a is
    dE_a/dt.
    """
    on = _directions(system, GraphAlgebra())
    algebra = on.algebra
    count = on.frame.shape[1]
    fields = [algebra.part(on.frame, range(on.frame.shape[0]), [a]) for a in range(count)]
    turns = [
        (algebra.along(fields[a], on.q, fields[b]), algebra.along(fields[b], on.q, fields[a]))
        for b in range(count)
        for a in range(b)
    ]
    turns += [
        (algebra.jacobian(field, on.time), algebra.zeros(on.frame.shape[0])) for field in fields
    ]
    gram = on.frame.T @ on.frame
    return all(
        algebra.vanishing(_part_outside(algebra, on.frame, gram, one, other)).holds_to_rounding
        for one, other in turns
    )


def _part_outside(algebra: Algebra, frame: Block, gram: Block, one: Block, other: Block) -> Block:
    """The part of one - other outside the span of a frame."""
    bracket = one - other
    return bracket - frame @ algebra.solve(gram, frame.T @ bracket)


def _without_costate(system: System) -> Equations:
    """(12)-(14), where the fields are in involution."""
    implicit_lagrangian.hypotheses(system)
    if not is_involutive(system):
        raise FormError(
            "The costate cannot be eliminated: the directions that the constraints allow are not in"
            " involution",
            seen="a bracket, or a change in time, that leaves their span",
            remedy=(
                "the extremals are vakonomic, another motion than d'Alembert's: keep the costate,"
                " or use the form \"implicit-lagrangian\" for d'Alembert's motion"
            ),
        )
    return implicit_lagrangian.implicit_equations(system, FORM, costate_free_side)


def costate_free_side(on: Reduction | OnSpeeds, fibre: Fibre) -> Any:
    """The two sides of (13) as one column (n x 1) before E^T is applied.

    With P = dL/dv: sigma^T (dP/dt) - L_q - (what the brackets c_bad, the derivatives of F_b and
    those of F_a give).
    """
    algebra = on.algebra
    momenta = fibre.here(algebra.gradient(fibre.lagrangian, fibre.symbols))
    derivative = fibre.here(algebra.gradient(fibre.lagrangian, on.q))
    frame, count = on.frame, on.frame.shape[1]
    fibre_frame = fibre.sigma @ frame
    rows = range(frame.shape[0])
    turned = algebra.jacobian(on.velocities, on.q)
    fibre_turned = algebra.jacobian(fibre.values, on.q)
    entries = []
    for a in range(count):
        field = algebra.part(frame, rows, [a])
        bracket = algebra.along(field, on.q, on.velocities) - turned @ field
        weights = algebra.solve(frame.T @ frame, frame.T @ bracket)
        fibre_field = algebra.part(fibre_frame, range(fibre_frame.shape[0]), [a])
        sideways = (
            fibre_frame @ weights
            + fibre_turned @ field
            - algebra.along(fibre_field, on.q, on.velocities)
        )
        entries.append(momenta.T @ sideways)
    balance = fibre_frame.T @ on.rate(momenta) - frame.T @ derivative - algebra.stack(entries)
    # E^T applied to this column gives the balance back.
    return frame @ algebra.solve(frame.T @ frame, balance)


FORM = Form("pontryagin", CITATION, hypotheses, derive, is_variational=True)
