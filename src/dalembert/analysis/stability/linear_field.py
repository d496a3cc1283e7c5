r"""Rates of a state at one point, their exact derivatives with rounding bounds, constraints.

The unknowns w = (z, mu) of the Gauss problem solve R(w, y) = K w + r = 0. Differentiating that
equation, instead of its solution, needs no symbolic solve:

    dw/dy = -K^-1 R_y,      A = dF/dy = F_y + F_w dw/dy.

Dependent rows of the constraints are left out of K; along the constraint manifold they follow from
the others. The error of A follows from the sizes of the terms of R_y and F_y (`magnitudes`),
through |K^-1|.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...codegen.dense_function import DenseFunction
from ...codegen.passes.magnitudes import magnitudes, switch_arguments
from ...errors import RunError
from ...runtime.gauss.constrained_solve import rank, solve
from ...runtime.kernel import Kernel
from ...typing import Array

if TYPE_CHECKING:
    from ...algebra.protocol import Block

__all__ = ["FieldValue", "LinearField"]

#: Rounding errors of a value, in units of the size of its terms.
ROUNDING = 32 * 2.0**-52


@dataclass(frozen=True)
class FieldValue:
    """The rates of n state variables at a point, with derivatives.

    Attributes
    ----------
    rates, sizes : arrays (n,)
        F, and the size of the terms that it is the sum of.
    matrix, error : arrays (n, n)
        dF/dy, and a bound of its rounding error.
    by_inputs : array (n, k)
        dF/du for the free inputs.
    residual, residual_sizes : arrays (c,)
        Of the constraints, at position and at velocity level, with the sizes of their terms.
    jacobian, jacobian_sizes : arrays (c, n)
        Of the constraints, with the sizes of the terms.
    """

    rates: Array
    sizes: Array
    matrix: Array
    error: Array
    by_inputs: Array
    residual: Array
    residual_sizes: Array
    jacobian: Array
    jacobian_sizes: Array


class LinearField:
    """F(y, t) of a kernel for given parameters; `structure` tells on which variables it depends."""

    def __init__(self, kernel: Kernel, values: Array, inputs: Array | None = None) -> None:
        self.kernel, self.values = kernel, values
        self.inputs = np.zeros(len(kernel.free_inputs)) if inputs is None else inputs
        #: What a reader should know of the equations.
        self.notes: tuple[str, ...] = ()
        self.names: tuple[str, ...] = tuple(symbol.name for symbol in kernel.equations.state)
        kept = kernel.cache.get("linear field", lambda: _functions(kernel))
        self._gauss: DenseFunction = kept["gauss"]
        self._blocks: DenseFunction = kept["blocks"]
        self._switches: DenseFunction | None = kept["switches"]
        #: State variables that nothing depends on, and whether something depends on time.
        self.cyclic: tuple[int, ...] = kept["cyclic"]
        self.is_timed: bool = kept["is_timed"]

    def __call__(self, point: Array, time: float = 0.0, inputs: Array | None = None) -> FieldValue:
        """The field at a point; inputs are those of the field unless given."""
        kernel, n = self.kernel, self.kernel.n
        u = self.inputs if inputs is None else inputs
        K, r, r_size, G, f, A, b = self._gauss(time, point, self.values, u, np.zeros(n + kernel.m))
        inverse = self._inverse(K, G, f.ravel(), A, b.ravel())
        w = _solution(inverse, K, -r.ravel())
        rates, size, F_y, F_y_size, F_u, F_w, *found = self._blocks(time, point, self.values, u, w)
        R_y, R_y_size, R_u, residual, residual_size, C, C_size = found
        if not all(np.all(np.isfinite(block)) for block in (rates, F_y, R_y, C)):
            pairs = zip(self.names, point, strict=True)
            seen = ", ".join(f"{name} = {value:.6g}" for name, value in pairs)
            what = "The equations have no finite derivatives at this point"
            raise RunError(what, seen, remedy="choose another point")
        F_y_size = F_y_size.reshape(F_y.shape, order="F")
        R_y_size = R_y_size.reshape(R_y.shape, order="F")
        dw = _solution(inverse, K, -R_y)
        doubt = R_y_size + np.abs(K) @ np.abs(dw)
        error = F_y_size + np.abs(F_w) @ (np.abs(dw) + np.abs(inverse) @ doubt)
        w_size = np.abs(inverse) @ (r_size.ravel() + np.abs(K) @ (np.abs(inverse) @ r_size.ravel()))
        return FieldValue(
            rates.ravel(),
            size.ravel() + np.abs(F_w) @ w_size,
            F_y + F_w @ dw,
            ROUNDING * error,
            F_u + F_w @ _solution(inverse, K, -R_u),
            residual.ravel(),
            residual_size.ravel(),
            C,
            C_size.reshape(C.shape, order="F"),
        )

    @property
    def has_switches(self) -> bool:
        """Whether an operation such as |x| or Max switches somewhere, depending on the state."""
        return self._switches is not None

    def switches_at(self, point: Array) -> bool:
        """Whether an operation such as |x| or Max switches at a point (no derivatives there)."""
        if self._switches is None:
            return False
        none = np.zeros(self.kernel.n + self.kernel.m)
        found, size = self._switches(0.0, point, self.values, self.inputs, none)
        return bool(np.any(np.abs(found) <= 1e-9 * size))

    def has_rank(self, number: int) -> bool:
        """Whether the constraints are proved to have this rank nearby, since it is the largest."""
        kernel = self.kernel
        y = kernel.algebra.vector(kernel.equations.state)
        residual = ca.vertcat(kernel.graph.position.residual, kernel.graph.velocity.residual)
        return kernel.algebra.rank(ca.jacobian(residual, y)).at_most <= number

    def _inverse(self, K: Array, G: Array, f: Array, A: Array, b: Array) -> Array:
        """K^-1 on independent rows, zero elsewhere; least solutions where the form has a gauge."""
        record, n, m = self.kernel.equations, self.kernel.n, self.kernel.m
        if not (np.all(np.isfinite(K)) and np.all(np.isfinite(f)) and np.all(np.isfinite(b))):
            seen, remedy = "a block of the Gauss problem that is not finite", "choose another point"
            raise RunError("The equations have no finite values at this point", seen, remedy)
        if self.kernel.graph.free is None:  # raises where the problem is singular
            solve(G, f, A, b, definite=record.is_definite, gauge=record.has_gauge)
        kept = np.concatenate([np.arange(n), n + (rank(A).independent if m else np.zeros(0, int))])
        inverse = np.zeros_like(K)
        part = K[np.ix_(kept, kept)]
        if record.has_gauge:
            rows = rank(part).independent
            Q, R = np.linalg.qr(part[rows].T)
            inverse[np.ix_(kept, kept[rows])] = Q @ np.linalg.inv(R).T
        elif len(kept):
            try:
                inverse[np.ix_(kept, kept)] = np.linalg.inv(part)
            except np.linalg.LinAlgError:
                seen, remedy = "a singular Gauss problem", "choose another point, or another form"
                raise RunError("The motion is not determined at this point", seen, remedy) from None
        return inverse


def _solution(inverse: Array, K: Array, right: Array) -> Array:
    """K^-1 applied to a right-hand side, refined once; its residual is rounding beside |K| |w|."""
    w = inverse @ right
    return w + inverse @ (right - K @ w)


def _functions(kernel: Kernel) -> dict[str, Any]:
    """The blocks of R and F as functions, and what they depend on."""
    g, algebra = kernel.graph, kernel.algebra
    w, y = kernel._unknown_symbols, algebra.vector(kernel.equations.state)
    u, inputs = algebra.vector(kernel.free_inputs), kernel._inputs(kernel._unknown_symbols)
    z, mu = g.unknowns, g.multipliers
    if g.free is not None and (g.dual_rows is not None or not kernel.m):
        first = z - g.free - (g.dual_rows @ mu if kernel.m else 0)
    else:
        first = g.metric @ z - g.force - (g.rows.T @ mu if kernel.m else 0)
    R = ca.vertcat(first, g.rows @ z - g.right) if kernel.m else first
    K, R_y, F_y = ca.jacobian(R, w), ca.jacobian(R, y), ca.jacobian(g.rates, y)
    constraints = ca.vertcat(g.position.residual, g.velocity.residual)
    C = ca.jacobian(constraints, y)
    none = ca.substitute(R, w, ca.SX.zeros(w.numel()))

    def size(block: ca.SX) -> Block:
        if not block.numel():
            return ca.SX(0, 1)
        return magnitudes(inputs, ca.densify(ca.vec(ca.SX(block))))

    blocks = [g.rates, size(g.rates), F_y, size(F_y)]
    blocks += [ca.jacobian(g.rates, u), ca.jacobian(g.rates, w)]
    blocks += [R_y, size(R_y), ca.jacobian(R, u), constraints, size(constraints), C, size(C)]
    everything = ca.vertcat(R, g.rates, constraints)
    coordinates = set(kernel.equations.system.coordinates)
    needed = set(ca.jacobian(everything, y).sparsity().get_col())
    for k, symbol in enumerate(kernel.equations.state):  # coordinates that only seem to occur
        is_needed = k in needed and symbol in coordinates
        if is_needed and algebra.independence(everything, y[k]).is_proved:
            needed.remove(k)
    switches = switch_arguments(inputs, everything)
    moving = [k for k in range(switches.numel()) if ca.depends_on(switches[k], y)]
    switching = [switches[moving], size(switches[moving])]
    return {
        "switches": DenseFunction(inputs, switching) if moving else None,
        "gauss": DenseFunction(inputs, [K, none, size(none), g.metric, g.force, g.rows, g.right]),
        "blocks": DenseFunction(inputs, blocks),
        "cyclic": tuple(k for k in range(y.numel()) if k not in needed),
        "is_timed": not algebra.independence(everything, inputs[0]).is_proved,
    }
