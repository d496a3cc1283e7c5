"""The gallery's systems against reference motions that were computed elsewhere, to fifteen
digits.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from reference_motions import REFERENCES, distance, motion_of

import dalembert as da
from dalembert.errors import FormError, SingularError
from dalembert.model.constraints import HolonomicConstraint

ALL = sorted(REFERENCES)
#: Constraints of the gallery that are not those whose multipliers the reference gives, row by row.
OTHER_ROWS = {"U_two_particles_incline", "M_linked_particles", "M_linked_particles_zero_distance"}
WITH_MULTIPLIERS = [key for key in ALL if REFERENCES[key].multipliers and key not in OTHER_ROWS]
WITH_REACTION = [key for key in ALL if REFERENCES[key].reaction]
VAKONOMIC = [key for key in ALL if REFERENCES[key].multiplier_rates]
#: Accelerations and reactions are derivatives: a digit is lost.
DERIVED = 10.0


@pytest.mark.parametrize("through_file", [False, True], ids=["gallery", "file"])
@pytest.mark.parametrize("key", ALL)
def test_states(key: str, through_file: bool) -> None:
    reference, motion = REFERENCES[key], motion_of(key, through_file=through_file)
    assert motion.outcome is da.Outcome.FINISHED, motion.message
    assert np.array_equal(motion.t, reference.times)
    assert not motion.start_report
    for name, values in reference.expected.items():
        allowed = reference.tolerance * (DERIVED if name.endswith("_ddot") else 1.0)
        assert distance(motion[name], values) < allowed, name


def _other_form(key: str) -> str | None:
    """Hamilton's form of a Lagrangian system and the reverse; None where there is but one, or no
    Legendre transform.
    """
    scenario = da.gallery.load(REFERENCES[key].gallery)
    if (
        scenario.system.image is not None
        or "form" in scenario.simulate
        or scenario.system.name == "Bicycle"
    ):
        return None
    return "lagrange" if scenario.system.is_hamiltonian else "hamilton"


@pytest.mark.parametrize("key", [key for key in ALL if _other_form(key)])
def test_the_other_form_moves_alike(key: str) -> None:
    reference, motion = REFERENCES[key], motion_of(key, form=_other_form(key))
    for name, values in reference.expected.items():
        assert distance(motion[name], values) < DERIVED * reference.tolerance, name
    if reference.reaction:
        assert (
            distance(motion.total_reaction, list(reference.reaction.values()))
            < DERIVED * reference.tolerance
        )
    if key in WITH_MULTIPLIERS:
        for constraint, expected in zip(
            motion.system.bilateral, reference.multipliers, strict=True
        ):
            assert (
                distance(motion.reactions[constraint.name].multiplier[0], expected)
                < DERIVED * reference.tolerance
            )


def test_the_bicycle_has_no_hamiltonian_on_the_whole_phase_space() -> None:
    """Its mass matrix is singular: Hamilton's form must say so."""
    with pytest.raises(
        (FormError, SingularError), match=r"(?i)singular|Legendre|mass matrix|momenta"
    ):
        motion_of("B_bicycle.const-J", form="hamilton")


@pytest.mark.parametrize("key", ALL)
def test_the_constraints_hold(key: str) -> None:
    worst = motion_of(key).worst_residual
    assert worst["position"] < 1e-10
    assert worst["velocity"] < 1e-10


@pytest.mark.parametrize("key", WITH_REACTION)
def test_total_reaction(key: str) -> None:
    reference = REFERENCES[key]
    expected = np.array(list(reference.reaction.values()))
    assert distance(motion_of(key).total_reaction, expected) < DERIVED * reference.tolerance


@pytest.mark.parametrize("key", WITH_MULTIPLIERS)
def test_multipliers_of_each_constraint(key: str) -> None:
    reference, motion = REFERENCES[key], motion_of(key)
    assert len(motion.system.bilateral) == len(reference.multipliers)
    for constraint, expected in zip(motion.system.bilateral, reference.multipliers, strict=True):
        reaction = motion.reactions[constraint.name]
        assert reaction.multiplier.shape == (1, len(reference.times))
        assert distance(reaction.multiplier[0], expected) < DERIVED * reference.tolerance, (
            constraint.name
        )


