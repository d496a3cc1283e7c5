r"""Momentum maps of group actions, singular points, locked inertia, mechanical connection.

An action with generators K_a(q), xi_Q = xi^a K_a, has the cotangent lift X_a = (K_a, -(DK_a)^T p)
and the momentum map

    J_a(q, p) = p . K_a(q),            J_a(q, q_dot) = L_v . K_a(q)
    rank DJ(z) = dim g - dim g_z,      g_z = {xi : xi^a X_a(z) = 0}        (Bloch, Supplement 3.7.8)

so that a point z is regular just where its isotropy algebra g_z vanishes. With the kinetic metric M
= L_vv,

    I_ab(q) = K_a . M K_b   (3.8.7),     A(q) = I^-1 K^T M   (3.8.9),      alpha_mu(q) = M K I^-1 mu

A is the mechanical connection of a free action by isometries: its horizontal vectors have J = 0,
and alpha_mu is the covector of least kinetic energy among those with J = mu (3.8.11). Under the
group I(g q) Ad_g = Ad*_{g^-1} I(q).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from ...typing import Array, ArrayLike, Fields, Values
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
    generators: sympy.MatrixBase
    parameters: Mapping[str, float]

    # -- formulas ----------------------------------------------------------------------------------

    @cached_property
    def momentum(self) -> sympy.ImmutableMatrix:
        """J_a(q, p) = p . K_a, (d x 1)."""
        momentum = self.generators.T * sympy.Matrix(self.system.momenta)
        return sympy.ImmutableMatrix(momentum.applyfunc(simplify))

    @cached_property
    def on_velocities(self) -> sympy.ImmutableMatrix:
        """J_a(q, q_dot) = L_v . K_a, (d x 1)."""
        _, momenta = lagrange.lagrangian_and_momenta(self.system, TreeAlgebra())
        return sympy.ImmutableMatrix((self.generators.T * momenta).applyfunc(simplify))

    @cached_property
    def locked_inertia(self) -> sympy.ImmutableMatrix:
        """I_ab(q) = K_a . M K_b, (d x d)."""
        inertia = self.generators.T * self._metric * self.generators
        return sympy.ImmutableMatrix(inertia.applyfunc(simplify))

    @cached_property
    def _metric(self) -> sympy.MatrixBase:
        algebra, v = TreeAlgebra(), self.system.velocities
        _, momenta = lagrange.lagrangian_and_momenta(self.system, algebra)
        metric = algebra.without(algebra.jacobian(momenta, v), sympy.Matrix(v))
        if metric is None:
            raise ModelError("A locked inertia needs a kinetic energy quadratic in the velocities")
        return metric

    @cached_property
    def hypotheses(self) -> Mapping[str, Verdict]:
        """Hypotheses of the mechanical connection: the kinetic metric is invariant."""
        algebra, system = GraphAlgebra(), self.system
        q, v = algebra.vector(system.coordinates), algebra.vector(system.velocities)
        try:
            _, momenta = lagrange.lagrangian_and_momenta(system, algebra)
            metric = algebra.without(algebra.jacobian(momenta, v), v)
        except FormError:  # a Hamiltonian without a Legendre transformation in closed form
            metric = None
        claims = {name: f"the kinetic metric is invariant along {name}" for name in self.names}
        if metric is None:
            unknown = Verdict("not established", "the kinetic energy is not quadratic")
            return dict.fromkeys(claims.values(), unknown)
        energy, found = v.T @ metric @ v / 2, {}
        for a, claim in enumerate(claims.values()):
            field = algebra.vector(self.generators[:, a])
            lifted = algebra.stack([field, algebra.along(field, q, v)])
            found[claim] = algebra.vanishing(algebra.along(energy, algebra.stack([q, v]), lifted))
        return found

    @property
    def isometries(self) -> Mapping[str, bool]:
        """Whether the kinetic metric is invariant along each generator, to rounding."""
        holds = (found.holds for found in self.hypotheses.values())
        return dict(zip(self.names, holds, strict=True))

    # -- points of phase space ---------------------------------------------------------------------

    def at(self, state: Values, parameters: Values | None = None) -> Array:
        """J, (d,), at coordinates with momenta (names p_x) or velocities (names x_dot)."""
        values = numbers_by_name(self.parameters, state, parameters)
        moving = {v.name for v in self.system.velocities} & values.keys()
        block = "on_velocities" if moving else "value"
        return self._blocks[block](values)[block][:, 0]

    def derivative(self, state: Values, parameters: Values | None = None) -> Array:
        """DJ(z), (d, 2n), by coordinates and momenta."""
        return self._block("derivative", state, parameters)

    def lifted(self, state: Values, parameters: Values | None = None) -> Array:
        """X_a(z), the generators on phase space in columns, (2n, d)."""
        return self._block("lifted", state, parameters)

    def _block(self, name: str, state: Values, parameters: Values | None) -> Array:
        return self._blocks[name](numbers_by_name(self.parameters, state, parameters))[name]

    def rank(self, state: Values, parameters: Values | None = None) -> int:
        """The rank of DJ(z)."""
        return int(rank(_without_rounding(self.derivative(state, parameters)), DEPENDENT).rank)

    def isotropy(self, state: Values, parameters: Values | None = None) -> Any:
        """g_z, a basis in columns (d, r), at a phase-space point or at a configuration."""
        values = numbers_by_name(self.parameters, state, parameters)
        lifted = {p.name for p in self.system.momenta} & values.keys()
        block = "lifted" if lifted else "generators"
        return rank(_without_rounding(self._blocks[block](values)[block]), DEPENDENT).null_space

    def is_regular(self, state: Values, parameters: Values | None = None) -> bool:
        """Whether J is a submersion at a phase-space point: DJ(z) has full rank, isotropy is 0."""
        return self.rank(state, parameters) == len(self.names)

    # -- configurations ----------------------------------------------------------------------------

    def fields(self, configuration: Values, parameters: Values | None = None) -> Array:
        """K(q), the generators in columns, (n, d)."""
        return self._block("generators", configuration, parameters)

    def inertia(self, configuration: Values, parameters: Values | None = None) -> Array:
        """I(q), (d, d)."""
        K, M = self._place(configuration, parameters)
        return K.T @ M @ K

    def mechanical_connection(
        self, configuration: Values, parameters: Values | None = None
    ) -> Array:
        """A(q), (d, n): the velocity of the locked system, xi = I^-1 J.

        Raises
        ------
        ModelError
            Where the generators are no isometries, or I(q) is singular.
        """
        K, M, inverse = self._free_place(configuration, parameters)
        return inverse @ K.T @ M

    def least_covector(
        self, mu: ArrayLike, configuration: Values, parameters: Values | None = None
    ) -> Any:
        """alpha_mu(q) = A^* mu, (n,): the momenta of least kinetic energy with J = mu."""
        K, M, inverse = self._free_place(configuration, parameters)
        return M @ K @ inverse @ np.asarray(mu, dtype=float)

    def _place(self, configuration: Values, parameters: Values | None) -> tuple[Array, Array]:
        """K and M at a configuration."""
        found = self._blocks["place"](numbers_by_name(self.parameters, configuration, parameters))
        if "metric" not in found:
            raise ModelError("A locked inertia needs a kinetic energy quadratic in the velocities")
        return found["generators"], found["metric"]

    def _free_place(
        self, configuration: Values, parameters: Values | None
    ) -> tuple[Array, Array, Array]:
        K, M = self._place(configuration, parameters)
        broken = [name for name, holds in self.isometries.items() if not holds]
        if broken:
            what = (
                "The mechanical connection needs generators that leave the kinetic energy invariant"
            )
            raise ModelError(what, ", ".join(broken), "choose a subgroup that does")
        inertia = _without_rounding(K.T @ M @ K)
        if len(inertia) and rank(inertia, DEPENDENT).rank < len(inertia):
            still = rank(_without_rounding(K), DEPENDENT).null_space
            fixed = (_combination(column, self.names) for column in still.T)
            seen = "; ".join(f"{combination} leaves it at rest" for combination in fixed)
            what = "The locked inertia is singular at this configuration: the action is not free"
            remedy = "choose a configuration without isotropy, or a smaller group"
            raise ModelError(what, seen or "a degenerate kinetic energy along the orbit", remedy)
        return K, M, np.asarray(np.linalg.inv(inertia), dtype=float)

    @cached_property
    def _blocks(self) -> dict[str, NamedBlocks]:
        algebra, system = GraphAlgebra(), self.system
        state = (system.coordinates, system.velocities, system.momenta)
        q, v, p = (algebra.vector(symbols) for symbols in state)
        columns = [algebra.vector(self.generators[:, a]) for a in range(len(self.names))]
        K = algebra.columns(columns)
        _, momenta = lagrange.lagrangian_and_momenta(system, algebra)
        value = K.T @ p
        lower = [-(algebra.jacobian(column, q).T @ p) for column in columns]
        metric = algebra.without(algebra.jacobian(momenta, v), v)
        place = {"generators": K} | ({} if metric is None else {"metric": metric})
        blocks = {
            "value": value,
            "on_velocities": K.T @ momenta,
            "derivative": algebra.jacobian(value, algebra.stack([q, p])),
            "lifted": algebra.stack([K, algebra.columns(lower)]),
            "generators": K,
        }
        tables = {name: {name: block} for name, block in blocks.items()} | {"place": place}
        symbols = (*(symbol for group in state for symbol in group), *system.parameters)
        known = [symbol.name for symbol in symbols]
        return {name: NamedBlocks(algebra, table, known) for name, table in tables.items()}

    # -- presentation ------------------------------------------------------------------------------

    def latex(self) -> str:
        """J as a LaTeX column."""
        return str(sympy.latex(sympy.Matrix(self.momentum)))

    def text(self) -> str:
        """J, a line for each vector of the basis, and what holds to rounding."""
        pairs = zip(self.names, self.momentum, strict=True)
        lines = [f"J_{name} = {value}" for name, value in pairs]
        for claim, found in self.hypotheses.items():
            if found.holds and not found.is_proved:
                lines.append(f"{claim}: {found}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<MomentumMap of {self.system.name}: {', '.join(self.names)}>"


def momentum_map(system: System | Scenario, action: Fields | GroupAction) -> MomentumMap:
    """The momentum map of a group that acts on the coordinates of a system.

    Parameters
    ----------
    system : System or Scenario
    action : mapping of name to field, or GroupAction
        The generators xi_Q, as many as the group has dimensions; they may be dependent.

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
        names = tuple(given.algebra.names)
        matrix = _by_coordinate(model, given.coordinates, given.fields)
    elif isinstance(action, Mapping) and action:
        names = tuple(str(getattr(name, "name", name)) for name in action)
        fields = zip(names, action.values(), strict=True)
        matrix = sympy.Matrix.hstack(*(_column(model, name, field) for name, field in fields))
    else:
        what = "A momentum map needs the generators of an action"
        remedy = "give {name: {coordinate: component}}, or a GroupAction"
        raise ModelError(what, type(action).__name__, remedy)
    numbers = {name: float(value) for name, value in values.items()}
    return MomentumMap(model, names, sympy.ImmutableMatrix(matrix), numbers)


