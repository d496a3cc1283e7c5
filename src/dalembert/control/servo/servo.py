r"""Servo constraints: requirements on the motion, and the least control force that holds them.

A requirement phi(q, q_dot, t) = 0 is a constraint whose reaction is a control. Where it does not
hold at the start, it decays with a rate k. With actuators u that act through columns B,

    M q_ddot = Q + B u,        phi_ddot + 2 k phi_dot + k^2 phi = 0

(phi_dot + k phi = 0 where phi contains velocities),

the accelerations must satisfy a + D u = 0, and of all such u the one with the least u^T N u is
taken at each instant:

    u = - N^-1 D^T (D N^-1 D^T)^-1 a

(Udwadia, section 5 and the references there). For N = M^-1 and a force on each coordinate it is the
reaction of an ideal constraint: the Gauss problem of the library; another N is the same problem in
another metric. Few actuators may have to be differentiated for (`inversion.py`): then the index is
higher, and part of the state may move on its own.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack, cast

import numpy as np
import sympy

from ...analysis.tables import Report, Section
from ...errors import ModelError
from ...integrate.motion import Motion
from ...integrate.options import SimulateOptions
from ...integrate.simulate import simulate
from ...model.constraints import Constraint
from ...model.flow_system import Flow
from ...model.symbols import Input, Parameter, as_expression, as_matrix, t
from ...model.system import System
from ...model.values import numbers_by_name
from ...runtime.gauss.constrained_solve import rank
from ...typing import BySymbol, Expression, Matrix, Span, Symbols, Values, Vector
from .affine import AffineField, affine_field, small_solve
from .internal_dynamics import InternalDynamics, held_state, linearised_internal_dynamics
from .inversion import Inversion, invert

__all__ = ["Servo", "servo"]


@dataclass(frozen=True, repr=False)
class Servo(Report):
    """A closed loop that holds requirements.

    Attributes
    ----------
    system : System or Flow
        The closed loop: the inputs are imposed, ``error_<name>`` and ``effort`` = u^T N u are
        outputs.
    plant : System or Flow
        The same with its inputs free.
    kind : "underdetermined", "exact" or "underactuated"
        More actuators than independent requirements (the weight decides); as many, each answered at
        once; or the actuators reach some requirements through the same combination only, so that
        these must be differentiated further.
    first_rank : int
        The rank of the actuators' rows where they appear for the first time.
    degrees : mapping of name to int
        Relative degrees: how many differentiations each requirement takes.
    internal : int
        The dimension of the internal dynamics, states that the requirements do not determine.
    redundant : tuple of str
        Requirements that follow from the others.
    efforts : mapping of Input to expression
    weight : sympy.Matrix
        N.
    """

    system: System | Flow
    plant: System | Flow
    kind: str
    first_rank: int
    degrees: Mapping[str, int]
    internal: int
    redundant: tuple[str, ...]
    efforts: Mapping[Input, sympy.Expr]
    weight: sympy.MatrixBase
    requirements: Mapping[str, tuple[sympy.Expr, sympy.Expr]] = field(repr=False)
    dynamics: AffineField = field(repr=False)
    inversion: Inversion = field(repr=False)

    @property
    def right(self) -> sympy.MatrixBase:
        """a of the rows a + D u = 0, (m x 1)."""
        return self.inversion.right

    @property
    def matrix(self) -> sympy.MatrixBase:
        """D, (m x k)."""
        return self.inversion.matrix

    @property
    def index(self) -> int:
        """The index of the differential-algebraic equations: the largest degree and one."""
        return max(self.degrees.values()) + 1

    def rank_at(self, place: Values, parameters: Values | None = None) -> int:
        """The rank of D at a state: below the number of requirements the loop is singular there."""
        values = numbers_by_name(place, parameters)
        probe = type(self.inversion.instants)(values)
        return int(rank(probe.here(list(self.matrix), self.matrix.rows), 1e-9).rank)

    def internal_dynamics(
        self, near: Values, parameters: Values | None = None, time: float = 0.0
    ) -> InternalDynamics:
        """Linearise the internal dynamics about a rest near a state, as they are at `time`."""
        return linearised_internal_dynamics(self, near, parameters, time)

    def start(
        self, near: Values, parameters: Values | None = None, time: float = 0.0
    ) -> dict[str, float]:
        """Find the state next to `near` from which the requirements hold exactly.

        Raises
        ------
        RunError
            Where none is found.
        """
        return held_state(self, near, parameters, time)

    def simulate(self, start: Values, span: Span, **options: Unpack[SimulateOptions]) -> Motion:
        """Simulate the closed loop, after checks of its rank at the start and internal dynamics.

        Raises
        ------
        ModelError
            Where the actuators cannot act at the start.

        Warns
        -----
        UserWarning
            Where the internal dynamics are unstable.
        """
        parameters = cast("Values", options.get("parameters") or {})
        here = self.rank_at({**start, "t": float(span[0])}, parameters)
        if here < self.matrix.rows:
            raise ModelError(
                "The actuators lose their hold on the requirements at the start",
                f"rank {here} of {self.matrix.rows}",
                "start elsewhere, or pass near= so that the combination is chosen for this place",
            )
        found = self.internal_dynamics(start, parameters, float(span[0]))
        if found.verdict == "unstable":
            warnings.warn(
                "The requirements are not minimum phase: the internal dynamics have the eigenvalue "
                f"{max(found.eigenvalues, key=lambda v: v.real):.4g} where they rest",
                stacklevel=2,
            )
        motion: Motion = simulate(self.system, start, span, **options)
        return motion

    def _title(self) -> str:
        return f"Servo of {self.system.name}"

    def _sections(self) -> list[Section]:
        counts = f"{len(self.efforts)} actuators, {self.matrix.rows} requirements"
        free = "none: the state follows the requirements"
        if self.internal:
            free = f"{self.internal} states move on their own"
        lines = [
            ("kind", f"{self.kind}: {counts}, first rank {self.first_rank}"),
            ("degrees", ", ".join(f"{name} {degree}" for name, degree in self.degrees.items())),
            ("index", str(self.index)),
            ("internal", free),
        ]
        if self.redundant:
            lines.append(("redundant", ", ".join(self.redundant)))
        return [("Requirements", lines)]


def servo(
    model: System | Flow,
    requirements: BySymbol[Expression] | Sequence[Expression | Constraint],
    *,
    actuators: Symbols | BySymbol[Values] | None = None,
    weight: str | Matrix | Vector | Expression | None = None,
    rate: Expression | Values = 1,
    near: Values | None = None,
) -> Servo:
    """The closed loop in which a model holds requirements with the least control force.

    Parameters
    ----------
    model : System or Flow
    requirements : mapping of name to expression, or sequence of expressions or constraints
        What must vanish: phi(q, q_dot, t) of a System, phi(x, t) of a Flow.
    actuators : None, sequence of coordinates or inputs, or mapping of name to components
        None: the inputs of the model that have no law, or, where it has none, a force on each
        coordinate (a rate of each symbol). A mapping names control directions B(q).
    weight : None, "gauss", matrix, sequence (its diagonal) or number
        N of the norm u^T N u. None is "gauss", N = B^T M^-1 B, for a force on each coordinate of a
        System, and 1 otherwise.
    rate : expression, or mapping of requirement's name to expression
        k, with which a requirement decays that does not hold at the start.
    near : mapping of symbols and parameters to values
        A place where the loop is to work well: where actuators reach several requirements through
        one combination, it decides which of them is answered at once.

    Raises
    ------
    ModelError
        Where the actuators do not suffice, with the rank seen; where requirements contradict each
        other.

    Examples
    --------
    >>> import dalembert as da
    >>> from sympy import sin
    >>> x, y = da.coordinates("x y")
    >>> m = da.parameters("m", positive=True)
    >>> point = da.System([x, y], kinetic=m/2*(x.dot**2 + y.dot**2), potential=m*y)
    >>> loop = servo(point, {"line": y - x}, rate=3)
    >>> loop.kind, loop.index, loop.internal
    ('underdetermined', 3, 2)
    >>> motion = da.simulate(loop.system, {y: 0.5, x.dot: 1.0}, (0, 12), parameters={m: 2.0})
    >>> bool(abs(motion["error_line"][-1]) < 1e-9), sorted(loop.efforts, key=str)
    (True, [u_x, u_y])
    """
    plant, inputs, full = _actuated(model, actuators)
    dynamics = affine_field(plant, inputs)
    stated = _requirements(requirements, rate, dynamics)
    values = numbers_by_name(near)
    inversion = invert(dynamics, [(name, h, k) for name, (h, k) in stated.items()], values)
    N, inverse = _weight(weight, dynamics, full)
    efforts = dict(zip(inputs, _least(inversion, inverse), strict=True))
    degrees = {chain.name: chain.degree for chain in inversion.chains}
    closed = _closed(plant, efforts, N, {name: h for name, (h, _) in stated.items()})
    return Servo(
        system=closed,
        plant=plant,
        kind=_kind(inversion, len(inputs)),
        first_rank=inversion.first_rank,
        degrees=degrees,
        internal=dynamics.dimension - sum(degrees.values()),
        redundant=inversion.redundant,
        efforts=efforts,
        weight=N,
        requirements=stated,
        dynamics=dynamics,
        inversion=inversion,
    )


def _kind(inversion: Inversion, actuators: int) -> str:
    """Which of the three cases of `Servo.kind` it is."""
    wanted = len(inversion.chains)
    if inversion.first_rank < wanted:
        return "underactuated"
    return "underdetermined" if actuators > wanted else "exact"


def _actuated(
    model: System | Flow, actuators: Symbols | BySymbol[Values] | None
) -> tuple[System | Flow, tuple[Input, ...], bool]:
    """The model with its actuators as inputs, these, and whether each coordinate has one."""
    free = tuple(symbol for symbol, law in model.inputs.items() if law is None)
    if actuators is None and free:
        return model, free, False
    full = actuators is None
    if actuators is None:
        actuators = list(model.coordinates)
    if not isinstance(actuators, Mapping):
        listed: list[Any] = [actuators] if isinstance(actuators, sympy.Basic) else list(actuators)
        if listed and all(isinstance(item, Input) for item in listed):
            foreign = [str(item) for item in listed if item not in model.inputs]
            if foreign:
                what = "An actuator is no input of the model"
                raise ModelError(what, ", ".join(foreign), "list it in inputs")
            return model, tuple(listed), False
        wrong = [str(item) for item in listed if item not in model.coordinates]
        if wrong or not listed:
            raise ModelError(
                "Actuators are inputs, coordinates of the model, or a mapping of names to control"
                " directions",
                ", ".join(wrong) or "none",
                "write actuators=[x], or actuators={'thrust': {x: cos(theta), y: sin(theta)}}",
            )
        actuators = {f"u_{q.name}": {q: 1} for q in listed}
    symbols = tuple(Input(str(name)) for name in actuators)
    added = dict.fromkeys(model.coordinates, sympy.S.Zero)
    for symbol, direction in zip(symbols, actuators.values(), strict=True):
        for q, part in direction.items():
            if q not in added:
                what = f"The actuator `{symbol}` acts on {q}, which the model does not have"
                raise ModelError(what, seen=str(q))
            added[q] += as_expression(part) * symbol
    table = {**model.inputs, **dict.fromkeys(symbols)}
    if isinstance(model, Flow):
        rates = {q: model.rates[q] + added[q] for q in model.coordinates}
        return model.replacing(rates=rates, inputs=table), symbols, full
    forces = {q: model.forces.get(q, sympy.S.Zero) + added[q] for q in model.coordinates}
    return model.replacing(forces=forces, inputs=table), symbols, full


def _requirements(
    given: BySymbol[Expression] | Sequence[Expression | Constraint],
    rate: Expression | Values,
    dynamics: AffineField,
) -> dict[str, tuple[sympy.Expr, sympy.Expr]]:
    """Name -> (expression in the symbols of the state, rate)."""
    if isinstance(given, Mapping):
        named = {str(name): value for name, value in given.items()}
    else:
        listed = list(given) if isinstance(given, (list, tuple)) else [given]
        own = [value.name if isinstance(value, Constraint) else "" for value in listed]
        names = [name or f"r{k}" for k, name in enumerate(own, 1)]
        named = dict(zip(names, listed, strict=True))
    if not named:
        remedy = "pass {'name': expression that must vanish}"
        raise ModelError("A servo needs a requirement", remedy=remedy)
    found = {}
    for name, value in named.items():
        expression = as_expression(value.expression if isinstance(value, Constraint) else value)
        if isinstance(value, sympy.Equality):
            expression = value.lhs - value.rhs
        expression = expression.xreplace(dict(dynamics.velocities))
        symbols = {s for s in expression.free_symbols if not isinstance(s, Parameter)}
        foreign = symbols - {*dynamics.symbols, t}
        if foreign:
            what = f"The requirement `{name}` contains {', '.join(sorted(map(str, foreign)))}"
            allowed = "coordinates, velocities (symbols of a flow), parameters and t"
            raise ModelError(what, remedy=f"write it in the {allowed}")
        k = rate.get(name, 1) if isinstance(rate, Mapping) else rate
        found[name] = (expression, as_expression(k))
    return found


def _least(inversion: Inversion, inverse: sympy.MatrixBase) -> list[sympy.Expr]:
    """u = - N^-1 D^T (D N^-1 D^T)^-1 a, or - D^-1 a where D is square."""
    D, a = inversion.matrix, inversion.right
    if D.rows == D.cols:
        return list(-small_solve(D, a))
    pulled = inverse * D.T
    return list(-pulled * small_solve(D * pulled, a))


def _weight(
    weight: str | Matrix | Vector | Expression | None, dynamics: AffineField, full: bool
) -> tuple[sympy.MatrixBase, sympy.MatrixBase]:
    """N and its inverse."""
    count = len(dynamics.inputs)
    mass = dynamics.metric
    if weight is None:
        weight = "gauss" if full and mass is not None else 1
    if isinstance(weight, str):
        if weight != "gauss" or mass is None:
            what = "The weight must be a matrix, a diagonal, a number or 'gauss'"
            raise ModelError(what, weight, "pass a matrix")
        if full:
            return small_solve(mass, sympy.eye(count)), mass
        n = mass.rows
        push = mass * dynamics.fields[n:, :] if not dynamics.velocities else dynamics.fields[n:, :]
        N = push.T * small_solve(mass, push)
        return N, small_solve(N, sympy.eye(count))
    if isinstance(weight, sympy.MatrixBase) or np.ndim(np.asarray(weight, object)) == 2:
        N = sympy.Matrix(as_matrix(weight))
    elif isinstance(weight, (Sequence, np.ndarray)):
        N = sympy.diag(*(as_expression(entry) for entry in weight))
    else:
        N = as_expression(weight) * sympy.eye(count)
    if N.shape != (count, count) or N != N.T:
        raise ModelError(
            "The weight must be a symmetric matrix with a row for each actuator",
            f"{N.rows} x {N.cols} for {count} actuators",
            "order: " + ", ".join(map(str, dynamics.inputs)),
        )
    return N, small_solve(N, sympy.eye(count))


def _closed(
    plant: System | Flow, efforts: Mapping[Input, sympy.Expr], N: sympy.MatrixBase,
    errors: Mapping[str, sympy.Expr],
) -> System | Flow:  # fmt: skip
    """The plant with its inputs imposed, and errors and effort as outputs."""
    u = sympy.Matrix(list(efforts))
    own = plant.own_outputs if isinstance(plant, Flow) else plant.outputs
    outputs = {**own, **{f"error_{name}": h for name, h in errors.items()}}
    outputs.setdefault("effort", (u.T * N * u)[0])
    return plant.replacing(inputs={**plant.inputs, **efforts}, outputs=outputs)
