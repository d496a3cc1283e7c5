"""Bloch and others, Internet Supplement, section 7.7: the Hamiltonian structure and the geodesics
of orbits (7.7.11 to 7.7.16).

Random x and p in so(3), so(4), su(2) and su(3). The library gives rates, energies and motions;
independent implementations are complex steps, the canonical two-form, metrics by projections with
ad_x, and great circles on the orbits of so(3).
"""

from __future__ import annotations

import numpy as np

from ....formulations.registry import derive
from ....geometry.exact_flows import orbit_motion
from ....model.builders.bracket_flows import double_bracket, toda
from ....typing import Array
from ...independent.matrix_flows import (
    ALGEBRAS,
    APART,
    LIBRARY,
    MatrixAlgebra,
    SampledPath,
    algebra,
    bracket,
    exponential,
    flow_rates,
    gap,
    inertia,
    inner,
    orbit_energy,
    orbit_path,
    target,
)
from ...numeric import STEP, Probe, Residual, Residuals, distance, excess
from ...row_registry import Corrected, listed
from .section_7_7_samples import (
    DRIVEN,
    Entries,
    OrbitPoint,
    brockett_points,
    driven_points,
    gaps,
    library_points,
    points,
    still,
    wave,
)

weighted_points = library_points.map(lambda s: s._replace(kind="inertia"))


@listed("B-7.7-normal", over=points)
def normal_metric(s: OrbitPoint) -> Corrected:
    here, x, a, _ = s

    def metric(x: Array, first: Array, second: Array) -> float:
        return float(inner(here.inverse(x, first), here.inverse(x, second)))

    b = bracket(a, bracket(a, x)) + here.basis[0]
    inside = here.image_part(x, a)
    expected, kernel = inner(inside, here.image_part(x, b)), here.kernel(x)
    other = a + here.matrix(kernel @ np.ones(kernel.shape[1]))
    turn = exponential(b)
    x2, a2, b2 = (turn @ m @ turn.T for m in (x, a, b))
    right = (
        distance(metric(x, bracket(x, other), bracket(x, b)), expected),
        distance(metric(x2, bracket(x2, a2), bracket(x2, b2)), expected),
        excess(inner(inside, inside) - inner(other, other)),
    )
    return Corrected(right, distance(inner(bracket(x, a), bracket(x, a)), inner(inside, inside)))


@listed("B-7.7.11")
def hamiltonian() -> Residuals:
    def residual(s: OrbitPoint) -> Residual:
        return distance(s.energy(s.x, s.p), orbit_energy(s.here, s.kind, s.x, s.p))

    yield [driven_points.worst(residual)]
    for name, kind in DRIVEN[:3]:
        path = orbit_path(name, kind)
        energy = OrbitPoint(algebra(name), path["x"][0], path["p"][0], kind).energy
        values = [energy(x, p) for x, p in zip(path["x"][::6], path["p"][::6], strict=True)]
        yield still(np.array(values))


@listed("B-7.7.12", over=driven_points)
def hamiltonian_equations(s: OrbitPoint) -> Residual:
    return gaps(s.canonical(s.energy), s.rates)


@listed("B-Theorem-7.7.5")
def symplectic_form() -> Residual:
    random = np.random.default_rng(75)

    def residual(s: OrbitPoint) -> Residual:
        here, x, p, _ = s
        dx, dp = here.random(random), here.random(random)
        along = np.imag(s.energy(x + 1j * STEP * dx, p + 1j * STEP * dp)) / STEP
        w, (x_dot, p_dot) = bracket(p, x), s.rates
        written = inner(w, bracket(dp, x)) + inner(w, bracket(p, dx)) + inner(s.pull(x), dx)
        return distance(along, written), distance(along, inner(x_dot, dp) - inner(p_dot, dx))

    return driven_points.worst(residual)


@listed("B-Corollary-7.7.6", over=brockett_points, misprint={"sign": 1.0})
def brockett_hamiltonian(s: OrbitPoint, sign: float = -1.0) -> Residual:
    n = target(s.here.name)

    def energy(y: Entries, q: Entries) -> Array:
        across = bracket(y, n)
        return np.asarray(
            inner(bracket(q, y), bracket(q, y)) / 2 + sign * inner(across, across) / 2
        )

    return gaps(s.canonical(energy), s.rates)


