r"""The energy-momentum method: relative equilibria as critical points of the amended potential, and their stability.

A system L = 1/2 q_dot . M q_dot - V with a group of symmetries that acts by the generators K(q) has the locked inertia
I = K^T M K and, for a value mu of the momentum map J, the amended potential

    V_mu(q) = V(q) + 1/2 mu . I(q)^-1 mu.

Its critical points q_e are the relative equilibria with J = mu: motions exp(t xi) q_e with xi = I^-1 mu, critical points
z_e = (q_e, alpha_mu(q_e)) of H - <J, xi>. The subgroup G_mu that leaves mu alone moves them along families; on a slice across
its orbits the second variation of V_mu is K_mu. Let S be the tangent space of J = mu at z_e modulo G_mu. There

    delta^2 (H - <J, xi>) on S  =  K_mu  +  kinetic energy,      linearised motion:  omega_S^-1 delta^2 (H - <J, xi>),

so that K_mu > 0 makes it definite, and the relative equilibrium stable modulo G_mu (Simo, Lewis and Marsden 1991; for hinged
bodies Bloch and others, Supplement, section 3.13). Where the group is all of Q there is no kinetic part, and K_mu < 0 does the
same. Otherwise the method says nothing, and the linearised spectrum is what is left to look at.
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
from ...errors import FormError, ModelError
from ...formulations.forms import lagrange
from ...geometry.actions import GroupAction
from ...model.scenario import Scenario
from ...model.symbols import Parameter
from ...model.system import System
from ...model.values import numbers_by_name
from ...runtime.gauss.constrained_solve import rank
from ...typing import Expression, Fields, Ranges, Symbols, Values, Vector
from ..anatomy import read_model
from ..named_blocks import NamedBlocks
from ..proofs.zeros import SearchOptions, Zero, Zeros, find_zeros
from ..symmetry.invariance import invariance
from ..symmetry.momentum_maps import DEPENDENT, MomentumMap, momentum_map
from ..tables import Report, Section
from .energy_casimir import spectrum
from .equilibria import forces_at_rest

__all__ = ["EnergyMomentum", "RelativeEquilibrium", "energy_momentum"]

#: Parts of the largest eigenvalue below which one is rounding.
ROUNDING = 1e-7

ZERO = sympy.Integer(0)
THEOREMS = {
    "stable": "A definite second variation on the tangent space of J = mu modulo G_mu: stable modulo G_mu (Simo, Lewis and"
    " Marsden; for nearby values of mu too, where mu is regular and the Lie algebra of G_mu has an invariant metric).",
    "unstable": "Lyapunov's first method: the linearised reduced motion has an eigenvalue with a positive real part.",
    "not established": "A second variation that is not definite proves nothing, and neither does a spectrum on the"
    " imaginary axis.",
}


@dataclass(frozen=True)
class RelativeEquilibrium:
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
    momenta: Any = field(repr=False)
    second_variation: Any
    variation: str
    index: int
    eigenvalues: Any = field(repr=False)
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
    found : tuple of RelativeEquilibrium
    zeros : Zeros
        What proves them.
    """

    momentum_map: MomentumMap
    momentum: Any
    amended_potential: sympy.Expr
    found: tuple[RelativeEquilibrium, ...]
    zeros: Zeros = field(repr=False)

    @property
    def complete(self) -> bool:
        """Whether it is proved that there are no others in the region, on the slice."""
        return self.zeros.complete

    @property
    def locked_inertia(self) -> Any:
        """I(q), (d x d)."""
        return self.momentum_map.locked_inertia

    def __len__(self) -> int:
        return len(self.found)

    def _title(self) -> str:
        return f"{self.momentum_map.system.name}: energy-momentum method"

    def _sections(self) -> list[Section]:
        level = ", ".join(f"{name}: {value:g}" for name, value in zip(self.momentum_map.names, self.momentum, strict=True))
        lines = [(", ".join(f"{n} = {_neat(x)}" for n, x in e.point.items()), _sentence(e)) for e in self.found]
        number = len(self.zeros.undecided)
        proof = "no others in the region" if self.complete else f"others are possible in {number} box{'es' * (number > 1)}"
        shown = {e.stability: THEOREMS[e.stability] for e in self.found}
        return [
            ("Symmetry", [("momentum", level), ("amended potential", str(self.amended_potential))]),
            ("Relative equilibria", lines),
            ("Theorems", list(shown.items())),
            ("Proof", [("complete", proof)]),
        ]


