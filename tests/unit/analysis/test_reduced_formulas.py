"""The reduced equations as printed, against Lagrange's equations by SymPy alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from sympy import cos, sin

import dalembert as da
from dalembert.analysis.symmetry.reduced_tensors import assembled
from dalembert.errors import FormError
from sympy_multipliers import of_system


def roller_racer() -> tuple[da.System, dict[str, Any], dict[str, float]]:
    """Krishnaprasad and Tsakiris: two hinged axles, the front one steered by phi."""
    x, y, theta, phi = da.coordinates("x y theta phi")
    m, I1, I2, d1, d2 = da.parameters("m I1 I2 d1 d2", positive=True)
    spin = I1 / 2 * theta.dot**2 + I2 / 2 * (theta.dot + phi.dot) ** 2
    reach = d1 * theta.dot * cos(phi) + d2 * (theta.dot + phi.dot)
    front = -x.dot * sin(theta + phi) + y.dot * cos(theta + phi) + reach
    system = da.System(
        [x, y, theta, phi],
        kinetic=m / 2 * (x.dot**2 + y.dot**2) + spin,
        constraints=[
            da.velocity(-x.dot * sin(theta) + y.dot * cos(theta), name="rear"),
            da.velocity(front, name="front"),
        ],
        name="Roller racer",
    )
    return system, plane(x, y, theta), {"m": 1.3, "I1": 0.4, "I2": 0.15, "d1": 0.5, "d2": 0.2}


def plane(x: Any, y: Any, angle: Any) -> dict[str, Any]:
    ahead, aside = {x: cos(angle), y: sin(angle)}, {x: -sin(angle), y: cos(angle)}
    return {"ahead": ahead, "aside": aside, "turn": {angle: 1}}


def unicycle() -> tuple[da.System, dict[str, Any], dict[str, float]]:
    scenario = da.gallery.load("unicycle-rider")
    _, _, psi, phi, x, y = scenario.system.coordinates
    return scenario.system, plane(x, y, phi) | {"spin": {psi: 1}}, dict(scenario.parameters)


class Printed:
    """The printed right sides by label, at numbers: I^-1 and named coefficients are looked up."""

    def __init__(self, found: Any, values: dict[str, float]) -> None:
        self.lines = {line.label: line.value for line in found.formulas.lines}
        self.values = values
        self.functions: dict[sympy.Expr, Any] = {}

    def __call__(self, label: str, state: dict[str, float]) -> float:
        numbers = self.values | state
        if "I^-1" in self.lines:
            table = self.lines["I"]
            inertia = [[self._value(table[a, b], numbers) for b in range(2)] for a in range(2)]
            inverse = np.linalg.inv(np.array(inertia))
            names = self.lines["I^-1"]
            numbers |= {names[k].name: inverse.flat[k] for k in range(4)}
        return self._value(self.lines[label], numbers)

    def _value(self, expression: sympy.Expr, numbers: dict[str, float]) -> float:
        symbols = sorted(expression.free_symbols, key=str)
        if expression not in self.functions:
            self.functions[expression] = sympy.lambdify(symbols, expression, cse=True)
        known = [numbers.get(s.name) for s in symbols]
        table = [
            self._value(self.lines[s.name], numbers) if value is None else value
            for s, value in zip(symbols, known, strict=True)
        ]
        return float(self.functions[expression](*table))


@pytest.mark.parametrize("make", [roller_racer, pytest.param(unicycle, marks=pytest.mark.long)])
def test_the_printed_equations_are_those_of_sympy_alone(make: Any) -> None:
    system, group, values = make()
    section = None
    if make is unicycle:
        R = next(p for p in system.parameters if p.name == "R")
        section = [[0, 0, 1, 0], [-R, 0, 0, 1]]
    found = da.symmetry.reduced_coefficients(system, group, section=section)
    printed, symbols, own = Printed(found, values), found.symbols, of_system(system, values)
    assert symbols is not None
    q, v = list(system.coordinates), list(system.velocities)
    names = [s.name for s in (*q, *v)]
    fields = sympy.Matrix([[sympy.sympify(f.get(x, 0)) for x in q] for f in group.values()]).T
    along = sympy.Matrix(found.frame[:, : found.count])
    momenta = (fields * along).T * sympy.Matrix([system.lagrangian.diff(x) for x in v])
    p_of = sympy.lambdify([q, v], momenta.subs({s: values[s.name] for s in system.parameters}))
    moved = [k for k, x in enumerate(q) if x not in symbols.shape]
    random, h = np.random.default_rng(4), 1e-4

    def at(place: np.ndarray, u: np.ndarray) -> dict[str, float]:
        p = np.array(p_of(place, u), dtype=float).ravel()
        own_names = [s.name for s in symbols.momenta]
        pairs = zip([*names, *own_names], [*place, *u, *p], strict=True)
        return {name: float(value) for name, value in pairs}

    def slope(label: str, state: dict[str, float], name: str) -> float:
        ends = [printed(label, state | {name: state[name] + s * h}) for s in (2, 1, -1, -2)]
        return (-ends[0] + 8 * ends[1] - 8 * ends[2] + ends[3]) / (12 * h)

    for _ in range(2):
        place = random.uniform(0.2, 0.9, len(q))
        u = own.allowed(place, random.uniform(-1, 1, len(q)))
        a, state = own.accelerations(place, u), at(place, u)
        ahead, behind = (at(place + s * h * u + h**2 / 2 * a, u + s * h * a) for s in (1, -1))
        for name in (s.name for s in symbols.momenta):
            rate = (ahead[name] - behind[name]) / (2 * h)
            assert printed(f"{name}_dot", state) == pytest.approx(rate, abs=1e-6)
        for x in symbols.shape:
            ends = [slope("l_c", end, x.dot.name) for end in (ahead, behind)]
            left = (ends[0] - ends[1]) / (2 * h) - slope("l_c", state, x.name)
            right = printed(f"d/dt dl_c/d{x.dot.name} - dl_c/d{x.name}", state)
            assert left == pytest.approx(right, abs=1e-6)
        table = np.array(fields.subs(dict(zip(q, place, strict=True))), dtype=float)
        body = np.linalg.solve(table[moved], u[moved])
        for k, name in enumerate(group):
            assert printed(f"xi_{name}", state) == pytest.approx(body[k], abs=1e-12)


def test_long_coefficients_have_names_with_their_indices_in_latex() -> None:
    system, group, _ = roller_racer()
    found = da.symmetry.reduced_coefficients(system, group)
    lines = found.latex().splitlines()
    assert lines[1].startswith(r"\dot{p}_{1} &= p_{1} D^{1}_{1\,\phi} \dot{\phi} + D_{\phi\phi\,1}")
    assert sum(line.startswith(r"D^{1}_{1\,\phi} &=") for line in lines) == 1
    assert found._repr_latex_().startswith(r"$\displaystyle \begin{aligned}")
    assert "3 body velocities, 1 momenta, 1 shape coordinates" in repr(found)


def test_numbers_print_as_equations_too() -> None:
    system, group, values = roller_racer()
    phi = system.coordinates[-1]
    text = da.symmetry.reduced_coefficients(system, group, {phi: 0.5}, values).text()
    assert text.startswith("p_1_dot = ") and "sin" not in text


def test_tensors_without_symbols_are_not_printed() -> None:
    system, group, values = roller_racer()
    found = da.symmetry.reduced_coefficients(system, group, {system.coordinates[-1]: 0.5}, values)
    names = "frame structure inertia inverse inverse_derivative gamma connection lift"
    names += " lam curvature lift_derivative"
    bare = assembled([getattr(found, name) for name in names.split()], 3, 1, 1)
    with pytest.raises(FormError, match="without symbols"):
        bare.text()
