"""Laws of contact on random problems and random systems: complementarity, cone, dissipation, units,
and the order in which contacts are stated.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import cos, sin

import dalembert as da
from contact_specimens import broken_laws, followed
from dalembert.integrate.contact.coulomb import solve_contacts
from dalembert.integrate.contact.coulomb_states import CoulombContact, NoSolutionError
from dalembert.integrate.contact.impact_laws import moreau_impact, poisson_impact


def problem(seed: int) -> tuple[Any, Any, list[CoulombContact]]:
    """A contact problem of one to three contacts of a random mechanical system."""
    random = np.random.default_rng(seed)
    count, width = int(random.integers(1, 4)), int(random.integers(2, 4))
    n = count * width + int(random.integers(0, 3))
    rows, mass = random.normal(size=(count * width, n)), random.normal(size=(n, n))
    matrix = rows @ np.linalg.solve(mass @ mass.T + np.eye(n), rows.T)
    contacts = []
    for k in range(count):
        way = random.normal(size=width - 1)
        own = tuple(range(k * width + 1, (k + 1) * width))
        mu = abs(random.normal()) / 2
        direction = way / np.linalg.norm(way) if random.random() < 0.3 else None
        contacts.append(CoulombContact(f"c{k}", k * width, own, mu, mu, direction))
    return matrix, 5 * random.normal(size=count * width), contacts


def least_determinant(matrix: Any, contacts: list[CoulombContact]) -> float:
    """The least determinant of the linear problems of all states; positive for a P-matrix."""
    angles = 2 * np.pi * np.arange(24) / 24
    ways = {1: np.array([[1.0], [-1.0]]), 2: np.array([np.cos(angles), np.sin(angles)]).T}
    options: list[list[Any]] = [
        [None, c.direction] if c.direction is not None else [None, "sticks", *ways[len(c.tangents)]]
        for c in contacts
    ]
    least = 1.0
    for states in product(*options):
        columns, rows = [np.zeros((0, len(matrix)))], list[int]()
        for c, state in zip(contacts, states, strict=True):
            push = np.eye(len(matrix))[[c.normal]]
            if isinstance(state, np.ndarray):
                push[0, list(c.tangents)] = -c.kinetic * state
            rows += [] if state is None else [c.normal]
            columns += [] if state is None else [push]
            if isinstance(state, str):
                rows += c.tangents
                columns.append(np.eye(len(matrix))[list(c.tangents)])
        least = min(least, float(np.linalg.det((matrix @ np.vstack(columns).T)[rows])))
    return least


@pytest.mark.parametrize("seed", range(60))
def test_contact_forces_obey_signorini_and_coulomb(seed: int) -> None:
    obeys(seed)


@pytest.mark.long
def test_contact_forces_of_2000_problems() -> None:
    for seed in range(100, 2100):
        obeys(seed)


def obeys(seed: int) -> None:
    matrix, free, contacts = problem(seed)
    try:
        found = solve_contacts(matrix, free, contacts)
    except NoSolutionError:  # only where friction can draw contacts closer
        assert least_determinant(matrix, contacts) < 0
        return
    moved = free + matrix @ found.forces
    size = (np.abs(matrix) @ np.abs(found.forces) + np.abs(free)).max()
    push = np.abs(found.forces).max(initial=1e-300)
    for c in contacts:
        normal, rub = found.forces[c.normal], found.forces[list(c.tangents)]
        slip = moved[list(c.tangents)]
        assert normal >= -1e-9 * push and moved[c.normal] >= -1e-9 * size
        assert abs(normal * moved[c.normal]) <= 1e-9 * size * push
        assert np.linalg.norm(rub) <= c.static * normal + 1e-9 * push
        if c.direction is not None:
            assert rub == pytest.approx(-c.kinetic * normal * c.direction, abs=1e-9 * push)
        elif np.linalg.norm(slip) > 1e-7 * size and normal > 0:
            way = slip / np.linalg.norm(slip)
            assert rub == pytest.approx(-c.kinetic * normal * way, abs=1e-7 * push)
    again = solve_contacts(matrix, free, contacts[::-1])
    assert again.forces == pytest.approx(found.forces, abs=1e-12 * push)


@pytest.mark.parametrize("law", ["moreau", "poisson"])
@pytest.mark.parametrize("seed", range(20))
def test_impacts_of_one_restitution_lose_energy_and_open(seed: int, law: str) -> None:
    """Without friction: v+ >= -e v-, impulses push, and no energy is gained."""
    matrix, before, contacts = problem(seed)
    smooth = [CoulombContact(c.name, c.normal) for c in contacts]
    normals = [c.normal for c in contacts]
    before[normals] = -np.abs(before[normals])
    bounce = dict.fromkeys((c.name for c in contacts), 0.6)
    if law == "moreau":
        found = moreau_impact(matrix, before, smooth, bounce, {})
    else:
        found = poisson_impact(matrix, before, smooth, bounce)
    assert found.impulses[normals].min() >= -1e-12 and found.after[normals].min() >= -1e-9
    assert found.impulses @ (found.after + before) <= 1e-12


X, Y, TURN = da.coordinates("x y theta")


def thrown(seed: int, unit: float = 1.0, reverse: bool = False) -> da.Motion:
    """A plank in a rough corner of two walls; `unit` is that of length."""
    random = np.random.default_rng(seed)
    friction, bounce = random.uniform(0, 0.6, 2), random.choice([0.0, 0.4], 2)
    half, mass = random.uniform(0.3, 1) * unit, random.uniform(0.5, 2)
    inertia = mass * half**2 / 3
    contacts = []
    for name, side in (("left", -half), ("right", half)):
        place = (X + side * cos(TURN), Y + side * sin(TURN))
        speed = [sum(sympy.diff(p, q) * q.dot for q in (X, Y, TURN)) for p in place]
        for k, wall in enumerate(("wall", "floor")):
            contacts.append(
                da.unilateral(
                    place[k] >= 0,
                    restitution=bounce[k],
                    friction=friction[k],
                    tangent=speed[1 - k],
                    name=f"{wall}_{name}",
                )
            )
    system = da.System(
        [X, Y, TURN],
        kinetic=(mass * (X.dot**2 + Y.dot**2) + inertia * TURN.dot**2) / 2,
        potential=10 * unit * mass * Y,
        constraints=contacts[::-1] if reverse else contacts,
    )
    speeds = random.uniform(-2, 2, 3)
    start = {X: 1.5 * unit, Y: 1.5 * unit, TURN: random.uniform(-1, 1)}
    start |= {X.dot: speeds[0] * unit, Y.dot: speeds[1] * unit, TURN.dot: speeds[2]}
    return da.simulate(system, start, (0, 1.2))


@pytest.mark.parametrize("seed", range(6))
def test_planks_in_a_corner_obey_the_laws(seed: int) -> None:
    motion = thrown(seed)
    assert motion.outcome is da.Outcome.FINISHED, motion.message
    assert np.diff(motion.energy).max() < 1e-9 * np.abs(motion.energy).max()
    for constraint in motion.system.unilateral:
        names = {s.name: motion[s.name] for s in (X, Y, TURN)}
        gap = sympy.lambdify([X, Y, TURN], constraint.expression)(*names.values())
        assert np.max(gap) < 1e-9
        normal = -motion.reactions[constraint.name].multiplier[0]
        assert normal.min() >= -1e-9 * max(1.0, normal.max())
        slides = sympy.lambdify(
            [X, Y, TURN, X.dot, Y.dot, TURN.dot], sympy.Matrix([constraint.tangent[0]])
        )
        rates = [motion[q.dot.name] for q in (X, Y, TURN)]
        slip = np.broadcast_to(slides(*names.values(), *rates)[0, 0], motion.t.shape)
        force = motion.reactions[constraint.name].force
        along = force[1 if constraint.name.startswith("wall") else 0]
        limit = float(constraint.friction) * normal
        assert (np.abs(along) <= limit + 1e-9 * max(1.0, normal.max())).all()
        assert (along * slip <= 1e-9 * max(1.0, normal.max())).all()


@pytest.mark.parametrize("seed", range(3))
def test_units_and_the_order_of_contacts_do_not_matter(seed: int) -> None:
    plain = thrown(seed)
    for other, unit in ((thrown(seed, 1000.0), 1000.0), (thrown(seed, 1.0, True), 1.0)):
        scale = np.array([unit, unit, 1, unit, unit, 1])
        assert other.y[:, -1] / scale == pytest.approx(plain.y[:, -1], abs=1e-6)
        assert [c[1:] for c in other.modes] == [c[1:] for c in plain.modes]


@pytest.mark.parametrize("number", range(5))
def test_random_systems_obey_the_laws_of_contact(number: int) -> None:
    """One system of each family; `python -m soak contacts` follows 2 000."""
    motion = followed(number)
    assert motion.outcome is da.Outcome.FINISHED, motion.message
    assert motion.modes and not broken_laws(motion)
