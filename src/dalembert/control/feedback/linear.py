r"""Linear feedback near an equilibrium: controllable part, poles, quadratic cost, closed loop.

    z_dot = A z + B u,     z = y - y*

with A and B by exact derivatives of the equations (`linearise`).

The span of B, A B, ... is the controllable part: an orthonormal basis V of it gives A V = V A_c, B
= V B_c, and what is left keeps its eigenvalues whatever u does. Zero eigenvalues left over belong
to levels of momenta (or other integrals), which no feedback of this kind moves; they are kept apart
and labelled. u = K z that uses only some symbols E z of the state moves the controllable part as K
E V does, which is all it needs where E V is invertible (Bloch and others, Supplement, 9.4).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import scipy.linalg
import scipy.signal
import sympy

from ...analysis.stability.stability import Linearisation, linearise
from ...analysis.tables import Report, Section
from ...errors import FormError, ModelError, nearest
from ...formulations.equations import Equations
from ...model.scenario import Scenario
from ...model.symbols import by_name
from ...model.system import System
from ...model.values import numbers_by_name
from ...runtime.gauss.constrained_solve import rank
from ...typing import Array, BySymbol, ComplexArray, Symbols, Values
from ..quadratic_weights import quadratic_weights

__all__ = ["LinearFeedback", "LinearParts", "controllable_part", "feedback", "lqr", "place_poles"]

#: Ranks of controllability, and eigenvalues that count as zero beside the largest.
DEPENDENT, ZERO = 1e-9, 1e-7
#: Parts of eigenvalues below this, beside the largest, are not shown; repeated ones lose digits.
ROUNDING = 1e-5


@dataclass(frozen=True, eq=False, repr=False)
class LinearParts(Report):
    """What inputs move of a linearised system with n independent symbols and k inputs.

    Attributes
    ----------
    linearisation : Linearisation
        With `matrix` A and `input_matrix` B.
    basis : array (n, r)
        V, orthonormal, of the controllable part.
    labels : tuple of (complex, str)
        Eigenvalues: "controllable", "momentum level" (zero, and no input moves it) or
        "uncontrollable".
    """

    linearisation: Linearisation
    basis: Array
    labels: tuple[tuple[complex, str], ...]

    @property
    def rank(self) -> int:
        """The dimension of the controllable part."""
        return int(self.basis.shape[1])

    def of_kind(self, label: str) -> ComplexArray:
        """The eigenvalues with a label."""
        return np.array([value for value, kind in self.labels if kind == label])

    def _title(self) -> str:
        return "Linearised system"

    def _sections(self) -> list[Section]:
        line = self.linearisation
        by = ", ".join(line.inputs) or "no inputs"
        held = ("controllable", f"{self.rank} of {len(line.independent)} by {by}")
        return [("Point", line.reported), ("Inputs", [held]), ("Eigenvalues", _shown(self.labels))]


@dataclass(frozen=True, eq=False, repr=False)
class LinearFeedback(Report):
    """u = K z with what it makes of the eigenvalues.

    Attributes
    ----------
    parts : LinearParts
        Without feedback.
    gains : dict of input name to dict of symbol to float
    eigenvalues : tuple of (complex, str)
        Of A + B K, labelled.
    cost : array (r, r) or None
        Of `lqr`: z^T P z is the least cost on the controllable part.
    """

    parts: LinearParts
    gains: dict[str, dict[str, float]]
    eigenvalues: tuple[tuple[complex, str], ...]
    cost: Array | None = field(default=None)

    @property
    def at(self) -> dict[str, float]:
        """The equilibrium by symbol."""
        line = self.parts.linearisation
        return dict(zip(line.symbols, (float(x) for x in line.point), strict=True))

    def _title(self) -> str:
        return "Linear feedback"

    def _sections(self) -> list[Section]:
        rows = {
            u: [f"{k:+.6g}*{symbol}" for symbol, k in row.items()] for u, row in self.gains.items()
        }
        laws = [(u, " ".join(terms)) for u, terms in rows.items()]
        point = self.parts.linearisation.reported
        return [("Point", point), ("Gains", laws), ("Eigenvalues", _shown(self.eigenvalues))]


def _shown(labels: Sequence[tuple[complex, str]]) -> list[tuple[str, str]]:
    lines: dict[str, list[str]] = {}
    tiny = ROUNDING * max((abs(value) for value, _ in labels), default=1.0)
    for value, kind in labels:
        real, turn = (0.0 if abs(part) < tiny else part for part in (value.real, value.imag))
        lines.setdefault(kind, []).append(f"{real:.6g}{turn:+.6g}i" if turn else f"{real:.6g}")
    return [(kind, ", ".join(values)) for kind, values in lines.items()]


Model = TypeVar("Model", System, Scenario)


def _opened(
    model: Equations | System | Scenario, names: Symbols | None
) -> Equations | System | Scenario:
    """The model with inputs left free, so that derivatives by them exist."""
    if isinstance(model, Equations):
        return model
    system: System = model.system if isinstance(model, Scenario) else model
    known = [u.name for u in system.inputs]
    wanted = known if names is None else [str(getattr(u, "name", u)) for u in names]
    for name in wanted:
        if name not in known:
            remedy = f"did you mean {nearest(name, known)}"
            raise ModelError(f"There is no input `{name}`", ", ".join(known) or "none", remedy)
    table = {u: None if u.name in wanted else value for u, value in system.inputs.items()}
    opened = system.replacing(inputs=table)
    return model.replacing(system=opened) if isinstance(model, Scenario) else opened


def controllable_part(
    model: Equations | System | Scenario | Linearisation,
    at: Values | None = None,
    parameters: Values | None = None,
    inputs: Symbols | None = None,
) -> LinearParts:
    """Find the part of the linearised system that inputs move, and label the eigenvalues.

    Parameters
    ----------
    model : Equations, System or Scenario
        Equations on which inputs act must have been derived with these free; reduced ones
        (`reduce`) are welcome. A Linearisation is taken as it is, without `at`, `parameters` and
        `inputs`.
    at, parameters
        As for `linearise`.
    inputs : sequence of inputs or names
        Those that act; all by default.

    Examples
    --------
    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> u = da.inputs("u")
    >>> kinetic = (x.dot**2 + y.dot**2)/2
    >>> given = {"kinetic": kinetic, "potential": y**2 / 2, "forces": {x: u}}
    >>> found = controllable_part(da.System([x, y], inputs=[u], **given))
    >>> found.rank, [kind for _, kind in found.labels]
    (2, ['controllable', 'controllable', 'uncontrollable', 'uncontrollable'])
    """
    if isinstance(model, Linearisation):
        extra = {"at": at, "parameters": parameters, "inputs": inputs}
        given = [name for name, value in extra.items() if value is not None]
        if given:
            remedy = "leave it out, or pass the system"
            raise ModelError("A linearisation already has its point", given[0], remedy)
        line = model
    else:
        line = linearise(_opened(model, inputs), at, parameters)
    A, B = line.matrix, line.input_matrix
    if not B.shape[1]:
        remedy = "state System(inputs=[u], forces={q: u})"
        raise FormError("The system has no free input", "no inputs", remedy)
    n = len(A)
    size = max(1.0, float(np.max(np.abs(line.eigenvalues), initial=0.0)))
    columns = [B / max(float(np.max(np.abs(B))), 1e-300)]
    for _ in range(n - 1):
        columns.append(A @ columns[-1] / size)
    table = np.hstack(columns)
    found = rank(table.T, DEPENDENT)
    basis, _ = np.linalg.qr(table[:, found.independent])
    rest = rank(basis.T, DEPENDENT).null_space if basis.shape[1] else np.eye(n)
    return LinearParts(line, basis, _labels(A, basis, rest, size))


def _labels(A: Array, basis: Array, rest: Array, size: float) -> tuple[tuple[complex, str], ...]:
    """Eigenvalues of the controllable part, then of the quotient by it."""
    moved = [(v, "controllable") for v in _sorted(np.linalg.eigvals(basis.T @ A @ basis))]
    others = _sorted(np.linalg.eigvals(rest.T @ A @ rest)) if rest.shape[1] else []
    kinds = ["momentum level" if abs(v) < ZERO * size else "uncontrollable" for v in others]
    return *moved, *zip(others, kinds, strict=True)


def _sorted(values: Iterable[complex]) -> list[complex]:
    return sorted((complex(v) for v in values), key=lambda v: (-round(v.real, 9), -v.imag))


def place_poles(
    model: Equations | System | Scenario | Linearisation,
    poles: Sequence[complex],
    at: Values | None = None,
    *,
    parameters: Values | None = None,
    inputs: Symbols | None = None,
    symbols: Symbols | None = None,
) -> LinearFeedback:
    """Gains that give the controllable part chosen eigenvalues.

    Parameters
    ----------
    poles : sequence of complex
        As many as the controllable part has dimensions, closed under conjugation. One input:
        Ackermann's formula, so that poles may repeat; several: the robust choice of
        `scipy.signal.place_poles`.
    symbols : sequence of symbols or names
        The symbols of the state that the feedback may use, as many as poles; by default all that
        are independent.

    Raises
    ------
    FormError
        Where the number of poles is not the rank of controllability; the message names both.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> u = da.inputs("u")
    >>> found = place_poles(da.System([x], kinetic=x.dot**2/2, forces={x: u}, inputs=[u]), [-1, -1])
    >>> {symbol: round(gain, 9) for symbol, gain in found.gains["u"].items()}
    {'x': -1.0, 'x_dot': -2.0}
    """
    parts = controllable_part(model, at, parameters, inputs)
    wanted = np.asarray(poles, dtype=complex)
    if not np.all(np.isfinite(wanted)):
        what = "The poles must be finite numbers"
        raise ModelError(what, str(list(poles))[:60], "give each a number")
    if len(wanted) != parts.rank:
        rest = parts.labels[parts.rank :]
        fixed = ", ".join(f"{v.real:.4g}{v.imag:+.4g}i ({kind})" for v, kind in rest)
        given = f"{len(wanted)} poles; controllable with rank {parts.rank} of {len(parts.basis)}"
        raise FormError(
            "The number of poles is not that of the controllable part",
            f"{given}; fixed: {fixed}" if fixed else given,
            f"give {parts.rank} poles",
        )
    A, B = _restricted(parts)
    if B.shape[1] == 1:
        K = _ackermann(A, B, wanted)
    else:
        try:
            K = -scipy.signal.place_poles(A, B, wanted).gain_matrix
        except ValueError as error:
            remedy = "repeat a pole at most rank(B) times"
            raise FormError("The poles cannot be placed", str(error), remedy) from None
    return _feedback(parts, K, symbols)


def lqr(
    model: Equations | System | Scenario | Linearisation,
    at: Values | None = None,
    *,
    weights: Values | None = None,
    effort: float | Values = 1.0,
    parameters: Values | None = None,
    inputs: Symbols | None = None,
    symbols: Symbols | None = None,
) -> LinearFeedback:
    """Gains of least cost int (sum w_i z_i^2 + sum r_k u_k^2) dt on the controllable part.

    Parameters
    ----------
    weights : mapping of symbol to w_i
        1 for symbols that are left out.
    effort : r_k, one number or a mapping of input to number

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> u = da.inputs("u")
    >>> found = lqr(da.System([x], kinetic=x.dot**2/2, forces={x: u}, inputs=[u]))
    >>> {symbol: round(gain, 9) for symbol, gain in found.gains["u"].items()}
    {'x': -1.0, 'x_dot': -1.732050808}
    """
    parts = controllable_part(model, at, parameters, inputs)
    line = parts.linearisation
    states, efforts = quadratic_weights(line.symbols, line.inputs, weights, effort)
    Q, R = line.basis.T @ np.diag(states) @ line.basis, np.diag(efforts)
    A, B = _restricted(parts)
    try:
        P = scipy.linalg.solve_continuous_are(A, B, parts.basis.T @ Q @ parts.basis, R)
    except (np.linalg.LinAlgError, ValueError) as error:
        remedy = "weigh all that can grow, and the effort"
        raise FormError("The Riccati equation was not solved", str(error), remedy) from None
    return _feedback(parts, -np.linalg.solve(R, B.T @ P), symbols, P)


def _restricted(parts: LinearParts) -> tuple[Array, Array]:
    """A_c and B_c."""
    line, V = parts.linearisation, parts.basis
    return V.T @ line.matrix @ V, V.T @ line.input_matrix


def _ackermann(A: Array, B: Array, poles: ComplexArray) -> Array:
    """K = -(0 ... 0 1) (B, A B, ...)^-1 p(A), (1, r)."""
    n = len(A)
    columns = [B]
    for _ in range(n - 1):
        columns.append(A @ columns[-1])
    polynomial = np.eye(n, dtype=complex)
    for pole in poles:
        polynomial = polynomial @ (A - pole * np.eye(n))
    size = np.max(np.abs(polynomial), initial=1.0)
    if np.max(np.abs(polynomial.imag), initial=0.0) > 1e-9 * size:
        what = "Complex poles come in conjugate pairs"
        raise ModelError(what, str(poles.tolist()), "add the conjugates")
    row = np.linalg.solve(np.hstack(columns).T, np.eye(n)[:, -1])
    gains: Array = -(row @ polynomial.real)[None, :]
    return gains


def _feedback(
    parts: LinearParts, K: Array, symbols: Symbols | None, cost: Array | None = None
) -> LinearFeedback:
    """The gains on symbols, K = K_E E V, and what they make of the eigenvalues."""
    line, V = parts.linearisation, parts.basis
    chosen: Symbols = line.independent if symbols is None else symbols
    names = [str(getattr(x, "name", x)) for x in chosen]
    unknown = [name for name in names if name not in line.symbols]
    if unknown:
        what = f"The state has no symbol `{unknown[0]}`"
        raise ModelError(what, ", ".join(line.symbols), "use one of these")
    if symbols is None:
        table = K @ V.T
    else:
        seen = (line.basis @ V)[[line.symbols.index(name) for name in names]]
        found = rank(seen.T, DEPENDENT).rank
        if found < parts.rank:
            raise FormError(
                "These symbols do not tell where the controllable part is",
                f"{', '.join(names)}: rank {found} of {parts.rank}",
                "let the feedback use more symbols",
            )
        if len(names) == parts.rank:
            table = np.linalg.solve(seen @ seen.T, seen @ K.T).T.astype(float, copy=False)
        else:
            table = K @ np.linalg.solve(seen.T @ seen, seen.T)
    whole = np.zeros((len(line.inputs), len(line.symbols)))
    whole[:, [line.symbols.index(name) for name in names]] = table
    rest = rank(V.T, DEPENDENT).null_space if parts.rank < len(V) else np.zeros((len(V), 0))
    size = max(1.0, float(np.max(np.abs(line.eigenvalues), initial=0.0)))
    labels = _labels(line.matrix + line.input_matrix @ (whole @ line.basis), V, rest, size)
    rows = zip(line.inputs, np.asarray(table).tolist(), strict=True)
    gains = {u: dict(zip(names, row, strict=True)) for u, row in rows}
    return LinearFeedback(parts, gains, labels, cost)


def feedback(
    model: Model, gains: LinearFeedback | BySymbol[Values], at: Values | None = None
) -> Model:
    """The closed loop u = sum k (z - z*) as a System, or as a Scenario where one is given.

    Parameters
    ----------
    gains : LinearFeedback, or mapping of input to mapping of symbol to gain
        Symbols are coordinates and velocities of the system, or outputs of it by name, such as
        momenta.
    at : mapping of symbol to value
        z*; that of the LinearFeedback, or zero.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> u = da.inputs("u")
    >>> mass = da.System([x], kinetic=x.dot**2 / 2, forces={x: u}, inputs=[u])
    >>> closed = feedback(mass, {u: {x: -1, x.dot: -2}})
    >>> print(closed.inputs[u])
    -x - 2*x_dot
    """
    system: System = model.system if isinstance(model, Scenario) else model
    table = gains.gains if isinstance(gains, LinearFeedback) else gains
    rest = numbers_by_name(at)
    symbols = (*system.coordinates, *system.velocities)
    known: dict[str, sympy.Expr] = {x.name: x for x in symbols} | dict(system.outputs)
    allowed = {*known, *(s.name for s in system.momenta)}
    strange = [name for name in rest if name not in allowed]
    if strange:
        what = f"The place names `{strange[0]}`"
        raise ModelError(what, ", ".join(known), "name a state of the system")
    if isinstance(gains, LinearFeedback):
        rest = {**gains.at, **rest}  # its place may be one of a reduced system
    laws = {}
    for u, row in by_name(table, "feedback").items():
        terms = []
        for name, gain in numbers_by_name(row).items():
            if name not in known:
                near = nearest(name, known)
                other = "place poles with symbols= that are coordinates and velocities"
                remedy = f"did you mean {near}" if near else other
                what = f"A feedback of this system cannot use `{name}`"
                raise ModelError(what, ", ".join(known), remedy)
            factor = sympy.nsimplify(gain) if gain.is_integer() else sympy.Float(gain)
            terms.append(factor * (known[name] - sympy.nsimplify(rest.get(name, 0.0))))
        laws[u] = sympy.Add(*terms)
    closed = system.driven(laws)
    return model.replacing(system=closed) if isinstance(model, Scenario) else closed
