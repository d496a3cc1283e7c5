"""The laws of wide systems, beside an independent implementation of the plain system (`wide_flow`):
what the library says of motions, linear stability, reduction and derivatives.

    motions         every form and method comes to the same end
    linearise       exp(lambda T) are the eigenvalues of the derivative of the flow on the
                    constraint manifold, by differences; and a verdict on stability does
                    not contradict them
    routh           the motion without cyclic coordinates is part of that with them; a coordinate
                    that occurs anywhere, also beyond a threshold, is not cyclic
    reduce          the same for a group, SE(2)
    sensitivities   derivatives of motions, forward and adjoint, are those of differences
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import sympy

import dalembert as da
from agreement import EXTREMAL, FORMS, Instant, instants, numbered
from dalembert.errors import DalembertError, FormError, ModelError

from .random_laws import Findings
from .wide_flow import Difference, IndependentFlow, differences
from .wide_systems import (
    Wide,
    added,
    cyclic_system,
    in_decimals,
    maximum,
    plain_of,
    planar_system,
    switched,
)
from .wide_units import ONE, drawn_units, number, of_lengths

__all__ = ["look_at_wide"]

RTOL, SPAN = 1e-10, 0.5
#: A motion may differ by this, relatively, and by so many tolerances times the growth of errors;
#: where these are more than a tenth, it is not compared.
OPEN, MULTIPLE, UNRELATED = 1e-7, 300.0, 0.1
#: Coefficients of characteristic polynomials, and derivatives, may differ by this, relatively, and
#: by the error of the differences that they are compared with; where that is more than a tenth,
#: they are not compared.
BY_DIFFERENCES = 1e-5
#: A real part of an eigenvalue that is larger than this decides.
DECIDES = 1e-2
#: What a refusal says where a hypothesis is neither proved nor refuted.
NOT_ESTABLISHED = "not shown to be"
#: Methods with fixed steps, of which one is run on each motion, and numbers of steps.
METHODS = (
    "auto",
    "lobatto4",
    "galerkin4",
    "variational-midpoint",
    "gauss4",
    "energy2",
    "energy4",
    "energy6",
    "dla4",
)
STEPS = (64, 128, 256)


def look_at_wide(drawn: Wide) -> Findings:
    """The law of the topic of a wide system."""
    found = Findings(drawn)
    began = time.process_time()
    try:
        WideTrial(drawn, found).run()
    except DalembertError as error:
        found.ending = f"refused: {type(error).__name__}"
        if isinstance(error, FormError) and NOT_ESTABLISHED in str(error) and drawn.in_units:
            # the numbers of a system in units are rounded, and its symmetries with them
            found.ending = "not established"
        else:
            found.fault(f"{drawn.topic}: refused with {type(error).__name__}: {error}")
    found.seconds = time.process_time() - began
    return found


class WideTrial:
    """One wide system: the plain one as the independent implementation has it, and the one that
    the library is given.
    """

    def __init__(self, drawn: Wide, found: Findings) -> None:
        self.drawn, self.found = drawn, found
        self.units = drawn_units(drawn.random(2), drawn.n) if drawn.in_units else ONE(drawn.n)
        if drawn.topic == "reduce":  # which needs an invariance that rounding leaves as it is
            self.units = of_lengths(self.units)
        self.random = drawn.random(3)

    def run(self) -> None:
        """The law of the topic."""
        getattr(self, self.drawn.topic)()
        if self.found.ending == "none":
            self.found.ending = "finished"

    # -- what the laws share -----------------------------------------------------------------------

    def given(self, system: da.System) -> da.System:
        """A plain system as the library is given it: in units, its constraints multiplied by
        some factors.
        """
        factors = 10.0 ** self.drawn.random(4).integers(-3, 4, len(system.constraints))
        return self.units.system(system, factors)

    def instant(self, system: da.System) -> Instant | None:
        """A consistent state of a plain system."""
        found = instants(system, self.drawn.number, 1)
        if not found:
            self.found.ending = "no generic state"
        return found[0] if found else None

    def is_regular(self, flow: IndependentFlow, first: float, y: Any) -> bool:
        """Whether a motion can be compared at all."""
        regular = flow.is_regular(first, first + SPAN, y)
        if not regular:
            self.found.ending = "irregular"
        return regular

    def compare(self, law: str, there: Any, known: Any, growth: float, detail: str) -> None:
        """An end of a motion beside the one that is known."""
        bound = max(OPEN, MULTIPLE * RTOL * growth)
        if bound > UNRELATED:
            self.found.counts[f"unrelated: {law}"] = 1
            return
        gap = float(np.abs(there - known).max() / max(1.0, np.abs(known).max()))
        self.found.gap(law, gap, detail, bound=bound)

    def by_differences(
        self, law: str, there: Any, known: Difference, size: float, detail: str
    ) -> None:
        """Numbers of a size beside their differences, within the error of these."""
        error = known.error / size
        if error > UNRELATED:
            self.found.counts[f"unrelated: {law}"] = 1
            return
        self.found.gap(
            law,
            float(np.abs(there - known.value).max()) / size,
            detail,
            bound=BY_DIFFERENCES + error,
        )

    def simulate(
        self, model: Any, start: Mapping[str, float], first: float, **options: Any
    ) -> da.Motion:
        """A motion of the given system over the span of the plain one."""
        span = (first / self.units.clock, (first + SPAN) / self.units.clock)
        if "step" in options:
            return da.simulate(model, start, span, at=span, **options)
        motion = da.simulate(
            model, start, span, at=span, rtol=RTOL, atol=self.units.atol(RTOL), **options
        )
        if (
            not motion.success
        ):  # a variable in units of its own, such as a momentum, may have passed through zero
            largest = np.max(
                [np.abs(segment.step_y).max(axis=0) for segment in motion.segments], axis=0
            )
            own = np.maximum(self.units.atol(RTOL), RTOL * 1e-2 * largest)
            motion = da.simulate(
                motion.equations,
                start,
                span,
                at=span,
                rtol=RTOL,
                atol=own,
                **_for_equations(options),
            )
        return motion

    def refuses(self, law: str, call: Callable[[], Any], what: str) -> None:
        """A call that must be refused because its hypothesis does not hold."""
        try:
            call()
        except FormError:
            self.found.counts[f"{law} refused rightly"] = 1
            return
        self.found.fault(f"{law}: accepted {what}")

    # -- motions -----------------------------------------------------------------------------------

    def motions(self) -> None:
        """The end of a motion in the form that the library chooses, in another form, and by
        another method.
        """
        system = plain_of(self.drawn)
        instant = self.instant(system)
        if instant is None:
            return
        flow = IndependentFlow(switched(self.drawn, system, instant, maximum))
        y, first = np.concatenate([instant.q, instant.v]), instant.time
        if not self.is_regular(flow, first, y):
            return
        given = self.given(switched(self.drawn, system, instant, self.drawn.positive))
        start = self.units.start(given, instant.q, instant.v)
        known, growth = (
            flow.end(first, first + SPAN, y),
            flow.growth(first, first + SPAN, y, self.random),
        )
        motion = self.simulate(given, start, first)
        if not motion.success:
            self.found.fault(f"wide motions: ended early: {motion.message}")
            return
        self.compare(
            "wide motions", self.units.end(motion), known, growth, f"form {motion.equations.form}"
        )
        forms = [form for form in FORMS if form not in EXTREMAL]
        self.other_form(given, str(self.random.choice(forms)), start, first, known, growth)
        self.other_method(given, str(self.random.choice(METHODS)), start, first, known)

    def other_form(
        self, given: da.System, form: str, start: Any, first: float, known: Any, growth: float
    ) -> None:
        """The same in another form, where that applies."""
        try:
            motion = self.simulate(given, start, first, form=form)
        except ModelError:
            self.found.counts[f"wide forms refused: {form}"] = 1
            return
        self.found.counts[f"wide forms compared: {form}"] = 1
        if motion.success:
            self.compare("wide forms", self.units.end(motion), known, growth, f"form {form}")
        else:
            self.found.fault(f"wide forms: ended early in the form {form}: {motion.message}")

    def other_method(
        self, given: da.System, method: str, start: Any, first: float, known: Any
    ) -> None:
        """The same by a method with fixed steps, whose error must fall with the step."""
        errors = []
        for steps in STEPS:
            try:
                motion = self.simulate(
                    given, start, first, method=method, step=SPAN / self.units.clock / steps
                )
            except ModelError:
                self.found.counts[f"wide methods refused: {method}"] = 1
                return
            if not motion.success:
                self.found.notes.append(f"{method}: {motion.message}")
                self.found.counts[f"wide methods ended: {method}"] = 1
                return
            gap = np.abs(self.units.end(motion) - known).max() / max(1.0, np.abs(known).max())
            errors.append(float(gap))
        self.found.counts[f"wide methods compared: {method}"] = 1
        falls = errors[-1] <= max(1e-6, errors[-2] / 1.5) and errors[-1] <= max(1e-6, errors[0] / 2)
        bound = 1e-2 if falls else 1e-6
        self.found.gap("wide methods", errors[-1], f"by {method}, errors {errors}", bound=bound)

    # -- linear stability --------------------------------------------------------------------------

    def linearise(self) -> None:
        """Eigenvalues and verdict at an equilibrium that a constant force makes."""
        system = plain_of(self.drawn)
        guess = self.random.uniform(-0.9, 0.9, self.drawn.n)
        bare = IndependentFlow(system)
        q = bare.on_constraints(0.0, np.concatenate([guess, np.zeros(self.drawn.n)]))[
            : self.drawn.n
        ]
        still = Instant(0.0, q, np.zeros(self.drawn.n))
        twin, plain = (
            switched(self.drawn, system, still, word) for word in (maximum, self.drawn.positive)
        )
        held = self.holding_force(IndependentFlow(twin), q)
        if held is None:
            self.found.ending = "irregular"
            return
        forces = dict(zip(system.coordinates, held, strict=True))
        flow = IndependentFlow(added(twin, forces=forces))
        matrix, change = flow.monodromy(0.0, SPAN, q)
        given = self.given(added(plain, forces=forces))
        at = {
            s.name: float(x)
            for s, x in zip(given.coordinates, self.units.state(q, q)[0], strict=True)
        }
        values = da.linearise(given, at).eigenvalues / self.units.clock
        if len(values) != len(matrix):
            self.found.fault(
                f"linearise: {len(values)} eigenvalues on a manifold of dimension {len(matrix)}"
            )
            return
        known, before = np.poly(matrix), np.poly(matrix - change)
        there, size = np.poly(np.exp(values * SPAN)), float(np.abs(known).max())
        self.by_differences(
            "linearise",
            there,
            Difference(known, known - before),
            size,
            f"eigenvalues {np.round(values, 4)}",
        )
        self.verdict(
            da.stability(given, at).verdict, np.log(np.abs(np.linalg.eigvals(matrix))) / SPAN
        )

    def holding_force(self, flow: IndependentFlow, q: Any) -> Any:
        """A constant force that makes a point an equilibrium, with random reactions; None where
        the point is not generic.
        """
        from .differential_casadi import DOUBLES
        from .differential_cases import State

        if (
            not np.all(np.isfinite(q))
            or np.abs(q).max() > 4
            or not flow._is_generic(0.0, np.concatenate([q, 0 * q]))
        ):
            return None
        _, force, rows, right, _ = flow.reference.gauss_problem(
            State(0.0, q, np.zeros(len(q))), DOUBLES
        )
        if len(right) and np.abs(right).max() > 1e-9:
            return None
        return [float(x) for x in -force + rows.T @ self.random.uniform(-0.5, 0.5, len(rows))]

    def verdict(self, verdict: str, real: Any) -> None:
        """A verdict beside the real parts of the eigenvalues, where these decide."""
        self.found.counts[f"verdict: {verdict}"] = 1
        largest = float(np.max(real, initial=-np.inf))
        if largest > DECIDES and verdict != "unstable":
            self.found.fault(f"stability: {verdict} with an eigenvalue of real part {largest:.3g}")
        if largest < -DECIDES and len(real) and verdict != "asymptotically stable":
            self.found.fault(f"stability: {verdict} with all real parts below {largest:.3g}")
        if abs(largest) < DECIDES / 100 and verdict == "asymptotically stable" and largest > -1e-6:
            self.found.fault(
                f"stability: asymptotically stable with an eigenvalue of real part {largest:.1e}"
            )

    # -- reduction ---------------------------------------------------------------------------------

    def routh(self) -> None:
        """The motion without cyclic coordinates; and that a coordinate is not cyclic which
        occurs beyond a threshold.
        """
        system, cyclic = cyclic_system(self.drawn)
        n = self.drawn.n
        q, v, first = self.random.uniform(-0.9, 0.9, n), self.random.uniform(-0.9, 0.9, n), 0.3
        kept = [c for c in system.coordinates if c not in cyclic]
        instant = Instant(first, q, v)
        twin, plain = (
            self.shape_terms(system, kept, instant, word) for word in (maximum, self.drawn.positive)
        )
        flow = IndependentFlow(twin)
        y = np.concatenate([q, v])
        if not self.is_regular(flow, first, y):
            return
        given = self.given(plain)
        momenta = self.momenta_of(twin, instant)
        values = {
            c.momentum.name: float(
                momenta[k] * self.units.energy * self.units.scales[k] / self.units.clock
            )
            for k, c in enumerate(system.coordinates)
            if c in cyclic
        }
        start = self.units.start(given, q, v)
        places = [k for k, c in enumerate(system.coordinates) if c in kept]
        motion = self.simulate(
            da.symmetry.routh(given, cyclic),
            {s.name: start[s.name] for c in kept for s in (c, c.dot)},
            first,
            parameters=values,
        )
        if not motion.success:
            self.found.fault(f"routh: ended early: {motion.message}")
            return
        known, growth = (
            flow.end(first, first + SPAN, y),
            flow.growth(first, first + SPAN, y, self.random),
        )
        there = known.copy()
        scales, shifts, clock = self.units.scales, self.units.shifts, self.units.clock
        for k, c in enumerate(system.coordinates):
            there[n + k] = scales[k] * motion[c.dot.name][-1] / clock
            if k in places:
                there[k] = scales[k] * motion[c.name][-1] + shifts[k]
        self.compare("routh", there, known, growth, "")
        other = self.given(added(plain, potential=self.hidden(cyclic[-1], q)))
        self.refuses(
            "routh",
            lambda: da.symmetry.routh(other, cyclic),
            "a coordinate that the potential contains beyond a threshold",
        )

    def hidden(self, coordinate: Any, q: Any) -> Any:
        """A potential of a coordinate that begins somewhere beyond where the motion is."""
        place = int(coordinate.name[1:]) - 1
        return (
            self.drawn.positive(
                coordinate - float(np.round(q[place] + self.random.uniform(0.5, 3.0), 6))
            )
            ** 3
        )

    def shape_terms(
        self, system: da.System, kept: Any, instant: Instant, positive: Any
    ) -> da.System:
        """Terms that switch in the coordinates that stay."""
        if not self.drawn.switching:
            return system
        random, c = self.drawn.random(6), kept[-1]
        edge = float(np.round(instant.q[int(c.name[1:]) - 1] + random.uniform(-0.4, 0.4), 6))
        return added(system, potential=float(random.uniform(0.2, 0.9)) * positive(c - edge) ** 3)

    def momenta_of(self, system: da.System, instant: Instant) -> Any:
        """The momenta of a plain system, by the independent implementation."""
        state = dict(
            zip((*system.coordinates, *system.velocities), (*instant.q, *instant.v), strict=True)
        )
        if system.hamiltonian is not None:
            from .differential_casadi import DOUBLES
            from .differential_cases import State

            flow = IndependentFlow(system)
            return flow.reference._momenta(State(instant.time, instant.q, instant.v), DOUBLES)
        state[da.t] = instant.time
        return [float(sympy.diff(system.lagrangian, w).subs(state)) for w in system.velocities]

    def reduce(self) -> None:
        """The motion on the quotient by SE(2), and with the group carried along; and that a
        hidden potential is seen.
        """
        made = planar_system(self.drawn)
        system, n, first = made.system, self.drawn.n, 0.3
        shape = system.coordinates[3:]
        q, v = self.random.uniform(-0.9, 0.9, n), self.random.uniform(-0.9, 0.9, n)
        q, v = np.split(IndependentFlow(system).on_constraints(first, np.concatenate([q, v])), 2)
        instant, y = Instant(first, q, v), np.concatenate([q, v])
        twin, plain = (
            in_decimals(self.shape_terms(system, shape, instant, word))
            for word in (maximum, self.drawn.positive)
        )
        flow = IndependentFlow(twin)
        if not self.is_regular(flow, first, y):
            return
        given, fields = self.given(plain), self.plane_fields(system.coordinates)
        known, growth = (
            flow.end(first, first + SPAN, y),
            flow.growth(first, first + SPAN, y, self.random),
        )
        whole = self.simulate(
            da.symmetry.reduce(given, fields, reconstruct=True),
            self.units.start(given, q, v),
            first,
        )
        quotient = da.symmetry.reduce(given, fields)
        start = {symbol.name: float(whole[symbol][0]) for symbol in quotient.state}
        part = self.simulate(quotient, start, first)
        ended = next((motion for motion in (whole, part) if not motion.success), None)
        if ended is not None:
            self.found.fault(f"reduce: ended early: {ended.message}")
            return
        self.compare("reduce", self.units.end(whole), known, growth, "with the group")
        there, places = known.copy(), range(3, n)
        for k, c in zip(places, shape, strict=True):
            there[k] = self.units.scales[k] * part[c][-1] + self.units.shifts[k]
            there[n + k] = self.units.scales[k] * part[c.dot][-1] / self.units.clock
        self.compare("reduce", there, known, growth, "on the quotient")
        other = self.given(added(plain, potential=self.hidden(system.coordinates[0], q)))
        self.refuses(
            "reduce",
            lambda: da.symmetry.reduce(other, fields),
            "a potential that is not invariant beyond a threshold",
        )

    def plane_fields(self, coordinates: Any) -> dict[str, dict[Any, Any]]:
        """The body velocities of the plane in the units of the given system."""
        x, y, theta = coordinates[:3]
        sx, sy, s = (number(value) for value in self.units.scales[:3])
        angle = s * theta + number(self.units.shifts[2])
        return {
            "ahead": {x: sympy.cos(angle) / sx, y: sympy.sin(angle) / sy},
            "aside": {x: -sympy.sin(angle) / sx, y: sympy.cos(angle) / sy},
            "turn": {theta: 1 / s},
        }

    # -- derivatives -------------------------------------------------------------------------------

    def sensitivities(self) -> None:
        """Derivatives of the end of a motion by parameters, and by its start where nothing
        constrains that.
        """
        values = {"c1": 0.6, "c2": 0.4, "c3": 0.3}
        system = plain_of(self.drawn)
        instant = self.instant(numbered(system, values))
        if instant is None:
            return
        twin, plain = (
            switched(self.drawn, system, instant, word) for word in (maximum, self.drawn.positive)
        )
        first, y, n = instant.time, np.concatenate([instant.q, instant.v]), self.drawn.n
        if not self.is_regular(IndependentFlow(numbered(twin, values)), first, y):
            return
        given = self.given(plain)
        start = self.units.start(given, instant.q, instant.v)
        free = [] if system.constraints else [self.random.integers(0, 2 * n)]
        symbols = (*given.coordinates, *given.velocities)
        wrt = [*values, *(symbols[int(k)].name for k in free)]
        clock, scales = self.units.clock, self.units.scales
        sizes = np.concatenate([scales, scales / clock])
        columns = [self.difference(twin, values, name, first, y) for name in values]
        columns += [
            self.by_start(IndependentFlow(numbered(twin, values)), first, y, int(k)) for k in free
        ]
        known, change = (np.array(part) for part in zip(*columns, strict=True))
        span = (first / clock, (first + SPAN) / clock)
        options = {"parameters": values, "rtol": RTOL, "atol": self.units.atol(RTOL)}
        found = da.analysis.sensitivities(given, wrt, start, span, at=[span[1]], **options)
        there = np.array([found.of(s)[:, 0] for s in symbols]).T * sizes
        there[len(values) :] /= np.array([[sizes[int(k)]] for k in free]).reshape(len(free), 1)
        size = max(1.0, float(np.abs(known).max()))
        self.by_differences("sensitivities", there, Difference(known, change), size, "forward")
        place = int(self.random.integers(0, 2 * n))
        back = da.analysis.gradient(given, wrt, start, span, final=symbols[place], **options)
        pulled = back.values * sizes[place]
        pulled[len(values) :] /= np.array([sizes[int(k)] for k in free])
        self.by_differences(
            "sensitivities", pulled, Difference(known[:, place], change[:, place]), size, "adjoint"
        )

    def difference(
        self, system: da.System, values: Mapping[str, float], name: str, first: float, y: Any
    ) -> Difference:
        """The derivative of the end (2n,) by a parameter."""

        def end(value: float) -> Any:
            return IndependentFlow(numbered(system, {**values, name: value})).end(
                first, first + SPAN, y
            )

        return differences(lambda h: end(values[name] + h))

    def by_start(self, flow: IndependentFlow, first: float, y: Any, place: int) -> Difference:
        """The same by a value of the start."""
        unit = np.eye(len(y))[place]
        return differences(lambda h: flow.end(first, first + SPAN, y + h * unit))


def _for_equations(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a run whose equations are derived already."""
    return {key: value for key, value in options.items() if key != "form"}
