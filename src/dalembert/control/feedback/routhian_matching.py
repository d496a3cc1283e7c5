r"""Controlled Routhians: matching for nonholonomic systems with a reduced Routhian.

    R~ = 1/2 g~ r_dot r_dot - 1/2 I^ab p_a p_b - U~(r),    d/dt dR~/dr_dot^al = nabla~_al R~,
    p_dot_a = D^b_a,al p_b r_dot^al

match the controlled equations just where (Bloch and others, Supplement, 9.4.28, with U for V and
sums over b, c symmetrised)

    g_1c T^c_ab = 0,   h_1^al d_al U~ = d_1 U,
    h_1^al (1/2 d_al I^bc + D~^c_a,al I^ab) = 1/2 d_1 I^bc + D^c_a1 I^ab.

D~ is free: N_al = (1/2 d_al I^bc + D~^c_a,al I^ab) p_b p_c may be any form with lambda . N = 1/2
d_1 I^bc p_b p_c. The metric of the shape depends on the actuated coordinate y (`actuated_shape`).
Strictly, without forces beside R~, the first condition asks for a field lambda that preserves g_1
as well, and where dg_11/dy vanishes at the steady shape only lambda = const d_x is left, which
stabilises nothing; `strict` holds what was found. With a force Y of the closed loop that does no
work it can be solved.

The closed loop is judged by its linearised reduced equations: zero eigenvalues belong to the
momenta, and Lyapunov and Malkin's theorem says that motions nearby tend to steady motions nearby.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...algebra.structure import Verdict, conjunction
from ...analysis.named_blocks import NamedBlocks
from ...analysis.stability.stability import Stability, stability
from ...analysis.symmetry.nonholonomic_routhian import NonholonomicRouthian
from ...analysis.tables import Report, Section
from ...errors import DalembertError, FormError
from ...formulations.equations import Equations
from ...formulations.reduction.bundle_equations import bundle_of, equations_on
from ...model.symbols import inputs as input_symbols
from ...model.system import System
from ...model.values import numbers_by_name
from ...typing import ComplexArray, Numbers, Values
from .matching_ansatz import ansatz
from .matching_classes import UnsuitedError, actuated_shape, slowest
from .mechanics import FITTED, Mechanics, read_mechanics, vanishing_at
from .shaped import MatchingCertificate, Shaped, bend, in_graph, inverse, part_of

__all__ = ["RouthianMatching", "closed_on_quotient", "match_routhian"]

#: Tried: places of lambda between its limits, shares of N along both axes, stiffnesses, dampings.
SHARES, FORMS = (0.25, 0.5, 0.75), (0.0, 0.5, 1.0)
SCALES, STIFFER = np.geomspace(1e-2, 1e2, 33), np.geomspace(0.05, 20.0, 17)
#: Random shapes and momenta for the residual of the third condition, and their distance from zero.
STATES, SPREAD = 6, 0.4


@dataclass(frozen=True, eq=False, repr=False)
class RouthianMatching(Report):
    """A controlled Routhian with its closed loop.

    Attributes
    ----------
    system : System
        The whole nonholonomic system with the input imposed (9.4.31).
    control : expression
        u of (q, q_dot).
    auxiliary : System
        L = R at p = p^0, the holonomic system of the document.
    shaped : Shaped
        g~ and U~, with Y.
    form : tuple of expressions
        N(r, p), which stands for D~.
    certificate : MatchingCertificate
        Of the first two conditions of (9.4.28).
    momentum_residual : float
        Of the third, at random shapes and momenta.
    conditions : Verdict
        Of all conditions, with (9.4.26) and those of the Routhian: proved, or not established.
    strict : str
        What stands in the way of matching without Y.
    undamped : array of complex
        Eigenvalues of the linearised reduced equations without damping.
    stability : Stability
        Of the damped closed loop at the steady motion, on D/G.
    damping : float
    """

    system: System
    control: sympy.Expr
    auxiliary: System
    shaped: Shaped
    form: tuple[sympy.Expr, ...]
    certificate: MatchingCertificate
    momentum_residual: float
    conditions: Verdict
    strict: str
    undamped: ComplexArray
    stability: Stability
    damping: float

    def _title(self) -> str:
        return f"{self.system.name}: controlled Routhian"

    def _sections(self) -> list[Section]:
        kinetic, potential = self.shaped.definiteness()
        residuals = f"{self.certificate.residual:.1e}, of the momenta {self.momentum_residual:.1e}"
        variation = ", ".join(f"{v:.4g}" for v in potential)
        lines = [
            ("without Y", self.strict),
            ("with Y", f"residuals {residuals}"),
            ("conditions", str(self.conditions)),
            ("g~", ", ".join(f"{v:.4g}" for v in kinetic)),
            ("U~", f"{variation} (second variation, with p at rest)"),
            ("damping", f"d = {self.damping:.6g}"),
            ("undamped", ", ".join(_written(v) for v in self.undamped)),
            ("damped", ", ".join(_written(v) for v in self.stability.linearisation.eigenvalues)),
            (self.stability.verdict, self.stability.theorem),
        ]
        return [("Nonholonomic matching", lines)]


def _written(value: complex) -> str:
    return f"{value.real:.4g}{value.imag:+.4g}i" if abs(value.imag) > 1e-9 else f"{value.real:.4g}"


def match_routhian(
    routhian: NonholonomicRouthian,
    at: Values,
    *,
    damping: float | None = None,
    parameters: Values | None = None,
) -> RouthianMatching:
    """A control by a controlled Routhian for the steady motion r = 0, p = p^0 (or r given in `at`).

    Parameters
    ----------
    routhian : NonholonomicRouthian
        Of a system with two shape coordinates, one of them pushed by the one input.
    at : mapping of momentum symbols (and shape coordinates) to values
    damping : float, optional
        d; by default that of the fastest decay.

    Raises
    ------
    FormError
        Where nabla R differs from dR at p^0 (9.4.26), or matching fails; the residual is named.

    Examples
    --------
    A rod that balances by a limb, with a rotor that turns freely.

    >>> import dalembert as da
    >>> theta, kappa, turn = da.coordinates("theta kappa turn")
    >>> u, cos = da.inputs("u"), sympy.cos
    >>> limb = theta.dot - kappa.dot
    >>> kinetic = theta.dot**2 + limb**2/8 - theta.dot*limb*cos(kappa)/2 + turn.dot**2/2
    >>> weight = 10*cos(theta) - 3*cos(kappa - theta)
    >>> given = {"potential": weight, "forces": {kappa: u}, "inputs": {u: 0}}
    >>> rod = da.System([theta, kappa, turn], kinetic=kinetic, **given)
    >>> routhian = da.symmetry.nonholonomic_routhian(rod, {"spin": {turn: 1}})
    >>> found = match_routhian(routhian, {"p_1": 0.5}, damping=1.0)
    >>> found.certificate.residual < 1e-10, found.stability.verdict
    (True, 'stable')
    """
    values = numbers_by_name(routhian._values, parameters)
    given = numbers_by_name(at)
    flat = _flatness(routhian, given, values)
    steady = {p: sympy.nsimplify(given.get(p.name, 0.0)) for p in routhian.momenta}
    p = sympy.Matrix(routhian.momenta)
    turning = (p.T * inverse(sympy.Matrix(routhian.inertia)) * p)[0] / 2
    auxiliary = _auxiliary(routhian, steady, turning)
    shape = {q.name: given.get(q.name, 0.0) for q in routhian.shape}
    here = _mechanics(auxiliary, shape, values)
    at_rest = _auxiliary(routhian, dict.fromkeys(steady, sympy.Integer(0)), turning)
    task = _RouthianTask(routhian, turning, steady, values)
    remedy = "use da.control.place_poles near the steady motion"
    try:
        chosen = task.searched(here, _mechanics(at_rest, shape, values), damping)
    except UnsuitedError as error:
        what = "The Routhian belongs to no class of matching"
        raise FormError(what, str(error).rstrip("."), remedy) from error
    certificate = chosen.shaped.certificate()
    momenta, residual = task.momentum_condition(chosen)
    own, whole = routhian.conditions, certificate.verdict
    conditions = conjunction(
        {"Routhian": own, "(9.4.26)": flat, "shape": whole, "momenta": momenta}
    )
    if conditions.is_refuted or not max(certificate.residual, residual) <= FITTED:
        what = "The matching conditions of the Routhian were not solved"
        seen = f"residuals {certificate.residual:.2g} and {residual:.2g}; {conditions}"
        raise FormError(what, seen, remedy)
    control = task.control(chosen)
    name = next(iter(routhian.bundle.system.inputs)).name
    closed = routhian.bundle.system.driven({name: control})
    point = {**shape, **{symbol.name: float(value) for symbol, value in steady.items()}}
    undamped = _LinearisedLoop(task, chosen).eigenvalues(0.0)
    judged = stability(closed_on_quotient(routhian, closed), point, values)
    return RouthianMatching(
        closed, control, auxiliary, chosen.shaped, tuple(chosen.form), certificate, residual,
        conditions, _strict(here), undamped, judged, chosen.damping,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Chosen:
    """Energies, N and d."""

    shaped: Shaped
    form: sympy.Matrix
    damping: float


def _flatness(
    routhian: NonholonomicRouthian, given: Mapping[str, float], values: Mapping[str, float]
) -> Verdict:
    """(9.4.26), for all shapes."""
    field = routhian._coefficients
    algebra, table = field.reduced.algebra, field.in_graph
    at = {x.name: given.get(x.name, 0.0) for x in routhian.momenta}
    p = [algebra.scalar(x) if at[x.name] else ca.SX(0) for x in routhian.momenta]
    momenta = np.fromiter(p, object)
    terms = np.einsum("bax,b,ac,c->x", table.transport, momenta, table.inverse, momenta)
    found = vanishing_at(algebra, ca.vertcat(*terms), {**values, **at})
    if found.is_refuted:
        what = "nabla R differs from dR at these momenta (9.4.26)"
        raise FormError(what, found.grounds, "choose others")
    return found


def _auxiliary(
    routhian: NonholonomicRouthian, momenta: Mapping[sympy.Symbol, sympy.Expr], turning: sympy.Expr
) -> System:
    """L = R at p = p^0 with the input of the system."""
    v = sympy.Matrix([q.dot for q in routhian.shape])
    own = routhian.bundle.system
    (u,) = own.inputs if len(own.inputs) == 1 else (input_symbols("u"),)
    return System(
        coordinates=list(routhian.shape),
        kinetic=(v.T * sympy.Matrix(routhian.shape_metric) * v)[0] / 2,
        potential=routhian.potential + turning.xreplace(dict(momenta)),
        forces={q: own.forces[q] for q in routhian.shape if q in own.forces},
        inputs=[u],
        name=f"{own.name} at fixed momenta",
    )


def _mechanics(
    auxiliary: System, shape: Mapping[str, float], values: Mapping[str, float]
) -> Mechanics:
    """What matching needs of a system at fixed momenta, with the values of all parameters."""
    own = {symbol.name for symbol in auxiliary.parameters}
    given = {name: value for name, value in values.items() if name in own}
    found = read_mechanics(auxiliary, None, shape, given)
    return replace(found, values=dict(values))


class _LinearisedLoop:
    """The reduced closed loop at the steady motion: M r'' + d Y^T Y r' + (K + P D p^0) r = 0."""

    def __init__(self, task: _RouthianTask, chosen: _Chosen) -> None:
        shaped, here = chosen.shaped, chosen.shaped.mechanics
        q, p = list(here.coordinates), list(task.routhian.momenta)
        form = list(chosen.form)
        steady = {x.name: float(value) for x, value in task.steady.items()}
        wide = replace(here, equilibrium={**here.equilibrium, **steady})
        at = {x: here.equilibrium[x.name] for x in q}
        transport = task.routhian.transport(at, task.values)
        momenta = np.array([float(task.steady[x]) for x in p])
        carried = np.einsum("bax,b->ax", transport, momenta)  # dp_a / dr^al
        bent = here.hessian(shaped.potential) + wide.jacobian(form, q)
        self.stiffness = bent + wide.jacobian(form, p) @ carried
        self.metric = here.numbers(shaped.metric)
        lifted = (self.metric @ np.linalg.inv(here.numbers(here.metric))).T
        self.passive = lifted[list(here.actuated)]

    @property
    def unit(self) -> float:
        """A scale of d."""
        size = np.sqrt(abs(np.trace(self.stiffness)) * np.trace(self.metric))
        return float(size / np.trace(self.passive.T @ self.passive))

    def eigenvalues(self, damping: float, extra: Numbers = 0.0) -> ComplexArray:
        """Of the shape with an extra stiffness, by real part; the momenta add as many zeros."""
        n = len(self.metric)
        forces = [self.stiffness + extra, damping * self.passive.T @ self.passive]
        lower = -np.linalg.solve(self.metric, np.hstack(forces))
        values = np.linalg.eigvals(np.vstack([np.hstack([np.zeros((n, n)), np.eye(n)]), lower]))
        ordered: ComplexArray = values[np.argsort(-values.real)].astype(complex)
        return ordered


