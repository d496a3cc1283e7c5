"""The Hamilton-Jacobi method on invariant families: the disk at constant tilt (Rumyantsev 5.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from scipy.optimize import brentq
from sympy import cos, sin

import dalembert as da
from dalembert.errors import ModelError

STEADY = {"theta_dot": 0, "pi_x": 0, "pi_y": 0}


@pytest.fixture(scope="module")
def disk() -> Any:
    return da.variational.hamilton_jacobi(da.gallery.load("rolling-disk"))


def _dalembert_residual(system: da.System, motion: dict[Any, Any], values: dict[Any, Any]) -> float:
    """(d/dt L_v - L_q) . delta q on virtual displacements along q(t), by SymPy's derivatives."""
    path = {q: expression.subs(values) for q, expression in motion.items()}
    along = {q.dot: sympy.diff(expression, da.t) for q, expression in path.items()} | path
    L = system.lagrangian.subs(values)
    euler = [
        sympy.diff(sympy.diff(L, q.dot).xreplace(along), da.t) - sympy.diff(L, q).xreplace(along)
        for q in system.coordinates
    ]
    rows = [
        [sympy.diff(c.expression.subs(values), q.dot).xreplace(along) for q in system.coordinates]
        for c in system.bilateral
    ]
    broken = [c.expression.subs(values).xreplace(along) for c in system.bilateral]
    numbers = sympy.lambdify(da.t, [euler, rows, broken])
    worst = 0.0
    for time in (0.0, 0.4, 1.3):
        force, matrix, residual = (np.array(part, dtype=float) for part in numbers(time))
        allowed = np.linalg.svd(matrix)[2][len(matrix) :] if len(matrix) else np.eye(len(force))
        worst = max(worst, *np.abs(allowed @ force), *np.abs(residual), 0.0)
    return worst


def _constants(family: Any, scenario: Any) -> dict[Any, float]:
    """Constants that satisfy the condition: alpha_psi by bisection, the others chosen."""
    values: dict[Any, float] = {
        symbol: scenario.parameters[symbol.name] for symbol in scenario.system.parameters
    }
    used = {s for e in family.motion.values() for s in e.free_symbols} - {da.t}
    used |= {s for e in (*family.speeds.values(), *family.conditions) for s in e.free_symbols}
    names = {symbol.name: symbol for symbol in used}
    values |= {names["theta_0"]: 0.3, names["alpha_phi"]: 0.02}
    values |= {names[f"beta_{name}"]: 0.1 for name in ("psi", "phi", "x", "y")}
    (condition,) = family.conditions
    unknown = names["alpha_psi"]
    function = sympy.lambdify(unknown, condition.subs(values))
    grid = np.linspace(-3, 3, 400)
    signs = np.sign([function(value) for value in grid])
    place = int(np.flatnonzero(np.diff(signs))[0])
    values[unknown] = brentq(function, grid[place], grid[place + 1], xtol=1e-15)
    return values | {s: float(value.subs(values)) for s, value in family.speeds.items()}


def test_the_disk_at_constant_tilt_is_integrated(disk: Any) -> None:
    scenario = da.gallery.load("rolling-disk")
    family = disk.on(STEADY)
    assert family.mechanical.is_proved and not family.reason
    values = _constants(family, scenario)
    assert _dalembert_residual(scenario.system, family.motion, values) < 1e-11
    off = dict(values)
    off[next(s for s in values if s.name == "alpha_psi")] *= 1.1
    off |= {s: float(value.subs(off)) for s, value in family.speeds.items()}
    assert _dalembert_residual(scenario.system, family.motion, off) > 1e-3


@pytest.mark.long
def test_motions_of_other_tilts_are_not_mechanical(disk: Any) -> None:
    family = disk.on({"pi_x": 0, "pi_y": 0})
    assert family.mechanical.is_refuted
    assert family.integral is not None and family.integral.verdict.is_proved
    assert "not in general" in str(family)


def test_the_reason_names_the_family_on_which_the_equation_separates(disk: Any) -> None:
    assert "does not separate in theta, phi" in disk.reason
    assert "pi_x = pi_y = 0" in disk.reason


@pytest.mark.parametrize(
    ("relations", "words"),
    [
        ({"theta_dot": 0}, "does not stay at rest"),
        pytest.param({"pi_phi": 0}, "does not keep its value", marks=pytest.mark.long),
        ({"theta_dot": 1}, "at rest"),
        ({"pi_z": 0}, "did you mean"),
        ({"pi_x": "0"}, "number or an expression"),
    ],
)
def test_relations_that_do_not_hold_are_named(disk: Any, relations: Any, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        disk.on(relations)


def test_the_conical_pendulum_is_a_family() -> None:
    theta, phi = da.coordinates("theta phi")
    m, g, l = da.parameters("m g l", positive=True)
    kinetic = m * l**2 / 2 * (theta.dot**2 + sin(theta) ** 2 * phi.dot**2)
    system = da.System([theta, phi], kinetic=kinetic, potential=-m * g * l * cos(theta))
    family = da.variational.hamilton_jacobi(system).on({"theta_dot": 0})
    (speed,) = family.speeds.values()
    (condition,) = family.conditions
    alpha = next(s for s in condition.free_symbols if s.name == "alpha_phi")
    place = next(s for s in condition.free_symbols if s.name == "theta_0")
    cone = m * l**2 * sin(place) ** 2 * sympy.sqrt(g / (l * cos(place)))  # omega^2 = g/(l cos)
    at = {m: 1.3, g: 9.81, l: 0.7, place: 0.6}
    assert abs(float(condition.subs(alpha, cone).subs(at))) < 1e-12
    assert float((speed**2).subs(alpha, cone).subs(at)) == pytest.approx(9.81 / 0.7 / np.cos(0.6))


def test_applicability_is_proved_or_refuted_not_sampled() -> None:
    found = da.variational.hamilton_jacobi(da.gallery.load("appell")).applicability
    assert found.applies is True and "identity" in found.sentence
