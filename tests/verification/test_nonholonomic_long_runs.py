"""The energy of nonholonomic systems over many steps: kept, bounded, or wandering off, as the
theory of each method says.

Good behaviour of methods that do not keep the energy comes from reversibility, not from a
variational principle (K. Modin, O. Verdier, Numer. Math. 145 (2020) 405): a total derivative in the
Lagrangian changes no motion and leaves the discrete Lagrange-d'Alembert method what it is, but
takes its reversibility.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from nonholonomic_problems import (
    CHAOTIC_START,
    CONTACT_START,
    TRANSMISSION_START,
    contact_oscillator,
    transmission,
)

FORMS = {
    "dla": "lagrange",
    "nonholonomic-leapfrog": "lagrange",
    "energy2": "hamilton",
    "gauss2": "lagrange",
}
EQUATIONS = {
    (name, form): da.derive(system, form)
    for name, system in (
        ("reversible", transmission()),
        ("gauged", transmission(0.2)),
        ("contact", contact_oscillator()),
    )
    for form in ("lagrange", "hamilton")
}


def energies(method: str, name: str, step: float, steps: int) -> Any:
    """The energy at a few thousand steps, relative to that at the start."""
    start = CONTACT_START if name == "contact" else TRANSMISSION_START
    motion = da.simulate(
        EQUATIONS[name, FORMS[method]],
        start,
        (0, step * steps),
        method=method,
        step=step,
        every=max(1, steps // 4000),
    )
    assert motion.success, motion.message
    assert motion.worst_residual["velocity"] < 1e-14
    return motion.energy / motion.energy[0]


def drift(energy: Any) -> float:
    """How far the mean over the last eighth lies from that over the first."""
    parts = np.array_split(energy, 8)
    return float(parts[-1].mean() - parts[0].mean())


def check_reversible(steps: int) -> None:
    for method in ("dla", "nonholonomic-leapfrog"):
        energy = energies(method, "reversible", 0.2, steps)
        assert 1e-3 < np.abs(energy - 1).max() < 2e-2
        assert abs(drift(energy)) < 5e-4


def check_gauged(steps: int, least: float) -> None:
    """The same step of the same method on the same motion, but not reversible."""
    assert abs(drift(energies("dla", "gauged", 0.2, steps))) > least


def test_reversible_steps_have_no_drift() -> None:
    check_reversible(40_000)


@pytest.mark.long
def test_without_reversibility_dla_drifts() -> None:
    check_gauged(200_000, 2e-3)


def test_a_symmetric_method_with_a_projection_behind_it_drifts() -> None:
    """The projection that ends a step of Gauss's method is not symmetric."""
    assert drift(energies("gauss2", "reversible", 0.2, 20_000)) < -0.02


@pytest.mark.long
def test_where_a_reversible_motion_is_chaotic_the_energy_diffuses() -> None:
    """Reversibility bounds the energy of regular motions; along a chaotic one its means wander."""

    def wandering(method: str, coupling: float, start: dict[str, float]) -> float:
        system = contact_oscillator(coupling)
        motion = da.simulate(system, start, (0, 10_000), method=method, step=0.05, every=50)
        return float(
            np.ptp([part.mean() for part in np.array_split(motion.energy / motion.energy[0], 8)])
        )

    assert wandering("dla", 0.3, CONTACT_START) < 1e-5
    assert wandering("dla", 6.0, CHAOTIC_START) > 3e-3
    assert wandering("energy2", 6.0, CHAOTIC_START) < 1e-11


@pytest.mark.parametrize("name", ("reversible", "gauged", "contact"))
def test_the_energy_is_kept_whatever_the_system(name: str) -> None:
    assert np.abs(energies("energy2", name, 0.2, 50_000) - 1).max() < 2e-12


@pytest.mark.long
def test_a_million_steps_of_the_transmission() -> None:
    check_reversible(1_000_000)
    check_gauged(1_000_000, 2e-2)
    for name in ("reversible", "gauged"):
        assert np.abs(energies("energy2", name, 0.2, 1_000_000) - 1).max() < 2e-11


@pytest.mark.long
def test_a_million_steps_of_the_contact_oscillator() -> None:
    """Reversible: the energy errors stay within a bound that belongs to the step."""
    for method in ("dla", "nonholonomic-leapfrog"):
        wide, narrow = (
            np.abs(energies(method, "contact", step, 1_000_000) - 1) for step in (0.1, 0.05)
        )
        assert wide[2000:].max() < 2 * wide[:2000].max()
        assert wide.max() / narrow.max() == pytest.approx(4, rel=0.4)
    assert np.abs(energies("energy2", "contact", 0.1, 1_000_000) - 1).max() < 2e-11


@pytest.mark.long
@pytest.mark.parametrize("name", ("nonholonomic-particle", "chaplygin-sleigh", "snakeboard"))
def test_a_million_steps_of_systems_of_the_gallery(name: str) -> None:
    """The snakeboard has springs on rotor and wheels, because its constraints degenerate where the
    wheels stand crosswise.
    """
    scenario = da.gallery.load(name)
    system = scenario.system
    if name == "snakeboard":
        *_, psi, phi = system.coordinates
        system = da.System(
            system.coordinates,
            lagrangian=system.lagrangian - (psi**2 + phi**2) / 8,
            constraints=system.bilateral,
        )
    for method, bound in (("dla", 1e-2), ("nonholonomic-leapfrog", 1e-2), ("energy2", 1e-10)):
        motion = da.simulate(
            system,
            dict(scenario.start),
            (0, 50_000),
            parameters=dict(scenario.parameters),
            method=method,
            step=0.05,
            every=250,
        )
        assert motion.success, motion.message
        assert np.abs(motion.energy / motion.energy[0] - 1).max() < bound
        # the particle runs away, until the row of its constraint has the length 1e9
        assert motion.worst_residual["velocity"] < (
            1e-5 if name == "nonholonomic-particle" else 1e-11
        )
