r"""Momentum maps of group actions on the coordinates, their singular points, the locked inertia and the mechanical connection.

An action with generators K_a(q), xi_Q = xi^a K_a, has the cotangent lift X_a = (K_a, -(DK_a)^T p) and the momentum map

    J_a(q, p) = p . K_a(q),            J_a(q, q_dot) = L_v . K_a(q)
    rank DJ(z) = dim g - dim g_z,      g_z = {xi : xi^a X_a(z) = 0}                                  (Bloch, Supplement 3.7.8)

so that a point z is regular just where its isotropy algebra g_z vanishes. With the kinetic metric M = L_vv,

    I_ab(q) = K_a . M K_b   (3.8.7),      A(q) = I^-1 K^T M   (3.8.9),      alpha_mu(q) = M K I^-1 mu

A is the mechanical connection of a free action by isometries: its horizontal vectors have J = 0, and alpha_mu is the covector
of least kinetic energy among those with J = mu (3.8.11). Under the group I(g q) Ad_g = Ad*_{g^-1} I(q).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...algebra.simplify.simplifier import simplify
from ...algebra.structure import Verdict
from ...algebra.tree import TreeAlgebra
from ...errors import FormError, ModelError
from ...formulations.forms import lagrange
from ...geometry.actions import GroupAction
from ...model.scenario import Scenario
from ...model.symbols import as_expression
from ...model.system import System
from ...model.values import numbers_by_name
from ...runtime.gauss.constrained_solve import rank
from ...typing import Fields
from ..anatomy import read_model
from ..named_blocks import NamedBlocks

__all__ = ["MomentumMap", "momentum_map"]

#: Directions that others span to this are dependent.
DEPENDENT = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class MomentumMap:
    """J of an action with d generators on n coordinates.

    Attributes
    ----------
    system : System
    names : tuple of str (d,)
        The basis of the Lie algebra.
    generators : matrix (n x d)
        K_a in columns.
    parameters : mapping of name to value
        Those that a scenario brought along.
    """

    system: System
    names: tuple[str, ...]
    generators: Any
    parameters: Mapping[str, float]

    # -- formulas ------------------------------------------------------------------------------------------------

    @cached_property
    def momentum(self) -> sympy.ImmutableMatrix:
        """J_a(q, p) = p . K_a, (d x 1)."""
        return sympy.ImmutableMatrix((self.generators.T * sympy.Matrix(self.system.momenta)).applyfunc(simplify))

    @cached_property
    def on_velocities(self) -> sympy.ImmutableMatrix:
        """J_a(q, q_dot) = L_v . K_a, (d x 1)."""
        _, momenta = lagrange.lagrangian_and_momenta(self.system, TreeAlgebra())
        return sympy.ImmutableMatrix((self.generators.T * momenta).applyfunc(simplify))

    @cached_property
    def locked_inertia(self) -> sympy.ImmutableMatrix:
        """I_ab(q) = K_a . M K_b, (d x d)."""
        return sympy.ImmutableMatrix((self.generators.T * self._metric * self.generators).applyfunc(simplify))

    @cached_property
    def _metric(self) -> Any:
        algebra, v = TreeAlgebra(), self.system.velocities
        _, momenta = lagrange.lagrangian_and_momenta(self.system, algebra)
        metric = algebra.without(algebra.jacobian(momenta, v), sympy.Matrix(v))
        if metric is None:
            raise ModelError("A locked inertia needs a kinetic energy quadratic in the velocities")
        return metric

    @cached_property
    def hypotheses(self) -> Mapping[str, Verdict]:
        """What the mechanical connection rests on: the kinetic metric is invariant along each generator."""
        algebra, system = GraphAlgebra(), self.system
        q, v = algebra.vector(system.coordinates), algebra.vector(system.velocities)
        try:
            _, momenta = lagrange.lagrangian_and_momenta(system, algebra)
            metric = algebra.without(algebra.jacobian(momenta, v), v)
        except FormError:  # a Hamiltonian without a Legendre transformation in closed form
            metric = None
        claims = {name: f"the kinetic metric is invariant along {name}" for name in self.names}
        if metric is None:
            return dict.fromkeys(claims.values(), Verdict("not established", "the kinetic energy is not quadratic"))
        energy, found = v.T @ metric @ v / 2, {}
        for a, claim in enumerate(claims.values()):
            field = algebra.vector(self.generators[:, a])
            lifted = algebra.stack([field, algebra.along(field, q, v)])
            found[claim] = algebra.vanishing(algebra.along(energy, algebra.stack([q, v]), lifted))
        return found

    @property
    def isometries(self) -> Mapping[str, bool]:
        """For each generator, whether the kinetic metric is shown to be invariant along it, at least to rounding."""
        return dict(zip(self.names, (found.holds_to_rounding for found in self.hypotheses.values()), strict=True))

    # -- points of phase space -----------------------------------------------------------------------------------

    def at(self, state: Mapping[Any, Any], parameters: Mapping[Any, Any] | None = None) -> Any:
        """J, (d,), at coordinates with momenta (names p_x) or velocities (names x_dot)."""
        values = numbers_by_name(self.parameters, state, parameters)
        moving = {v.name for v in self.system.velocities} & values.keys()
        block = "on_velocities" if moving else "value"
        return self._blocks[block](values)[block][:, 0]

    def derivative(self, state: Mapping[Any, Any], parameters: Mapping[Any, Any] | None = None) -> Any:
        """DJ(z), (d, 2n), by coordinates and momenta."""
        return self._blocks["slope"](numbers_by_name(self.parameters, state, parameters))["slope"]

    def lifted(self, state: Mapping[Any, Any], parameters: Mapping[Any, Any] | None = None) -> Any:
        """X_a(z), the generators on phase space in columns, (2n, d)."""
        return self._blocks["lifted"](numbers_by_name(self.parameters, state, parameters))["lifted"]

    def rank(self, state: Mapping[Any, Any], parameters: Mapping[Any, Any] | None = None) -> int:
        """The rank of DJ(z)."""
        return int(rank(_without_rounding(self.derivative(state, parameters)), DEPENDENT).rank)

    def isotropy(self, state: Mapping[Any, Any], parameters: Mapping[Any, Any] | None = None) -> Any:
        """g_z, a basis in columns (d, r): of a point of phase space, or of a configuration where no momenta are given."""
        values = numbers_by_name(self.parameters, state, parameters)
        lifted = {p.name for p in self.system.momenta} & values.keys()
        block = "lifted" if lifted else "generators"
        return rank(_without_rounding(self._blocks[block](values)[block]), DEPENDENT).null_space

    def is_regular(self, state: Mapping[Any, Any], parameters: Mapping[Any, Any] | None = None) -> bool:
        """Whether J is a submersion at a point of phase space: DJ(z) has full rank, the isotropy algebra is 0."""
        return self.rank(state, parameters) == len(self.names)

    # -- configurations ------------------------------------------------------------------------------------------

    def fields(self, configuration: Mapping[Any, Any], parameters: Mapping[Any, Any] | None = None) -> Any:
        """K(q), the generators in columns, (n, d)."""
        return self._blocks["generators"](numbers_by_name(self.parameters, configuration, parameters))["generators"]

    def inertia(self, configuration: Mapping[Any, Any], parameters: Mapping[Any, Any] | None = None) -> Any:
        """I(q), (d, d)."""
        K, M = self._place(configuration, parameters)
        return K.T @ M @ K

    def mechanical_connection(self, configuration: Mapping[Any, Any], parameters: Mapping[Any, Any] | None = None) -> Any:
        """A(q), (d, n): the velocity of the locked system, xi = I^-1 J.

        Raises
        ------
        ModelError
            Where the generators are no isometries, or I(q) is singular; the message names the isotropy.
        """
        K, M, inverse = self._free_place(configuration, parameters)
        return inverse @ K.T @ M

    def least_covector(self, mu: Any, configuration: Mapping[Any, Any], parameters: Mapping[Any, Any] | None = None) -> Any:
        """alpha_mu(q) = A^* mu, (n,): the momenta of least kinetic energy with J = mu."""
        K, M, inverse = self._free_place(configuration, parameters)
        return M @ K @ inverse @ np.asarray(mu, dtype=float)

    def _place(self, configuration: Mapping[Any, Any], parameters: Mapping[Any, Any] | None) -> tuple[Any, Any]:
        """K and M at a configuration."""
        found = self._blocks["place"](numbers_by_name(self.parameters, configuration, parameters))
        if "metric" not in found:
            raise ModelError("A locked inertia needs a kinetic energy quadratic in the velocities")
        return found["generators"], found["metric"]

    def _free_place(self, configuration: Mapping[Any, Any], parameters: Mapping[Any, Any] | None) -> tuple[Any, Any, Any]:
        K, M = self._place(configuration, parameters)
        broken = [name for name, holds in self.isometries.items() if not holds]
        if broken:
            raise ModelError(
                "The mechanical connection needs generators that leave the kinetic energy invariant",
                seen=", ".join(broken),
                remedy="choose a subgroup that does",
            )
        inertia = _without_rounding(K.T @ M @ K)
        if len(inertia) and rank(inertia, DEPENDENT).rank < len(inertia):
            still = rank(_without_rounding(K), DEPENDENT).null_space
            seen = "; ".join(f"{_combination(column, self.names)} leaves it at rest" for column in still.T)
            raise ModelError(
                "The locked inertia is singular at this configuration, the action is not free there",
                seen=seen or "a kinetic energy that is degenerate along the orbit",
                remedy="choose a configuration without isotropy, or a smaller group",
            )
        return K, M, np.linalg.inv(inertia)

    @cached_property
    def _blocks(self) -> dict[str, NamedBlocks]:
        algebra, system = GraphAlgebra(), self.system
        q, v, p = (algebra.vector(symbols) for symbols in (system.coordinates, system.velocities, system.momenta))
        columns = [algebra.vector(self.generators[:, a]) for a in range(len(self.names))]
        K = algebra.columns(columns)
        _, momenta = lagrange.lagrangian_and_momenta(system, algebra)
        value = K.T @ p
        lower = [-(algebra.jacobian(column, q).T @ p) for column in columns]
        tables = {
            "value": {"value": value},
            "on_velocities": {"on_velocities": K.T @ momenta},
            "slope": {"slope": algebra.jacobian(value, algebra.stack([q, p]))},
            "lifted": {"lifted": algebra.stack([K, algebra.columns(lower)])},
            "generators": {"generators": K},
            "place": {"generators": K, "metric": algebra.without(algebra.jacobian(momenta, v), v)},
        }
        known = [s.name for s in (*system.coordinates, *system.velocities, *system.momenta, *system.parameters)]
        return {
            name: NamedBlocks(algebra, {key: block for key, block in table.items() if block is not None}, known)
            for name, table in tables.items()
        }

    # -- presentation --------------------------------------------------------------------------------------------

    def latex(self) -> str:
        """J as a LaTeX column."""
        return str(sympy.latex(sympy.Matrix(self.momentum)))

    def text(self) -> str:
        """J, a line for each vector of the basis, and what holds to rounding."""
        lines = [f"J_{name} = {value}" for name, value in zip(self.names, self.momentum, strict=True)]
        rounded = {claim: found for claim, found in self.hypotheses.items() if found.holds_to_rounding and not found.is_proved}
        return "\n".join([*lines, *(f"{claim}: {found}" for claim, found in rounded.items())])

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<MomentumMap of {self.system.name}: {', '.join(self.names)}>"


def momentum_map(system: System | Scenario, action: Fields | GroupAction) -> MomentumMap:
    """The momentum map of a group that acts on the coordinates of a system.

    Parameters
    ----------
    system : System or Scenario
    action : mapping of name to a mapping of coordinate to component, or GroupAction
        The generators xi_Q of the action, as many as the group has dimensions; they may depend on each other at some places,
        or everywhere.

    Examples
    --------
    >>> import dalembert as da
    >>> x, y, z = da.coordinates("x y z")
    >>> m = da.parameters("m", positive=True)
    >>> particle = da.System([x, y, z], kinetic=m/2*(x.dot**2 + y.dot**2 + z.dot**2))
    >>> turns = {"e1": {y: -z, z: y}, "e2": {z: -x, x: z}, "e3": {x: -y, y: x}}
    >>> J = momentum_map(particle, turns)
    >>> print(J)
    J_e1 = -p_y*z + p_z*y
    J_e2 = p_x*z - p_z*x
    J_e3 = -p_x*y + p_y*x
    >>> along = {"x": 1, "y": 0, "z": 0, "p_x": 2, "p_y": 0, "p_z": 0}
    >>> J.rank(along), J.isotropy(along).shape[1], J.is_regular(along)
    (2, 1, False)
    """
    model, values, _ = read_model(system, None, None)
    given: Any = action
    if isinstance(getattr(action, "fields", None), sympy.MatrixBase):
        names, matrix = tuple(given.algebra.names), _by_coordinate(model, given.coordinates, given.fields)
    elif isinstance(action, Mapping) and action:
        names = tuple(str(getattr(name, "name", name)) for name in action)
        matrix = sympy.Matrix.hstack(*(_column(model, name, field) for name, field in zip(names, action.values(), strict=True)))
    else:
        raise ModelError(
            "A momentum map needs the generators of an action",
            seen=type(action).__name__,
            remedy="give {name: {coordinate: component}}, or a GroupAction",
        )
    return MomentumMap(model, names, sympy.ImmutableMatrix(matrix), {name: float(value) for name, value in values.items()})


def _column(system: System, name: str, components: Mapping[Any, Any]) -> Any:
    table = {str(getattr(key, "name", key)): as_expression(value) for key, value in components.items()}
    strange = [key for key in table if key not in {q.name for q in system.coordinates}]
    symbols = {s for value in table.values() for s in value.free_symbols}
    foreign = sorted(s.name for s in symbols if s not in (*system.coordinates, *system.parameters))
    if strange or foreign:
        raise ModelError(
            f"The generator `{name}` cannot be used",
            seen=", ".join([*strange, *foreign]),
            remedy="give components by coordinate, written in coordinates and parameters of the system",
        )
    return sympy.Matrix([table.get(q.name, sympy.S.Zero) for q in system.coordinates])


def _by_coordinate(system: System, coordinates: Any, fields: Any) -> Any:
    """The rows of the fields in the order of the system's coordinates; those that the action does not know stay at rest."""
    places = {str(getattr(q, "name", q)): k for k, q in enumerate(coordinates)}
    strange = [name for name in places if name not in {q.name for q in system.coordinates}]
    if strange:
        raise ModelError(
            f"The action moves `{strange[0]}`, which is no coordinate of the system", remedy="make an action on it"
        )
    still = sympy.zeros(1, fields.cols)
    return sympy.Matrix.vstack(*(fields[places[q.name], :] if q.name in places else still for q in system.coordinates))


def _without_rounding(matrix: Any) -> Any:
    """Entries and rows that are rounding beside the largest entry set to zero: rank is judged by directions."""
    largest = float(np.max(np.abs(matrix), initial=0.0))
    return np.where(np.abs(matrix) > 1e-13 * largest, matrix, 0.0)


def _combination(column: Any, names: tuple[str, ...]) -> str:
    """A vector of the Lie algebra in words, its largest component one."""
    scaled = column / column[int(np.argmax(np.abs(column)))]
    terms = [(round(float(c), 6), name) for c, name in zip(scaled, names, strict=True) if abs(c) > 1e-9]
    return " ".join(
        f"{'+ ' if k and c > 0 else '- ' if c < 0 else ''}{'' if abs(c) == 1 else f'{abs(c):g} '}{name}"
        for k, (c, name) in enumerate(terms)
    )
