"""Bloch and others, Internet Supplement, section 5.3: constraints as one-forms on TQ, and motions.

Equations 5.3.20 to 5.3.32, with random systems under linear, affine, nonlinear and homogeneous
conditions f(q, v) = 0, whose forms theta_i = df_i have the components a = f_q and b = f_v. The
library gives rows, multipliers, reactions, rates, motions and `describe`; Omega_L, dH_L and the
forms are taken by complex steps.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import casadi as ca
import numpy as np

from .... import gallery
from ....analysis.overview.description import Description, describe
from ....analysis.variational.tangent_bundle import tangent_bundle
from ....errors import ContradictionError, ModelError
from ....formulations.registry import derive
from ....integrate.motion import Motion
from ....integrate.simulate import simulate
from ....model.constraints import velocity
from ....model.symbols import coordinates
from ....model.system import System
from ....typing import Array
from ...independent.tangent_bundle_systems import (
    TangentSample,
    samples,
    tangent_probe,
    tangent_system,
)
from ...independent.tangent_forms import (
    energy_form,
    fundamental,
    lagrangian_form,
    library_codistribution,
    library_forms,
    principal,
    pulled,
)
from ...numeric import (
    Probe,
    Residual,
    apart,
    derivative,
    distance,
    excess,
    gallery_probe,
    null_space,
    panel_nodes,
)
from ...row_registry import Corrected, listed

BOUND = ("linear", "affine", "nonlinear", "homogeneous")
IDEAL = ("linear", "homogeneous")
SPAN = 1.0


@cache
def _forms_function(kind: str) -> ca.Function:
    """(q, v) -> f_q and f_v of the library (m, 2n)."""
    kernel = tangent_probe(kind).kernel
    state = kernel.algebra.vector(kernel.equations.state)
    forms = kernel.algebra.jacobian(kernel.graph.velocity.residual, state)
    return ca.Function("forms", [state], [forms])


def _library_forms(s: TangentSample) -> Array:
    return np.array(_forms_function(s.model.kind)(s.state), dtype=float)


@listed("B-5.3.20", over=samples.of(*BOUND))
def constraint_forms(s: TangentSample) -> Residual:
    blocks, (a, b) = s.blocks, s.forms
    rows = distance(blocks.A, b), distance(blocks.b, -a @ s.v)
    return distance(_library_forms(s), s.constraint_forms), rows


def _coefficients(s: TangentSample, q: Array) -> Any:
    """a(q): a linear condition at the unit velocities (m, n)."""
    return np.stack([s.model.condition(q, e) for e in np.eye(s.model.size)], axis=1)


@listed("B-5.3.21", over=samples.of("linear"))
def linear_forms(s: TangentSample) -> Residual:
    turning = derivative(lambda x: _coefficients(s, x) @ s.v, s.q)
    return distance(_library_forms(s), np.hstack([turning, _coefficients(s, s.q)]))


@listed("B-Definition-5.3.2", over=samples.of(*BOUND))
def reaction_forces(s: TangentSample) -> Residual:
    force = s.reaction
    return null_space(s.forms[1]).T @ force, apart(float(np.max(np.abs(force))))


@listed("B-5.3.22", over=samples.of("linear"))
def linear_reactions(s: TangentSample) -> Residual:
    rows, reaction = _coefficients(s, s.q), s.reaction
    exact = s.model.accelerations(s.q, s.v)[1] @ rows
    return distance(reaction, s.multipliers @ rows), distance(exact, reaction)


# -- admissible and ideal --------------------------------------------------------------------------


@cache
def _described(kind: str) -> Description:
    return describe(tangent_system(kind).system)


def _colliding() -> System:
    """x_dot = y and x_dot = 0: together they say y = 0, a form without a component along v."""
    x, y, z = coordinates("x y z")
    energy = (x.dot**2 + y.dot**2 + z.dot**2) / 2
    rows = [velocity(x.dot - y, name="first"), velocity(x.dot, name="second")]
    return System([x, y, z], kinetic=energy, constraints=rows)


@listed("B-Definition-5.3.3")
def admissibility() -> Residual:
    def gap(b: Array, whole: Array, described: Description) -> float:
        ranks = [np.linalg.matrix_rank(item, tol=1e-9) for item in (b, whole)]
        return float((ranks[0] == ranks[1]) != described.admissible)

    forms = [(s.forms[1], s.constraint_forms, _described(s.model.kind)) for s in samples(*BOUND)]
    whole = np.array([[0, -1.0, 0, 1, 0, 0], [0, 0, 0, 1, 0, 0]])
    forms.append(
        (whole[:, 3:], whole, describe(_colliding(), start={"y": 0.0, "z": 0.3, "z_dot": 1.0}))
    )
    x, y = coordinates("x y")
    try:
        System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, constraints=[velocity(x - y)])
        refused = 1.0
    except ModelError:
        refused = 0.0
    judged = [float(not library_codistribution(kind).admissible.is_proved) for kind in BOUND] + [
        float(not tangent_bundle(_colliding()).codistribution().admissible.is_refuted)
    ]
    return [gap(*item) for item in forms], refused, judged


@listed("B-Definition-5.3.4", over=BOUND)
def ideality(kind: str) -> Residual:
    largest = max(np.max(np.abs(s.constraint_forms @ fundamental(s.v))) for s in samples(kind))
    ideal = bool(largest < 1e-12)
    by_forms = library_codistribution(kind).ideal.is_proved
    answers = (_described(kind).workless, kind in IDEAL, by_forms)
    judged = [float(ideal != answer) for answer in answers]
    return judged, 0.0 if ideal else apart(largest)


@listed("B-Theorem-5.3.5")
def special_fields_exist() -> Residual:
    def gaps(s: TangentSample) -> Residual:
        n, b = s.model.size, s.forms[1]
        allowed, field = null_space(b), s.rates
        others = [field + np.concatenate([np.zeros(n), column]) for column in allowed.T]
        return [s.constraint_forms @ x for x in (field, *others)], n - len(b) - allowed.shape[1]

    probe = Probe(derive(_colliding(), "lagrange"), {})
    try:
        probe.rates(0.0, [0.0, 0.0, 0.3, 0.0, 1.0, 1.0])
        refused = 1.0
    except ContradictionError as error:
        refused = float("second" not in error.names)
    return [gaps(s) for s in samples(*BOUND)], refused


listed("B-5.3.23", over=samples.of(*BOUND))(
    lambda s: (distance(principal(s.rates), fundamental(s.v)), s.constraint_forms @ s.rates)
)


@listed("B-5.3.24", over=samples.of(*BOUND))
def compatibility_equations(s: TangentSample) -> Residual:
    z, blocks, (a, b) = s.accelerations, s.blocks, s.forms
    along = derivative(lambda w: s.model.condition(s.q + w[0] * s.v, s.v + w[0] * z), [0.0])
    return along[:, 0], b @ z + a @ s.v, distance(blocks.A @ z, blocks.b)


# -- work ------------------------------------------------------------------------------------------


@cache
def _motion(kind: str) -> tuple[Motion, Any]:
    """A library motion from a random state, at Gauss-Legendre nodes, with the weights."""
    s = samples(kind)[0]
    times, weights = panel_nodes(0.0, SPAN, 6)
    equations, at = s.probe.equations, np.concatenate([[0.0], times, [SPAN]])
    start = dict(zip((symbol.name for symbol in equations.state), s.state, strict=True))
    return simulate(equations, start, (0.0, SPAN), at=at, rtol=1e-12), weights


@listed("B-Theorem-5.3.6", over=IDEAL)
def ideal_forces_do_no_work(kind: str) -> Residual:
    motion, force = _motion(kind)[0], _motion(kind)[0].total_reaction
    power = np.sum(force * motion.y[tangent_system(kind).size :], axis=0)
    return power, float(np.ptp(motion.energy)), apart(float(np.max(np.abs(force))))


@listed("B-5.3-affine")
def affine_power() -> Residual:
    (motion, weights), model = _motion("affine"), tangent_system("affine")
    powers, n = [], model.size
    for q, v in zip(motion.y[:n, 1:-1].T, motion.y[n:, 1:-1].T, strict=True):
        powers.append(-model.accelerations(q, v)[1] @ model.condition(q, np.zeros(n)))
    gained = motion.energy[-1] - motion.energy[0]
    return distance(np.array(powers) @ weights, gained), apart(abs(gained))


@listed("B-5.3.25", over=("linear", "affine"))
def tangent_of_a_lift(kind: str) -> Residual:
    (motion, weights), q = _motion(kind), tangent_system(kind).system.coordinates
    names = [f"{x.name}_{order}" for order in ("dot", "ddot") for x in q]
    tangent = np.array([motion[name] for name in names])
    columns = zip(tangent.T, motion.y.T, strict=True)
    vertical = [distance(principal(column), fundamental(y[3:])) for column, y in columns]
    gained = motion.y[:, -1] - motion.y[:, 0]
    return distance(tangent[:, 1:-1] @ weights, gained), vertical


@listed("B-5.3.26")
def work_along_curves() -> Corrected:
    def work(kind: str, curve: Array, weights: Array) -> Any:
        model, n = tangent_system(kind), tangent_system(kind).size
        forms = [model.forms(y[:n], y[n:])[1] @ y[n:] for y in curve.T]
        return np.array(forms).T @ weights

    right = [work(kind, _motion(kind)[0].y[:, 1:-1], _motion(kind)[1]) for kind in IDEAL]
    times, weights = panel_nodes(0.0, 2 * np.pi, 12)
    angles = times + np.arange(3)[:, None]
    return Corrected(right, work("linear", np.vstack([np.sin(angles), np.cos(angles)]), weights))


def _horizontal(force: Array) -> Any:
    """The one-form Q dq on TQ (2n,)."""
    return np.concatenate([force, np.zeros(len(force))])


@listed("B-Theorem-5.3.7")
def motion_exists() -> Residual:
    def gaps(s: TangentSample) -> Residual:
        z, multipliers = s.model.accelerations(s.q, s.v)
        least = np.linalg.eigvalsh(s.blocks.G)[0]
        found = distance(s.accelerations, z), distance(s.multipliers, multipliers)
        return found, apart(least)

    return [gaps(s) for s in samples(*BOUND)], _bicycle()


def _bicycle() -> Residual:
    """Accelerations and reaction of the bicycle at its start against one dense system."""
    probe, start = gallery_probe("bicycle", "lagrange"), gallery.load("bicycle").start
    names = [symbol.name for symbol in probe.equations.state]
    state = probe.projected(0.0, np.array([start.get(name, 0.0) for name in names]) + 0.05)
    blocks = probe.blocks(0.0, state)
    n, m = len(blocks.f), len(blocks.b)
    dense = np.block([[blocks.G, -blocks.A.T], [blocks.A, np.zeros((m, m))]])
    solution = np.linalg.solve(dense, np.concatenate([blocks.f, blocks.b]))
    return (
        distance(probe.rates(0.0, state)[n:], solution[:n]),
        distance(probe.reaction(0.0, state), blocks.A.T @ solution[n:]),
        float(np.linalg.matrix_rank(blocks.G, tol=1e-9) != n - 1),
    )


@listed("B-5.3.27", over=samples.of(*BOUND), misprint={"sign": 1.0})
def principle_with_constraints(s: TangentSample, sign: float = -1.0) -> Residual:
    left = lagrangian_form(s).T @ s.rates
    return distance(left, energy_form(s) + sign * _horizontal(s.reaction))


@listed("B-5.3.28", over=samples.of(*BOUND), misprint={"form": 0})
def local_equations(s: TangentSample, form: int = 1) -> Residual:
    return distance(s.model.euler(s.q, s.v, s.accelerations), s.multipliers @ s.forms[form])


def _raised(s: TangentSample, form: Array) -> Any:
    """pi_L(rho): the vector with Omega_L(pi_L(rho), Y) = rho(Y) for every Y (2n,)."""
    return np.linalg.solve(lagrangian_form(s).T, form)


@listed("B-5.3.29", over=samples.of(*BOUND))
def raising(s: TangentSample) -> Residual:
    free = np.linalg.solve(s.blocks.G, s.blocks.f)
    change = np.concatenate([np.zeros(s.model.size), s.accelerations - free])
    raised, rho = _raised(s, _horizontal(s.reaction)), energy_form(s)
    return distance(-raised, change), distance(lagrangian_form(s).T @ _raised(s, rho), rho)


listed("B-5.3.30", over=samples.of(*BOUND))(
    lambda s: distance(_raised(s, energy_form(s) - _horizontal(s.reaction)), s.rates)
)


@listed("B-5.3.31", over=samples.of(*BOUND))
def compatibility_of_the_field(s: TangentSample) -> Residual:
    free = s.constraint_forms @ _raised(s, energy_form(s))
    held = s.constraint_forms @ _raised(s, -_horizontal(s.reaction))
    return free + held, apart(float(np.max(np.abs(free))))


def _gram(s: TangentSample) -> Any:
    """theta_i(pi_L P^*theta_j) (m, m)."""
    forms = s.constraint_forms
    return np.array([[a @ _raised(s, pulled(b)) for b in forms] for a in forms])


@listed("B-5.3.32", over=samples.of(*BOUND), misprint={"sign": 1.0})
def multiplier_equations(s: TangentSample, sign: float = -1.0) -> Residual:
    right = np.array([form @ _raised(s, energy_form(s)) for form in s.constraint_forms])
    return distance(np.linalg.solve(-_gram(s), right), sign * s.multipliers)


@listed("B-5.3.32-definite")
def definite_matrix() -> Corrected:
    right, printed = [], []
    for s in samples(*BOUND):
        blocks, gram = s.blocks, _gram(s)
        largest = float(np.linalg.eigvalsh((gram + gram.T) / 2)[-1])
        expected = -blocks.A @ np.linalg.solve(blocks.G, blocks.A.T)
        right += [distance(gram, expected), excess(largest)]
        printed.append(excess(-largest))
    return Corrected(right, min(printed))


@listed("B-5.3.27-force-form", over=samples.of(*BOUND))
def force_form(s: TangentSample) -> Residual:
    _, form, energy, force = library_forms(s, s.accelerations)
    expected = np.concatenate([s.multipliers @ s.forms[1], np.zeros(s.model.size)])
    field = np.concatenate([s.v, s.accelerations])
    return distance(force, expected), distance(energy - form.T @ field, expected)