@dataclass(frozen=True, eq=False)
class _RouthianTask:
    """A Routhian with I^ab p_a p_b / 2, its momenta p^0 at the steady motion, and values."""

    routhian: NonholonomicRouthian
    turning: sympy.Expr
    steady: Mapping[sympy.Symbol, sympy.Expr]
    values: Mapping[str, float]

    def searched(self, here: Mechanics, bare: Mechanics, damping: float | None) -> _Chosen:
        """The fastest decay among tried gains; g~ and U~ match g and U, N the momenta."""
        best, found = -1e-6, None
        (i,), (j,) = here.unactuated, here.actuated
        pair = (here.coordinates[i], here.coordinates[j])
        x, y = (q - sympy.nsimplify(here.equilibrium[q.name]) for q in pair)
        derivative = sympy.diff(self.turning, here.coordinates[i])
        for share in SHARES:
            base = actuated_shape(bare, {"share": share})
            r, eps = base.gains["direction"], base.gains["stiffness"]
            spring = (x - r * y) ** 2 / 2
            more = here.hessian(spring)
            below = here.metric[i, j] + sympy.Float(r) * here.metric[i, i]
            for along in FORMS:
                form = sympy.zeros(2, 1)
                form[i], form[j] = derivative * below * (1 - along) / r, derivative * below * along
                loop = _LinearisedLoop(self, _Chosen(base, form, 0.0))
                for extra in eps * (STIFFER - 1):
                    tried = [damping] if damping is not None else list(SCALES * loop.unit)
                    rates = [slowest(loop.eigenvalues(d, extra * more), 40.0) for d in tried]
                    k = int(np.argmin(rates))
                    if rates[k] < best:
                        best, found = rates[k], (base, form, extra, spring, tried[k])
        if found is None:
            what = "No gains that were tried stabilise the steady motion"
            raise FormError(what, f"decay {best:.2g}", "use da.control.place_poles")
        base, form, extra, spring, d = found
        gains = {**base.gains, "stiffness": base.gains["stiffness"] + extra}
        energy = base.potential + extra * spring
        shaped = Shaped(bare, base.kind, base.metric, energy, base.gyroscopic, gains)
        return _Chosen(shaped, form, float(d))

    def momentum_condition(self, chosen: _Chosen) -> tuple[Verdict, float]:
        """lambda . N against the derivative of I^bc p_b p_c / 2 by the unactuated coordinate."""
        here, algebra, random = chosen.shaped.mechanics, GraphAlgebra(), np.random.default_rng(3)
        (i,) = here.unactuated
        own, new = (in_graph(algebra, matrix) for matrix in (here.metric, chosen.shaped.metric))
        form = algebra.vector(list(chosen.form))
        lifted = algebra.part(own @ algebra.solve_square(new, form), [i], [0])
        wanted = algebra.vector([sympy.diff(self.turning, here.coordinates[i])])
        names = [x.name for x in (*here.coordinates, *self.routhian.momenta)]
        table = {"left": lifted - wanted, "wanted": wanted}
        blocks = NamedBlocks(algebra, table, [*here.known, *names])
        drawn = random.uniform(-SPREAD, SPREAD, (STATES, len(names)))
        found = [blocks({**here.values, **dict(zip(names, state, strict=True))}) for state in drawn]
        left, terms = (float(np.max(np.abs([one[name] for one in found]))) for name in table)
        return vanishing_at(algebra, lifted - wanted, here.values), part_of(left, terms)

    def control(self, chosen: _Chosen) -> sympy.Expr:
        """(9.4.29) with dissipation, in the symbols (q, q_dot) of the whole system."""
        shaped, here = chosen.shaped, chosen.shaped.mechanics
        q, v = here.coordinates, here.velocities
        (j,) = here.actuated
        new = bend(shaped.metric, q, v) + here.derivatives(shaped.potential)
        wanted = new + chosen.form - shaped.gyroscopic
        own = here.derivatives(here.potential + self.turning) + bend(here.metric, q, v)
        damped = sympy.Float(chosen.damping) * shaped.passive_velocities[0]
        force = (own - shaped.quotient * wanted)[j] - damped
        return force.xreplace(_momenta(self.routhian)) / here.acts[0, 0]


