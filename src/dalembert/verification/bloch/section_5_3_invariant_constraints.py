"""Bloch and others, Internet Supplement, section 5.3: constraints as one-forms on TQ (5.3.20 to 5.3.26).

Random systems of `tangent` under linear, affine and nonlinear conditions f(q, v) = 0, whose forms theta_i = df_i have the
components a = f_q and b = f_v. The library gives rows, multipliers, reactions, motions and `describe`; the independent
implementation takes the forms by complex steps.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import casadi as ca
import numpy as np

from ...analysis.overview.description import Description, describe
from ...errors import ContradictionError, ModelError
from ...formulations.registry import derive
from ...integrate.motion import Motion
from ...integrate.simulate import simulate
from ...model.constraints import velocity
from ...model.symbols import coordinates
from ...model.system import System
from ..independent.tangent_bundle_systems import Place, over_places, places, tangent_probe, tangent_system
from ..independent.tangent_forms import fundamental, principal
from ..numeric import Probe, derivative, distance, excess, largest, null_space, panel_nodes, worst
from ..row_registry import Corrected, claim

BOUND = ("linear", "affine", "nonlinear", "homogeneous")
RANDOM = "random systems under linear, affine, nonlinear and homogeneous conditions"
SPAN = 1.0
#: Two numbers that are said to differ must differ by this.
APART = 1e-3


@cache
def _library_forms(kind: str) -> Any:
    """(q, v) -> f_q and f_v of the library (m, 2n)."""
    kernel = tangent_probe(kind).kernel
    state = kernel.algebra.vector(kernel.equations.state)
    return ca.Function("forms", [state], [kernel.algebra.jacobian(kernel.graph.velocity.residual, state)])


@claim(
    "B-5.3.20",
    "Constraints are one-forms a dq + b dv on TQ; for conditions f(q, v) = 0 they are a = f_q and b = f_v, which depend on the"
    " velocities too",
    how=f"{RANDOM}: derivatives of the library's conditions against complex steps; b and -a v against its rows and right side",
)
def constraint_forms() -> float:
    def residual(p: Place) -> float:
        found = np.array(_library_forms(p.twin.kind)(p.state), dtype=float)
        blocks, (a, b) = p.probe.blocks(0.0, p.state), p.twin.forms(p.q, p.v)
        return largest(distance(found, p.constraint_forms), distance(blocks.A, b), distance(blocks.b, -a @ p.v))

    return over_places(residual, *BOUND)


@claim(
    "B-5.3.21",
    "For f = a(q) v the form is a dv + (da/dq^j v) dq^j",
    how="random linear conditions: derivatives of the library's conditions against a(q) and its complex steps",
)
def linear_forms() -> float:
    def residual(p: Place) -> float:
        found = np.array(_library_forms(p.twin.kind)(p.state), dtype=float)

        def coefficients(x: Any) -> Any:
            """a(q): a linear condition at the unit velocities."""
            return np.stack([p.twin.condition(x, e) for e in np.eye(p.twin.size)], axis=1)

        turning = derivative(lambda x: coefficients(x) @ p.v, p.q)
        return distance(found, np.hstack([turning, coefficients(p.q)]))

    return over_places(residual, "linear")


@claim(
    "B-Definition-5.3.2",
    "The reaction forces are the span of P^*theta_i = b_i dq",
    how=f"{RANDOM}: the part of the library's reactions outside the span of b by complex steps; they are not zero",
)
def reaction_forces() -> float:
    def residual(p: Place) -> float:
        allowed = null_space(p.twin.forms(p.q, p.v)[1])
        return largest(worst(allowed.T @ p.reaction), excess(APART - float(np.max(np.abs(p.reaction)))))

    return over_places(residual, *BOUND)


@claim(
    "B-5.3.22",
    "For linear constraints P^*theta_i = a_i(q) dq",
    how="random linear conditions: the library's reactions against its multipliers and a(q), the condition at unit velocities",
)
def linear_reactions() -> float:
    def residual(p: Place) -> float:
        rows = np.stack([p.twin.condition(p.q, e) for e in np.eye(p.twin.size)], axis=1)
        return largest(
            distance(p.reaction, p.multipliers @ rows), distance(p.twin.accelerations(p.q, p.v)[1] @ rows, p.reaction)
        )

    return over_places(residual, "linear")


# -- admissible and ideal ----------------------------------------------------------------------------------------------


@cache
def _described(kind: str) -> Description:
    return describe(tangent_system(kind).system)


def _colliding() -> System:
    """x_dot = y and x_dot = 0: together they say y = 0, a form without a component along v."""
    x, y, z = coordinates("x y z")
    energy = (x.dot**2 + y.dot**2 + z.dot**2) / 2
    return System([x, y, z], kinetic=energy, constraints=[velocity(x.dot - y, name="first"), velocity(x.dot, name="second")])


@claim(
    "B-Definition-5.3.3",
    "Constraints are admissible where the rank of b is that of [a b]: where no combination of the forms is horizontal; two"
    " conditions that together bind positions are not, and a condition without velocities is refused",
    how=f"{RANDOM}, and the pair x' = y, x' = 0: verdicts of the library against ranks by complex steps",
)
def admissibility() -> float:
    found = []
    for kind in BOUND:
        for p in places(kind):
            a, b = p.twin.forms(p.q, p.v)
            ranks = [np.linalg.matrix_rank(item, tol=1e-9) for item in (b, np.hstack([a, b]))]
            found.append(float((ranks[0] == ranks[1]) != _described(kind).admissible))
    b, both = np.array([[1.0, 0, 0], [1, 0, 0]]), np.array([[0, -1.0, 0, 1, 0, 0], [0, 0, 0, 1, 0, 0]])
    reference = np.linalg.matrix_rank(b) == np.linalg.matrix_rank(both)
    found.append(float(reference != describe(_colliding(), start={"y": 0.0, "z": 0.3, "z_dot": 1.0}).admissible))
    x, y = coordinates("x y")
    try:
        System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, constraints=[velocity(x - y)])
        found.append(1.0)
    except ModelError:
        found.append(0.0)
    return worst(found)


@claim(
    "B-Definition-5.3.4",
    "A constraint is ideal where it annihilates Phi on the constraint set, b . v = 0: linear and homogeneous ones are, affine"
    " ones and nonlinear ones in general are not",
    how=f"{RANDOM}: verdicts of the library against theta(Phi) by complex steps at random states",
)
def ideality() -> float:
    found = []
    for kind in BOUND:
        pairings = [np.max(np.abs(p.constraint_forms @ fundamental(p.v))) for p in places(kind)]
        ideal = max(pairings) < 1e-12
        found += [float(ideal != _described(kind).workless), 0.0 if ideal else excess(APART - max(pairings))]
    expected = [_described(kind).workless for kind in BOUND]
    return worst([*found, float(expected != [True, False, False, True])])


@claim(
    "B-Theorem-5.3.5",
    "Admissible constraints admit second-order fields, and at least n - m independent ones; where a pair of conditions is not"
    " admissible there may be none",
    how=f"{RANDOM}: the library's accelerations, alone and with each vector that b annihilates added, in theta by complex"
    " steps; the pair x' = y, x' = 0 with y' not zero is refused by name",
)
def special_fields_exist() -> float:
    def residual(p: Place) -> float:
        b = p.twin.forms(p.q, p.v)[1]
        allowed = null_space(b)
        fields = [p.probe.rates(0.0, p.state)]
        fields += [fields[0] + np.concatenate([np.zeros(p.twin.size), column]) for column in allowed.T]
        return largest(*(worst(p.constraint_forms @ field) for field in fields), p.twin.size - len(b) - allowed.shape[1])

    probe = Probe(derive(_colliding(), "lagrange"), {})
    try:
        probe.rates(0.0, [0.0, 0.0, 0.3, 0.0, 1.0, 1.0])
        refused = 1.0
    except ContradictionError as error:
        refused = float("second" not in str(error))
    return largest(over_places(residual, *BOUND), refused)


@claim(
    "B-5.3.23",
    "A constrained motion is a field with P X = Phi and theta_i(X) = 0",
    how=f"{RANDOM}: the library's rates in P and in theta by complex steps",
)
def special_and_compatible() -> float:
    def residual(p: Place) -> float:
        field = p.probe.rates(0.0, p.state)
        return largest(distance(principal(field), fundamental(p.v)), worst(p.constraint_forms @ field))

    return over_places(residual, *BOUND)


@claim(
    "B-5.3.24",
    "theta_i(X) = b_i f + a_i v = 0 for the accelerations f, a linear system that is solvable where a v lies in the span of b",
    how=f"{RANDOM}: library accelerations in complex steps of the conditions along the motion; the library's rows and right"
    " side",
)
def compatibility_equations() -> float:
    def residual(p: Place) -> float:
        z, blocks = p.accelerations, p.probe.blocks(0.0, p.state)
        along = derivative(lambda w: p.twin.condition(p.q + w[0] * p.v, p.v + w[0] * z), [0.0])[:, 0]
        a, b = p.twin.forms(p.q, p.v)
        return largest(worst(along), worst(b @ z + a @ p.v), distance(blocks.A @ z, blocks.b))

    return over_places(residual, *BOUND)


# -- work --------------------------------------------------------------------------------------------------------------


@cache
def _motion(kind: str) -> tuple[Motion, Any]:
    """A library motion from a random place, at Gauss-Legendre nodes, with the weights."""
    place = places(kind)[0]
    times, weights = panel_nodes(0.0, SPAN, 6)
    start = {symbol.name: value for symbol, value in zip(place.probe.equations.state, place.state, strict=True)}
    at = np.concatenate([[0.0], times, [SPAN]])
    return simulate(place.probe.equations, start, (0.0, SPAN), at=at, rtol=1e-12), weights


@claim(
    "B-Theorem-5.3.6",
    "The forces of ideal constraints do no work on motions that obey them: the energy stays",
    how="library motions under random linear and homogeneous conditions: power of its reactions, and its energy",
    tolerance=1e-9,
)
def ideal_forces_do_no_work() -> float:
    found = []
    for kind in ("linear", "homogeneous"):
        motion, _ = _motion(kind)
        velocities = motion.y[tangent_system(kind).size :]
        found += [worst(np.sum(motion.total_reaction * velocities, axis=0)), float(np.ptp(motion.energy))]
        found.append(excess(APART - float(np.max(np.abs(motion.total_reaction)))))
    return worst(found)


@claim(
    "B-5.3-affine",
    "An affine constraint a v + b_0 = 0 is admissible and not ideal: its force has the power -lambda b_0",
    how="library motion under random affine conditions: gain of its energy against the integral of -lambda b_0 by the "
    "independent implementation",
    tolerance=1e-9,
)
def affine_power() -> float:
    motion, weights = _motion("affine")
    twin, n = tangent_system("affine"), tangent_system("affine").size
    powers = []
    for k in range(1, motion.y.shape[1] - 1):
        q, v = motion.y[:n, k], motion.y[n:, k]
        powers.append(-twin.accelerations(q, v)[1] @ twin.condition(q, np.zeros(n)))
    gained = motion.energy[-1] - motion.energy[0]
    return largest(distance(np.array(powers) @ weights, gained), excess(APART - abs(gained)))


@claim(
    "B-5.3.25",
    "The lift of a curve has the tangent q_dot d/dq + q_ddot d/dv, and P of it is Phi",
    how="library motions under random conditions: change of (q, v) against integrals of its velocities and accelerations",
    tolerance=1e-9,
)
def tangent_of_a_lift() -> float:
    found = []
    for kind in ("linear", "affine"):
        motion, weights = _motion(kind)
        system = tangent_system(kind).system
        tangent = np.array([motion[f"{q.name}_{order}"] for order in ("dot", "ddot") for q in system.coordinates])
        found.append(distance(tangent[:, 1:-1] @ weights, motion.y[:, -1] - motion.y[:, 0]))
        found += [distance(principal(column), fundamental(y[3:])) for column, y in zip(tangent.T, motion.y.T, strict=True)]
    return worst(found)


@claim(
    "B-5.3.26",
    "For ideal constraints the integral of theta_i(Phi) vanishes along every curve that obeys them; the text says along any"
    " curve, where it need not",
    how="library motions under random linear and homogeneous conditions, theta by complex steps; as printed, closed curves that"
    " do not obey the conditions",
    tolerance=1e-9,
)
def work_along_curves() -> Corrected:
    right, printed = [], []
    for kind in ("linear", "homogeneous"):
        motion, weights = _motion(kind)
        twin, n = tangent_system(kind), tangent_system(kind).size
        columns = motion.y[:, 1:-1].T
        right.append(worst(np.array([twin.forms(y[:n], y[n:])[1] @ y[n:] for y in columns]).T @ weights))
    twin, (times, weights) = tangent_system("linear"), panel_nodes(0.0, 2 * np.pi, 12)
    phases = np.arange(3)[:, None]
    curve, rates = np.sin(times + phases), np.cos(times + phases)
    pairings = [twin.forms(q, v)[1] @ v for q, v in zip(curve.T, rates.T, strict=True)]
    printed.append(worst(np.array(pairings).T @ weights))
    return Corrected(worst(right), worst(printed))
