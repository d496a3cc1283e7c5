"""Systems of equal parts are the systems that one would state by hand, part by part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from dalembert.errors import ModelError, RunError
from dalembert.integrate import reactions
from dalembert.model.builders.renaming import renamed, sum_of_terms

x, y = da.coordinates("x y")
m, g, l, k, c = da.parameters("m g l k c", positive=True)
ROD = da.holonomic((x - x.before) ** 2 + (y - y.before) ** 2 - l**2, name="rod")
SIZES = [3, 14]  # stated as any other system, and put together


def chain(n: int) -> da.System:
    return da.repeat(
        n,
        [x, y],
        kinetic=m / 2 * (x.dot**2 + y.dot**2),
        potential=m * g * y,
        constraints=[ROD],
        first={x.before: 0, y.before: 0},
    )


def symbols(n: int, names: str = "x y") -> Any:
    return [[da.Coordinate(f"{name}_{i}") for name in names.split()] for i in range(1, n + 1)]


def chain_by_hand(n: int) -> da.System:
    parts = symbols(n)
    before = [[sympy.Integer(0)] * 2, *parts]
    rods = [
        da.holonomic((a - p) ** 2 + (b - q) ** 2 - l**2, name=f"rod_{i}")
        for i, ((a, b), (p, q)) in enumerate(zip(parts, before[:-1], strict=True), start=1)
    ]
    return da.System(
        [q for part in parts for q in part],
        kinetic=sympy.Add(*[m / 2 * (a.dot**2 + b.dot**2) for a, b in parts]),
        potential=sympy.Add(*[m * g * b for _, b in parts]),
        constraints=rods,
    )


def springs(n: int, **options: Any) -> da.System:
    drive = da.inputs("u")
    return da.repeat(
        n,
        x,
        kinetic=m / 2 * x.dot**2,
        potential=sympy.cos(x) / 7,
        coupling=[k / 2 * (x - x.before) ** 2, (x.after - 2 * x + x.before) ** 4],
        dissipation=c / 2 * x.dot**2,
        forces={x: drive * x.dot},
        individual=[m],
        inputs=[drive],
        outputs={"double": 2 * x},
        **options,
    )


def springs_by_hand(n: int, ring: bool) -> da.System:
    q = [part[0] for part in symbols(n, "x")]
    masses = [da.parameters(f"m_{i}", positive=True) for i in range(1, n + 1)]
    drive = da.inputs("u")
    near = [(q[i], q[i - 1]) for i in range(0 if ring else 1, n)]
    bends = [(q[(i + 1) % n], q[i], q[i - 1]) for i in (range(n) if ring else range(1, n - 1))]
    return da.System(
        q,
        kinetic=sympy.Add(*[mass / 2 * a.dot**2 for mass, a in zip(masses, q, strict=True)]),
        potential=sympy.Add(
            *[sympy.cos(a) / 7 for a in q],
            *[k / 2 * (a - b) ** 2 for a, b in near],
            *[(a - 2 * b + d) ** 4 for a, b, d in bends],
        ),
        dissipation=sympy.Add(*[c / 2 * a.dot**2 for a in q]),
        forces={a: drive * a.dot for a in q},
        inputs=[drive],
        outputs={f"double_{i}": 2 * a for i, a in enumerate(q, start=1)},
    )


def assert_same(found: da.System, expected: da.System) -> None:
    for name in (
        "coordinates",
        "velocities",
        "momenta",
        "parameters",
        "lagrangian",
        "kinetic",
        "potential",
        "dissipation",
    ):
        assert getattr(found, name) == getattr(expected, name), name
    for name in ("forces", "inputs", "outputs"):
        assert dict(getattr(found, name)) == dict(getattr(expected, name)), name
    assert [(c.name, c.expression) for c in found.constraints] == [
        (c.name, c.expression) for c in expected.constraints
    ]


@pytest.mark.parametrize("n", SIZES)
def test_a_chain_is_the_chain_by_hand(n: int) -> None:
    assert_same(chain(n), chain_by_hand(n))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("ring", [False, True])
def test_couplings_to_parts_that_are_not_there_are_left_out(n: int, ring: bool) -> None:
    assert_same(springs(n, ring=ring), springs_by_hand(n, ring))


def test_only_long_systems_remember_their_part() -> None:
    assert chain(3).repetition is None and chain(14).repetition is not None
    assert chain_by_hand(14).repetition is None


def rates(system: da.System, form: str) -> Any:
    kernel = da.derive(system, form).compile()
    random = np.random.default_rng(3)
    state = random.uniform(0.3, 1.1, kernel.n_state)
    return kernel.rates(
        0.3,
        state,
        random.uniform(0.5, 2, len(kernel.parameters)),
        np.full(len(kernel.free_inputs), 0.7),
    )


@pytest.mark.parametrize("form", ["lagrange", "hamilton"])
def test_both_statements_give_the_same_rates(form: str) -> None:
    found, expected = (
        rates(springs(14, ring=True), form),
        rates(springs_by_hand(14, ring=True), form),
    )
    assert np.allclose(found, expected, rtol=1e-12, atol=1e-12 * np.max(np.abs(expected)))


@pytest.mark.parametrize("form", ["lagrange", "hamilton"])
def test_both_statements_of_a_chain_give_the_same_rates(form: str) -> None:
    found, expected = rates(chain(11), form), rates(chain_by_hand(11), form)
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-9 * np.max(np.abs(expected)))


def test_the_support_may_move() -> None:
    a = da.parameters("a")
    support = a * sympy.sin(3 * da.t)
    moved = da.repeat(
        14,
        x,
        kinetic=x.dot**2 / 2,
        potential=(x - x.before) ** 2 / 2 + x.after**2,
        dissipation=(x.dot - x.before.dot) ** 2 / 2,
        first={x.before: support},
        last={x.after: 2},
    )
    first, last = moved.coordinates[0], moved.coordinates[-1]
    assert (
        sympy.simplify(
            sympy.diff(moved.potential, first) - (2 * first - moved.coordinates[1] - support)
        )
        == 0
    )
    assert sympy.diff(moved.dissipation, first.dot).has(sympy.cos(3 * da.t))
    assert sympy.diff(moved.potential, last) == 3 * last - moved.coordinates[-2]
    assert moved.parameters == (a,)


def test_what_is_said_twice_adds_up() -> None:
    system = da.repeat(12, x, kinetic=x.dot**2 / 2, potential=x**2 + x.before**2 + g, ring=True)
    assert system.potential == 12 * g + sympy.Add(*[2 * q**2 for q in system.coordinates])


@pytest.mark.long
def test_a_motion_is_the_motion_by_hand() -> None:
    n = 14
    angles = np.linspace(0.2, 1.0, n)
    start: dict[str, float] = {}
    for i, (a, b) in enumerate(
        zip(np.cumsum(np.sin(angles)), -np.cumsum(np.cos(angles)), strict=True), start=1
    ):
        start |= {f"x_{i}": float(a), f"y_{i}": float(b)}
    values = {"m": 1.0, "g": 9.81, "l": 1.0}
    found, expected = (
        da.simulate(system, start, (0, 0.3), parameters=values, at=[0.3], form="lagrange")
        for system in (chain(n), chain_by_hand(n))
    )
    assert np.allclose(found.y, expected.y, rtol=1e-8, atol=1e-8)
    assert max(found.worst_residual.values()) < 1e-9
    assert np.allclose(found.energy, found.energy[0], rtol=1e-9)
    for name in ("rod_1", "rod_9"):
        assert np.allclose(
            found.reactions[name].force, expected.reactions[name].force, rtol=1e-6, atol=1e-6
        )
    assert np.allclose(
        found.total_reaction, sum(reaction.force for reaction in found.reactions.values())
    )


@pytest.mark.long
def test_the_reactions_of_a_large_system_carry_it() -> None:
    n = 30  # more than the reactions of a small system, of which every entry is kept
    start = {f"x_{i}": 0.6 * i for i in range(1, n + 1)} | {
        f"y_{i}": -0.8 * i for i in range(1, n + 1)
    }
    motion = da.simulate(chain(n), start, (0, 0.05), parameters={"m": 2.0, "g": 9.81, "l": 1.0})
    assert len(motion.reactions) == n and motion.reactions["rod_7"].force.shape == (
        2 * n,
        len(motion.t),
    )
    assert np.count_nonzero(np.any(motion.reactions["rod_7"].force != 0, axis=1)) == 4
    together = sum(reaction.force for reaction in motion.reactions.values())
    assert np.allclose(motion.total_reaction, together)
    momenta_rates = 2.0 * np.array([motion[q.ddot] for q in motion.system.coordinates])
    weights = np.tile([0.0, -2.0 * 9.81], n)[:, None]
    assert np.allclose(momenta_rates, together + weights, atol=1e-7)
    assert motion.to_xarray()["reaction"].shape == (n, 2 * n, len(motion.t))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reactions, "MOST_NUMBERS", 100)
        with pytest.raises(RunError, match="too many for one table"):
            motion.to_xarray()


def test_a_system_of_parts_can_be_changed_and_saved(tmp_path: Path) -> None:
    system = chain(12)
    fixed = system.replacing(
        constraints=[*system.constraints, da.holonomic(system.coordinates[-1] - 1, name="end")]
    )
    assert fixed.repetition is None and len(fixed.constraints) == 13
    da.save_model(da.Scenario(system, {"m": 1.0, "g": 9.81, "l": 1.0}), tmp_path / "chain.toml")
    loaded = da.load_model(tmp_path / "chain.toml").system  # without the assumptions on parameters
    assert str(loaded.lagrangian) == str(system.lagrangian)
    assert [str(c.expression) for c in loaded.constraints] == [
        str(c.expression) for c in system.constraints
    ]


@pytest.mark.long
def test_a_system_of_parts_is_described_as_the_one_by_hand() -> None:
    assert str(chain(12).describe()) == str(chain_by_hand(12).describe())


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize("n", SIZES)
def test_an_energy_without_its_neighbour_is_refused(n: int) -> None:
    with pytest.raises(ModelError, match=r"potential of part 1 names `x\.before`"):
        da.repeat(n, x, kinetic=x.dot**2, potential=(x - x.before) ** 2)


@pytest.mark.parametrize("n", SIZES)
def test_a_constraint_without_its_neighbour_is_left_out(n: int) -> None:
    free = da.repeat(n, [x, y], kinetic=x.dot**2 + y.dot**2, constraints=[ROD])
    assert [constraint.name for constraint in free.constraints] == [
        f"rod_{i}" for i in range(2, n + 1)
    ]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no parts": ({"count": 0}, "positive integer"),
    "a neighbour as coordinate": ({"coordinates": [x.before]}, "coordinates of its own"),
    "a coordinate as individual": ({"individual": [x]}, "parameters and inputs"),
    "a ring with ends": ({"ring": True, "first": {x.before: 0}}, "no ends"),
    "the wrong end": ({"first": {x.after: 0}}, "does not stand there"),
    "an end that moves with the system": ({"first": {x.before: y}}, "time and parameters only"),
    "a name that is taken": ({"potential": da.parameters("x_5") * x}, "x_5"),
    "an image": (
        {"constraints": [da.image({x: da.speeds("v")}, [da.speeds("v")])]},
        "cannot have this constraint",
    ),
    "a symbol from elsewhere": ({"potential": y**2}, "y"),
    "a velocity in the potential": ({"potential": x.dot}, "no place there"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_faults_are_refused_in_words(case: str) -> None:
    changes, words = REFUSED[case]
    with pytest.raises(ModelError, match=words):
        da.repeat(**({"count": 14, "coordinates": x, "kinetic": x.dot**2} | changes))


def test_neighbours_outside_a_system_of_parts_are_refused() -> None:
    with pytest.raises(ModelError, match="x_before"):
        da.System([x], kinetic=x.dot**2, potential=(x - x.before) ** 2)


# -- copies under other names ----------------------------------------------------------------------

TERMS = st.lists(
    st.tuples(
        st.integers(-3, 3), st.sampled_from(range(6)), st.integers(1, 3), st.sampled_from(range(6))
    ),
    min_size=1,
    max_size=5,
)


@given(terms=TERMS, shift=st.integers(1, 120), name=st.sampled_from(["x", "a", "z", "q_9"]))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_copies_are_what_sympy_makes(terms: Any, shift: int, name: str) -> None:
    q = da.coordinates("u0:6")
    total = sum(
        (n * q[i] * sympy.sin(q[j]) ** e + sympy.sqrt(q[j] ** 2 + k) for n, i, e, j in terms),
        sympy.Integer(0),
    )
    used = sorted(total.free_symbols - {k}, key=str)
    copy = [da.Coordinate(f"{name}_{shift + i}") for i in range(len(used))]
    (found,) = renamed(total, used, [copy]) if used else (total,)
    expected = total.xreplace(dict(zip(used, copy, strict=True)))
    assert found == expected and found.args == expected.args
    assert sum_of_terms([(found, 1), (expected, 1), (k, -1)]) == sympy.Add(expected, expected, -k)