def _column(system: System, name: str, components: Any) -> sympy.MatrixBase:
    names = {str(getattr(key, "name", key)): value for key, value in components.items()}
    table = {key: as_expression(value) for key, value in names.items()}
    strange = [key for key in table if key not in {q.name for q in system.coordinates}]
    symbols = {s for value in table.values() for s in value.free_symbols}
    foreign = sorted(s.name for s in symbols if s not in (*system.coordinates, *system.parameters))
    if strange or foreign:
        raise ModelError(
            f"The generator `{name}` cannot be used",
            seen=", ".join([*strange, *foreign]),
            remedy="give components by coordinate, in coordinates and parameters of the system",
        )
    return sympy.Matrix([table.get(q.name, sympy.S.Zero) for q in system.coordinates])


def _by_coordinate(
    system: System, coordinates: Sequence[sympy.Symbol], fields: sympy.MatrixBase
) -> sympy.MatrixBase:
    """The rows of the fields in the order of the coordinates; zero for others of the system."""
    places = {str(getattr(q, "name", q)): k for k, q in enumerate(coordinates)}
    strange = [name for name in places if name not in {q.name for q in system.coordinates}]
    if strange:
        what = f"The action moves `{strange[0]}`, which is no coordinate of the system"
        raise ModelError(what, remedy="make an action on it")
    still = sympy.zeros(1, fields.cols)
    rows = (fields[places[q.name], :] if q.name in places else still for q in system.coordinates)
    return sympy.Matrix.vstack(*rows)


def _without_rounding(matrix: Array) -> Array:
    """Entries and rows of rounding beside the largest set to zero: rank concerns directions."""
    largest = float(np.max(np.abs(matrix), initial=0.0))
    return np.where(np.abs(matrix) > 1e-13 * largest, matrix, 0.0)


def _combination(column: Array, names: tuple[str, ...]) -> str:
    """A vector of the Lie algebra in words, its largest component one."""
    scaled = column / column[int(np.argmax(np.abs(column)))]
    text = ""
    for c, name in zip(scaled, names, strict=True):
        if abs(c) > 1e-9:
            size = abs(round(float(c), 6))
            sign = "- " if c < 0 else "+ " if text else ""
            text += f"{' ' if text else ''}{sign}{'' if size == 1 else f'{size:g} '}{name}"
    return text