def _strict(here: Mechanics) -> str:
    """What the conditions without Y come to, in the class of the ansatz."""
    try:
        found = ansatz(here, {})
    except DalembertError as error:
        return f"not solved in the class of the ansatz: {error}"
    certificate, (kinetic, potential) = found.certificate(), found.definiteness()
    if certificate.verdict.is_refuted or not certificate.residual <= FITTED:
        seen = f"residual {certificate.residual:.2g}, {certificate.verdict.grounds}"
        return f"not solved in the class of the ansatz: {seen}"
    if min(kinetic[0], potential[0]) <= 0 <= max(kinetic[-1], potential[-1]):
        g, U = np.round(kinetic, 6).tolist(), np.round(potential, 6).tolist()
        return f"solved only by indefinite energies: g~ {g}, U~ {U}"
    return f"solved ({certificate.verdict.status}), residual {certificate.residual:.1e}"


def _momenta(routhian: NonholonomicRouthian) -> dict[sympy.Symbol, sympy.Expr]:
    """p_a = dL/dq_dot . X_a for the fields X_a of the section."""
    bundle = routhian.bundle
    L, v = bundle.system.lagrangian, bundle.system.velocities
    fields = list(bundle.frame.fields.values())
    table, count = {}, range(len(fields))
    for a, symbol in enumerate(routhian.momenta):
        terms = []
        for i, w in enumerate(v):
            field = sympy.Add(*(bundle.section[b, a] * fields[b][i] for b in count))
            if field != 0:
                terms.append(sympy.diff(L, w) * field)
        table[symbol] = sympy.Add(*terms)
    return table


def closed_on_quotient(routhian: NonholonomicRouthian, closed: System) -> Equations:
    """The closed loop on D/G."""
    bundle = routhian.bundle
    laws = {u: value for u, value in closed.inputs.items() if value is not None}
    forces = {q: force.xreplace(laws) for q, force in closed.forces.items()}
    pushed = closed.replacing(forces=forces, inputs=(), outputs={})
    fields, q = bundle.frame.fields.items(), closed.coordinates
    group = {name: dict(zip(q, field, strict=True)) for name, field in fields}
    section = [list(bundle.section.col(a)) for a in range(bundle.section.cols)]
    return equations_on(bundle_of(pushed, group, section=section), reconstruct=False)
