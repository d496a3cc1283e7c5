r"""The Poincare-Chetaev equations on the frame of a Lie group.

Vector fields e_a(q), n of them, independent, with [e_b, e_a] = c_ba^c e_c, and q_dot = w_a e_a.
With L*(q, w, t),

    d/dt dL*/dw_a = c_ba^c w_b dL*/dw_c + e_a(L*) + e_a . Q + mu . (f_v e_a)

(Poincare 1901; Chetaev's extension, Rumyantsev ref. 9, 10). The c are constant where the e_a are
the left-invariant fields of a group. The frame is the caller's, or is found: the body frame of
SE(2) for a pair of coordinates and a heading under which the kinetic energy is invariant, beside
the coordinate fields of the others. Constraints keep their multipliers.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...algebra.structure import Verdict
from ...errors import FormError
from ...model.system import System
from ..blocks import GaussBlocks
from ..equations import Equations
from ..form import Form
from ..reduction.group_frame import CLOSED, GroupFrame, given_frame, structure_constants
from ..speeds import OnSpeeds, speed_equations
from . import lagrange

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ...algebra.protocol import Algebra, Block, Scalar

__all__ = ["FORM", "derive", "found_frame", "hypotheses"]

CITATION = "Poincare-Chetaev equations on a group frame (Poincare 1901; Rumyantsev refs. 9, 10)"

ZERO, ONE = sympy.Integer(0), sympy.Integer(1)
#: A change of the energy beyond this part of its gradients at a sample is no rounding.
REFUTED = 1e-6


def hypotheses(system: System) -> None:
    """Raise FormError where the form does not apply."""
    lagrange.hypotheses(system)
    if found_frame(system) is None:
        raise FormError(
            "No group frame was found: no pair of coordinates with a heading leaves the kinetic"
            " energy invariant",
            seen=", ".join(q.name for q in system.coordinates),
            remedy='pass frame={speed: {coordinate: component}}, or use the form "lagrange"',
        )


def derive(system: System, frame: Mapping[str, Mapping[Any, Any]] | None = None) -> Equations:
    """Rates of the speeds along a group frame.

    Parameters
    ----------
    frame : mapping of speed name to a mapping of coordinate to component
        n independent vector fields; components that are left out are zero. Found where it is not
        given.

    Examples
    --------
    >>> import dalembert as da
    >>> from sympy import cos, sin
    >>> x, y, theta = da.coordinates("x y theta")
    >>> m, J, a = da.parameters("m J a", positive=True)
    >>> kinetic = (
    ...     m
    ...     / 2
    ...     * (
    ...         (x.dot - a * theta.dot * sin(theta)) ** 2
    ...         + (y.dot + a * theta.dot * cos(theta)) ** 2
    ...     )
    ...     + J / 2 * theta.dot**2
    ... )
    >>> print(derive(da.System([x, y, theta], kinetic=kinetic)).state)
    (x, y, theta, w_x, w_y, w_theta)
    """
    if frame is None:
        hypotheses(system)
        chosen = found_frame(system)
        assert chosen is not None
    else:
        lagrange.hypotheses(system)
        chosen = given_frame(system, frame)
        if len(chosen.fields) < len(system.coordinates):
            raise FormError(
                "The Poincare-Chetaev equations need a frame on all coordinates",
                seen=f"{len(chosen.fields)} fields for {len(system.coordinates)} coordinates",
                remedy="add fields for the others, such as d/dq",
            )
    constants, closing = structure_constants(system, chosen)
    closed = {} if constants is None else {CLOSED: closing}
    return speed_equations(
        system,
        FORM,
        chosen.speeds,
        lambda algebra: derive_with(system, algebra, chosen, constants),
        has_gauge=False,
        hypotheses={**chosen.hypotheses, **closed},
    )


def found_frame(system: System) -> GroupFrame | None:
    """The body frame of SE(2) where the kinetic energy has that symmetry, else None."""
    return system.cache.get("group frame", lambda: _search(system))


def _search(system: System) -> GroupFrame | None:
    algebra = GraphAlgebra()
    q, v = algebra.vector(system.coordinates), algebra.vector(system.velocities)
    try:
        lagrangian, _ = lagrange.lagrangian_and_momenta(system, algebra)
    except FormError:  # without a Lagrangian there is no frame to look for
        return None
    mass, _ = algebra.hessian(lagrangian, v)
    kinetic = algebra.inner(v, mass @ v) / 2
    symbols = system.coordinates
    places = range(len(symbols))
    samples = _gradient_samples(algebra, kinetic, q, v)
    moved = {k: _invariance(algebra, kinetic, q, v, symbols, {k: ONE}) for k in places}
    ignorable = [k for k, found in moved.items() if found.holds_to_rounding]
    for (i, j), heading in itertools.product(itertools.combinations(ignorable, 2), places):
        if heading in (i, j):
            continue
        for sign in (1, -1):
            if _is_refuted(samples, i, j, heading, sign):
                continue
            turn = {i: -sign * symbols[j], j: sign * symbols[i], heading: ONE}
            turned = _invariance(algebra, kinetic, q, v, symbols, turn)
            if turned.holds_to_rounding:
                # The weakest of the three verdicts is that of the group.
                weakest = next(
                    (found for found in (moved[i], moved[j], turned) if not found.is_proved), turned
                )
                return _body_frame(system, i, j, heading, sign, weakest)
    return None


def _gradient_samples(
    algebra: GraphAlgebra, kinetic: Scalar, q: Block, v: Block
) -> list[NDArray[np.float64]]:
    """Columns q, v, T_q, T_v at random points where they are finite."""
    gradients = [algebra.gradient(kinetic, q), algebra.gradient(kinetic, v)]
    inputs = ca.veccat(*algebra.symbols.values())
    function = ca.Function("gradients", [inputs], [ca.horzcat(q, v, *gradients)])
    random = np.random.default_rng(2305)
    drawn = (function(random.uniform(0.5, 1.5, inputs.numel())).full() for _ in range(2))
    return [found for found in drawn if np.all(np.isfinite(found))]


def _is_refuted(
    samples: Sequence[NDArray[np.float64]], i: int, j: int, heading: int, sign: int
) -> bool:
    """Whether a turn of two coordinates with a heading changes the kinetic energy at a sample.

    The change is linear in the gradients of the energy, so that one evaluation serves all turns.
    """
    for sample in samples:
        q, v, by_q, by_v = sample.T
        turned = q[i] * by_q[j] - q[j] * by_q[i] + v[i] * by_v[j] - v[j] * by_v[i]
        if abs(by_q[heading] + sign * turned) > REFUTED * np.abs(sample).max():
            return True
    return False


def _invariance(
    algebra: GraphAlgebra,
    kinetic: Scalar,
    q: Block,
    v: Block,
    symbols: Sequence[sympy.Symbol],
    generator: dict[int, sympy.Expr],
) -> Verdict:
    """Whether the kinetic energy is invariant along a vector field and its lift."""
    field = algebra.vector([generator.get(k, ZERO) for k in range(len(symbols))])
    lifted = algebra.along(field, q, v)
    change = algebra.along(kinetic, q, field) + algebra.along(kinetic, v, lifted)
    return algebra.vanishing(change)


def _body_frame(
    system: System, i: int, j: int, heading: int, sign: int, invariance: Verdict
) -> GroupFrame:
    symbols = system.coordinates
    n = len(symbols)
    angle = sign * symbols[heading]
    fields: dict[str, tuple[sympy.Expr, ...]] = {}
    for k, q in enumerate(symbols):
        components = [ZERO] * n
        if k == i:
            components[i], components[j] = sympy.cos(angle), sympy.sin(angle)
        elif k == j:
            components[i], components[j] = -sympy.sin(angle), sympy.cos(angle)
        else:
            components[k] = ONE
        fields[f"w_{q.name}"] = tuple(components)
    group = f"SE(2) on ({symbols[i].name}, {symbols[j].name}, {symbols[heading].name})"
    return GroupFrame(fields, group, {f"the kinetic energy is invariant under {group}": invariance})


def derive_with(
    system: System, algebra: Algebra, frame: GroupFrame, constants: Any | None
) -> GaussBlocks:
    """The blocks in one algebra."""
    columns = [algebra.vector(field) for field in frame.fields.values()]
    speeds = algebra.vector(frame.speeds)
    on = OnSpeeds(system, algebra, frame.speeds, algebra.columns(columns) @ speeds)
    lagrangian, momenta_at_velocity = lagrange.lagrangian_and_momenta(system, algebra)
    on_frame = on.here(lagrangian)
    derivative = algebra.gradient(on_frame, speeds)
    residual = on.rate(derivative) - on.frame.T @ algebra.gradient(on_frame, on.q) - on.applied
    if constants is None:
        momenta = on.here(momenta_at_velocity)
        brackets = [
            (algebra.along(e, on.q, on.velocities) - algebra.jacobian(on.velocities, on.q) @ e).T
            for e in columns
        ]
        return on.from_residual(residual - algebra.stack(brackets) @ momenta)
    turning = algebra.zeros(len(columns))
    for b in range(len(columns)):
        weights = [
            [_number(constants[b, a, c]) for c in range(len(columns))] for a in range(len(columns))
        ]
        matrix = algebra.stack([algebra.vector(row).T for row in weights])
        turning = turning + (matrix @ derivative) @ algebra.part(speeds, [b], [0])
    return on.from_residual(residual - turning)


def _number(value: float) -> sympy.Expr:
    return sympy.Integer(int(value)) if value == round(value) else sympy.Float(value)


FORM = Form("poincare-chetaev", CITATION, hypotheses, derive)
