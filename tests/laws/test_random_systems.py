"""The laws of the soak part `random-systems` on a few systems, and that each of them can fail."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from soak.random_endings import is_explained
from soak.random_laws import Findings, Trial, look_at
from soak.random_methods import (
    Stage,
    another_form,
    another_method,
    converges,
    halved,
    of_positions,
    order_of,
    timeless,
)
from soak.random_powers import Statement
from soak.random_specimens import Specimen, specimen
from soak.random_variants import Variant, variant_of
from soak.random_worker import look, rows_in

import dalembert as da
from agreement import instants
from core_systems import random_system, values_of
from dalembert.algebra.graph import GraphAlgebra
from dalembert.formulations.constraint_jacobian import constraint_rows
from dalembert.integrate.methods.table import fixed_methods
from dalembert.runtime.gauss.constrained_solve import solve

#: A rheonomic and an affine constraint, forces, dissipation, inputs and parameters, on three
#: coordinates.
FORCED = Specimen(3, 3, "ra", "lagrangian", True, True, True, True, False)


def trial(drawn: Specimen = FORCED) -> Trial:
    system = drawn.system()
    (instant,) = instants(system, drawn.number, 1)
    return Trial(drawn, system, instant, Findings(drawn))


def laws(found: Findings) -> set[str]:
    """The laws that were broken."""
    return {fault.split(":")[0] for fault in found.faults}


@pytest.mark.long
@pytest.mark.parametrize(
    "drawn",
    [
        FORCED,
        Specimen(1, 1, "", "kinetic", True, True, False, True, False),
        Specimen(2, 1, "r", "bundle", False, True, False, False, False),
        Specimen(5, 2, "wd", "parts", False, True, True, True, False),
        Specimen(6, 2, "m", "hamiltonian", True, True, False, False, True),
    ],
    ids=lambda drawn: f"{drawn.kinds or 'free'}-{drawn.stated}",
)
def test_the_laws_hold(drawn: Specimen) -> None:
    found = look_at(drawn)
    assert found.faults == []
    assert found.ending == "finished"
    assert {"forms", "native", "energy", "balance", "virtual work", "other words"} <= set(
        found.gaps
    )
    assert any(key.startswith("forms " if drawn.number % 2 else "methods ") for key in found.counts)


def test_specimens_are_of_all_kinds() -> None:
    drawn = [specimen(number) for number in range(400)]
    assert {s.n for s in drawn} == set(range(1, 9))
    assert {len(s.kinds) for s in drawn} == set(range(6))
    assert set("".join(s.kinds for s in drawn)) == set("hrvanstwmecd")
    assert any(len(s.kinds.rstrip("d")) == s.n for s in drawn)  # no freedom
    assert specimen(17) == drawn[17]


# -- every law can fail ----------------------------------------------------------------------------


def wrong(system: da.System, what: str) -> da.System:
    """The same system with one term of its statement wrong."""
    first = system.coordinates[0]
    forces = dict(system.forces)
    match what:
        case "sign of a force":
            forces[first] = -forces[first]
        case "no inputs":
            inputs = list(system.inputs)
            forces = {
                q: force.xreplace(dict.fromkeys(inputs, da.t * 0)) for q, force in forces.items()
            }
        case "half the dissipation":
            return system.replacing(dissipation=system.dissipation / 2)
    return system.replacing(forces=forces)


@pytest.mark.parametrize("what", ["sign of a force", "no inputs", "half the dissipation"])
def test_the_balance_sees_a_wrong_term(what: str) -> None:
    tried = trial()
    motion = tried.simulate()
    tried.balance(motion)
    assert tried.found.faults == []
    tried.statement = Statement(wrong(tried.system, what), GraphAlgebra())
    tried.balance(motion)
    assert laws(tried.found) == {"balance"}


def test_the_balance_sees_that_the_work_of_reactions_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried = trial()
    motion = tried.simulate()
    monkeypatch.setattr(
        da.Motion, "total_reaction", property(lambda self: np.zeros((3, len(self.t))))
    )
    tried.balance(motion)
    assert laws(tried.found) == {"balance"}


def test_virtual_work_sees_a_reaction_that_does_some() -> None:
    tried = trial()
    motion = tried.simulate()
    along = tried.statement.along(motion)
    tried.virtual_work(motion, along)
    assert tried.found.faults == []
    tried.virtual_work(
        motion, replace(along, ideal=along.ideal * np.array([[1.0], [1.0 + 1e-6], [1.0]]))
    )
    assert laws(tried.found) == {"virtual work"}


def test_native_code_is_compared_with_the_form() -> None:
    tried = trial()
    motion = tried.simulate()
    tried.native(motion)
    assert tried.found.faults == []
    tried.system = wrong(tried.system, "sign of a force")
    tried.native(motion)
    assert laws(tried.found) == {"native"}


@pytest.mark.long
def test_other_words_see_a_wrong_factor(monkeypatch: pytest.MonkeyPatch) -> None:
    def changed(system: da.System, random: Any) -> Variant:
        made = variant_of(system, random)
        return replace(
            made, system=made.system.replacing(dissipation=made.system.dissipation * (1 + 1e-4))
        )

    tried = trial()
    motion = tried.simulate()
    tried.other_words(motion)
    assert tried.found.faults == []
    monkeypatch.setattr("soak.random_laws.variant_of", changed)
    tried.other_words(motion)
    assert laws(tried.found) == {"other words"}


def test_reversal_sees_another_motion() -> None:
    tried = trial()
    motion = tried.simulate()
    tried.reversal(motion)
    assert tried.found.faults == []
    wound = replace(
        motion,
        equations=da.derive(wrong(tried.system, "half the dissipation"), motion.equations.form),
    )
    tried.reversal(wound)
    assert laws(tried.found) == {"reversal"}


def stage_of(tried: Trial, system: da.System | None = None) -> tuple[Stage, da.Motion]:
    """A short motion of a system, or of one that is made from it, and the run that methods are
    compared with.
    """
    (instant,) = (
        instants(system, tried.specimen.number, 1) if system is not None else (tried.instant,)
    )
    stage = Stage(tried, system or tried.system, instant, instant.time + 0.4)
    return stage, stage.run(rtol=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("method", ["dla", "dla4"])
def test_methods_see_that_a_force_is_dropped(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = trial()
    halved(*stage_of(tried), {"method": method})
    assert tried.found.faults == [] and tried.found.counts[f"methods compared: {method}"] == 1
    monkeypatch.setattr(
        "dalembert.integrate.methods.implicit.nonholonomic_steps.applied_force",
        lambda system, algebra, _: algebra.zeros(3),
    )
    tried = trial()
    halved(*stage_of(tried), {"method": method})
    assert laws(tried.found) == {"methods"}


@pytest.mark.long
@pytest.mark.parametrize(("made", "method"), [("positions", "rattle4"), ("no time", "energy2")])
def test_methods_with_narrow_hypotheses_have_systems_that_meet_them(made: str, method: str) -> None:
    tried = trial(Specimen(7, 3, "hv", "lagrangian", True, True, True, True, False))
    system = (
        of_positions(tried.system, np.random.default_rng(1))
        if made == "positions"
        else timeless(tried.system)
    )
    stage, known = stage_of(tried, system)
    assert len(system.constraints) == 1 and system.forces
    halved(stage, known, {"method": method})
    assert tried.found.faults == []
    other = replace(stage, system=system.replacing(forces={}))
    halved(other, known, {"method": method})
    assert laws(tried.found) == {"methods", "at the start"}


@pytest.mark.long
def test_a_method_that_does_not_get_through_a_regular_motion_is_a_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried = trial()
    stage, known = stage_of(tried)
    run = stage.run
    monkeypatch.setattr(Stage, "run", lambda self, **options: run(max_steps=2, **options))
    halved(stage, known, {"method": "dla"})
    assert laws(tried.found) == {"methods"} and tried.found.counts["methods ended: dla"] == 1


@pytest.mark.parametrize(
    ("errors", "order", "expected"),
    [
        ([1e-4, 2.5e-5, 6.2e-6, 1.6e-6, 3.9e-7], 2, True),
        ([1e-2, 2.5e-3, 6.2e-4, 1.6e-4], 2, False),  # it may still come to rest elsewhere
        ([1e-4, 2.5e-5, 6.2e-6, 1.6e-6, 3.9e-7], 4, False),
        ([1e-2, 1e-3, 5e-4, 4e-4, 4e-4], 2, False),
        ([1e-5, 1e-10], 6, True),
        ([1e-3, float("inf")], 2, False),
        ([], 2, False),
    ],
)
def test_errors_fall_to_nothing_with_the_order(
    errors: list[float], order: int, expected: bool
) -> None:
    assert converges(errors, order) is expected


def test_every_method_with_fixed_steps_has_an_order() -> None:
    assert {order_of(method) for method in fixed_methods()} == {2, 4, 6, 8}


@pytest.mark.long
def test_a_form_along_another_motion_is_seen() -> None:
    tried = trial()
    motion = tried.simulate()
    another_form(tried, motion)
    assert tried.found.faults == [] and "forms along a motion" in tried.found.gaps
    tried.system = wrong(tried.system, "half the dissipation")
    another_form(tried, motion)
    assert laws(tried.found) == {"at the start", "forms along a motion"}


@pytest.mark.long
def test_a_refusal_has_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(stage: Stage, known: da.Motion, options: Any) -> None:
        raise da.errors.FormError("No")

    tried = trial()
    another_method(tried)
    assert tried.found.faults == []
    for name in ("halved", "by_tolerance"):
        monkeypatch.setattr(f"soak.random_methods.{name}", refused)
    another_method(tried)
    assert laws(tried.found) == {"methods"}


def test_an_ending_at_a_regular_state_is_not_explained() -> None:
    system = random_system(12, n=3, kinds="v")
    (instant,) = instants(system, 1, 1)
    start = {name: value for name, value in instant.named(system).items() if name != "t"}
    assert not is_explained(da.simulate(system, start, (0, 1)), values_of(system))


def test_what_goes_wrong_otherwise_is_a_fault(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    def broken(drawn: Specimen) -> Any:
        raise ValueError("strange")

    monkeypatch.setattr("soak.random_laws.look_at", broken)
    row = look(17)
    assert (
        row["ending"] == "error"
        and "ValueError: strange" in row["faults"][0]
        and "system 17" in row["faults"][0]
    )
    path = tmp_path / "rows.jsonl"
    path.write_text('{"number": 2, "a": 1}\n{"number": 1}\n{"number": 2, "a": 2}\n{"numb')
    assert rows_in(path) == [{"number": 1}, {"number": 2, "a": 2}]


# -- what was found --------------------------------------------------------------------------------


def test_a_problem_without_unknowns_is_solved() -> None:
    """A form on independent velocities of a system without freedom has none."""
    solution = solve(np.zeros((0, 0)), [], np.zeros((0, 0)), [])
    assert solution.z.shape == (0,) and solution.rank == 0


@pytest.mark.parametrize("rest", [1e-16, -3e-15])
def test_a_velocity_that_is_rounding_is_consistent_beside_a_small_position(rest: float) -> None:
    """The position says what is small here; that the velocity should be zero to its own last digit
    is not asked.
    """
    x = da.coordinates("x")
    system = da.System(
        [x], kinetic=x.dot**2 / 2, constraints=[da.holonomic(x + x**3 - 0.010001, name="place")]
    )
    motion = da.simulate(system, {x: 0.01, x.dot: rest}, (0, 1))
    assert motion.success and motion.start_report == ()


def test_a_way_back_that_ends_on_the_same_motion_is_a_fault() -> None:
    """The errors have not grown, so that they are no reason for the end."""
    own = trial()
    motion = own.simulate()
    end = own.named(motion, motion.y[:, -1])
    back = da.simulate(
        motion.equations,
        end,
        (own.last, own.first),
        parameters=own.parameters,
        rtol=1e-10,
        max_steps=5,
    )
    assert not back.success
    own.lost_way_back(motion, back)
    assert laws(own.found) == {"back in time the motion ends early"}


@pytest.mark.long
def test_steps_that_keep_the_energy_do_not_divide_rounding() -> None:
    """Native code gives the energy of the start of a step in two ways, which differ in the last
    digit.
    """
    tried = trial(specimen(38))
    stage, known = stage_of(tried, timeless(tried.system))
    halved(stage, known, {"method": "energy2"})
    assert tried.found.faults == []


def test_rank_is_asked_on_the_constraints_also_where_the_first_states_do_not_get_there() -> None:
    """The constraints g = 0 and f g = 0: beside them the rank is two, and four of four random
    states stay beside them.
    """
    assert constraint_rows(specimen(706).system()).generic()[1] == 1
