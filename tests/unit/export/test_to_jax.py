"""The rates for JAX: against native code, differentiated, batched and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sympy import cos

import dalembert as da
from dalembert.formulations.registry import fastest_form

jax = pytest.importorskip("jax")

MECHANICAL = [
    name for name in da.gallery.names() if isinstance(da.gallery.load(name).system, da.System)
]
#: Small ones of every kind: holonomic, nonholonomic, dependent rows, vakonomic, independent
#: velocities, a Hamiltonian.
QUICK = [
    "spherical-pendulum",
    "two-particles-incline",
    "appell",
    "appell-vakonomic",
    "constrained-particle",
    "elastic-pendulum",
]


@pytest.fixture(autouse=True)
def doubles() -> Any:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def pendulum() -> Any:
    x, y = da.coordinates("x y")
    m, l, g = da.parameters("m l g", positive=True)
    rod = da.holonomic(x**2 + y**2 - l**2, name="rod")
    return da.derive(
        da.System(
            [x, y], kinetic=m / 2 * (x.dot**2 + y.dot**2), potential=m * g * y, constraints=[rod]
        ),
        "lagrange",
    )


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in MECHANICAL],
)
def test_it_agrees_with_native_code(name: str) -> None:
    scenario = da.gallery.load(name)
    form = scenario.simulate.get("form") or fastest_form(scenario.system)
    equations = da.derive(scenario.system, form)
    kernel, rates = equations.compile(), jax.jit(equations.to_jax())
    p = np.array([scenario.parameters[symbol.name] for symbol in kernel.parameters])
    start = da.simulate(scenario, at=[scenario.simulate["span"][0]]).start
    random = np.random.default_rng(1)
    compared = 0
    for size in (0.0, 0.05, 0.05):
        y = np.array(
            [start.get(symbol.name, 0.0) for symbol in equations.state]
        ) + size * random.normal(size=kernel.n_state)
        u = random.normal(size=len(kernel.free_inputs))
        try:
            native = kernel.rates(0.3, y, p, u)
        except da.errors.RunError:
            # rows that depend on each other only on the constraints contradict each other off them
            continue
        found = np.asarray(rates(0.3, y, p, u))
        if equations.has_gauge and np.all(np.isnan(found)):
            continue  # speeds that are not determined, although the motion is
        compared += 1
        np.testing.assert_allclose(
            found, native, rtol=1e-12, atol=1e-12 * (1 + np.max(np.abs(native)))
        )
    assert compared


def test_it_is_differentiated_batched_and_compiled() -> None:
    equations = pendulum()
    kernel, rates = equations.compile(), equations.to_jax()
    y, p = np.array([0.6, -0.8, 0.4, 0.3]), np.array([9.81, 1.0, 1.3])
    names = {"g": 9.81, "l": 1.0, "m": 1.3}
    np.testing.assert_allclose(rates(0.0, y, names), kernel.rates(0.0, y, names), rtol=1e-13)
    derivatives = np.asarray(jax.jacfwd(rates, argnums=1)(0.0, y, p))
    back = np.asarray(jax.jacrev(rates, argnums=2)(0.0, y, p))
    size = 1e-6
    numeric = [
        (kernel.rates(0.0, y + size * e, p) - kernel.rates(0.0, y - size * e, p)) / (2 * size)
        for e in np.eye(4)
    ]
    np.testing.assert_allclose(derivatives, np.array(numeric).T, atol=1e-6)
    numeric = [
        (kernel.rates(0.0, y, p + size * e) - kernel.rates(0.0, y, p - size * e)) / (2 * size)
        for e in np.eye(3)
    ]
    np.testing.assert_allclose(back, np.array(numeric).T, atol=1e-6)
    many = y + 0.1 * np.random.default_rng(0).normal(size=(16, 4))
    batch = jax.jit(jax.vmap(rates, in_axes=(None, 0, None)))(0.0, many, p)
    np.testing.assert_allclose(
        batch, [kernel.rates(0.0, row, p) for row in many], rtol=1e-12, atol=1e-12
    )
    assert np.all(np.isfinite(jax.vmap(jax.grad(lambda state: rates(0.0, state, p)[2]))(many)))


def test_inputs_and_undetermined_states() -> None:
    x = da.coordinates("x")
    u = da.inputs("u")
    driven = da.derive(
        da.System([x], kinetic=cos(x) ** 2 / 2 * x.dot**2, forces={x: u}, inputs=[u])
    ).to_jax()
    assert driven.inputs == ("u",) and float(driven(0.0, [0.0, 0.0], (), [2.5])[1]) == 2.5
    assert np.all(np.isnan(pendulum().to_jax()(0.0, [0.0, 0.0, 1.0, 1.0], [9.81, 1.0, 1.0])))
    with pytest.raises(da.errors.ModelError, match="2 numbers"):
        driven(0.0, [0.0], (), [1.0])


def test_single_precision_is_refused() -> None:
    jax.config.update("jax_enable_x64", False)
    with pytest.raises(da.errors.ModelError, match="single precision"):
        pendulum().to_jax()