def _neat(number: float) -> str:
    return f"{0.0 if abs(number) < 1e-9 else number:.6g}"


def _sentence(e: RelativeEquilibrium) -> str:
    rounding = ROUNDING * float(np.max(np.abs(e.eigenvalues), initial=0.0))
    shown = [v for v in e.eigenvalues if v.imag >= -rounding and not (abs(v.imag) <= rounding and v.real < -rounding)]
    spectrum = ", ".join(_complex(v, rounding) for v in shown)
    turn = ", ".join(f"{name} {_neat(rate)}" for name, rate in e.group_velocity.items())
    return f"{e.stability}; second variation {e.variation}; rate {turn}; spectrum {spectrum or 'empty'}"


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
    """All relative equilibria with a given momentum in a region, each proved to be there, with what is known of its stability.

    Parameters
    ----------
    system : System without constraints and forces, or Scenario
        L = kinetic less potential energy.
    group : sequence of cyclic coordinates, or mapping of name to a mapping of coordinate to component, or GroupAction
        The symmetry; that it is one is checked.
    momentum : number, sequence (d,) or mapping of generator to value
        mu, for each cyclic coordinate or generator.
    parameters : mapping of name to value
    fixed : mapping of coordinate to value
        The slice: as many coordinates as G_mu has dimensions, held where every orbit of G_mu passes. Cyclic coordinates are
        held at zero without being named.
    within : mapping of coordinate to (low, high)
        Where to look. Angles of which the amended potential has the period 2 pi may be left out.
    **search
        `smallest` and `most_boxes`, see `find_zeros`.

    Raises
    ------
    FormError
        Where the system has no symmetry of that kind, or is no simple mechanical system.
    ModelError
        Where the slice does not cross the orbits, or the locked inertia is singular at a critical point.

    Examples
    --------
    A bob on a rod, swinging around the vertical:

    >>> import dalembert as da
    >>> from sympy import cos, sin
    >>> theta, phi = da.coordinates("theta phi")
    >>> bob = da.System([theta, phi], kinetic=(theta.dot**2 + (sin(theta)*phi.dot)**2)/2, potential=-cos(theta), name="Bob")
    >>> found = energy_momentum(bob, [phi], 0.5, within={theta: (0.1, 3.0)})
    >>> print(found.amended_potential)
    -cos(theta) + 1/(8*sin(theta)**2)
    >>> [(e.stability, e.variation) for e in found.found], found.complete
    ([('stable', 'positive definite')], True)
    """
    model, numbers, _ = read_model(system, parameters, None)
    generators, held = _read_group(model, group, fixed)
    mu = _read_momentum(generators, momentum)
    _check_system(model, generators, numbers)
    J = momentum_map(model, generators)
    amended = _amended_potential(J, mu, held)
    free = [q for q in model.coordinates if q not in held]
    derivatives = [sympy.diff(amended, q) for q in free]
    method = _Method(J, mu, held, numbers)
    method.check_slice(free, within)
    zeros = find_zeros(derivatives, free, within, parameters=numbers, **search)
    return EnergyMomentum(J, mu, amended, tuple(method.at(zero, free) for zero in zeros.zeros), zeros)


# -- reading ---------------------------------------------------------------------------------------------------------------


def _read_group(model: System, group: Any, fixed: Values | None) -> tuple[Any, dict[Any, sympy.Expr]]:
    """Generators, and the coordinates that are held."""
    by_name = {q.name: q for q in model.coordinates}
    given = {str(getattr(key, "name", key)): value for key, value in (fixed or {}).items()}
    cyclic = (
        [] if isinstance(group, Mapping | GroupAction) else [group] if isinstance(group, str | sympy.Symbol) else list(group)
    )
    names = [str(getattr(key, "name", key)) for key in cyclic]
    strange = [name for name in (*names, *given) if name not in by_name]
    if strange:
        raise ModelError(
            f"The system has no coordinate `{strange[0]}`", seen=", ".join(by_name), remedy="name coordinates of the system"
        )
    held = {by_name[name]: ZERO for name in names}
    held |= {
        by_name[name]: sympy.Integer(value) if value == int(value) else sympy.Float(value) for name, value in given.items()
    }
    if len(held) == len(by_name):
        raise ModelError(
            "The slice leaves no coordinate free", seen=", ".join(q.name for q in held), remedy="fix fewer of them"
        )
    return ({name: {by_name[name]: 1} for name in names} if names else group), held


