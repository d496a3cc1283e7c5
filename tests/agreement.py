"""What each form says of a system at random consistent states, without compiling anything:
accelerations, reactions, power.

The states are found here by Newton's method with NumPy, and the graph of each form is evaluated by
CasADi; nothing of the integrator takes part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np
import sympy

import dalembert as da
from core_systems import values_of
from dalembert.algebra.graph import GraphAlgebra
from dalembert.errors import FormError, SingularError
from dalembert.formulations.equations import Equations
from dalembert.formulations.forms.vakonomic import costates
from dalembert.formulations.registry import forms
from dalembert.integrate.state_symbols import state_with_velocities
from dalembert.model.constraints import HolonomicConstraint, ImageConstraint
from dalembert.runtime.gauss.constrained_solve import solve
from dalembert.runtime.kernel import Kernel

#: Forms of another principle than d'Alembert's.
EXTREMAL = ("vakonomic", "pontryagin")
#: Every form once, without its aliases.
FORMS = tuple(form for form in forms() if form not in ("gauss", "udwadia-kalaba"))
#: How far two forms may lie apart, relatively.
LIMIT = 1e-9
#: A state where the rows, of length one in the kinetic metric, are nearer to another rank than this
#: is not generic.
LEAST_ANGLE = 0.03
#: A choice of independent velocities with a smaller determinant than this loses digits that no form
#: can give back.
LEAST_QUALITY = 1e-3


@dataclass(frozen=True)
class Instant:
    """A consistent state, and the condition of the Gauss problem there."""

    time: float
    q: Any
    v: Any

    def named(self, system: da.System) -> dict[str, float]:
        symbols = (*system.coordinates, *system.velocities)
        state = {s.name: float(x) for s, x in zip(symbols, (*self.q, *self.v), strict=True)}
        return {"t": self.time} | values_of(system) | state


@dataclass
class Comparison:
    """Pairs of forms that were compared, the worst relative difference of each, and at how many
    states each form spoke.
    """

    systems: int = 0
    pairs: int = 0
    worst: float = 0.0
    where: str = ""
    by_pair: dict[tuple[str, str], float] = field(default_factory=dict)
    heard: Counter[str] = field(default_factory=Counter)
    silent: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def add(self, pair: tuple[str, str], gap: float, where: str, limit: float) -> None:
        self.pairs += 1
        self.by_pair[pair] = max(gap, self.by_pair.get(pair, 0.0))
        if not gap <= self.worst:
            self.worst, self.where = gap, f"{' and '.join(pair)}: {where}"
        if not gap <= limit:
            self.faults.append(f"{' and '.join(pair)} differ by {gap:.1e}: {where}")


class Interpreted(Kernel):
    """The blocks of a record as they are derived, not shortened; the forms of a system are lowered
    into one graph.
    """

    def __init__(self, equations: Equations) -> None:
        system = equations.system
        self.equations, self.backend = equations, "numpy"
        self.algebra = system.__dict__.get("_shared_algebra")
        if self.algebra is None:
            self.algebra = GraphAlgebra()
            object.__setattr__(system, "_shared_algebra", self.algebra)
        self.graph = equations.blocks(self.algebra)
        self.parameters: Any = tuple(system.parameters)
        self.free_inputs: Any = tuple(s for s, value in system.inputs.items() if value is None)
        self.n_state, self.n, self.m = (
            len(equations.state),
            len(equations.unknowns),
            len(equations.row_names),
        )
        self._programs: Any = {}


def values(system: da.System) -> Any:
    """The values of a random system's parameters as a column."""
    return np.array(list(values_of(system).values()))


# -- states ----------------------------------------------------------------------------------------