def _two_skates() -> da.System:
    system = da.gallery.load("two-particles-incline").system
    return system.replacing(constraints=system.constraints[1:])


def _linked_by_kernel() -> da.System:
    system = da.gallery.load("linked-particles").system
    x1, x2, x3, x4 = system.coordinates
    row = (x1 - x3) * (x1.dot - x3.dot) + (x2 - x4) * (x2.dot - x4.dot)
    return system.replacing(constraints=[da.velocity(row)])


def _coincident_by_kernel() -> da.System:
    system = da.gallery.load("linked-particles-zero-distance").system
    x1, x2, x3, x4 = system.coordinates
    return system.replacing(
        constraints=[da.velocity(x1.dot - x3.dot), da.velocity(x2.dot - x4.dot)]
    )


@pytest.mark.parametrize(
    ("key", "system"),
    [
        ("U_two_particles_incline", _two_skates),
        ("M_linked_particles", _linked_by_kernel),
        ("M_linked_particles_zero_distance", _coincident_by_kernel),
    ],
)
def test_the_same_motion_by_independent_rows(key: str, system) -> None:
    """Redundant rows and images move as the rows whose multipliers the reference gives."""
    reference, other = REFERENCES[key], system()
    suffix = "p_{}" if other.is_hamiltonian else "{}_dot"
    names = [q.name for q in other.coordinates] + [suffix.format(q.name) for q in other.coordinates]
    motion = da.simulate(
        other,
        start={name: reference.expected[name][0] for name in names},
        parameters={p.name: reference.parameters[p.name] for p in other.parameters},
        span=(reference.times[0], reference.times[-1]),
        at=reference.times,
        rtol=1e-13,
    )
    for name in names:
        assert distance(motion[name], reference.expected[name]) < reference.tolerance, name
    assert (
        distance(motion.total_reaction, list(reference.reaction.values()))
        < DERIVED * reference.tolerance
    )
    for constraint, expected in zip(other.constraints, reference.multipliers, strict=True):
        found = motion.reactions[constraint.name].multiplier[0]
        assert distance(found, expected) < DERIVED * reference.tolerance


@pytest.mark.parametrize(
    "key", [key for key in ALL if any(n.endswith("_ddot") for n in REFERENCES[key].expected)]
)
def test_rates_at_the_reference_states(key: str) -> None:
    """The equations alone, without an integrator: at the given states they give the given rates."""
    reference = REFERENCES[key]
    scenario = da.gallery.load(reference.gallery)
    equations = da.derive(scenario.system, scenario.simulate.get("form"))
    known = reference.expected | {f"{k}_dot": v for k, v in reference.multiplier_rates.items()}
    names = [symbol.name for symbol in equations.state]
    if not set(names) <= set(known):
        assert scenario.system.image is not None
        return
    rate_names = [
        f"{name}_dot" if not name.endswith("_dot") else name.removesuffix("_dot") + "_ddot"
        for name in names
    ]
    rates = equations.function()
    parameters = dict(scenario.parameters) | reference.parameters
    for k, time in enumerate(reference.times):
        found = rates(time, [known[name][k] for name in names], parameters)
        for name, value in zip(rate_names, found, strict=True):
            if name in known:
                assert abs(value - known[name][k]) < 1e-11 * (1 + abs(known[name][k])), (name, time)


@pytest.mark.parametrize("key", VAKONOMIC)
def test_generalised_momenta_of_the_vakonomic_motions(key: str) -> None:
    """pi = dL/dv + chi df/dv, of which those of ignorable coordinates are constant (Rumyantsev,
    section 5).
    """
    reference, motion = REFERENCES[key], motion_of(key)
    system = motion.system
    augmented = system.lagrangian
    for constraint in system.constraints:
        assert not isinstance(constraint, HolonomicConstraint)
        augmented += sympy.Symbol(f"chi_{constraint.name}") * constraint.expression
    for q in system.coordinates:
        momentum = sympy.diff(augmented, q.dot)
        symbols = sorted(momentum.free_symbols, key=str)
        values = [
            motion.parameters.get(s.name, motion[s.name] if s.name in motion.names else None)
            for s in symbols
        ]
        found = sympy.lambdify(symbols, momentum, modules="numpy")(*values)
        assert (
            distance(found, reference.generalised_momenta[q.name]) < DERIVED * reference.tolerance
        ), q
