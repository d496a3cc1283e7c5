"""Toda lattices of root systems against Hamilton's equations in SciPy, and their Lax pairs."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.errors import ModelError
from dalembert.formulations.groups.toda_lattices import pfaffian, toda_lax

EXCEPTIONAL = ["E6", "E7", "E8"]


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("name", ["A2", "B2", "C3", "D4", "G2"])
def test_lax_pairs_and_integrals(name, periodic):
    pair = toda_lax(name, periodic=periodic)
    assert pair.residual.is_zero_matrix
    for integral in pair.integrals.values():
        rate = sum(sympy.diff(integral, s) * own for s, own in pair.rates.items())
        assert sympy.expand(rate) == 0
    symbols = list(pair.rates)
    point = {s: sympy.Rational(k * k + 3, 7 + k) for k, s in enumerate(symbols)}
    table = [[sympy.diff(f, s).subs(point) for s in symbols] for f in pair.integrals.values()]
    assert sympy.Matrix(table).rank() == len(pair.integrals)
    expected = da.lie.RootSystem(name).rank + periodic + (name == "A2")
    assert len(pair.integrals) == expected


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("name", ["F4", "E6", pytest.param("E7", marks=pytest.mark.long)])
def test_lax_pairs_of_exceptional_lattices(name, periodic):
    pair = toda_lax(name, periodic=periodic)
    assert pair.residual.is_zero_matrix
    assert sorted(pair.integrals) == ["energy", "product"][: 1 + periodic]
    for integral in pair.integrals.values():
        rate = sum(sympy.diff(integral, s) * own for s, own in pair.rates.items())
        assert sympy.expand(rate) == 0


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize(
    "name",
    ["A2", "B3", "C2", "G2", "F4", *(pytest.param(k, marks=pytest.mark.long) for k in EXCEPTIONAL)],
)
def test_motions_are_those_of_the_hamiltonian_with_exponentials(name, periodic):
    """H = p.p/2 + sum 2/(alpha, alpha) exp(2 alpha(q)), integrated by SciPy alone."""
    roots = da.lie.RootSystem(name)
    rows = [*roots.simple_roots]
    if periodic:
        rows.append(tuple(-c for c in roots.positive_roots[-1]))
    table = np.array(rows, dtype=float)
    weights = 2 / np.sum(table * table, axis=1)
    d = roots.dimension

    def rates(_t, y):
        return np.concatenate([y[d:], -2 * table.T @ (weights * np.exp(2 * table @ y[:d]))])

    random = np.random.default_rng(2)
    q, p = random.normal(size=d) * 0.4, random.normal(size=d)
    times = np.linspace(0, 3, 7)
    exact = solve_ivp(rates, (0, 3), [*q, *p], t_eval=times, rtol=1e-12, atol=1e-13).y
    flow = da.lie.toda(name, periodic=periodic)
    labels = [f"b_{k + 1}" for k in range(roots.rank)] + ["b_0"] * periodic
    start = dict(zip(labels, np.exp(table @ q), strict=True))
    start |= {f"a_{k + 1}": value for k, value in enumerate(p)}
    motion = da.simulate(flow, start, (0, 3), at=times, rtol=1e-12)
    for k in range(d):
        assert np.max(np.abs(motion[f"a_{k + 1}"] - exact[d + k])) < 1e-9
    spectra = np.linalg.eigvalsh(motion["A"])
    assert np.max(np.abs(spectra - spectra[0])) < 1e-9


def test_the_open_lattice_of_particles_is_that_of_a():
    particles, roots = da.lie.toda(4), da.lie.toda("A3")
    assert {str(s): sympy.expand(e) for s, e in particles.rates.items()} == {
        str(s): sympy.expand(e) for s, e in roots.rates.items()
    }


def test_the_pfaffian_is_the_root_of_the_determinant():
    random = np.random.default_rng(1)
    upper = np.triu(random.integers(-3, 4, (6, 6)), 1)
    skew = sympy.Matrix((upper - upper.T).tolist())
    assert pfaffian(skew) ** 2 == skew.det()


def test_other_variants_are_refused_for_root_systems():
    with pytest.raises(ModelError, match="belong to the open lattice"):
        da.lie.toda("B2", frame=True)
    with pytest.raises(ModelError, match="no such root system"):
        da.lie.toda(1, periodic=True)