@listed("B-7.7-restricted")
def restricted_flow() -> Residual:
    found: list[Residual] = []
    for name in LIBRARY:
        here, x, p, _ = points(name)[0]
        s, d = OrbitPoint(here, x, here.image_part(x, p)), here.dimension
        X = np.concatenate([here.vector(m) for m in s.rates])
        tangent = _cotangent_vectors(s)
        J = np.block([[np.zeros((d, d)), np.eye(d)], [-np.eye(d), np.zeros((d, d))]])
        form = tangent.T @ J @ tangent
        steps = 1j * STEP * here.matrix(tangent.T.reshape(-1, 2, d))
        derivatives = [np.imag(s.energy(s.x + a, s.p + b)) / STEP for a, b in steps]
        weights, *_ = np.linalg.lstsq(tangent, X, rcond=None)
        sizes = np.linalg.svd(form, compute_uv=False)
        inside = tangent @ np.linalg.lstsq(tangent, J, rcond=None)[0]
        found += [
            tangent @ weights - X,
            distance(form.T @ weights, derivatives),
            float(tangent.shape[1] != 2 * (d - here.kernel(x).shape[1])),
            excess(APART - sizes[-1]),
            # J maps the tangent space of T*O out of itself, because T*O has fewer dimensions than
            # T*g.
            excess(APART - np.linalg.norm(J - inside)),
            still(np.linalg.eigvalsh(1j * orbit_path(name, "free")["p"])),
        ]
    lost = np.linalg.eigvalsh(1j * orbit_path("so(4)", "brockett")["p"])
    return found, excess(APART - np.max(np.abs(lost - lost[0])))


def _cotangent_vectors(s: OrbitPoint) -> Array:
    """A basis (2d, 2 dim O) of the tangent space of {(x, p): p in the image of ad_x}."""
    here, x, p, _ = s
    columns = []
    for e in here.basis:
        parts = (bracket(x, e), bracket(p, e), 0 * e, here.image_part(x, e))
        vectors = [here.vector(part) for part in parts]
        columns += [np.concatenate(vectors[:2]), np.concatenate(vectors[2:])]
    left, _, _ = np.linalg.svd(np.array(columns).T)
    return left[:, : 2 * (here.dimension - here.kernel(x).shape[1])]


@listed("B-7.7.13")
def free_motion() -> Residuals:
    for name in ALGEBRAS:
        s = points(name)[0]
        _, x, p, _ = s
        u = bracket(p, x)
        for t, turned in zip((0.7, -0.7), orbit_motion(x, p, [0.7, -0.7])[0], strict=True):
            yield gap(turned, exponential(-t * u) @ x @ exponential(t * u))
        moved = (exponential(-1j * STEP * u) @ m @ exponential(1j * STEP * u) for m in (x, p))
        rates = s.rates if name in LIBRARY else (bracket(x, u), bracket(p, u))
        yield gaps((m.imag / STEP for m in moved), rates)
        if name in LIBRARY:
            path = orbit_path(name, "free")
            yield gaps((path["x"][::12], path["p"][::12]), orbit_motion(x, p, path.t[::12]))


@listed("B-Theorem-7.7.7")
def normal_geodesics() -> Residual:
    found: list[Residual] = []
    for name in LIBRARY:
        here, path = algebra(name), orbit_path(name, "free")
        x, u = path["x"], bracket(path["p"], path["x"])
        inside = [here.inverse(a, bracket(a, b)) for a, b in zip(x, u, strict=True)]
        found += [
            distance([inner(part, part) for part in inside], inner(u[0], u[0])),
            _varied_energy(here, path, np.ones(here.dimension), "normal"),
        ]
    path = orbit_path("so(3)", "free")
    start, normal = path["x"][0], bracket(path["p"][0], path["x"][0])
    size = np.linalg.norm(normal)
    angles = (size / np.sqrt(2) * path.t)[:, None, None]
    across = bracket(start, normal)
    circle = np.cos(angles) * start + np.sin(angles) * across / size * np.sqrt(2)
    return found, gap(path["x"], circle)


def _varied_energy(
    here: MatrixAlgebra, path: SampledPath, weights: Array, kind: str
) -> list[float]:
    """d/ds of the integral of g(x_dot, x_dot)/2 along exp(-s eta) x exp(s eta), by direction of
    eta.

    `kind` says which part of the control counts: "normal" its part in the image of ad_x, "printed"
    the same with J, and "least" the part that J takes to the image of ad_x.
    """
    x, one = path["x"], np.eye(path["x"].shape[1])
    u = here.matrix(here.vector(bracket(path["p"], x)) / weights)
    shape, rate = (values[:, 0, 0] for values in wave(path, tilted=True))
    kernels = [np.tensordot(here.kernel(y).T, here.basis, axes=1) for y in x]
    found = []
    for e in here.basis:
        values = []
        for kernel_of, v, f, f_dot in zip(kernels, u, shape, rate, strict=True):
            turn, back = one + 1j * STEP * f * e, one - 1j * STEP * f * e
            control = here.vector(back @ v @ turn + 1j * STEP * f_dot * e)
            kernel = here.vector(back @ kernel_of @ turn).T
            scaled = kernel * weights[:, None] if kind == "least" else kernel
            part = control - kernel @ np.linalg.solve(scaled.T @ kernel, scaled.T @ control)
            values.append(np.imag(part @ (weights * part)) / STEP / 2)
        found.append(path.integral(values))
    return found


