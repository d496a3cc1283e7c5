"""The kind of each constraint: dependence on velocities and time, integrability by Frobenius.

A constraint that is linear in the velocities is the one-form omega = A dq + a dt on the space of
(q, t). It is integrable where it annihilates the smallest involutive distribution that contains the
kernel of all linear ones: then it confines the configuration although it is written with velocities
(Gavin's 62). One that is genuinely nonlinear, f_vv != 0 on ker f_v, never is: an integral would be
affine in the velocities.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
import sympy

from ...algebra.tree import TreeAlgebra
from ...errors import FormError, ModelError, RunError
from ...formulations.forms.lagrange import lagrangian_and_momenta
from ...geometry import distributions
from ...geometry.distributions import Closure, SampledChart
from ...geometry.flow_integrals import IntegralSet, find_integrals
from ...geometry.integrals import Equal, find_integral, twists
from ...model.constraints import Constraint
from ...model.symbols import t
from ...model.system import System
from ...runtime.gauss.constrained_solve import rank, solve
from ..anatomy import GENERIC, Anatomy
from .common_integrals import combined_integrals
from .conserved import reaction_power

if TYPE_CHECKING:
    from ...algebra.protocol import Block

__all__ = ["ConstraintFacts", "Integrability", "classify"]

#: A quantity below this, relative to its terms, is rounding.
ROUNDING = 1e-9
#: The most instructions that brackets may take.
MOST_INSTRUCTIONS = 400_000


@dataclass(frozen=True)
class ConstraintFacts:
    """What is known about one constraint.

    Attributes
    ----------
    name : str
    kind : str
        "holonomic", "pfaffian", "affine", "nonlinear", "image", "unilateral" or "friction".
    rheonomic : bool
        Whether it contains time.
    integrable : bool or None
        Whether it confines the configuration; None where that is not decided.
    ideal : bool
        Whether its reaction does no virtual work; a constraint with prescribed work is not ideal.
    workless : bool or None
        Whether its reaction has no power, f_v . v = 0 (Bloch 5.3); None where not established.
    integral : sympy.Expr or None
        What stays constant because of it, where that was found.
    note : str
    """

    name: str
    kind: str
    rheonomic: bool
    integrable: bool | None
    ideal: bool
    workless: bool | None
    integral: sympy.Expr | None
    note: str


@dataclass(frozen=True)
class Integrability:
    """All constraints of a system together.

    Attributes
    ----------
    constraints : tuple of ConstraintFacts
    growth : tuple of int
        Ranks of the allowed directions and of their brackets; empty where no test was needed.
    over_time : bool
        Whether time counts as a coordinate in `growth`.
    integrals : int or None
        How many independent functions of (q, t) the constraints keep constant.
    functions : tuple of expressions
        These functions, as far as they were found, each proved.
    """

    constraints: tuple[ConstraintFacts, ...]
    growth: tuple[int, ...]
    over_time: bool
    integrals: int | None
    functions: tuple[sympy.Expr, ...] = ()


@dataclass(frozen=True)
class _Test:
    """The closure test of the linear rows: residuals by row name, their proof, its equations."""

    chart: SampledChart
    closure: Closure
    residuals: dict[str, float]
    annihilates: dict[str, bool]
    over_time: bool
    points: int


def classify(anatomy: Anatomy) -> Integrability:
    """The facts about every constraint of the system, in its order."""
    system = anatomy.system
    kinds = {c.name: _kind(anatomy, place, c) for place, c in enumerate(system.bilateral)}
    linear = [place for place, c in enumerate(system.bilateral) if kinds[c.name] != "nonlinear"]
    holonomic = [c for c in system.bilateral if c.is_position_level]
    needed = system.image is not None or len(linear) > len(holonomic)
    test = _closure_test(anatomy, linear) if needed else None
    facts: list[ConstraintFacts] = []
    for constraint in system.constraints:
        if constraint in system.unilateral:
            facts.append(_contact_facts(constraint))
        elif constraint is system.image:
            facts.append(_image_facts(anatomy, test))
        else:
            place = system.bilateral.index(constraint)
            facts.append(_facts(anatomy, place, constraint, kinds[constraint.name], test))
    growth, over_time = (test.closure.growth, test.over_time) if test is not None else ((), False)
    facts, functions = _with_common_integrals(anatomy, facts)
    integrals: int | None = None
    if any(c.integrable is None and c.kind not in ("unilateral", "friction") for c in facts):
        integrals = None
    elif test is not None:
        integrals = test.chart.dimension - test.closure.dimension if test.closure.proved else None
    else:
        places = [system.bilateral.index(constraint) for constraint in holonomic]
        ranks = [rank(rows[places], GENERIC).rank for rows in anatomy.row_values] if places else [0]
        integrals = max(ranks)
    if integrals is not None and test is not None and len(functions) < integrals:
        functions = _combined(anatomy, integrals, functions)
    return Integrability(tuple(facts), growth, over_time, integrals, functions)


# -- kinds -----------------------------------------------------------------------------------------


def _has_time(constraint: Constraint) -> bool:
    return t in constraint.expression.free_symbols


def _kind(anatomy: Anatomy, place: int, constraint: Constraint) -> str:
    if constraint.is_position_level:
        return "holonomic"
    if not _is_linear(anatomy, place):
        return "nonlinear"
    return "pfaffian" if _is_homogeneous(anatomy, place) else "affine"


def _is_linear(anatomy: Anatomy, place: int) -> bool:
    """Whether the row f_v is proved not to depend on the velocities."""
    return anatomy.kernel.algebra.independence(anatomy.rows[place, :], anatomy.fibre).is_proved


def _is_homogeneous(anatomy: Anatomy, place: int) -> bool:
    """Whether f = f_v . v is proved, for a row that is linear in the velocities."""
    rest = anatomy.residual[place] - anatomy.rows[place, :] @ anatomy.kernel.graph.velocities
    return anatomy.kernel.algebra.vanishing(rest).holds_to_rounding


def _is_curved(anatomy: Anatomy, place: int) -> bool:
    """Whether f_vv does not vanish on the directions that all rows allow."""
    algebra, kernel = anatomy.kernel.algebra, anatomy.kernel
    seconds = anatomy.values(algebra.jacobian(anatomy.rows[place, :].T, anatomy.fibre))
    metrics = anatomy.values(kernel.graph.metric) if kernel.graph.free is not None else None
    curved = 0
    for point, second in enumerate(seconds):
        allowed = rank(anatomy.every_row[point], GENERIC).null_space
        steps = allowed
        if metrics is not None and allowed.size:
            try:  # in the symbols p a step k of the velocities is H_pp^-1 k
                steps = np.column_stack([solve(metrics[point], k).z for k in allowed.T])
            except RunError:  # singular metric at this sample
                continue
        bend = allowed.T @ second @ steps
        curved += bool(bend.size and np.abs(bend).max() > 1e-8 * np.abs(second).max())
    return curved > len(seconds) // 2


# -- the closure test ------------------------------------------------------------------------------


def _closure_test(anatomy: Anatomy, linear: Sequence[int]) -> _Test:
    """The Lie closure of the directions allowed by linear rows and image, on (q) or (q, t)."""
    algebra, system = anatomy.kernel.algebra, anatomy.system
    forms = [_one_form(anatomy, place) for place in linear]
    n, frame = len(system.coordinates), anatomy.image_frame
    over_time = any(_moves_with_time(anatomy, form, n) for form in forms)
    over_time |= frame is not None and algebra.depends(frame, anatomy.time)
    width, symbols = n, anatomy.coordinates
    if over_time:
        width, symbols = n + 1, algebra.stack([symbols, anatomy.time])
    chart = SampledChart(algebra, symbols, anatomy.values, rank, _is_affordable(anatomy))
    rows = algebra.stack([form[:, :width] for form in forms]) if forms else algebra.zeros(0, width)
    if frame is not None and over_time:
        frame = ca.diagcat(frame, ca.SX(1))
    if frame is not None:
        frame = distributions.independent_columns(chart, frame)
    closure = distributions.lie_closure(chart, distributions.kernel_fields(chart, rows, frame))
    residuals = distributions.integrability_residuals(chart, rows, closure).tolist()
    by_name = {system.bilateral[place].name: r for place, r in zip(linear, residuals, strict=True)}
    proofs = {}
    for k, (name, residual) in enumerate(by_name.items()):
        small = residual <= distributions.TOLERANCE
        proofs[name] = small and algebra.vanishing(rows[k, :] @ closure.fields).holds
    return _Test(chart, closure, by_name, proofs, over_time, len(anatomy.samples))


def _one_form(anatomy: Anatomy, place: int) -> Block:
    """(A, a) of a linear row, (1 x n + 1), free of velocities: A = f_v, a = f - A v."""
    algebra = anatomy.kernel.algebra
    row = anatomy.rows[place, :]
    rest = anatomy.residual[place] - row @ anatomy.kernel.graph.velocities
    form = algebra.columns([row, rest])
    n = len(anatomy.system.coordinates)
    for fixed in (np.zeros(n), *anatomy.samples.states[:, n:]):
        free = algebra.substitute(form, anatomy.fibre, ca.SX(ca.DM(fixed)))
        if np.all(np.isfinite(anatomy.values(free))):
            return free
    return form


def _moves_with_time(anatomy: Anatomy, form: Block, n: int) -> bool:
    if anatomy.kernel.algebra.depends(form, anatomy.time):
        return True
    values = anatomy.values(form)[:, 0, :]
    return bool(np.any(np.abs(values[:, n]) > ROUNDING * np.abs(values[:, :n]).max(axis=1)))


def _is_affordable(anatomy: Anatomy) -> Callable[[ca.SX], bool]:
    def affordable(block: ca.SX) -> bool:
        size = ca.Function("size", anatomy.kernel._inputs(), [block])
        return bool(size.n_instructions() < MOST_INSTRUCTIONS)

    return affordable


# -- facts -----------------------------------------------------------------------------------------


def _contact_facts(constraint: Constraint) -> ConstraintFacts:
    name, note = constraint.name, "one-sided: it acts only while it is reached"
    if not constraint.is_one_sided:
        note = "friction: it holds while its reaction is below the limit, and slips beyond"
    return ConstraintFacts(
        name, constraint.kind, _has_time(constraint), None, True, None, None, note
    )


def _facts(
    anatomy: Anatomy, place: int, constraint: Constraint, kind: str, test: _Test | None
) -> ConstraintFacts:
    power, name = reaction_power(anatomy, place), constraint.name
    workless = True if power.is_proved else False if power.is_refuted else None
    rheonomic = bool(anatomy.kernel.algebra.depends(anatomy.residual[place], anatomy.time))
    integral: sympy.Expr | None = None
    integrable: bool | None
    if kind == "holonomic":
        integrable, rheonomic, notes = True, _has_time(constraint), [""]
        integral = constraint.expression
    elif kind == "nonlinear":
        integrable = False if _is_curved(anatomy, place) else None
        notes = ["written nonlinearly, but straight on the directions that all constraints allow"]
        if integrable is False:
            notes = ["no function of the configuration implies it: f_vv does not vanish on ker f_v"]
    else:
        assert test is not None
        residual = test.residuals[name]
        integrable = _verdict(residual, test, name)
        if integrable:
            integral = _integral(anatomy, constraint)
        notes = [_evidence(integrable, residual, test, integral)]
    if workless is False:
        notes.append("its reaction does the power mu f_v . v = " + _power(kind))
    if not constraint.is_ideal:
        notes.append("nonideal: it does prescribed virtual work")
    note, ideal = "; ".join(filter(None, notes)), constraint.is_ideal
    return ConstraintFacts(name, kind, rheonomic, integrable, ideal, workless, integral, note)


def _power(kind: str) -> str:
    return {"affine": "-mu a", "holonomic": "-mu g_t"}.get(kind, "not zero")


def _verdict(residual: float, test: _Test, name: str) -> bool | None:
    if residual > distributions.TOLERANCE:
        return False
    return True if test.closure.proved and test.annihilates[name] else None


def _evidence(
    integrable: bool | None, residual: float, test: _Test, integral: sympy.Expr | None
) -> str:
    space = "(q, t)" if test.over_time else "q"
    growth = f"growth {test.closure.growth} in {test.chart.dimension} dimensions of {space}"
    tried = f"{test.points} generic points"
    if integrable is False:
        return f"brackets leave its kernel: {growth}, Frobenius residual {residual:.2g} at {tried}"
    if integrable is None and not test.closure.complete:
        return f"the brackets grew too large after {growth}"
    found = f"{growth}, Frobenius residual {residual:.1e} at {tried}"
    if integrable is None:
        return f"{found}, without a proof"
    if integral is not None:
        return f"it keeps constant: {integral}"
    return found


def _image_facts(anatomy: Anatomy, test: _Test | None) -> ConstraintFacts:
    image = anatomy.system.image
    assert image is not None and test is not None and anatomy.image_frame is not None
    closure, n = test.closure, test.chart.dimension
    rheonomic = bool(anatomy.kernel.algebra.depends(anatomy.image_frame, anatomy.time))
    integrable = False if len(closure.growth) > 1 else True if closure.proved else None
    growth = f"growth {closure.growth} in {n} dimensions of {'(q, t)' if test.over_time else 'q'}"
    kept = n - closure.dimension
    note = f"{'involutive' if integrable else 'not involutive'}: {growth}"
    if kept and closure.complete:
        note += f"; it keeps {kept} function{'s' * (kept > 1)} of the configuration constant"
    return ConstraintFacts(image.name, "image", rheonomic, integrable, True, True, None, note)


# -- integrals -------------------------------------------------------------------------------------


def _integral(anatomy: Anatomy, constraint: Constraint) -> sympy.Expr | None:
    """The function that an integrable constraint keeps constant by itself, where rules find it."""
    form = _form(anatomy.system, constraint)
    if form is None:
        return None
    symbols, equal = [*anatomy.system.coordinates, t], _equality(anatomy)
    if not equal(twists(form, symbols)):
        return None
    alone = find_integral(form, symbols, equal)
    return alone or next(iter(_integral_set([form], symbols, equal).functions), None)


def _integral_set(
    forms: Sequence[Sequence[sympy.Expr]], symbols: Sequence[sympy.Symbol], equal: Equal
) -> IntegralSet:
    """The integrals of some forms on (q, t), without t where they do not contain it."""
    still = all(form[-1] == 0 and not any(e.has(t) for e in form) for form in forms)
    width = len(symbols) - still
    return find_integrals([form[:width] for form in forms], symbols[:width], equal)


def _form(system: System, constraint: Constraint) -> list[sympy.Expr] | None:
    """(A, a) of A dq + a dt for a constraint linear in the velocities; None if not written."""
    if constraint.is_position_level:
        variables = [*system.coordinates, t]
        return [sympy.diff(constraint.expression, variable) for variable in variables]
    expression = _by_velocities(system, constraint)
    if expression is None:
        return None
    derivatives = [sympy.diff(expression, v) for v in system.velocities]
    if any(derivative.has(*system.velocities) for derivative in derivatives):
        derivatives = [sympy.simplify(derivative) for derivative in derivatives]
    return [*derivatives, expression.xreplace(dict.fromkeys(system.velocities, sympy.S.Zero))]


def _with_common_integrals(
    anatomy: Anatomy, facts: Sequence[ConstraintFacts]
) -> tuple[list[ConstraintFacts], tuple[sympy.Expr, ...]]:
    """Integrals of the integrable constraints together, where one of them has none by itself."""
    own = tuple(c.integral for c in facts if c.integrable and c.integral is not None)
    lacking = [c.name for c in facts if c.integrable and c.integral is None and c.kind != "image"]
    if not lacking:
        return list(facts), own
    system = anatomy.system
    integrable = {c.name for c in facts if c.integrable}
    forms = [_form(system, c) for c in system.bilateral if c.name in integrable]
    written = [form for form in forms if form is not None]
    words = "integrable: proved; integrals: not found in closed form; tried integrating factors"
    found = IntegralSet((), "nothing: momenta are not written in velocities")
    if len(written) == len(forms) and len(forms) > 1:
        found = _integral_set(written, [*system.coordinates, t], _equality(anatomy))
    if found.functions:
        words = "together they keep constant: " + ", ".join(map(str, found.functions))
    elif len(forms) > 1:
        words += f" of each form, and of all together {found.tried}"
    else:
        words += " and flows along the coordinates"
    told = [
        replace(c, note=f"{c.note}; {words}" if c.note else words) if c.name in lacking else c
        for c in facts
    ]
    return told, found.functions or own


def _combined(
    anatomy: Anatomy, count: int, known: tuple[sympy.Expr, ...]
) -> tuple[sympy.Expr, ...]:
    """Integrals of combinations of the constraints, where the constraints have fewer alone."""
    system = anatomy.system
    written = [_form(system, constraint) for constraint in system.bilateral]
    forms = [form for form in written if form is not None]
    timed = any(form[-1] != 0 or any(entry.has(t) for entry in form) for form in forms)
    if timed or not forms or len(forms) < len(written) or system.image is not None:
        return known
    places, equal = list(system.coordinates), _equality(anatomy)
    found = combined_integrals([form[:-1] for form in forms], places, count, equal)
    return found if len(found) > len(known) else known


def _by_velocities(system: System, constraint: Constraint, effort: int = 150) -> sympy.Expr | None:
    """The constraint as an expression of the velocities."""
    if not constraint.is_momentum_level:
        return constraint.expression
    if system.energy_function.count_ops() > effort:
        return None
    try:
        _, momenta = lagrangian_and_momenta(system, TreeAlgebra())
    except FormError:  # no Legendre map: the question stays open
        return None
    return constraint.expression.xreplace(dict(zip(system.momenta, momenta, strict=True)))


def _equality(anatomy: Anatomy) -> Callable[[Sequence[tuple[sympy.Expr, sympy.Expr]]], bool]:
    """Whether pairs of expressions are shown to be equal, at least to rounding."""

    def equal(pairs: Sequence[tuple[sympy.Expr, sympy.Expr]]) -> bool:
        if not pairs:
            return True
        try:
            block = anatomy.kernel.algebra.vector([left - right for left, right in pairs])
        except ModelError:  # not expressible on the graph: not shown
            return False
        return anatomy.kernel.algebra.vanishing(block).holds_to_rounding

    return equal