def instants(system: da.System, seed: int, count: int) -> list[Instant]:
    """Random states that obey the constraints of a system, where their rows are well apart."""
    kernel = kernel_of(da.derive(system, "lagrange"))
    g, n, p = kernel.graph, len(system.coordinates), values(system)
    q, v = kernel.algebra.vector(system.coordinates), kernel.algebra.vector(system.velocities)
    functions = [
        (
            ca.Function(
                "f",
                kernel._inputs(),
                [ca.densify(block) for block in (residual, ca.jacobian(residual, symbols))],
            )
            if residual.numel()
            else None
        )
        for residual, symbols in ((g.position.residual, q), (g.velocity.residual, v))
    ]
    blocks = ca.Function("blocks", kernel._inputs(), [ca.densify(g.metric), ca.densify(g.rows)])
    random = np.random.default_rng(seed)
    found: list[Instant] = []
    for _ in range(60):
        time, y = float(random.uniform(0, 2)), random.uniform(-0.9, 0.9, 2 * n)
        if (
            all(newton(f, time, y, p, range(k * n, (k + 1) * n)) for k, f in enumerate(functions))
            and np.abs(y).max() < 4
        ):
            metric, rows = (np.asarray(b, dtype=float) for b in blocks(time, y, p, [], []))
            if is_generic(metric, rows):
                found.append(Instant(time, y[:n], y[n:]))
        if len(found) == count:
            return found
    return found


def newton(function: Any, time: float, y: Any, p: Any, places: range) -> bool:
    if function is None:
        return True
    for _ in range(30):
        value, rows = (np.asarray(block, dtype=float) for block in function(time, y, p, [], []))
        if np.abs(value).max() < 2e-15:
            return True
        step = np.linalg.lstsq(rows, -value.ravel(), rcond=1e-8)[0]
        y[places] += step * min(1.0, 1.0 / (np.abs(step).max() + 1e-300))
        if np.abs(step).max() < 1e-15:
            return bool(np.abs(value).max() < 1e-13)
    return bool(np.abs(value).max() < 1e-13)


def is_generic(metric: Any, rows: Any) -> bool:
    """Whether the mass matrix is regular and the rank of the rows is beyond doubt."""
    if np.linalg.cond(metric) > 1e3:
        return False
    if not len(rows):
        return True
    scaled = np.linalg.solve(np.linalg.cholesky(metric), rows.T).T
    sizes = np.linalg.svd(scaled / np.linalg.norm(scaled, axis=1, keepdims=True), compute_uv=False)
    return bool(np.all((sizes > LEAST_ANGLE) | (sizes < 1e-13)))


# -- forms -----------------------------------------------------------------------------------------


def evidence(equations: Equations, instant: Instant) -> dict[str, Any] | None:
    """What a form says at a state (q, q_dot): accelerations, total reaction and its power; None
    where it is silent.
    """
    if equations.rechoose is not None:
        try:
            equations = equations.rechoose(instant.named(equations.system))
        except FormError:
            return None
    kernel = kernel_of(equations)
    y = state_with_velocities(kernel, instant.time, instant.q, instant.v, values(equations.system))
    return said(kernel, instant.time, y)


def symbols_at(equations: Equations, instant: Instant) -> dict[str, float]:
    """The state of a form at (q, q_dot), by name, in the choice of independent velocities that the
    form makes there.
    """
    record = (
        equations
        if equations.rechoose is None
        else equations.rechoose(instant.named(equations.system))
    )
    y = state_with_velocities(
        kernel_of(record), instant.time, instant.q, instant.v, values(record.system)
    )
    return {symbol.name: float(value) for symbol, value in zip(record.state, y, strict=True)}


def kernel_of(equations: Equations) -> Kernel:
    """The kernel of a record, made once."""
    kept = equations.__dict__.get("_interpreted")
    if kept is None:
        kept = Interpreted(equations)
        object.__setattr__(equations, "_interpreted", kept)
    return kept


def said(kernel: Kernel, time: float, y: Any) -> dict[str, Any] | None:
    """The quantities at a state in the symbols of the form."""
    functions = kernel.__dict__.get("_functions")
    g = kernel.graph
    if functions is None:
        blocks = [
            g.metric,
            g.force,
            g.rows,
            g.right,
            g.chart_quality if g.chart_quality is not None else ca.SX(1),
        ]
        total = ca.SX(g.accelerations.numel(), 1)
        for force in g.reactions.values():
            total = total + force
        observed = [g.accelerations, total, g.velocities, g.energy, g.momenta]
        functions = kernel.__dict__["_functions"] = (
            ca.Function("blocks", kernel._inputs(), [ca.densify(ca.SX(b)) for b in blocks]),
            ca.Function(
                "observed",
                kernel._inputs(kernel._unknown_symbols),
                [ca.densify(ca.SX(b)) for b in observed],
            ),
        )
    p = values(kernel.equations.system)
    metric, force, rows, right, quality = (
        np.asarray(b, dtype=float) for b in functions[0](time, y, p, [], [])
    )
    if not abs(quality) > LEAST_QUALITY**2:
        return None
    try:
        solution = solve(
            metric,
            force.ravel(),
            rows,
            right.ravel(),
            definite=kernel.equations.is_definite,
            gauge=kernel.equations.has_gauge,
        )
    except SingularError:
        return None
    w = np.concatenate([solution.z, solution.multipliers])
    a, reaction, v, energy, p = (
        np.asarray(b, dtype=float).ravel() for b in functions[1](time, y, p, [], w)
    )
    found = {"accelerations": a, "energy": energy, "momenta": p}
    if len(rows) or kernel.equations.system.constraints:
        found |= {"reaction": reaction, "power": np.array([reaction @ v])}
    return found


