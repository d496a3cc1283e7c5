"""Bloch and others, Internet Supplement, section 7.7: the Hamiltonian structure and the geodesics of orbits (7.7.11 to 7.7.16).

Random x and p in so(3), so(4), su(2) and su(3). The library gives rates, energies and motions; independent implementations are
complex steps, the canonical two-form, metrics by projections with ad_x, and great circles on the orbits of so(3).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...formulations.registry import derive
from ...geometry.exact_flows import orbit_motion
from ...model.builders.bracket_flows import double_bracket, toda
from ..independent.matrix_flows import (
    ALGEBRAS,
    APART,
    LIBRARY,
    SPAN,
    Algebra,
    algebra,
    both,
    bracket,
    exponential,
    flow_rates,
    gap,
    inertia,
    inner,
    orbit_energy,
    orbit_path,
    orbit_rates,
    over_points,
    points,
    target,
)
from ..numeric import STEP, Probe, distance, excess, largest, worst
from ..row_registry import Corrected, claim
from .section_7_7_orbits import DRIVEN, RANDOM, STATED, against_library, canonical, pull, reduced_energy

#: Flows without a potential, by algebra.
FREE = ("so(3)", "su(2)", "so(4)")


@claim(
    "B-7.7-normal",
    "g_n([x, a], [x, b]) = <a^x, b^x> with the parts in the image of ad_x: it does not depend on the choice of a and b, and the"
    " orbit's group keeps it; the print has <xi, eta> of the vectors themselves in between",
    how=f"{RANDOM}: a and b with other parts in the kernel of ad_x, points moved by the group, the least norm of a control",
)
def normal_metric() -> Corrected:
    def metric(here: Algebra, x: Any, first: Any, second: Any) -> float:
        return float(inner(here.inverse(x, first), here.inverse(x, second)))

    def residual(here: Algebra, x: Any, a: Any) -> float:
        b = bracket(a, bracket(a, x)) + here.basis[0]
        expected = inner(here.image_part(x, a), here.image_part(x, b))
        other = a + here.matrix(here.kernel(x) @ np.ones(here.kernel(x).shape[1]))
        turn = exponential(b)
        x2, a2, b2 = (turn @ m @ turn.T for m in (x, a, b))
        return largest(
            distance(metric(here, x, bracket(x, other), bracket(x, b)), expected),
            distance(metric(here, x2, bracket(x2, a2), bracket(x2, b2)), expected),
            excess(inner(here.image_part(x, a), here.image_part(x, a)) - inner(other, other)),
        )

    def printed(here: Algebra, x: Any, a: Any) -> float:
        return distance(inner(bracket(x, a), bracket(x, a)), inner(here.image_part(x, a), here.image_part(x, a)))

    return Corrected(over_points(residual), over_points(printed))


@claim(
    "B-7.7.11",
    "H(x, p) = 1/2 |[p, x]|^2 + V(x) is the optimal Hamiltonian, and stays along motions",
    how=f"{STATED}: the library's energy, and H along its motions",
)
def hamiltonian() -> float:
    def residual(kind: str, here: Algebra, x: Any, p: Any) -> float:
        return distance(reduced_energy(here, kind)(x, p), orbit_energy(here, kind, x, p))

    found = []
    for name, kind in DRIVEN[:3]:
        path, energy = orbit_path(name, kind), reduced_energy(algebra(name), kind)
        values = [energy(x, p) for x, p in zip(path["x"][::6], path["p"][::6], strict=True)]
        found.append(distance(values, values[0]))
    return largest(against_library(residual), *found)


@claim(
    "B-7.7.12",
    "The Hamiltonian equations of 1/2 |[p, x]|^2 + V are (7.7.4) for every V",
    how=f"{STATED}, Brockett's and a quartic potential: complex steps of H against the library's rates",
)
def hamiltonian_equations() -> float:
    def residual(kind: str, here: Algebra, x: Any, p: Any) -> float:
        found = canonical(here, reduced_energy(here, kind), x, p)
        return largest(*(gap(a, b) for a, b in zip(found, orbit_rates(here, kind, x, p), strict=True)))

    return against_library(residual)


@claim(
    "B-Theorem-7.7.5",
    "dH . xi = omega(X_H, xi), with dH . xi = <[p, x], [dp, x]> + <[p, x], [p, dx]> + <V_x, dx> and the canonical two-form",
    how=f"{STATED}: random xi, X_H from the library, complex steps of H",
)
def symplectic_form() -> float:
    random = np.random.default_rng(75)

    def residual(kind: str, here: Algebra, x: Any, p: Any) -> float:
        dx, dp = here.random(random), here.random(random)
        energy = reduced_energy(here, kind)
        along = np.imag(energy(x + 1j * STEP * dx, p + 1j * STEP * dp)) / STEP
        w = bracket(p, x)
        written = inner(w, bracket(dp, x)) + inner(w, bracket(p, dx)) + inner(pull(here, kind, x), dx)
        x_dot, p_dot = orbit_rates(here, kind, x, p)
        return largest(distance(along, written), distance(along, inner(x_dot, dp) - inner(p_dot, dx)))

    return against_library(residual)


@claim(
    "B-Corollary-7.7.6",
    "With V = -1/2 <[x, n], [x, n]> in (7.7.11) the equations (7.7.12) are (7.7.8); the print has +1/2",
    how=f"{STATED}: complex steps of H against the library's rates with Brockett's potential",
)
def brockett_hamiltonian() -> Corrected:
    def residual(here: Algebra, x: Any, p: Any, printed: bool) -> float:
        n, sign = target(here.name), 1.0 if printed else -1.0

        def energy(y: Any, q: Any) -> Any:
            return inner(bracket(q, y), bracket(q, y)) / 2 + sign * inner(bracket(y, n), bracket(y, n)) / 2

        return largest(
            *(gap(a, b) for a, b in zip(canonical(here, energy, x, p), orbit_rates(here, "brockett", x, p), strict=True))
        )

    return both(residual, LIBRARY)


@claim(
    "B-7.7-restricted",
    "With V = 0 the flow stays in T*O, the p in the image of ad_x, and is Hamiltonian there: the canonical form is"
    " nondegenerate on it and takes X_H to dH, while the Poisson tensor of T*g is not tangent to it; spec p stays, with V it"
    " does not",
    how="so(3), su(2) and so(4): the library's rates and motions, tangent vectors of T*O by complex steps of the group",
)
def restricted_flow() -> float:
    found = []
    for name in FREE:
        here, x, p = next(points(name, 1))
        p = here.image_part(x, p)
        X = np.concatenate([here.vector(m) for m in orbit_rates(here, "free", x, p)])
        tangent = _cotangent_vectors(here, x, p)
        d = here.dimension
        J = np.block([[np.zeros((d, d)), np.eye(d)], [-np.eye(d), np.zeros((d, d))]])
        form = tangent.T @ J @ tangent
        energy = reduced_energy(here, "free")
        derivatives = [
            np.imag(energy(x + 1j * STEP * here.matrix(v[:d]), p + 1j * STEP * here.matrix(v[d:]))) / STEP for v in tangent.T
        ]
        weights, *_ = np.linalg.lstsq(tangent, X, rcond=None)
        sizes = np.linalg.svd(form, compute_uv=False)
        orbit = d - here.kernel(x).shape[1]
        found += [
            worst(tangent @ weights - X),
            distance(form.T @ weights, derivatives),
            float(tangent.shape[1] != 2 * orbit) + excess(APART - sizes[-1]),
            # J maps the tangent space of T*O out of itself, because T*O has fewer dimensions than T*g.
            excess(APART - np.linalg.norm(J - tangent @ np.linalg.lstsq(tangent, J, rcond=None)[0])),
        ]
        kept = np.linalg.eigvalsh(1j * orbit_path(name, "free")["p"])
        found.append(distance(kept, np.broadcast_to(kept[0], kept.shape)))
    lost = np.linalg.eigvalsh(1j * orbit_path("so(4)", "brockett")["p"])
    return largest(*found, excess(APART - np.max(np.abs(lost - lost[0]))))


def _cotangent_vectors(here: Algebra, x: Any, p: Any) -> Any:
    """A basis (2d, 2 dim O) of the tangent space of {(x, p): p in the image of ad_x}."""
    columns = []
    kernel = here.kernel(x)
    for e in here.basis:
        columns.append(np.concatenate([here.vector(bracket(x, e)), here.vector(bracket(p, e))]))
        columns.append(np.concatenate([np.zeros(here.dimension), here.vector(here.image_part(x, e))]))
    left, sizes, _ = np.linalg.svd(np.array(columns).T)
    return left[:, : 2 * (here.dimension - kernel.shape[1])] if sizes.size else left


@claim(
    "B-7.7.13",
    "With V = 0 the library's x_dot = [x, [p, x]], p_dot = [p, [p, x]], and x(t) = exp(-t u) x(0) exp(t u) with u = [p, x]",
    how=f"{RANDOM}: the library's rates, its motion against exponentials, its closed form on su(3) by complex steps in time",
)
def free_motion() -> float:
    found = []
    for name in ALGEBRAS:
        here, x, p = next(points(name, 1))
        u = bracket(p, x)
        for sign, turned in zip((1, -1), orbit_motion(x, p, [0.7, -0.7])[0], strict=True):
            found.append(gap(turned, exponential(-0.7 * sign * u) @ x @ exponential(0.7 * sign * u)))
        moved = [exponential(-1j * STEP * u) @ m @ exponential(1j * STEP * u) for m in (x, p)]
        rates = orbit_rates(here, "free", x, p) if name in LIBRARY else (bracket(x, u), bracket(p, u))
        found += [gap(m.imag / STEP, rate) for m, rate in zip(moved, rates, strict=True)]
        if name in LIBRARY:
            path = orbit_path(name, "free")
            closed = orbit_motion(x, p, path.t[::12])
            found += [gap(path[key][::12], value) for key, value in zip(("x", "p"), closed, strict=True)]
    return worst(found)


@claim(
    "B-Theorem-7.7.7",
    "The motions of (7.7.13) are geodesics of the normal metric: their speed is |[p, x]| and stays, the first variation of the"
    " energy vanishes, and on so(3) they are great circles",
    how="so(3), su(2) and so(4): the library's motions, metrics along varied curves by complex steps, the plane of each circle",
)
def normal_geodesics() -> float:
    found = []
    for name in FREE:
        here, path = algebra(name), orbit_path(name, "free")
        x, u = path["x"], bracket(path["p"], path["x"])
        speeds = [inner(here.inverse(a, bracket(a, b)), here.inverse(a, bracket(a, b))) for a, b in zip(x, u, strict=True)]
        found += [distance(speeds, inner(u[0], u[0])), worst(_varied_energy(here, path, np.ones(here.dimension), "normal"))]
    path = orbit_path("so(3)", "free")
    normal = bracket(path["p"][0], path["x"][0])
    angles = np.linalg.norm(normal) / np.sqrt(2) * path.t
    circle = np.cos(angles)[:, None, None] * path["x"][0] + np.sin(angles)[:, None, None] * bracket(
        path["x"][0], normal
    ) / np.linalg.norm(normal) * np.sqrt(2)
    return largest(*found, gap(path["x"], circle))


def _varied_energy(here: Algebra, path: Any, weights: Any, kind: str) -> Any:
    """d/ds of the integral of g(x_dot, x_dot)/2 along exp(-s eta) x exp(s eta), for each direction of eta.

    `kind` says which part of the control counts: "normal" its part in the image of ad_x, "printed" the same with J, and
    "least" the part that J takes to the image of ad_x.
    """
    x = path["x"]
    u = np.array([here.matrix(here.vector(bracket(p, y)) / weights) for y, p in zip(x, path["p"], strict=True)])
    wave = np.sin(np.pi * path.t / SPAN) * (1 + path.t)
    rate = np.pi / SPAN * np.cos(np.pi * path.t / SPAN) * (1 + path.t) + np.sin(np.pi * path.t / SPAN)
    found = []
    for e in here.basis:
        values = []
        for y, v, f, f_dot in zip(x, u, wave, rate, strict=True):
            turn = np.eye(len(e)) + 1j * STEP * f * e
            back = np.eye(len(e)) - 1j * STEP * f * e
            control = here.vector(back @ v @ turn + 1j * STEP * f_dot * e)
            kernel = here.vector(back @ np.tensordot(here.kernel(y).T, here.basis, axes=1) @ turn).T
            scaled = kernel * weights[:, None] if kind == "least" else kernel
            part = control - kernel @ np.linalg.solve(scaled.T @ kernel, scaled.T @ control)
            values.append(np.imag(part @ (weights * part)) / STEP / 2)
        found.append(path.integral(values))
    return found


@claim(
    "B-7.7.14",
    "The tangent vectors of the tangent bundle at (x, [x, xi]) are ([x, eta], [[x, eta], xi] + [x, zeta])",
    how=f"{RANDOM}: complex steps of curves on the bundle",
)
def bundle_tangents() -> float:
    random = np.random.default_rng(714)

    def residual(here: Algebra, x: Any, xi: Any) -> float:
        eta, zeta = here.random(random), here.random(random)
        place = exponential(-1j * STEP * eta) @ x @ exponential(1j * STEP * eta)
        vector = bracket(place, xi + 1j * STEP * zeta)
        return largest(
            gap(place.imag / STEP, bracket(x, eta)),
            gap(vector.imag / STEP, bracket(bracket(x, eta), xi) + bracket(x, zeta)),
        )

    return over_points(residual)


@claim(
    "B-7.7.15",
    "The metric of (7.7.16) is g([x, a], [x, b]) = <a', J b'> with a' = a modulo the kernel of ad_x and J a' in its image; the"
    " print has the parts of a and b in the image itself, which differ unless J = 1",
    how=f"{STATED} with J of different numbers: g(x_dot, x_dot) at the library's x_dot against twice its energy",
)
def metric_with_inertia() -> Corrected:
    def residual(here: Algebra, x: Any, p: Any, printed: bool) -> float:
        weights, kernel = inertia(here.name), here.kernel(x)
        a = here.vector(here.inverse(x, orbit_rates(here, "inertia", x, p)[0]))
        if not printed:
            scaled = kernel * weights[:, None]
            a = a - kernel @ np.linalg.solve(scaled.T @ kernel, scaled.T @ a)
        return distance(a @ (weights * a), 2 * orbit_energy(here, "inertia", x, p))

    return both(residual, LIBRARY)


@claim(
    "B-7.7.16",
    "p_dot = [p, J^-1 [p, x]], x_dot = [x, J^-1 [p, x]] are canonical with H = 1/2 <[p, x], J^-1 [p, x]>",
    how=f"{STATED} with J of different numbers: the library's rates against brackets and complex steps",
)
def equations_with_inertia() -> float:
    def residual(here: Algebra, x: Any, p: Any) -> float:
        weights = inertia(here.name)

        def energy(y: Any, q: Any) -> Any:
            w = here.vector(bracket(q, y))
            return w @ (w / weights) / 2

        u = here.matrix(here.vector(bracket(p, x)) / weights)
        rates = orbit_rates(here, "inertia", x, p)
        return largest(
            *(gap(a, b) for a, b in zip(rates, (bracket(x, u), bracket(p, u)), strict=True)),
            *(gap(a, b) for a, b in zip(rates, canonical(here, energy, x, p), strict=True)),
        )

    return over_points(residual, LIBRARY)


@claim(
    "B-Corollary-7.7.8",
    "The motions of (7.7.16) are geodesics of the metric corrected in B-7.7.15; of the printed metric they are not",
    how="so(3) and so(4): the library's motions, d/ds of the energy of varied curves with fixed ends by complex steps",
)
def geodesics_with_inertia() -> Corrected:
    right, printed = [], []
    for name in ("so(3)", "so(4)"):
        here, path, weights = algebra(name), orbit_path(name, "inertia"), inertia(name)
        right.append(worst(_varied_energy(here, path, weights, "least")))
        printed.append(worst(_varied_energy(here, path, weights, "printed")))
    return Corrected(worst(right), min(printed))


@claim(
    "B-Lemma-7.7.9",
    "[p, x] is conserved along (7.7.13)",
    how="so(3), su(2) and so(4): the library's rates and motions",
)
def conserved_bracket() -> float:
    found = []
    for name in FREE:
        path = orbit_path(name, "free")
        w = bracket(path["p"], path["x"])
        found.append(gap(w, np.broadcast_to(w[0], w.shape)))
        for here, x, p in points(name):
            x_dot, p_dot = orbit_rates(here, "free", x, p)
            found.append(worst((bracket(p_dot, x) + bracket(p, x_dot)).ravel()))
    return worst(found)


@claim(
    "B-Lemma-7.7.9-inertia",
    "With J other than one [p, x] is not conserved: w = [p, x] moves by w_dot = [w, J^-1 w], and only its spectrum stays; with"
    " a potential w_dot = [x, V_x]",
    how="so(3), so(4), and five driven flows: the library's rates and motions",
)
def spectrum_of_the_bracket() -> float:
    found = []
    for name in ("so(3)", "so(4)"):
        path, weights = orbit_path(name, "inertia"), inertia(name)
        w = bracket(path["p"], path["x"])
        spectra = np.linalg.eigvalsh(1j * w)
        found += [distance(spectra, np.broadcast_to(spectra[0], spectra.shape)), excess(APART - np.max(np.abs(w[-1] - w[0])))]
        for here, x, p in points(name):
            x_dot, p_dot = orbit_rates(here, "inertia", x, p)
            u = here.matrix(here.vector(bracket(p, x)) / weights)
            found.append(gap(bracket(p_dot, x) + bracket(p, x_dot), bracket(bracket(p, x), u)))

    def residual(kind: str, here: Algebra, x: Any, p: Any) -> float:
        x_dot, p_dot = orbit_rates(here, kind, x, p)
        return gap(bracket(p_dot, x) + bracket(p, x_dot), bracket(x, pull(here, kind, x)))

    return largest(*found, against_library(residual))


@claim(
    "B-7.7-double-bracket",
    "x_dot = [x, [x, n]] is the motion of (7.7.8) with the constant p = -n, and so of V = -1/2 |[x, n]|^2; the print has +1/2",
    how=f"{STATED}: the library's rates at p = -n with Brockett's potential; u_dot = [x, V_x] for both signs",
)
def double_brackets() -> Corrected:
    def residual(here: Algebra, x: Any, _: Any, printed: bool) -> float:
        n = target(here.name)
        force = bracket(x, pull(here, "brockett", x)) * (-1.0 if printed else 1.0)
        x_dot, p_dot = orbit_rates(here, "brockett", x, -n)
        u_dot = bracket(bracket(x, bracket(x, n)), n)
        return largest(
            gap(x_dot, bracket(x, bracket(x, n))),
            worst(p_dot.ravel()),
            gap(u_dot, force),
        )

    return both(residual, LIBRARY)


@claim(
    "B-7.7-toda",
    "Of a tridiagonal symmetric L the double bracket is Toda's lattice in Flaschka's variables, L_dot = [L, [L, N]] with"
    " N = diag(1, ..., n); x = i L and n = -i N are in u(n) and obey (7.7.8) with p = -n",
    how="lattices of three and five particles: the library's lattice and double bracket flow against brackets of matrices",
)
def tridiagonal() -> float:
    random = np.random.default_rng(77)
    found = []
    for n in (3, 5):
        b = random.standard_normal(n - 1)
        L = np.diag(random.standard_normal(n)) + np.diag(b, 1) + np.diag(b, -1)
        N = np.diag(np.arange(1.0, n + 1))
        lattice, sorting = toda(n), double_bracket(n)
        expected = bracket(L, bracket(L, N))
        x, m = 1j * L, -1j * N
        found += [
            gap(flow_rates(lattice, Probe(derive(lattice), {}), A=L)["A"], expected),
            gap(flow_rates(sorting, Probe(derive(sorting), {}), x=L)["x"], expected),
            gap(bracket(x, bracket(-m, x)), 1j * expected),
            worst(np.abs(bracket(-m, bracket(-m, x)) - bracket(m, bracket(m, x))).ravel()),
        ]
    return worst(found)
