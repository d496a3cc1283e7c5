r"""Kinematics and dynamics of a mechanism in numbers, for one state or for arrays of states.

Everything comes from the one `System` of the mechanism. With its Lagrangian L and its applied
forces Q (springs, dampers and forces along joints included, inputs zero),

    M(q) = L_vv,      tau = d/dt L_v - L_q - Q = M(q) a + h(q, v),

which the graph evaluates in a time proportional to the number of joints.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import casadi as ca
import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...codegen.native_block import NativeBlock
from ...codegen.passes.lifted_solve import lifted_solution
from ...codegen.passes.solve_limits import HEALTHY
from ...codegen.passes.unrolled import (
    UnrolledSolution,
    is_generically_healthy,
    unrolled_solve,
)
from ...errors import ModelError, SingularError
from ...formulations.forms.lagrange import applied_force
from ...formulations.newton_euler import inertial_force
from ...formulations.registry import derive
from ...model.bodies.body import Frame, Place, as_frame
from ...model.bodies.mechanism import Coordinates, Mechanism
from ...model.bodies.vectors import Triple, add, cross, scale
from ...model.cache import Cache
from ...model.constraints import FrictionLimit
from ...model.symbols import by_name, t
from .model_store import ModelStore
from .spatial_derivatives import SpatialTree, is_fixed_in_time
from .tree_columns import DerivativeLoops, TreeColumns, tree_columns

if TYPE_CHECKING:
    from ...model.bodies.kinematics import Kinematics
    from ...model.system import System
    from ...typing import Array, ArrayLike, Values

__all__ = ["BodyModel", "Pose"]

ZERO, ONE = sympy.Integer(0), sympy.Integer(1)
#: Longer blocks are interpreted: compiling them would take minutes.
MOST_NATIVE = 500_000
#: Inner products of fewer operations are faster without loops.
LEAST_LOOPS = 15_000
#: Results (count, size) at states (count, 3 n) and values of the parameters.
_Evaluate: TypeAlias = "Callable[[Array, Array], Array]"


@dataclass(frozen=True)
class Pose:
    """Where frames are.

    Attributes
    ----------
    rotation : array (..., 3, 3)
        The axes of the frame in space as columns.
    position : array (..., 3)

    >>> Pose(np.eye(3), np.zeros(3)).position.shape
    (3,)
    """

    rotation: Array
    position: Array


class BodyModel:
    """A mechanism with values of its parameters, for questions in numbers.

    Coordinates and velocities are arrays (..., n) in the order of `names`; leading dimensions are
    many states at once.

    Parameters
    ----------
    parameters : mapping of parameter to number
    coordinates : "joint" or "maximal"
    native : bool
        Whether each quantity is compiled when it is first asked for, which pays for many calls;
        blocks of more than half a million operations are interpreted (`inverse_derivatives` has
        loops and is not). Compiled quantities are
        kept in the cache on disk: a later process finds them without stating the system again.

    Examples
    --------
    >>> import dalembert as da
    >>> b = da.bodies
    >>> arm = b.Body("arm", mass=2, com=(1, 0, 0))
    >>> mechanism = b.Mechanism([b.revolute("a", b.ground(), arm)], gravity=(0, -9.81, 0))
    >>> model = b.BodyModel(mechanism)
    >>> model.mass_matrix([0.0]).tolist(), model.bias([0.0], [0.0]).round(2).tolist()
    ([[2.0]], [19.62])
    >>> model.pose(arm.point((1, 0, 0)), [[0.0], [np.pi / 2]]).position.round(3).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """

    def __init__(
        self,
        mechanism: Mechanism,
        parameters: Values | None = None,
        coordinates: Coordinates = "joint",
        *,
        native: bool = False,
    ) -> None:
        self.mechanism, self.native, self._coordinates = mechanism, native, coordinates
        self._store = ModelStore(mechanism, coordinates) if native else None
        known = self._store.names() if self._store else None
        #: The names of the coordinates, in the order of arrays.
        self.names, named = known or self._stated_names()
        values = by_name(parameters or {}, "mapping of parameters")
        missing = [name for name in named if name not in values]
        if missing:
            raise ModelError(
                f"The parameters {', '.join(missing)} have no value",
                remedy=f"pass parameters={{{missing[0]!r}: 1.0}}, say",
            )
        self._parameters = np.array([float(values[name]) for name in named])
        self._cache = Cache("functions of a mechanism")

    @cached_property
    def system(self) -> System:
        """The system that all quantities come from."""
        return self.mechanism.system(self._coordinates)

    @cached_property
    def kinematics(self) -> Kinematics:
        """Poses and twists of all bodies in the coordinates."""
        return self.mechanism.kinematics_in(self._coordinates)

    def _stated_names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        coordinates = tuple(q.name for q in self.system.coordinates)
        parameters = tuple(p.name for p in self.system.parameters)
        if self._store:
            self._store.keep_names(coordinates, parameters)
        return coordinates, parameters

    @cached_property
    def _algebra(self) -> GraphAlgebra:
        return GraphAlgebra()

    @cached_property
    def _q(self) -> Any:
        return self._algebra.vector(self.system.coordinates)

    @cached_property
    def _v(self) -> Any:
        return self._algebra.vector(self.system.velocities)

    @cached_property
    def _a(self) -> Any:
        """Accelerations; forces where these are asked for."""
        return self._algebra.vector([q.ddot for q in self.system.coordinates])

    # -- evaluation --------------------------------------------------------------------------------

    def evaluate(
        self,
        key: Any,
        make: Callable[[], Any],
        *states: ArrayLike,
        loops: Callable[[], DerivativeLoops | None] = lambda: None,
    ) -> Array:
        """A block of the graph at states (q, v, a), as an array (..., rows, columns).

        Native code takes `loops` instead of the block where there are any.
        """
        n = len(self.names)
        wide = [np.asarray(state, dtype=float) for state in states]
        for state in wide:
            if state.shape[-1:] != (n,):
                raise ModelError(
                    "A state has one number for each coordinate",
                    seen=f"shape {state.shape}, {n} coordinates",
                    remedy=f"give them in the order {', '.join(self.names[:6])}",
                )
        wide += [np.zeros(n)] * (3 - len(wide))
        lead = np.broadcast_shapes(*(state.shape[:-1] for state in wide))
        flat = [np.broadcast_to(state, (*lead, n)).reshape(-1, n) for state in wide]
        function, shape = self._cache.get(key, lambda: self._function(key, make, loops))
        found = function(np.hstack(flat), self._parameters)
        return np.asarray(found.reshape(*lead, shape[1], shape[0]).swapaxes(-1, -2))

    def _function(
        self, key: Hashable, make: Callable[[], Any], loops: Callable[[], DerivativeLoops | None]
    ) -> tuple[_Evaluate, tuple[int, int]]:
        known = self._store.block(key) if self._store else None
        if known is not None:
            return known
        state = ca.vertcat(self._q, self._v, self._a)
        parameters = self._algebra.vector(self.system.parameters)
        if self._store and (found := loops()):
            numbers = self._undriven(found.numbers)
            native = NativeBlock.of_pairs(state, parameters, numbers, found.products)
            self._store.keep_block(key, native, found.shape)
            return native, found.shape
        block = self._undriven(ca.SX(make()))
        column = ca.densify(ca.vec(block))
        shape = (int(block.shape[0]), int(block.shape[1]))
        function = ca.Function("block", [ca.vertcat(state, parameters)], [column])
        if self._store and function.n_instructions() <= MOST_NATIVE:
            native = NativeBlock.compiled(state, parameters, column)
            self._store.keep_block(key, native, shape)
            return native, shape

        def interpreted(states: Array, values: Array) -> Array:
            many = np.repeat(values[:, None], len(states), axis=1)
            return np.asarray(function(np.vstack([states.T, many])).full()).T

        return interpreted, shape

    def _undriven(self, block: Any) -> Any:
        """A block without inputs, at time zero."""
        inputs = self._algebra.vector([*self.system.inputs, t])
        return ca.substitute(block, inputs, ca.DM.zeros(inputs.numel()))

    def array(self, values: Mapping[Any, float]) -> Array:
        """Coordinates by name as an array (n,); home values where they are not given."""
        given = by_name(values, "coordinates")
        unknown = sorted(set(given) - set(self.names))
        if unknown:
            raise ModelError(
                f"There is no coordinate `{unknown[0]}`",
                seen=", ".join(self.names),
                remedy="use one of these names",
            )
        home = {q.name: value for q, value in self.system.home.items()}
        return np.array([float(given.get(name, home.get(name, 0.0))) for name in self.names])

    # -- kinematics --------------------------------------------------------------------------------

    def pose(self, place: Place, q: ArrayLike) -> Pose:
        """The pose of a frame in space."""
        frame = as_frame(place, "A pose")

        def make() -> Any:
            rows = self.kinematics.axes(frame).rows
            entries = [self._algebra.vector(row).T for row in rows]
            return ca.horzcat(ca.vertcat(*entries), self._vector(self.kinematics.position(frame)))

        found = self.evaluate(("pose", frame), make, q)
        return Pose(found[..., :3], found[..., 3])

    def twist(self, place: Place, q: ArrayLike, v: ArrayLike) -> Array:
        """Angular velocity and velocity of a frame's origin, in space, (..., 6)."""
        frame = as_frame(place, "A twist")
        return self.evaluate(("twist", frame), lambda: self._twist(frame), q, v)[..., 0]

    def jacobian(self, place: Place, q: ArrayLike) -> Array:
        """The matrix J (..., 6, n) with twist = J v."""
        frame = as_frame(place, "A Jacobian")
        return self.evaluate(
            ("jacobian", frame), lambda: ca.jacobian(self._twist(frame), self._v), q
        )

    def acceleration(self, place: Place, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """The time derivative of the twist of a frame, in space, (..., 6)."""
        frame = as_frame(place, "An acceleration")
        return self.evaluate(
            ("acceleration", frame), lambda: self._rate(self._twist(frame)), q, v, a
        )[..., 0]

    def _twist(self, frame: Frame) -> Any:
        return ca.vertcat(
            self._vector(self.kinematics.spin(frame)), self._vector(self.kinematics.velocity(frame))
        )

    def _rate(self, block: Any) -> Any:
        """The total time derivative of a column of functions of q and v."""
        state = ca.vertcat(self._q, self._v)
        return ca.jtimes(block, state, ca.vertcat(self._v, self._a))

    def _vector(self, entries: Sequence[sympy.Expr]) -> Any:
        return self._algebra.vector(list(entries))

    # -- masses ------------------------------------------------------------------------------------

    def centre_of_mass(self, q: ArrayLike) -> Array:
        """The centre of mass of all bodies, (..., 3)."""
        return self.evaluate("centre", lambda: self._vector(self._centre()), q)[..., 0]

    def momentum(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Angular momentum about the centre of mass, and momentum, in space, (..., 6)."""
        return self.evaluate("momentum", self._momentum, q, v)[..., 0]

    def _masses(self) -> list[tuple[Any, Frame]]:
        return [(body, Frame(body, body.com)) for body in self.mechanism.bodies]

    def _centre(self) -> Triple:
        total = sum((body.mass for body, _ in self._masses()), ZERO)
        where: Triple = (ZERO, ZERO, ZERO)
        for body, frame in self._masses():
            where = add(where, scale(body.mass / total, self.kinematics.position(frame)))
        return where

    def _momentum(self) -> Any:
        centre = self._centre()
        spin, linear = (ZERO, ZERO, ZERO), (ZERO, ZERO, ZERO)
        for body, frame in self._masses():
            axes, _ = self.kinematics.pose(body)
            own, _ = self.kinematics.twist(body)
            turning = tuple(
                sum((body.inertia[i, j] * own[j] for j in range(3)), ZERO) for i in range(3)
            )
            push = scale(body.mass, self.kinematics.velocity(frame))
            lever = add(self.kinematics.position(frame), scale(-ONE, centre))
            spin = add(spin, add(axes.applied(turning), cross(lever, push)))
            linear = add(linear, push)
        return ca.vertcat(self._vector(spin), self._vector(linear))

    # -- dynamics ----------------------------------------------------------------------------------

    def mass_matrix(self, q: ArrayLike) -> Array:
        """M(q), (..., n, n)."""
        return self.evaluate("mass", lambda: ca.hessian(self._lagrangian(), self._v)[0], q)

    def bias(self, q: ArrayLike, v: ArrayLike) -> Array:
        """h(q, v): the forces that keep all accelerations zero, (..., n)."""
        return self.inverse_dynamics(q, v, np.zeros(len(self.names)))

    def inverse_dynamics(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """The generalised forces tau = M a + h that give the accelerations, (..., n)."""
        return self.evaluate("inverse", self._inverse, q, v, a)[..., 0]

    def inverse_derivatives(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike
    ) -> tuple[Array, Array, Array]:
        """d tau / dq, d tau / dv and d tau / da = M of `inverse_dynamics`, (..., n, n) each."""
        n = len(self.names)
        found = self.evaluate(
            "inverse derivatives", self._inverse_derivatives, q, v, a, loops=self._pair_loops
        )
        return found[..., :n], found[..., n : 2 * n], found[..., 2 * n :]

    def forward_dynamics(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> Array:
        """The accelerations under generalised forces, with loops closed and wheels that roll.

        Without constraints it is the inverse of `inverse_dynamics`. Limits of joints are not taken
        into account.

        Raises
        ------
        ModelError
            Where joints or wheels have friction, whose mode a state does not decide.
        SingularError
            Where constraints depend on each other, or a motion has no inertia.

        Examples
        --------
        >>> import dalembert as da
        >>> b = da.bodies
        >>> arm = b.Body("arm", mass=2, com=(1, 0, 0))
        >>> swing = b.Mechanism([b.revolute("a", b.ground(), arm)], gravity=(0, -9.81, 0))
        >>> b.BodyModel(swing).forward_dynamics([0.0], [0.0], [1.62]).tolist()
        [-9.0]
        """
        found = self.evaluate("forward", self._forward, q, v, tau)[..., 0]
        if not np.all(found[..., -1] > HEALTHY):
            raise SingularError(
                "The accelerations are not unique in straight-line code",
                seen=f"pivot ratio {np.min(found[..., -1]):.1e}",
                remedy="use da.derive(model.system).compile().rates, which decides the rank",
            )
        return found[..., :-1]

    def _forward(self) -> Any:
        limited = [c.name for c in self.system.constraints if isinstance(c, FrictionLimit)]
        if limited:
            raise ModelError(
                "Forward dynamics with friction needs its mode, sticking or slipping",
                seen=f"the friction of {limited[0]}",
                remedy="simulate the system, which decides it",
            )
        blocks = derive(self.system, "lagrange").blocks(self._algebra)
        pushed: Any = replace(blocks, force=blocks.force + self._a)
        symbols = [*self.system.parameters, *self.system.inputs, t]
        inputs = [ca.vertcat(self._q, self._v, self._a), self._algebra.vector(symbols)]
        for solve in (lifted_solution, _unrolled, _augmented):
            found = solve(pushed)
            if found and is_generically_healthy(inputs, found.health, MOST_NATIVE):
                return ca.vertcat(found.z, found.health)
        raise SingularError(
            "Constraints depend on each other in every position, or a motion has no inertia",
            remedy="use da.derive(model.system).compile().rates, which decides the rank",
        )

    def _lagrangian(self) -> Any:
        return self._algebra.scalar(self.system.energy_function)

    def _inverse(self) -> Any:
        tree = self.system.body_tree
        if tree is None:
            return self._force_of(self._lagrangian())
        moving = inertial_force(self._algebra, tree, self._q, self._v, self._a)
        return -moving - self._applied()

    def _force_of(self, lagrangian: Any) -> Any:
        """d/dt L_v - L_q - Q for a part of the Lagrangian and all applied forces Q."""
        part = ca.gradient(lagrangian, self._v)
        return self._rate(part) - ca.gradient(lagrangian, self._q) - self._applied()

    def _applied(self) -> Any:
        momenta = ca.gradient(self._lagrangian(), self._v)
        return applied_force(self.system, self._algebra, momenta)

    def _inverse_derivatives(self) -> Any:
        """d tau / d(q, v, a), (n x 3 n)."""
        terms = self._derivative_terms()
        if terms is None:
            return ca.jacobian(self._inverse(), ca.vertcat(self._q, self._v, self._a))
        columns, rest = terms
        return columns.matrix() + rest

    def _pair_loops(self) -> DerivativeLoops | None:
        """The same derivatives as loops, where each coordinate moves one step of a joint."""
        terms = self._derivative_terms()
        found = terms[0].loops(terms[1]) if terms is not None else None
        return found if found and found.products.operations >= LEAST_LOOPS else None

    def _derivative_terms(self) -> tuple[TreeColumns, Any] | None:
        """Derivatives of the forces of all bodies, and of the others (springs, rotors, ...)."""
        stated = self.mechanism.tree(self._coordinates)
        if not is_fixed_in_time(stated.edges.values()):
            return None
        tree = SpatialTree(self._algebra, stated)
        columns, rest = tree_columns(tree, self._q, self._v, self._rate(tree.rates))
        others = self._algebra.scalar(stated.others)
        state = ca.vertcat(self._q, self._v, self._a)
        return columns, ca.sparsify(rest + ca.jacobian(self._force_of(others), state))

    def residual(self, q: ArrayLike) -> tuple[Array, Array]:
        """Residuals of the holonomic constraints (..., k) and their Jacobian (..., k, n)."""
        holonomic = [c.expression for c in self.system.bilateral if c.is_position_level]
        column = self._vector(holonomic)
        found = self.evaluate("residual", lambda: column, q)[..., 0]
        rows = self.evaluate("rows", lambda: ca.jacobian(column, self._q), q)
        return found, rows


def _unrolled(blocks: Any, augment: bool = False) -> UnrolledSolution:
    parts = (blocks.metric, blocks.force, blocks.rows, blocks.right)
    return unrolled_solve(*parts, augment=augment, determined=True)


def _augmented(blocks: Any) -> UnrolledSolution:
    return _unrolled(blocks, augment=True)