@listed("B-7.7.14")
def bundle_tangents() -> Residual:
    random = np.random.default_rng(714)

    def residual(s: OrbitPoint) -> Residual:
        here, x, xi, _ = s
        eta, zeta = here.random(random), here.random(random)
        place = exponential(-1j * STEP * eta) @ x @ exponential(1j * STEP * eta)
        vector = bracket(place, xi + 1j * STEP * zeta)
        rates = (place.imag / STEP, vector.imag / STEP)
        return gaps(rates, (bracket(x, eta), bracket(bracket(x, eta), xi) + bracket(x, zeta)))

    return points.worst(residual)


@listed("B-7.7.15", over=weighted_points, misprint={"printed": True})
def metric_with_inertia(s: OrbitPoint, printed: bool = False) -> Residual:
    here, x, p, kind = s
    weights, kernel = inertia(here.name), here.kernel(x)
    a = here.vector(here.inverse(x, s.rates[0]))
    if not printed:
        scaled = kernel * weights[:, None]
        a = a - kernel @ np.linalg.solve(scaled.T @ kernel, scaled.T @ a)
    return distance(a @ (weights * a), 2 * orbit_energy(here, kind, x, p))


@listed("B-7.7.16", over=weighted_points)
def equations_with_inertia(s: OrbitPoint) -> Residual:
    here, x, p, _ = s
    weights = inertia(here.name)

    def energy(y: Entries, q: Entries) -> Array:
        w = here.vector(bracket(q, y))
        return np.asarray(w @ (w / weights) / 2)

    u = here.matrix(here.vector(bracket(p, x)) / weights)
    written = (bracket(x, u), bracket(p, u))
    return gaps(s.rates, written), gaps(s.rates, s.canonical(energy))


@listed("B-Corollary-7.7.8")
def geodesics_with_inertia() -> Corrected:
    right, printed = [], []
    for name in ("so(3)", "so(4)"):
        given = algebra(name), orbit_path(name, "inertia"), inertia(name)
        right.append(_varied_energy(*given, "least"))
        printed.append(max(map(abs, _varied_energy(*given, "printed"))))
    return Corrected(right, min(printed))


def _bracket_rate(s: OrbitPoint) -> Array:
    """d/dt [p, x] by the library's rates."""
    x_dot, p_dot = s.rates
    return np.asarray(bracket(p_dot, s.x) + bracket(s.p, x_dot))


@listed("B-Lemma-7.7.9")
def conserved_bracket() -> Residual:
    paths = [orbit_path(name, "free") for name in LIBRARY]
    kept = [still(bracket(path["p"], path["x"])) for path in paths]
    return kept, [_bracket_rate(s) for s in library_points]


@listed("B-Lemma-7.7.9-inertia")
def spectrum_of_the_bracket() -> Residuals:
    def driven(s: OrbitPoint) -> Residual:
        return gap(_bracket_rate(s), bracket(s.x, s.pull(s.x)))

    yield [driven_points.worst(driven)]
    for name in ("so(3)", "so(4)"):
        path, weights = orbit_path(name, "inertia"), inertia(name)
        w = bracket(path["p"], path["x"])
        yield still(np.linalg.eigvalsh(1j * w)), excess(APART - np.max(np.abs(w[-1] - w[0])))
        for s in weighted_points(name):
            w = bracket(s.p, s.x)
            u = s.here.matrix(s.here.vector(w) / weights)
            yield gap(_bracket_rate(s), bracket(w, u))


@listed("B-7.7-double-bracket", over=brockett_points, misprint={"sign": -1.0})
def double_brackets(s: OrbitPoint, sign: float = 1.0) -> Residual:
    n, x = target(s.here.name), s.x
    x_dot, p_dot = s._replace(p=-n).rates
    across = bracket(x, bracket(x, n))
    return gap(x_dot, across), p_dot, gap(bracket(across, n), bracket(x, s.pull(x)) * sign)


@listed("B-7.7-toda")
def tridiagonal() -> Residuals:
    random = np.random.default_rng(77)
    for n in (3, 5):
        b = random.standard_normal(n - 1)
        L = np.diag(random.standard_normal(n)) + np.diag(b, 1) + np.diag(b, -1)
        N = np.diag(np.arange(1.0, n + 1))
        lattice, sorting = toda(n), double_bracket(n)
        expected = bracket(L, bracket(L, N))
        x, m = 1j * L, -1j * N
        yield [
            gap(flow_rates(lattice, Probe(derive(lattice), {}), A=L)["A"], expected),
            gap(flow_rates(sorting, Probe(derive(sorting), {}), x=L)["x"], expected),
            gap(bracket(x, bracket(-m, x)), 1j * expected),
            np.abs(bracket(-m, bracket(-m, x)) - bracket(m, bracket(m, x))),
        ]
