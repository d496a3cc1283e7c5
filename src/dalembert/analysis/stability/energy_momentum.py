r"""The energy-momentum method: critical points of the amended potential and their stability.

A system L = 1/2 q_dot . M q_dot - V with a group of symmetries that acts by the generators K(q) has
the locked inertia I = K^T M K and, for a value mu of the momentum map J, the amended potential

    V_mu(q) = V(q) + 1/2 mu . I(q)^-1 mu.

Its critical points q_e are the relative equilibria with J = mu: motions exp(t xi) q_e with xi =
I^-1 mu, critical points z_e = (q_e, alpha_mu(q_e)) of H - <J, xi>. The subgroup G_mu that leaves mu
alone moves them along families; on a slice across its orbits the second variation of V_mu is K_mu.
Let S be the tangent space of J = mu at z_e modulo G_mu. There

    delta^2 (H - <J, xi>) on S  =  K_mu  +  kinetic energy,  linearised motion:
        omega_S^-1 delta^2 (H - <J, xi>),

so that K_mu > 0 makes it definite, and the relative equilibrium stable modulo G_mu (Simo, Lewis and
Marsden 1991; for hinged bodies Bloch and others, Supplement, section 3.13). Where the group is all
of Q there is no kinetic part, and K_mu < 0 does the same. Otherwise the method says nothing, and
the linearised spectrum is what is left to look at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

import casadi as ca
import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...algebra.simplify.simplifier import simplify
from ...errors import ModelError
from ...formulations.forms import lagrange
from ...geometry.actions import GroupAction
from ...model.scenario import Scenario
from ...model.symbols import Parameter
from ...model.system import System
from ...runtime.gauss.constrained_solve import rank
from ...typing import Array, ComplexArray, Expression, Fields, Ranges, Symbols, Values, Vector
from ..anatomy import read_model
from ..named_blocks import NamedBlocks
from ..proofs.zeros import SearchOptions, Zero, Zeros, find_zeros
from ..symmetry.momentum_maps import DEPENDENT, MomentumMap, momentum_map
from ..tables import Report, Section
from .energy_casimir import spectrum
from .momentum_request import check_system, read_group, read_momentum

__all__ = ["EnergyMomentum", "RelativeEquilibriumPoint", "energy_momentum"]

#: Parts of the largest eigenvalue below which one is rounding.
ROUNDING = 1e-7

ZERO = sympy.Integer(0)
THEOREMS = {
    "stable": "A definite second variation on the tangent space of J = mu modulo G_mu: stable"
    " modulo G_mu (Simo, Lewis and Marsden; for nearby values of mu too, where mu is regular"
    " and the Lie algebra of G_mu has an invariant metric).",
    "unstable": "Lyapunov's first method: the linearised reduced motion has an eigenvalue with a"
    " positive real part.",
    "not established": "A second variation that is not definite proves nothing, and neither does a"
    " spectrum on the imaginary axis.",
}


@dataclass(frozen=True)
class RelativeEquilibriumPoint:
    """A proved critical point of the amended potential.

    Attributes
    ----------
    point : dict of coordinate name to float
        On the slice.
    radius : float
        The true one differs from `point` by at most this.
    group_velocity : dict of generator to float
        xi = I^-1 mu: the motion is exp(t xi) applied to `point`.
    momenta : array (n,)
        alpha_mu, the momenta of the coordinates.
    second_variation : array (k,)
        The eigenvalues of K_mu, with the kinetic metric as the unit, in ascending order.
    variation : "positive definite", "negative definite", "indefinite" or "degenerate"
    index : int
        The number of negative eigenvalues of the second variation of H - <J, xi> on S.
    eigenvalues : array of complex
        Of the linearised reduced motion.
    stability : "stable", "unstable" or "not established"
    """

    point: dict[str, float]
    radius: float
    group_velocity: dict[str, float]
    momenta: Array = field(repr=False)
    second_variation: Array
    variation: str
    index: int
    eigenvalues: ComplexArray = field(repr=False)
    stability: str

    @property
    def theorem(self) -> str:
        """What `stability` rests on."""
        return THEOREMS[self.stability]


@dataclass(frozen=True, repr=False)
class EnergyMomentum(Report):
    """What the energy-momentum method finds; see `energy_momentum`.

    Attributes
    ----------
    momentum_map : MomentumMap
    momentum : array (d,)
        mu.
    amended_potential : expression
        V_mu on the slice.
    found : tuple of RelativeEquilibriumPoint
    zeros : Zeros
        What proves them.
    """

    momentum_map: MomentumMap
    momentum: Array
    amended_potential: sympy.Expr
    found: tuple[RelativeEquilibriumPoint, ...]
    zeros: Zeros = field(repr=False)

    @property
    def complete(self) -> bool:
        """Whether it is proved that there are no others in the region, on the slice."""
        return self.zeros.complete

    @property
    def locked_inertia(self) -> sympy.MatrixBase:
        """I(q), (d x d)."""
        return self.momentum_map.locked_inertia

    def __len__(self) -> int:
        return len(self.found)

    def _title(self) -> str:
        return f"{self.momentum_map.system.name}: energy-momentum method"

    def _sections(self) -> list[Section]:
        pairs = zip(self.momentum_map.names, self.momentum, strict=True)
        level = ", ".join(f"{name}: {value:g}" for name, value in pairs)
        lines = []
        for e in self.found:
            point = ", ".join(f"{name} = {_neat(x)}" for name, x in e.point.items())
            lines.append((point, _sentence(e)))
        number, proof = len(self.zeros.undecided), "no others in the region"
        if number:
            proof = f"others are possible in {number} box{'es' * (number > 1)}"
        shown = {e.stability: THEOREMS[e.stability] for e in self.found}
        return [
            ("Symmetry", [("momentum", level), ("amended potential", str(self.amended_potential))]),
            ("Relative equilibria", lines),
            ("Theorems", list(shown.items())),
            ("Proof", [("complete", proof)]),
        ]


def _neat(number: float) -> str:
    return f"{0.0 if abs(number) < 1e-9 else number:.6g}"


def _sentence(e: RelativeEquilibriumPoint) -> str:
    rounding = ROUNDING * float(np.max(np.abs(e.eigenvalues), initial=0.0))
    upper = [v for v in e.eigenvalues if v.imag >= -rounding]
    shown = [v for v in upper if abs(v.imag) > rounding or v.real >= -rounding]
    spectrum = ", ".join(_complex(v, rounding) for v in shown) or "empty"
    turn = ", ".join(f"{name} {_neat(rate)}" for name, rate in e.group_velocity.items())
    return f"{e.stability}; second variation {e.variation}; rate {turn}; spectrum {spectrum}"


def _complex(value: complex, rounding: float) -> str:
    real, imaginary = abs(value.real) > rounding, abs(value.imag) > rounding
    if real and imaginary:
        return f"±{abs(value.real):.6g} ± {value.imag:.6g}i"
    return f"±{value.imag:.6g}i" if imaginary else f"±{abs(value.real):.6g}" if real else "0"


def energy_momentum(
    system: System | Scenario,
    group: Symbols | Fields | GroupAction,
    momentum: Expression | Vector | Values,
    parameters: Values | None = None,
    *,
    fixed: Values | None = None,
    within: Ranges | None = None,
    **search: Unpack[SearchOptions],
) -> EnergyMomentum:
    """All relative equilibria of a given momentum in a region, proved, with their stability.

    Parameters
    ----------
    system : System without constraints and forces, or Scenario
        L = kinetic less potential energy.
    group : sequence of cyclic coordinates, mapping of name to field, or GroupAction
        The symmetry, which is checked.
    momentum : number, sequence (d,) or mapping of generator to value
        mu, for each cyclic coordinate or generator.
    parameters : mapping of name to value
    fixed : mapping of coordinate to value
        The slice: as many coordinates as G_mu has dimensions, held where every orbit of G_mu
        passes. Cyclic coordinates are held at zero.
    within : mapping of coordinate to (low, high)
        Where to look. Angles of which the amended potential has the period 2 pi may be left out.
    **search
        `smallest` and `most_boxes`, see `find_zeros`.

    Raises
    ------
    FormError
        Where the system has no symmetry of that kind, or is no simple mechanical system.
    ModelError
        Where the slice does not cross the orbits, or the locked inertia is singular.

    Examples
    --------
    A bob on a rod, swinging around the vertical:

    >>> import dalembert as da
    >>> from sympy import cos, sin
    >>> theta, phi = da.coordinates("theta phi")
    >>> kinetic = (theta.dot**2 + (sin(theta) * phi.dot) ** 2) / 2
    >>> bob = da.System([theta, phi], kinetic=kinetic, potential=-cos(theta), name="Bob")
    >>> found = energy_momentum(bob, [phi], 0.5, within={theta: (0.1, 3.0)})
    >>> print(found.amended_potential)
    -cos(theta) + 1/(8*sin(theta)**2)
    >>> [(e.stability, e.variation) for e in found.found], found.complete
    ([('stable', 'positive definite')], True)
    """
    model, numbers, _ = read_model(system, parameters, None)
    generators, held = read_group(model, group, fixed)
    mu = read_momentum(generators, momentum)
    check_system(model, generators, numbers)
    J = momentum_map(model, generators)
    amended = _amended_potential(J, mu, held)
    free = [q for q in model.coordinates if q not in held]
    derivatives = [sympy.diff(amended, q) for q in free]
    method = _Method(J, mu, held, numbers)
    method.check_slice(free, within)
    zeros = find_zeros(derivatives, free, within, parameters=numbers, **search)
    found = tuple(method.at(zero, free) for zero in zeros.zeros)
    return EnergyMomentum(J, mu, amended, found, zeros)


def _amended_potential(
    J: MomentumMap, mu: Array, held: Mapping[sympy.Symbol, sympy.Expr]
) -> sympy.Expr:
    """V_mu on the slice."""
    lagrangian = J.system.lagrangian
    assert lagrangian is not None
    potential = -lagrangian.xreplace(dict.fromkeys(J.system.velocities, ZERO)).xreplace(held)
    inertia = sympy.Matrix(J.locked_inertia).xreplace(dict(held)).applyfunc(simplify)
    level = sympy.Matrix([sympy.nsimplify(float(value), rational=True) for value in mu])
    determinant = inertia.det(method="berkowitz")
    rotation = (level.T * inertia.adjugate() * level)[0] / (2 * determinant)
    return simplify(potential) + simplify(rotation)


# -- at a critical point ---------------------------------------------------------------------------


class _Method:
    """Second variations and spectra at the critical points of V_mu."""

    def __init__(
        self,
        J: MomentumMap,
        mu: Array,
        held: Mapping[sympy.Symbol, sympy.Expr],
        numbers: Mapping[str, float],
    ) -> None:
        self.J, self.mu, self.held, self.numbers = J, mu, held, numbers
        self.free = [k for k, q in enumerate(J.system.coordinates) if q not in held]
        algebra, system = GraphAlgebra(), J.system
        state = (system.coordinates, system.velocities, system.momenta)
        q, v, p = (algebra.vector(symbols) for symbols in state)
        lagrangian, momenta = lagrange.lagrangian_and_momenta(system, algebra)
        metric = algebra.without(algebra.jacobian(momenta, v), v)
        assert metric is not None  # the masses of a mechanical system do not depend on v
        potential = -algebra.substitute(lagrangian, v, algebra.zeros(v.shape[0]))
        K = algebra.columns([algebra.vector(J.generators[:, a]) for a in range(len(J.names))])
        self.symbols = [Parameter(f"rate {k} of group") for k in range(len(J.names))]
        xi = algebra.vector(self.symbols)
        augmented = p.T @ algebra.solve_square(metric, p) / 2 + potential - p.T @ K @ xi
        level = ca.DM(list(map(float, mu)))
        amended = potential + level.T @ algebra.solve_square(K.T @ metric @ K, level) / 2
        hessian, _ = algebra.hessian(augmented, algebra.stack([q, p]))
        curvature, _ = algebra.hessian(amended, q)
        tables = {"hessian": hessian, "curvature": curvature, "metric": metric}
        symbols = (*(x for part in state for x in part), *system.parameters, *self.symbols)
        self.blocks = NamedBlocks(algebra, tables, [symbol.name for symbol in symbols])

    def check_slice(self, free: Sequence[sympy.Symbol], within: Ranges | None) -> None:
        """Whether the slice crosses the orbits of G_mu at a generic configuration of the region."""
        random = np.random.default_rng(8)
        region = {str(getattr(q, "name", q)): ends for q, ends in (within or {}).items()}
        place = [float(random.uniform(*region.get(q.name, (0.3, 1.1)))) for q in free]
        point, _, state = self._state(free, place)
        derivative = self.J.derivative(state, self.numbers)
        self._isotropy(derivative @ self.J.lifted(state, self.numbers), point)

    def _state(
        self, free: Sequence[sympy.Symbol], place: Sequence[float] | Array
    ) -> tuple[dict[str, float], Array, dict[str, float]]:
        """A configuration by name, its covector alpha_mu, and both as a state."""
        point = {q.name: float(value) for q, value in self.held.items()}
        point |= {q.name: float(x) for q, x in zip(free, place, strict=True)}
        covector = self.J.least_covector(self.mu, point, self.numbers)
        momenta = zip(self.J.system.momenta, covector, strict=True)
        return point, covector, point | {p.name: float(x) for p, x in momenta}

    def at(self, zero: Zero, free: Sequence[sympy.Symbol]) -> RelativeEquilibriumPoint:
        """The relative equilibrium through a critical point."""
        point, covector, state = self._state(free, zero.point)
        xi = self.J.mechanical_connection(point, self.numbers) @ self._velocity(point, covector)
        rates = {symbol.name: float(x) for symbol, x in zip(self.symbols, xi, strict=True)}
        blocks = self.blocks({**self.numbers, **state, **rates})
        derivative = self.J.derivative(state, self.numbers)
        lifted = self.J.lifted(state, self.numbers)
        still = self._isotropy(derivative @ lifted, point)
        form, values, grows = _reduced_motion(blocks["hessian"], derivative, lifted @ still)
        variation = self._second_variation(blocks)
        kind = _kind(variation)
        no_shape = len(self.free) == len(self.mu) - still.shape[1]
        definite = kind == "positive definite" or (kind == "negative definite" and no_shape)
        return RelativeEquilibriumPoint(
            point={q.name: point[q.name] for q in self.J.system.coordinates},
            radius=float(np.max(zero.radius)),
            group_velocity=dict(zip(self.J.names, map(float, xi), strict=True)),
            momenta=covector,
            second_variation=variation,
            variation=kind,
            index=int(np.sum(form < 0)),
            eigenvalues=values,
            stability="stable" if definite else "unstable" if grows else "not established",
        )

    def _velocity(self, point: Mapping[str, float], covector: Array) -> Any:
        """M^-1 alpha_mu."""
        zeros = {name.name: 0.0 for name in (*self.J.system.momenta, *self.symbols)}
        return np.linalg.solve(self.blocks({**self.numbers, **point, **zeros})["metric"], covector)

    def _isotropy(self, matrix: Array, point: Mapping[str, float]) -> Array:
        """A basis (d, r) of the Lie algebra of G_mu, from DJ(z) xi_P(z) = 0, across the slice."""
        size = float(np.max(np.abs(self.mu), initial=0.0))
        near = np.where(np.abs(matrix) > DEPENDENT * (size + 1e-300), matrix, 0.0)
        still = rank(near, DEPENDENT).null_space if np.any(near) else np.eye(len(self.mu))
        rows = [k for k in range(len(self.J.system.coordinates)) if k not in self.free]
        across = (self.J.fields(point, self.numbers) @ still)[rows]
        if across.shape[0] != across.shape[1] or rank(across, DEPENDENT).rank < len(rows):
            held = ", ".join(q.name for q in self.held)
            raise ModelError(
                "The slice does not cross the orbits of G_mu",
                seen=f"{held or 'no coordinate'} held, {still.shape[1]} dimensions of G_mu",
                remedy="pass fixed={coordinate: value} for as many moved coordinates as G_mu has"
                " dimensions",
            )
        return still

    def _second_variation(self, blocks: Mapping[str, Array]) -> Any:
        """Eigenvalues of K_mu on the slice in the kinetic metric of the slice."""
        place = np.ix_(self.free, self.free)
        curvature, metric = blocks["curvature"][place], blocks["metric"][place]
        lower = np.linalg.inv(np.linalg.cholesky(metric))
        return np.linalg.eigvalsh(lower @ (curvature + curvature.T) @ lower.T / 2)


def _reduced_motion(
    hessian: Array, derivative: Array, orbit: Array
) -> tuple[Array, ComplexArray, bool]:
    """Eigenvalues of the second variation on ker DJ / G_mu and of its motion; its growth."""
    n = len(hessian) // 2
    # Momenta are scaled so that the kinetic energy has no dimension of its own; symplectic.
    sizes = np.sqrt(np.abs(np.diag(hessian)[n:]))
    scale = np.concatenate([sizes, 1 / sizes])
    kept = rank(np.vstack([derivative * scale, (orbit / scale[:, None]).T]), DEPENDENT).null_space
    basis, _ = np.linalg.qr(kept) if kept.shape[1] else (kept, None)
    form = basis.T @ (hessian * np.outer(scale, scale)) @ basis
    unit = np.block([[np.zeros((n, n)), np.eye(n)], [-np.eye(n), np.zeros((n, n))]])
    if not kept.shape[1]:
        return np.zeros(0), np.zeros(0, dtype=complex), False
    motion = np.linalg.solve(basis.T @ unit.T @ basis, form)
    values, doubt = spectrum(motion)
    order = np.lexsort((-values.imag, -np.round(values.real, 9)))
    return np.linalg.eigvalsh((form + form.T) / 2), values[order], bool(np.any(values.real > doubt))


def _kind(values: Array) -> str:
    rounding = ROUNDING * float(np.max(np.abs(values), initial=0.0))
    if not np.any(values) or np.any(np.abs(values) <= rounding):
        return "degenerate"
    if values[0] > 0:
        return "positive definite"
    return "negative definite" if values[-1] < 0 else "indefinite"