def gap_of(first: dict[str, Any], second: dict[str, Any]) -> tuple[float, str]:
    """The worst relative difference, and of what; the power is measured by the size of the
    reaction.
    """
    worst, what = 0.0, "accelerations"
    for key in first:
        size = max(
            1.0,
            *(
                np.abs(x["reaction" if key == "power" else key]).max(initial=0.0)
                for x in (first, second)
            ),
        )
        gap = float(np.abs(first[key] - second[key]).max(initial=0.0) / size)
        if not gap <= worst:
            worst, what = gap, key
    return worst, what


def derived(system: da.System, form: str) -> Equations | None:
    """The record of a form, or None where a hypothesis fails."""
    try:
        return da.derive(system, form)
    except FormError:
        return None


def compared(
    comparison: Comparison, system: da.System, seed: int, label: str, limit: float, count: int = 2
) -> Iterator[Instant]:
    """Every form that applies against the first that speaks, Lagrange's, at consistent states,
    which are given back one by one.

    Two forms that agree with a third to the limit agree with each other to twice of it.
    """
    records = {
        form: record
        for form in FORMS
        if form not in EXTREMAL and (record := derived(system, form)) is not None
    }
    comparison.systems += 1
    for number, instant in enumerate(instants(system, seed, count)):
        words = {form: evidence(record, instant) for form, record in records.items()}
        known = {form: word for form, word in words.items() if word is not None}
        comparison.heard.update(list(known))
        comparison.silent.update(words.keys() - known.keys())
        first = next(iter(known), None)
        for form in [form for form in known if form != first]:
            gap, what = gap_of(known[first], known[form])
            comparison.add((first, form), gap, f"{what} of {label}, state {number + 1}", limit)
        yield instant


def worst_gap(system: da.System, records: list[Equations], seed: int = 1, count: int = 2) -> float:
    """The largest relative difference of some records from Lagrange's equations at random
    consistent states.
    """
    plain = da.derive(system, "lagrange")
    found = []
    for instant in instants(system, seed, count):
        expected = evidence(plain, instant)
        for record in records:
            word = evidence(record, instant)
            assert expected is not None and word is not None, record.form
            found.append(gap_of(expected, word)[0])
    assert len(found) == count * len(records)
    return max(found)


def numbered(system: da.System, values: Mapping[str, float]) -> da.System:
    """A system with numbers in the place of its parameters, and of its free inputs."""
    table = {symbol: sympy.Float(values[symbol.name]) for symbol in system.parameters}
    table |= {symbol: sympy.Float(0.3) for symbol, value in system.inputs.items() if value is None}
    for symbol, value in system.inputs.items():
        table[symbol] = table.get(symbol, value).xreplace(table)

    def put(expression: Any) -> Any:
        return None if expression is None else expression.xreplace(table)

    bundle = {symbol: put(value) for symbol, value in system.bundle.items()}
    if system.hamiltonian is not None:
        energies = {"hamiltonian": put(system.hamiltonian)}
    elif bundle:
        energies = {"lagrangian": put(system.bundle_lagrangian), "bundle": bundle}
    elif system.kinetic is not None:
        energies = {"kinetic": put(system.kinetic), "potential": put(system.potential)}
    else:
        energies = {"lagrangian": put(system.lagrangian)}
    constraints = []
    for constraint in system.constraints:
        changes: dict[str, Any] = {"expression": put(constraint.expression)}
        if isinstance(constraint, ImageConstraint):
            changes["velocities"] = {q: put(value) for q, value in constraint.velocities.items()}
        constraints.append(replace(constraint, **changes))
    forces = {q: put(value) for q, value in system.forces.items()}
    return da.System(
        system.coordinates,
        constraints=constraints,
        forces=forces,
        dissipation=put(system.dissipation),
        **energies,
    )


