"""The sweeps over contacts: what they return is the best of what they met."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from dalembert.codegen.native.plain import plain_call
from dalembert.integrate.contact_fields import ContactFields
from dalembert.integrate.methods.contact import cone_solve
from dalembert.integrate.methods.contact.cone_solve import (
    CONTACT,
    MIXED,
    coulomb_sweeps,
    solve_in_plane,
)
from dalembert.typing import Array

CONTACTS, SIZE = 8, 9


def solved(sweeps: int, monkeypatch: pytest.MonkeyPatch) -> tuple[float, Array]:
    """The residual and the impulses of random contacts, more than the velocities determine."""
    monkeypatch.setattr(cone_solve, "MOST_SWEEPS", sweeps)
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(3 * CONTACTS, SIZE))
    c = ContactFields()
    c.n_active, c.capacity, c.width = CONTACTS, CONTACTS, SIZE
    delassus = [(block @ block.T).ravel() for block in rows.reshape(CONTACTS, 3, SIZE)]
    arrays = {
        "n_contact_rows": np.full(CONTACTS, 3),
        "dof_count": np.full(CONTACTS, SIZE),
        "dofs": np.tile(np.arange(SIZE), CONTACTS),
        "jacobian_rows": rows.ravel(),
        "responses": rows.ravel().copy(),
        "delassus": np.concatenate(delassus),
        "speed_bound": np.zeros(CONTACTS),
        "offsets": np.zeros(3 * CONTACTS),
        "friction": np.tile([0.9, 0.9, 0.0], CONTACTS),
        "loads": np.full(CONTACTS, CONTACT),
        "local": np.zeros(32),
        "history": np.zeros((MIXED + 1) * (6 * CONTACTS + SIZE)),
        "best": np.zeros(3 * CONTACTS + SIZE),
        "mix_products": np.zeros(MIXED**2),
        "mix_factor": np.zeros(2 * MIXED**2),
        "mix_weights": np.zeros(MIXED),
    }
    for name in ("impulses", "impulses_before", "directions"):
        arrays[name] = np.zeros(3 * CONTACTS)
    for name, array in arrays.items():
        c.bind(name, array)
    v = rng.normal(size=SIZE)
    free = v.copy()
    found = float(plain_call(coulomb_sweeps)(c, v, SIZE, 1.0))
    assert v == pytest.approx(free + rows.T @ arrays["impulses"], abs=1e-9)
    return found, arrays["impulses"]


def test_more_sweeps_never_end_with_a_worse_iterate(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [solved(sweeps, monkeypatch) for sweeps in range(2, 42, 2)]
    residuals = [residual for residual, _ in found]
    assert residuals == sorted(residuals, reverse=True)
    assert residuals[-1] < 0.1 * residuals[0]
    for (before, impulses), (after, later) in pairwise(found):
        assert (before == after) == bool(np.all(impulses == later))


def test_a_contact_without_tangential_response_has_its_normal_impulse_only() -> None:
    """A point on a slider that moves along the normal: the tangent does not respond."""
    w, b = np.zeros(9), np.array([-4.0, 1.0, 0.0])
    w[0] = 2.0
    p = np.array([9.0, 9.0, 9.0])  # the third is not the function's to write
    plain_call(solve_in_plane)(w, b, 0.5, 0.5, p)
    assert p == pytest.approx([2.0, 0.0, 9.0])