def _read_momentum(generators: Any, momentum: Any) -> Any:
    names = list(generators.algebra.names) if isinstance(generators, GroupAction) else [str(name) for name in generators]
    if isinstance(momentum, Mapping):
        table = numbers_by_name(momentum)
        strange = [name for name in table if name not in names]
        missing = [name for name in names if name not in table]
        if strange or missing:
            raise ModelError(
                "The momentum needs a value for each generator", seen=", ".join(strange or missing), remedy=", ".join(names)
            )
        return np.array([table[name] for name in names])
    values = np.atleast_1d(np.asarray(momentum, dtype=float))
    if values.shape != (len(names),) or not np.all(np.isfinite(values)):
        raise ModelError(
            "The momentum needs a finite value for each generator",
            seen=momentum,
            remedy=f"give {len(names)}: {', '.join(names)}",
        )
    return values


def _check_system(model: System, generators: Any, numbers: Mapping[str, float]) -> None:
    forces_at_rest(model)
    if model.forces or model.dissipation != 0:
        raise FormError("The energy-momentum method needs a system without forces", remedy="put them into the potential")
    algebra = GraphAlgebra()
    v = algebra.vector(model.velocities)
    _, momenta = lagrange.lagrangian_and_momenta(model, algebra)
    linear = algebra.without(algebra.jacobian(momenta, v), v) is not None
    if not linear or not algebra.vanishing(algebra.substitute(momenta, v, algebra.zeros(v.shape[0]))).is_proved:
        raise FormError(
            "The energy-momentum method needs kinetic less potential energy",
            seen="a Lagrangian with terms linear in the velocities" if linear else "one that is not quadratic in them",
            remedy="use da.equilibria of da.symmetry.routh(system, ...)",
        )
    certificate = invariance(model, generators, parameters=numbers)
    broken = [name for name, verdict in certificate.generators.items() if not verdict.holds]
    if broken:
        raise FormError(
            "The system is not invariant under the group",
            seen=", ".join(broken),
            remedy="choose generators that da.symmetry.invariance certifies; da.symmetry.discover_symmetries finds them",
        )


def _amended_potential(J: MomentumMap, mu: Any, held: Mapping[Any, Any]) -> sympy.Expr:
    """V_mu on the slice."""
    lagrangian = J.system.lagrangian
    assert lagrangian is not None
    potential = -lagrangian.xreplace(dict.fromkeys(J.system.velocities, ZERO)).xreplace(held)
    inertia = sympy.Matrix(J.locked_inertia).xreplace(dict(held)).applyfunc(simplify)
    level = sympy.Matrix([sympy.nsimplify(float(value), rational=True) for value in mu])
    return simplify(potential) + simplify((level.T * inertia.adjugate() * level)[0] / (2 * inertia.det(method="berkowitz")))


# -- at a critical point -----------------------------------------------------------------------------------------------------


