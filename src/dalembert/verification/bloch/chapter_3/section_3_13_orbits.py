"""Bloch and others, Internet Supplement, end of 3.13: relative periodic orbits, Melnikov's method.

Independent implementations are the kinetic energy of three bodies written from their places,
SciPy's integrator, and closed forms of Melnikov's function.
"""

from __future__ import annotations

import numpy as np
import sympy
from scipy.integrate import solve_ivp

from ....analysis.stability.melnikov import chain_melnikov, melnikov
from ....analysis.symmetry.relative_orbits import RelativeOrbit, relative_periodic_orbit
from ....model.builders.planar_bodies import planar_chain
from ....model.symbols import parameters
from ....typing import Array
from ...numeric import Residual, apart, distance
from ...row_registry import listed

#: The place of each body by the turned angles, for hinges at distances 1, 1/2, 1/2 and 1.
ARMS = np.array([[0.0, 0.0, 0.0], [1.0, 0.5, 0.0], [1.0, 1.0, 1.0]])
Shape = tuple[float, float, float]


def _mass(angles: Array) -> Array:
    """The mass matrix (3, 3) of three bodies in a row with unit masses and inertias."""
    turned = np.stack([-np.sin(angles), np.cos(angles)], axis=1)
    place = ARMS[:, :, None] * turned[None]
    place = place - place.mean(axis=0)
    return np.asarray(np.einsum("iax,ibx->ab", place, place) + np.eye(3))


def _rates(_: float, y: Array) -> Array:
    """Lagrange's equations of the kinetic energy, by complex steps of the mass matrix."""
    angles, speeds = y[:3], y[3:]
    by = np.array([_mass(angles + 1e-30j * e).imag / 1e-30 for e in np.eye(3)])
    force = np.einsum("ijk,j,k->i", by, speeds, speeds) / 2
    force -= np.einsum("kij,k,j->i", by, speeds, speeds)
    return np.concatenate([speeds, np.linalg.solve(_mass(angles), force)])


def _orbit(shape: Shape, frequency: float) -> RelativeOrbit:
    ends = {(1, 2): (1, 0), (2, 1): (-0.5, 0), (2, 3): (0.5, 0), (3, 2): (-1, 0)}
    chain = planar_chain(3, masses=[1, 1, 1], inertias=[1, 1, 1], hinges=ends)
    system = chain.system()
    start: dict[sympy.Symbol, float] = dict(zip(system.coordinates, shape, strict=True))
    start |= {q.dot: 0.4 for q in system.coordinates}
    turn = {"turn": dict.fromkeys(system.coordinates, 1)}
    return relative_periodic_orbit(system, start, 2 * np.pi / frequency, drift=turn)


@listed("B-3.13-orbits-antisymmetric", given={"shape": (-0.1, 0.0, 0.1), "frequency": 0.374})
@listed("B-3.13-orbits-symmetric", given={"shape": (-0.1, 0.2, -0.1), "frequency": 0.49})
def families_near_the_stretched_state(shape: Shape, frequency: float) -> Residual:
    found = _orbit(shape, frequency)
    span = (0.0, found.period)
    run = solve_ivp(_rates, span, found.start, method="DOP853", rtol=1e-12, atol=1e-13)
    drifted = found.start + found.drift["turn"] * np.array([1, 1, 1, 0, 0, 0])
    first, middle, last = found.start[:3] - np.mean(found.start[:3])
    broken = abs(first - last) if shape[0] == shape[2] else abs(middle)
    circle = np.abs(np.abs(found.multipliers) - 1)
    moves = apart(abs(first), 0.05)
    kind = 0.0 if broken < 1e-5 and np.max(circle) < 1e-4 else np.inf
    return distance(run.y[:, -1], drifted), moves, kind


@listed("B-3.13-melnikov-pendulum")
def shaken_pendulum() -> Residual:
    q, p, phi, action = sympy.symbols("q p phi I", real=True)
    energy = p**2 / 2 - sympy.cos(q) + sympy.Rational(7, 5) * action
    found = melnikov(
        energy, p * sympy.cos(phi), (q, p), (phi, action), saddle={q: 3.1, p: 0}, action=0.0,
        side=-1,
    )  # fmt: skip
    closed = 2 * np.pi * 1.4 / np.cosh(np.pi * 1.4 / 2)
    return distance(found.amplitude, closed), 0.0 if found.integrability.is_refuted else np.inf


@listed("B-3.13-nonintegrable")
def perturbed_chain() -> Residual:
    """The same amplitude with the third body's hinge turned by a right angle, and simple zeros."""
    small, found = parameters("eps"), []
    for hinge in ((small, 0), (0, small)):
        hinges = {(1, 2): (1, 0), (2, 1): (-1, 0), (2, 3): (0.5, 0), (3, 2): hinge}
        chain = planar_chain(3, masses=[1, 1, 1], inertias=[1, 1, 0.5], hinges=hinges)
        found.append(chain_melnikov(chain, small, total=3.0, spin=0.4))
    refuted = all(one.integrability.is_refuted for one in found)
    shift = np.abs((found[1].zeros[:, None] - found[0].zeros[None]) % np.pi - np.pi / 2)
    size = apart(found[0].amplitude, 0.1) if refuted else np.inf
    return distance(found[1].amplitude, found[0].amplitude), float(np.min(shift)), size
