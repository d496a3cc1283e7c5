"""Runs of a random system by other methods, and in other forms, than the library chooses: each
comes to the end that the chosen run comes to, with its order, or refuses in a sentence, or ends and
says why.

A system with an even number draws a method, one with an odd number a form; of the large ones, whose
code takes long to make, a quarter does. Methods with fixed steps are asked for a short motion,
forward or back, with steps that are halved until the order shows; RATTLE and the methods that keep
the energy are asked of a system that meets their hypotheses, made from the drawn one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

import dalembert as da
from agreement import EXTREMAL, FORMS, LIMIT, Instant, gap_of, instants
from core_systems import random_mass_matrix, values_of
from dalembert.errors import DalembertError
from dalembert.integrate.methods.table import find_method, fixed_methods, method_names
from dalembert.model.constraints import HolonomicConstraint

from .random_endings import is_explained

if TYPE_CHECKING:
    from .random_laws import Trial

__all__ = [
    "Stage",
    "another_form",
    "another_method",
    "another_run",
    "converges",
    "halved",
    "of_positions",
    "order_of",
    "timeless",
]

#: Of systems with more coordinates every fourth pair takes part.
LARGE = 5

#: How long the motions are that take fixed steps, and how many steps the first run takes, by the
#: order of the method.
LENGTH, FIRST = 0.4, {2: 32, 4: 8, 6: 4, 8: 4}
#: So often the step is halved.
HALVINGS = 6
#: The run that they are compared with has this tolerance; near a singular state its own error can
#: be a thousand times that.
FINEST, KNOWN = 1e-12, 1e-9
#: A method has come to the right end when its error is this small and falls by its order. An error
#: that is left when a term is wrong by a ten-thousandth in so short a motion is larger.
SMALL = 1e-6
#: Every method ends its steps on the constraints to rounding, which a few powers of ten of
#: condition may enlarge.
ON_CONSTRAINTS = 1e-10
#: Methods with hypotheses that no drawn system meets, or few do.
OF_POSITIONS = tuple(method for method in method_names() if method.startswith("rattle"))
OF_ENERGY = tuple(method for method in method_names() if method.startswith("energy"))
#: Methods that take steps in the symbols of any form.
IN_ANY_FORM = ("gauss2", "gauss4", "gauss6", "taylor")
#: Of so many methods or forms the first that applies is run.
MOST_TRIES = 4


def order_of(method: str) -> int:
    """The order of a method with fixed steps."""
    return find_method(method).order or 0


def falls(errors: Sequence[float], order: int) -> list[bool]:
    """Whether each error is below the one of twice the step as the order says, but for one power of
    the step.
    """
    return [later <= earlier / 2 ** (order - 1) for earlier, later in pairwise(errors)]


def converges(errors: Sequence[float], order: int) -> bool:
    """Whether errors of halved steps have become small by the order, or as small as the end of the
    motion is known.
    """
    if not errors or not np.isfinite(errors[-1]):
        return False
    return errors[-1] <= KNOWN or (errors[-1] <= SMALL and falls(errors, order)[-1:] == [True])


# -- systems that meet more hypotheses -------------------------------------------------------------


def of_positions(system: da.System, random: np.random.Generator) -> da.System:
    """A system as drawn, with a constant mass, forces of positions and time, and its constraints of
    positions alone.
    """
    rest: dict[Any, Any] = dict.fromkeys(
        (*system.velocities, *system.momenta, *system.bundle), sympy.S.Zero
    )
    if system.hamiltonian is not None:
        potential = system.hamiltonian
    elif system.bundle:
        potential = -system.bundle_lagrangian
    else:
        potential = -system.lagrangian if system.kinetic is None else system.potential
    n, v = len(system.coordinates), system.velocities
    mass = random_mass_matrix(random, n)
    return da.System(
        system.coordinates,
        kinetic=sympy.Add(
            *(float(mass[i, j]) * v[i] * v[j] / 2 for i in range(n) for j in range(n))
        ),
        potential=potential.xreplace(rest),
        constraints=[
            c for c in system.bilateral if isinstance(c, HolonomicConstraint) and not c.work
        ],
        forces={q: force.xreplace(rest) for q, force in system.forces.items()},
        inputs={u: law.xreplace(rest) for u, law in system.inputs.items()},
    )


def timeless(system: da.System) -> da.System:
    """A system as drawn, with energies at one instant, and those of its constraints that are linear
    in the velocities.
    """
    instant = {da.t: sympy.Float(0.7)}
    energies: dict[str, Any]
    if system.hamiltonian is not None:
        energies = {"hamiltonian": system.hamiltonian.xreplace(instant)}
    elif system.bundle:
        energies = {
            "lagrangian": system.bundle_lagrangian.xreplace(instant),
            "bundle": system.bundle,
        }
    else:
        energies = {"lagrangian": system.lagrangian.xreplace(instant)}
    return da.System(
        system.coordinates,
        constraints=[c for c in system.bilateral if c.name[0] in "vwc"],
        forces=system.forces,
        dissipation=system.dissipation,
        inputs=system.inputs,
        **energies,
    )


# -- methods ---------------------------------------------------------------------------------------


def another_run(trial: Trial, motion: da.Motion) -> None:
    """The law that is the turn of a system: another method, or another form."""
    number = trial.specimen.number
    if trial.specimen.n > LARGE and number % 8 > 1:
        return
    if number % 2 == 0:
        another_method(trial)
    else:
        another_form(trial, motion)


@dataclass
class Stage:
    """A system, where its motion begins and when it ends, and what is found of it."""

    trial: Trial
    system: da.System
    instant: Instant
    last: float

    @property
    def span(self) -> tuple[float, float]:
        return self.instant.time, self.last

    @property
    def start(self) -> Mapping[str, float]:
        symbols = (*self.system.coordinates, *self.system.velocities)
        values = (*self.instant.q, *self.instant.v)
        return {symbol.name: float(value) for symbol, value in zip(symbols, values, strict=True)}

    def run(self, **options: Any) -> da.Motion:
        return da.simulate(
            self.system,
            self.start,
            self.span,
            parameters=values_of(self.system),
            at=self.span,
            **options,
        )

    def end(self, motion: da.Motion) -> Any:
        return np.array(
            [motion[s][-1] for s in (*self.system.coordinates, *self.system.velocities)]
        )

    def said(self, motion: da.Motion) -> dict[str, Any]:
        """What native code says at the start."""
        reaction = (
            motion.total_reaction[:, 0]
            if self.system.constraints
            else np.zeros(len(self.system.coordinates))
        )
        return {
            "accelerations": np.array([motion[q.ddot][0] for q in self.system.coordinates]),
            "energy": np.array([motion.energy[0]]),
            "reaction": reaction,
        }

    def count(self, kind: str, name: str, fate: str) -> None:
        counts = self.trial.found.counts
        counts[f"{kind} {fate}: {name}"] = counts.get(f"{kind} {fate}: {name}", 0) + 1


def another_method(trial: Trial) -> None:
    """Law 6: the first method that applies, of some that are drawn, comes to the end that the
    chosen one comes to.
    """
    random = np.random.default_rng([5, trial.specimen.number])
    stage, methods = _stage(trial, random)
    if stage is None:
        return
    known = stage.run(rtol=FINEST)
    if not known.success:
        if not is_explained(known, values_of(stage.system)):
            trial.found.fault(
                f"methods: the run that others are compared with ends early: {known.message}"
            )
        return
    for method in methods[:MOST_TRIES]:
        options: dict[str, Any] = {"method": method}
        if method in IN_ANY_FORM and random.uniform() < 0.5:
            options["form"] = str(
                random.choice(["lagrange", "hamilton", "maggi", "implicit-lagrangian"])
            )
        try:
            if method in fixed_methods() or (method == "auto" and random.uniform() < 0.5):
                halved(stage, known, options)
            else:
                by_tolerance(stage, known, options)
        except DalembertError as error:
            _refused(stage, "methods", method, error)
        else:
            return


def _stage(trial: Trial, random: np.random.Generator) -> tuple[Stage | None, list[str]]:
    """The system that methods are asked of, and these in the order that they are tried in."""
    short = min(LENGTH, trial.last - trial.first)
    is_made = random.uniform() < 0.3
    if not is_made:
        methods = [str(m) for m in random.permutation([m for m in method_names() if m != "dop853"])]
        back = not trial.system.unilateral and random.uniform() < 0.3 and trial.first - short
        return Stage(trial, trial.system, trial.instant, back or trial.first + short), methods
    if random.uniform() < 0.5:
        system, methods = of_positions(trial.system, random), list(OF_POSITIONS)
    else:
        system, methods = timeless(trial.system), list(OF_ENERGY)
    found = instants(system, trial.specimen.number, 1)
    stage = Stage(trial, system, found[0], found[0].time + LENGTH) if found else None
    return stage, [str(m) for m in random.permutation(methods)]


def halved(stage: Stage, known: da.Motion, options: Mapping[str, Any]) -> None:
    """A method with fixed steps: its errors fall with its order."""
    method, found = str(options["method"]), stage.trial.found
    goal, errors, message = stage.end(known), [], ""
    length, order = (
        abs(stage.last - stage.instant.time),
        4 if method == "auto" else order_of(method),
    )
    size = max(1.0, np.abs(goal).max())
    for halving in range(HALVINGS + 1):
        motion = stage.run(step=length / (FIRST[order] * 2**halving), **options)
        if not motion.success:
            errors, message = [], motion.message
            continue
        if not errors:
            _at_the_start(stage, known, motion, method)
        errors.append(float(np.abs(stage.end(motion) - goal).max() / size))
        residual = max(motion.worst_residual.values(), default=0.0)
        if not residual <= ON_CONSTRAINTS * size:
            found.fault(f"methods: {method} leaves {residual:.1e} of the constraints")
        if converges(errors, order):
            break
    stage.count("methods", method, "compared" if errors else "ended")
    if converges(errors, order):
        found.gaps["methods"] = errors[-1]
    elif (
        falls(errors, order)[-3:] == [True] * 3
    ):  # on its way, but not yet there with the smallest step
        found.counts["methods on their way"] = 1
    elif errors:
        found.fault(
            f"methods: the errors of {method}, {', '.join(f'{e:.1e}' for e in errors)}, do not fall"
            " with its order"
        )
    elif not is_explained(known, values_of(stage.system)):
        found.fault(f"methods: {method} does not get through a motion that is regular: {message}")


def by_tolerance(stage: Stage, known: da.Motion, options: Mapping[str, Any]) -> None:
    """A method that chooses its steps: as near to the chosen one as runs in other words are."""
    trial, method = stage.trial, str(options["method"])
    motion = stage.run(rtol=1e-10, **options)
    if not motion.success:
        stage.count("methods", method, "ended")
        if not is_explained(motion, values_of(stage.system)):
            trial.found.fault(f"methods: {method} ends early: {motion.message}")
        return
    stage.count("methods", method, "compared")
    _at_the_start(stage, known, motion, method)
    gap = np.abs(stage.end(motion) - stage.end(known)).max() / max(
        1.0, np.abs(stage.end(known)).max()
    )
    trial.against_growth(
        "methods by tolerance", float(gap), lambda: trial.growth(known, *stage.span)
    )


def _at_the_start(stage: Stage, known: da.Motion, motion: da.Motion, name: str) -> None:
    """At one state two runs report the same accelerations, energy and reaction."""
    if known.segments[0].mode or motion.segments[0].mode:
        return
    gap, what = gap_of(stage.said(known), stage.said(motion))
    stage.trial.found.gap("at the start", gap, f"in {what}, {name}", bound=LIMIT)


def _refused(stage: Stage, kind: str, name: str, error: DalembertError) -> None:
    """A refusal says what else can be done."""
    stage.count(kind, name, "refused")
    if not error.remedy:
        stage.trial.found.fault(f"{kind}: {name} is refused without a remedy: {error}")


# -- forms -----------------------------------------------------------------------------------------


def another_form(trial: Trial, motion: da.Motion) -> None:
    """Law 7: the first form that applies, of some that are drawn, leads along the same motion."""
    random = np.random.default_rng([6, trial.specimen.number])
    forms = [form for form in FORMS if form not in EXTREMAL and form != motion.equations.form]
    stage = Stage(trial, trial.system, trial.instant, trial.last)
    for form in [str(form) for form in random.permutation(forms)][:MOST_TRIES]:
        try:
            other = stage.run(form=form, rtol=1e-10)
        except DalembertError as error:
            _refused(stage, "forms", form, error)
            continue
        _along(stage, motion, other, form)
        return


def _along(stage: Stage, motion: da.Motion, other: da.Motion, form: str) -> None:
    trial = stage.trial
    _at_the_start(stage, motion, other, form)
    stage.count("forms", form, "compared" if other.success else "ended")
    if not other.success:
        trial.found.notes.append(f"in the form {form}: {other.message}")
        if not trial.is_excused(motion, other, 0.0):
            trial.found.fault(f"forms along a motion: {form} ends early: {other.message}")
        return
    gap = np.abs(stage.end(other) - stage.end(motion)).max() / max(
        1.0, np.abs(stage.end(motion)).max()
    )
    trial.against_growth(
        "forms along a motion", float(gap), lambda: trial.growth(motion, *stage.span)
    )