def numbers_of(algebra: GraphAlgebra, block: Any, seed: int) -> Any:
    """A block of a graph at random values of all its symbols."""
    function = ca.Function("block", list(algebra.symbols.values()), [ca.densify(ca.SX(block))])
    point = np.random.default_rng(seed).uniform(0.3, 1.1, len(algebra.symbols))
    return np.asarray(function.call(list(point))[0], dtype=float)


# -- the other principle ---------------------------------------------------------------------------


def extremal_words(
    system: da.System, instant: Instant, chi: Any
) -> dict[str, dict[str, Any] | None]:
    """The vakonomic form with multipliers chi, and Pontryagin's with the costate xi = p + chi .
    f_v, at one state.
    """
    vakonomic = kernel_of(da.derive(system, "vakonomic"))
    y = np.concatenate([instant.q, instant.v, chi])
    g, v = vakonomic.graph, vakonomic.algebra.vector(system.velocities)
    augmented = g.momenta + ca.jacobian(g.velocity.residual, v).T @ vakonomic.algebra.vector(
        costates(system)
    )
    costate = ca.Function("xi", vakonomic._inputs(), [augmented])
    xi = np.asarray(costate(instant.time, y, values(system), [], []), dtype=float).ravel()
    words = {"vakonomic": said(vakonomic, instant.time, y)}
    pontryagin = derived(system, "pontryagin")
    if pontryagin is not None:
        words["pontryagin"] = said(
            kernel_of(pontryagin), instant.time, np.concatenate([instant.q, xi])
        )
    return words


# -- two statements of one system ------------------------------------------------------------------


def against(
    comparison: Comparison,
    system: da.System,
    other: da.System,
    instant: Instant,
    names: tuple[str, str],
    label: str,
) -> None:
    """Two statements of one system, each in the form it was stated for and in a form of its own."""
    here = evidence(da.derive(system), instant)
    assert here is not None
    forms = ["implicit-lagrangian", "implicit-hamiltonian"] if other.image else [None, "maggi"]
    for form in forms:
        if form == "maggi" and set("nm") & {c.name[0] for c in other.constraints}:
            continue
        record = da.derive(other) if form is None else derived(other, form)
        there = None if record is None else evidence(record, instant)
        if there is not None:
            gap, what = gap_of(here, there)
            comparison.add(names, gap, f"{what} of {label}, {form}", LIMIT)


def extremals(
    comparison: Comparison, system: da.System, instant: Instant, number: int, label: str
) -> None:
    """The vakonomic form and Pontryagin's, and d'Alembert's motion where every constraint is on
    positions.
    """
    chi = np.random.default_rng(number).normal(size=len(system.bilateral))
    words = {
        form: word
        for form, word in extremal_words(system, instant, chi).items()
        if word is not None
    }
    if all(isinstance(c, HolonomicConstraint) for c in system.bilateral):
        words["lagrange"] = evidence(da.derive(system, "lagrange"), instant) or {}
    for first, second in pairwise(words):
        gap, what = gap_of(words[first], words[second])
        comparison.add((first, second), gap, f"{what} of {label}", LIMIT)


def by_speeds(system: da.System, seed: int) -> da.System:
    """A system whose constraints give some velocities by the others, restated by speeds; one speed
    too many now and then.
    """
    random = np.random.default_rng(seed)
    given: dict[Any, Any] = {}
    for constraint in system.bilateral:
        bound = next(
            v
            for v in reversed(system.velocities)
            if constraint.expression.has(v) and v not in given
        )
        given[bound] = bound - constraint.expression
    free = [v for v in system.velocities if v not in given]
    speeds = [da.Speed(f"w{k + 1}") for k in range(len(free) + int(random.integers(0, 2)))]
    turned = {
        v: sum(
            (float(random.uniform(0.2, 0.9)) + sympy.sin(free[0].coordinate) / 5 + int(k == j)) * w
            for k, w in enumerate(speeds)
        )
        for j, v in enumerate(free)
    }
    velocities = {
        v.coordinate: sympy.expand(given.get(v, v).xreplace(turned)) for v in system.velocities
    }
    return system.replacing(constraints=[da.image(velocities, speeds)])