class _Method:
    """Second variations and spectra at the critical points of V_mu."""

    def __init__(self, J: MomentumMap, mu: Any, held: Mapping[Any, Any], numbers: Mapping[str, float]) -> None:
        self.J, self.mu, self.held, self.numbers = J, mu, held, numbers
        self.free = [k for k, q in enumerate(J.system.coordinates) if q not in held]
        algebra, system = GraphAlgebra(), J.system
        q, v, p = (algebra.vector(symbols) for symbols in (system.coordinates, system.velocities, system.momenta))
        lagrangian, momenta = lagrange.lagrangian_and_momenta(system, algebra)
        metric = algebra.without(algebra.jacobian(momenta, v), v)
        potential = -algebra.substitute(lagrangian, v, algebra.zeros(v.shape[0]))
        K = algebra.columns([algebra.vector(J.generators[:, a]) for a in range(len(J.names))])
        self.symbols = [Parameter(f"rate {k} of group") for k in range(len(J.names))]
        xi = algebra.vector(self.symbols)
        augmented = p.T @ algebra.solve_square(metric, p) / 2 + potential - p.T @ K @ xi
        level = ca.DM(list(map(float, mu)))
        amended = potential + level.T @ algebra.solve_square(K.T @ metric @ K, level) / 2
        hessian, derivative = algebra.hessian(augmented, algebra.stack([q, p]))
        curvature, _ = algebra.hessian(amended, q)
        tables = {"hessian": hessian, "slope": derivative, "curvature": curvature, "metric": metric}
        known = [s.name for s in (*system.coordinates, *system.velocities, *system.momenta, *system.parameters)]
        self.blocks = NamedBlocks(algebra, tables, [*known, *(symbol.name for symbol in self.symbols)])

    def check_slice(self, free: Sequence[Any], within: Ranges | None) -> None:
        """Whether the slice crosses the orbits of G_mu at a generic configuration of the region."""
        random, region = np.random.default_rng(8), {str(getattr(q, "name", q)): ends for q, ends in (within or {}).items()}
        place = [float(random.uniform(*region.get(q.name, (0.3, 1.1)))) for q in free]
        point = {q.name: float(value) for q, value in self.held.items()} | {q.name: x for q, x in zip(free, place, strict=True)}
        covector = self.J.least_covector(self.mu, point, self.numbers)
        state = point | {p.name: float(x) for p, x in zip(self.J.system.momenta, covector, strict=True)}
        self._isotropy(self.J.derivative(state, self.numbers) @ self.J.lifted(state, self.numbers), point)

    def at(self, zero: Zero, free: Sequence[Any]) -> RelativeEquilibrium:
        """The relative equilibrium through a critical point."""
        system = self.J.system
        point = {q.name: float(value) for q, value in self.held.items()}
        point |= {q.name: float(x) for q, x in zip(free, zero.point, strict=True)}
        covector = self.J.least_covector(self.mu, point, self.numbers)
        xi = self.J.mechanical_connection(point, self.numbers) @ self._velocity(point, covector)
        state = point | {p.name: float(x) for p, x in zip(system.momenta, covector, strict=True)}
        rates = {symbol.name: float(x) for symbol, x in zip(self.symbols, xi, strict=True)}
        blocks = self.blocks({**self.numbers, **state, **rates})
        derivative, lifted = self.J.derivative(state, self.numbers), self.J.lifted(state, self.numbers)
        still = self._isotropy(derivative @ lifted, point)
        form, values, grows = _reduced_motion(blocks["hessian"], derivative, lifted @ still)
        variation = self._second_variation(blocks)
        kind = _kind(variation)
        no_shape = len(self.free) == len(self.mu) - still.shape[1]
        definite = kind == "positive definite" or (kind == "negative definite" and no_shape)
        return RelativeEquilibrium(
            point={q.name: point[q.name] for q in system.coordinates},
            radius=float(np.max(zero.radius)),
            group_velocity=dict(zip(self.J.names, map(float, xi), strict=True)),
            momenta=covector,
            second_variation=variation,
            variation=kind,
            index=int(np.sum(form < 0)),
            eigenvalues=values,
            stability="stable" if definite else "unstable" if grows else "not established",
        )

    def _velocity(self, point: Mapping[str, float], covector: Any) -> Any:
        """M^-1 alpha_mu."""
        zeros = {name.name: 0.0 for name in (*self.J.system.momenta, *self.symbols)}
        return np.linalg.solve(self.blocks({**self.numbers, **point, **zeros})["metric"], covector)

    def _isotropy(self, matrix: Any, point: Mapping[str, float]) -> Any:
        """A basis of the Lie algebra of G_mu in columns (d, r), from DJ(z) xi_P(z) = 0; the slice must cross its orbits."""
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
                remedy="pass fixed={coordinate: value} for as many coordinates as G_mu has dimensions, moved by it",
            )
        return still

    def _second_variation(self, blocks: Mapping[str, Any]) -> Any:
        """Eigenvalues of K_mu on the slice in the kinetic metric of the slice."""
        curvature, metric = (blocks[name][np.ix_(self.free, self.free)] for name in ("curvature", "metric"))
        lower = np.linalg.inv(np.linalg.cholesky(metric))
        return np.linalg.eigvalsh(lower @ (curvature + curvature.T) @ lower.T / 2)


def _reduced_motion(hessian: Any, derivative: Any, orbit: Any) -> tuple[Any, Any, bool]:
    """Eigenvalues of the second variation on S = ker DJ / G_mu and of its linearised motion, and whether that grows."""
    n = len(hessian) // 2
    sizes = np.sqrt(np.abs(np.diag(hessian)[n:]))  # momenta in units in which kinetic energy has no dimension of its own
    scale = np.concatenate([sizes, 1 / sizes])  # symplectic
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


def _kind(values: Any) -> str:
    rounding = ROUNDING * float(np.max(np.abs(values), initial=0.0))
    if not np.any(values) or np.any(np.abs(values) <= rounding):
        return "degenerate"
    return "positive definite" if values[0] > 0 else "negative definite" if values[-1] < 0 else "indefinite"
