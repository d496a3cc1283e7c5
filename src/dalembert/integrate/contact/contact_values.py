"""Numbers of the contacts of a run: gaps, slips, coefficients, and the contact space of a state."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
import sympy

from ...codegen.dense_function import DenseFunction
from ...codegen.passes.magnitudes import magnitudes
from ...errors import ContradictionError, ModelError, SingularError, StartError
from ...model.constraints import FrictionLimit, UnilateralConstraint
from ...model.constraints.held_contacts import ContactPhase
from ...model.forces import rate
from ...runtime.gauss.constrained_solve import solve
from ...typing import Array
from ..outcome import Outcome, Termination
from .coulomb_states import CoulombContact
from .instant import Gap, Instant, contact_space

if TYPE_CHECKING:
    from ...runtime.kernel import Kernel
    from ..driver import Driver

__all__ = ["ContactValues"]

#: What is below this part of the terms of a gap is rounding.
ROUNDING = 16 * 2.0**-52
#: A slip below this part of its largest terms has stopped.
STOPPED = 1e-11
ZERO = sympy.Integer(0)
#: A gap on the wrong side at the start is rounding below this part of the way that it goes.
WITHIN = 1e-9
#: A gap above this part of its largest term violates contact: with projection, and without.
VIOLATED, VIOLATED_UNPROJECTED = 1e-9, 1e-6


class ContactValues:
    """What the contacts of a run are in numbers, at states of its kernels.

    Attributes
    ----------
    stated, constraints, limits : mappings by name
        All that opens, sticks or slips: contacts, and friction limits.
    rough : set of str
        The contacts with friction, and the limits.
    sizes : array (contacts,)
        The largest terms of the gaps so far.
    """

    def __init__(self, stated: Sequence[UnilateralConstraint | FrictionLimit]) -> None:
        self.stated = {c.name: c for c in stated}
        self.constraints = {c.name: c for c in stated if isinstance(c, UnilateralConstraint)}
        self.limits = {c.name: c for c in stated if isinstance(c, FrictionLimit)}
        self.rough: set[str] = set(self.limits)
        self.sizes = np.zeros(len(self.constraints))
        self._ways = dict.fromkeys(self.constraints, 0.0)
        self._slip_sizes: dict[str, float] = dict.fromkeys(self.stated, 0.0)

    def check(self, driver: Driver, t: float) -> None:
        """Reject coefficients that are none at the start, and find the contacts with friction."""
        values = self.coefficients(driver, t, driver.start_state)
        for name in self.limits:
            kinetic, static, load = values[name][2:]
            if not (0 <= kinetic <= static < np.inf and 0 <= load < np.inf):
                raise ModelError(
                    f"The friction limit `{name}` needs a load that is not negative, and a friction"
                    " between 0 and its static friction",
                    seen=f"friction {kinetic:g}, static friction {static:g}, load {load:g}",
                    remedy="correct the coefficients",
                )
        for name, constraint in self.constraints.items():
            number = values[name]
            stated = (constraint.restitution, constraint.tangential_restitution)
            for k, word in enumerate(("restitution", "tangential restitution")):
                if not 0 <= number[k] <= 1:
                    raise ModelError(
                        f"The {word} of the one-sided constraint `{name}` must lie between 0 and 1",
                        seen=f"{stated[k]} = {number[k]:g}",
                        remedy="0 is a plastic and 1 an elastic impact",
                    )
            kinetic, static = number[2:4]
            if not constraint.has_friction:
                continue
            if not 0 <= kinetic <= static < np.inf:
                raise ModelError(
                    f"The friction of the one-sided constraint `{name}` must not be negative, nor"
                    " larger than its static friction",
                    seen=f"friction {kinetic:g}, static friction {static:g}",
                    remedy="correct the coefficients",
                )
            symbols = constraint.friction.free_symbols | constraint.static_friction.free_symbols
            if static > 0 or symbols - set(driver.kernel.parameters):
                self.rough.add(name)

    def gap_and_rates(
        self, driver: Driver, expression: sympy.Expr, t: float, y: Array
    ) -> tuple[float, float, float, float, float]:
        """A gap and its first two derivatives along the motion that the run begins with.

        The last two numbers are those derivatives if none of their terms cancelled.
        """
        kernel = driver.kernel

        def made() -> Any:
            time, state, *_ = inputs = kernel._inputs()
            rates = ca.SX.sym("rates", kernel.n_state)
            gap, speed = kernel.lower([expression]), kernel.lower([rate(expression)])
            acceleration = ca.jtimes(speed, state, rates) + ca.jacobian(speed, time)
            terms = [
                ca.fabs(ca.jacobian(value, state)) @ ca.fabs(rates)
                + ca.fabs(ca.jacobian(value, time))
                for value in (gap, speed)
            ]
            return ca.Function("gap", [*inputs[:-1], rates], [gap, speed, acceleration, *terms])

        values = _function(kernel, "gap", made, expression)(
            t,
            y,
            driver.task.parameters,
            driver.input_values(t, y),
            driver.run.stages[0, : kernel.n_state],
        )
        found = [float(value) for value in values]
        return found[0], found[1], found[2], found[3], found[4]

    def start_gap(
        self,
        driver: Driver,
        constraint: UnilateralConstraint,
        t: float,
        y: Array,
        length: float,
    ) -> tuple[float, float, float, float]:
        """A gap of the start, its first two derivatives, and the way it goes in a time `length`.

        Raises StartError where it is on the wrong side by more than rounding of that way.
        """
        gap, speed, acceleration, *terms = self.gap_and_rates(driver, constraint.expression, t, y)
        way = abs(speed) * length + 0.5 * abs(acceleration) * length**2
        self._ways[constraint.name] = terms[0] * length + 0.5 * terms[1] * length**2
        if gap > (WITHIN * way if way > 0 else WITHIN):
            raise StartError(
                f"The start breaks the one-sided constraint `{constraint.name}`",
                seen=f"{constraint.expression} = {gap:.3g}, which must not be positive",
                remedy="start on the allowed side",
            )
        return gap, speed, acceleration, way

    def slip_function(
        self, driver: Driver, constraint: UnilateralConstraint | FrictionLimit
    ) -> Any:
        """The slip of a contact and its Jacobians in state and time, at (t, y)."""
        kernel = driver.kernel

        def made() -> DenseFunction:
            inputs, slip = kernel._inputs(), kernel.lower(list(constraint.tangent))
            blocks = [slip, ca.jacobian(slip, inputs[1]), ca.jacobian(slip, inputs[0])]
            return DenseFunction(inputs, blocks)

        function = _function(kernel, "slip", made, constraint.tangent)
        return lambda t, y: _call(driver, function, t, y)

    def record(
        self,
        instant: Instant,
        name: str,
        values: Sequence[float],
        slips: bool = False,
        grips: bool = True,
    ) -> CoulombContact:
        """A contact as the solver takes it; with the direction of its slip if it `slips`."""
        rows = instant.tangents(name)
        kinetic, static = float(values[2]), float(values[3])
        limit = self.limits.get(name)
        normal = instant.normal(name) if limit is None else -1
        base, kind, presses = 0.0, "contact", None
        if limit is not None:
            kind, base = "limit", 0.0 if limit.normal else float(values[4])
            if len(limit.normal) == 1:
                normal = instant.load(limit.normal[0])
            elif limit.normal:
                presses = instant.pressing[name][0]
        if not rows:
            return CoulombContact(name, normal)
        slip = instant.velocity[list(rows)]
        size = float(np.linalg.norm(slip))
        direction = slip / size if slips and size > STOPPED * self._slip_sizes[name] else None
        return CoulombContact(
            name, normal, rows, kinetic, static, direction, base, grips, kind, presses
        )

    def active_limits(self, contacts: Collection[str]) -> list[str]:
        """The friction limits with a load, where some contacts touch."""
        apart = set(self.constraints) - set(contacts)
        return [name for name, limit in self.limits.items() if apart.isdisjoint(limit.normal)]

    def instant(self, driver: Driver, names: tuple[str, ...], t: float, y: Array) -> Instant:
        """Gauss's problem of a state in the space of some contacts and of all friction limits."""
        limits = self.active_limits(names)
        loads = {name: self.limits[name].normal for name in limits}
        held = [each[0] for each in loads.values() if len(each) == 1]
        held = [n for n in dict.fromkeys(held) if n not in self.constraints]
        several = {name: each for name, each in loads.items() if len(each) > 1}
        labels = tuple(
            ContactPhase(name, 0 if name in self.rough else None).label
            for name in (*names, *limits)
        )
        kernel = driver.kernel_for(labels)

        def made() -> DenseFunction:
            g, v = kernel.graph, kernel.graph.velocity
            blocks = [g.metric, g.force, g.rows, g.right, v.rows, v.residual, v.lift]
            return DenseFunction(kernel._inputs(), blocks)

        function = _function(kernel, "instant", made)
        rows = kernel.equations.row_names
        found = contact_space(_call(driver, function, t, y), rows, names, limits, held, several)
        self.gaps(driver, t, y)
        self._note_slips(driver, t, y)
        return found

    def moved_aside(
        self, driver: Driver, mode: Sequence[str], t: float, y: Array, slow: float
    ) -> Any:
        """The state with the gaps of open contacts that touch on their side, by their rounding.

        A contact that an impact opens with no more than a `slow` speed would else be met again at
        once.
        """
        open_gaps = {
            name: gap
            for name, gap in self.gaps(driver, t, y).items()
            if gap.gap > -gap.rounding
            and abs(gap.rate) <= slow
            and not any(ContactPhase.of(e, name) for e in mode)
        }
        if not open_gaps:
            return y
        names = tuple(n for n in self.constraints if n in open_gaps) + tuple(mode)
        kernel = driver.kernel_for(names)

        def made() -> DenseFunction:
            g = kernel.graph
            return DenseFunction(kernel._inputs(), [g.metric, g.position.rows, g.position.lift])

        metric, rows, lift = _call(driver, _function(kernel, "position", made), t, y)
        held = [c.name for c in kernel.equations.system.bilateral if c.is_position_level]
        target = [
            -open_gaps[n].gap - 2 * open_gaps[n].rounding if n in open_gaps else 0.0 for n in held
        ]
        try:
            step = solve(metric, np.zeros(len(metric)), rows, target, gauge=True).z
        except (SingularError, ContradictionError):
            return y
        return y + lift @ step

    def coefficients(self, driver: Driver, t: float, y: Array) -> dict[str, Any]:
        """Restitution, tangential restitution, friction, static friction, and load of limits."""
        kernel = driver.kernel

        def made() -> DenseFunction:
            columns = [
                kernel.lower(
                    [c.restitution, c.tangential_restitution, c.friction, c.static_friction]
                )
                for c in self.constraints.values()
            ]
            columns += [
                kernel.lower([ZERO, ZERO, c.friction, c.static_friction, c.load])
                for c in self.limits.values()
            ]
            return DenseFunction(kernel._inputs(), columns)

        found = _call(driver, _function(kernel, "coefficients", made, *self.stated), t, y)
        names = (*self.constraints, *self.limits)
        return {name: block.ravel() for name, block in zip(names, found, strict=True)}

    def gaps(self, driver: Driver, t: float, y: Array) -> dict[str, Gap]:
        """The gaps at a state of the current mode."""
        if not self.constraints:
            return {}
        found = self.gap_table(driver, driver.kernel, np.array([t]), np.array([y]))
        self.sizes = np.maximum(self.sizes, found[2, 0])
        columns = zip(*found[:2, 0].tolist(), (ROUNDING * self.sizes).tolist(), strict=True)
        return {name: Gap(*values) for name, values in zip(self.constraints, columns, strict=True)}

    def _note_slips(self, driver: Driver, t: float, y: Array) -> None:
        """Keep the largest terms of the slips so far, which tell what is rounding in them."""
        if not self.rough:
            return
        kernel, names = driver.kernel, sorted(self.rough)

        def made() -> DenseFunction:
            inputs = kernel._inputs()
            blocks = [
                ca.mmax(magnitudes(inputs, kernel.lower(list(self.stated[name].tangent))))
                for name in names
            ]
            return DenseFunction(inputs, blocks)

        sizes = _call(driver, _function(kernel, "slips", made, *names), t, y)
        for name, size in zip(names, sizes, strict=True):
            self._slip_sizes[name] = max(self._slip_sizes[name], float(np.ravel(size)[0]))

    def gap_table(self, driver: Driver, kernel: Kernel, times: Array, states: Array) -> Array:
        """Gaps, their rates, and sizes of the terms of gaps: (3, times, contacts)."""

        def made() -> Any:
            inputs = kernel._inputs()
            expressions = [c.expression for c in self.constraints.values()]
            gaps = kernel.lower(expressions)
            rates = kernel.lower([rate(expression) for expression in expressions])
            columns = (gaps, rates, magnitudes(inputs, gaps))
            return ca.Function("gaps", inputs[:3], [ca.densify(block) for block in columns])

        function = _function(kernel, "gaps", made, *self.constraints)
        return np.array(
            [
                np.asarray(block).T
                for block in function(times[None], states.T, driver.task.parameters)
            ]
        )

    def violated(self, driver: Driver) -> Termination | None:
        """End a motion along which a gap had the wrong sign; None if none had."""
        if not self.constraints:
            return None
        least = VIOLATED if driver.task.project else VIOLATED_UNPROJECTED
        rounding = ROUNDING * np.array(list(self._ways.values()))
        for segment in driver.record.segments:
            times = segment.step_t
            gaps, rates, sizes = self.gap_table(
                driver, segment.context.kernel, times, segment.step_y
            )
            self.sizes = np.maximum(self.sizes, sizes.max(axis=0))
            # An impact is met no finer than the clock goes.
            clock = 16 * np.abs(rates) * np.spacing(np.abs(times))[:, None]
            wrong = ~(gaps <= least * self.sizes + rounding + clock)
            if wrong.any():
                place = int(np.argmax(wrong.any(axis=1)))
                number = int(np.argmax(wrong[place]))
                return Termination(
                    Outcome.UNSOLVED,
                    f"The one-sided constraint `{list(self.constraints)[number]}` is violated"
                    f" by {gaps[place, number]:.3g} at t = {times[place]:.9g}: an impact was"
                    " missed, and what follows is not a motion of the system.",
                )
        return None


def _function(kernel: Kernel, kind: str, make: Callable[[], Any], *about: Hashable) -> Any:
    """A function of the states of a kernel, kept with it."""
    return kernel.cache.get(("contacts", kind, about), make)


def _call(driver: Driver, function: DenseFunction, t: float, y: Array) -> Any:
    return function(t, y, driver.task.parameters, driver.input_values(t, y), ())
