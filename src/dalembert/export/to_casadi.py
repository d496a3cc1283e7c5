r"""The equations of motion as functions of CasADi, to differentiate, integrate and optimise.

The constrained solve is part of every function. A kernel decides at run time which rows of A are
independent; an expression cannot. So the decision is made once, by the same `rank`, where
`Equations.to_jax` makes it as well: at a generic state. Rows that depend on others there are left
out of the solve, and their multipliers follow from those of the rows A_k that stay,

    A = C A_k,     C = A A_k^T (A_k A_k^T)^-1,     mu = C (C^T C)^-1 mu_k,

which is the mu of least norm with A^T mu = A_k^T mu_k, the one that the kernel finds. Where the
solve degenerates at a state, the results are NaN, because an expression cannot raise; ``health``
says how far that is. A solve that no choice of rows makes regular is refused, and so is one whose
rates depend on multipliers that the constraints do not determine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

from ..codegen.passes.solve_limits import HEALTHY
from ..codegen.passes.unrolled import unrolled_solve
from ..errors import FormError, ModelError
from ..model.parameter_values import parameter_values
from ..runtime.kernel import Kernel
from ..runtime.kernel_derivatives import _generic_instants, _health, _written_out, independent_rows
from ..typing import Parameters, Values

__all__ = ["CasadiEquations", "to_casadi"]

ARGUMENTS = ["t", "state", "parameters", "inputs"]


class _WrittenSolve(NamedTuple):
    """z (n x 1), mu (m x 1), the health of their solve, and the rows it kept."""

    z: ca.SX
    multipliers: ca.SX
    health: ca.SX
    kept: tuple[int, ...]


class CasadiEquations:
    """Functions of CasADi with arguments ``t, state, parameters, inputs``, positional or by name.

    Attributes
    ----------
    state, parameters, inputs, coordinates, constraints : tuples of str
    multiplier_names, output_names : tuples of str
        The symbols of the arguments and of the results, in their order.
    rates : Function -> (n_state x 1)
        The time derivative of the state.
    velocities, accelerations, momenta : Functions -> (one entry for each coordinate)
        q_dot, q_ddot and p.
    multipliers : Function -> (one entry for each of `multiplier_names`)
        mu; the least-norm one where constraints depend on each other.
    reactions : Function -> (coordinates x constraints)
        The generalised force of each constraint; the sum of the columns is the whole reaction.
    energy : Function -> (1 x 1)
    residuals : Function -> position (k x 1), velocity (m x 1)
        What is left of the holonomic constraints, and of all two-sided ones at velocity level.
    outputs : Function -> (one entry for each of `output_names`)
    gauss : Function -> metric G (n x n), force f (n x 1), rows A (m x n), right b (m x 1)
        The blocks of G z = f + A^T mu, A z = b, with every row.
    health : Function -> (1 x 1)
        The least pivot of the solve relative to its scale: 1 is best; results are NaN where it is
        below 1e-7.
    left_out : tuple of str
        Constraints whose rows depend on others at generic states, and take no part in the solve.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> m, k = da.parameters("m k", positive=True)
    >>> equations = da.derive(da.System([x], kinetic=m/2*x.dot**2, potential=k/2*x**2)).to_casadi()
    >>> equations.state, equations.parameters
    (('x', 'x_dot'), ('k', 'm'))
    >>> print(equations.rates(0, [0.5, 0.1], [4.0, 2.0], []))
    [0.1, -1]
    >>> print(equations.rates.jacobian().name_out())
    ['jac_rates_t', 'jac_rates_state', 'jac_rates_parameters', 'jac_rates_inputs']
    """

    def __init__(self, kernel: Kernel) -> None:
        equations, g = kernel.equations, kernel.graph
        system = equations.system
        self.state = tuple(symbol.name for symbol in equations.state)
        self.parameters = tuple(symbol.name for symbol in kernel.parameters)
        self.inputs = tuple(symbol.name for symbol in kernel.free_inputs)
        self.coordinates = tuple(q.name for q in system.coordinates)
        self.constraints = tuple(g.reactions)
        self.multiplier_names: tuple[str, ...] = kernel.multiplier_names
        self.output_names = tuple(g.outputs)
        self._kernel, self._symbols = kernel, kernel._inputs()[:4]
        self._solution = solution = _solved(kernel)
        rows = enumerate(equations.row_names)
        self.left_out = tuple(name for k, name in rows if k not in solution.kept)
        unknown = ca.vertcat(g.unknowns, g.multipliers)
        found = ca.vertcat(solution.z, solution.multipliers)
        determined = _is_finite(solution.z)
        if not solution.health.is_constant():
            determined = determined * solution.health

        def put(block: ca.SX) -> ca.SX:
            if not unknown.numel() or not ca.depends_on(ca.SX(block), unknown):
                return ca.SX(block)
            written = kernel.algebra.substitute(ca.SX(block), unknown, found)
            return _where(determined > HEALTHY, written)

        mu = g.multipliers if g.row_multipliers is None else g.row_multipliers
        reactions = [ca.densify(ca.SX(force)) for force in g.reactions.values()]
        self._rates = put(g.rates)
        self.rates = self._function("rates", self._rates)
        self.velocities = self._function("velocities", ca.SX(g.velocities))
        self.accelerations = self._function("accelerations", put(g.accelerations))
        momenta = ca.SX(0, 1) if g.momenta is None else ca.SX(g.momenta)
        self.momenta = self._function("momenta", momenta)
        self.multipliers = self._function("multipliers", put(mu))
        together = _side_by_side(reactions, len(self.coordinates))
        self.reactions = self._function("reactions", put(together))
        self.energy = self._function("energy", put(g.energy))
        self.residuals = self._function("residuals", *g.residuals, names=["position", "velocity"])
        self.outputs = self._function("outputs", put(_stacked(g.outputs.values())))
        blocks = (g.metric, g.force, g.rows, g.right)
        self.gauss = self._function("gauss", *blocks, names=["metric", "force", "rows", "right"])
        self.health = self._function("health", determined)

    def __repr__(self) -> str:
        form, name = self._kernel.equations.form, self._kernel.equations.system.name
        return f'<CasADi functions of "{form}" of {name}: state {", ".join(self.state)}>'

    def _function(
        self, name: str, *results: ca.SX, names: Sequence[str] | None = None
    ) -> ca.Function:
        columns = [ca.densify(ca.SX(result)) for result in results]
        return ca.Function(name, self._symbols, columns, ARGUMENTS, list(names or [name]))

    # -- for casadi.integrator ---------------------------------------------------------------------

    @property
    def ode(self) -> dict[str, ca.SX]:
        """``{"t", "x", "p", "u", "ode"}`` for `casadi.integrator`, without "p" or "u" if empty.

        Nothing is projected there: constraints are kept as well as the integrator keeps invariants.
        Forms on independent velocities (`maggi`) obey constraints on velocities by construction.
        """
        return self._problem() | {"ode": self._rates}

    @property
    def dae(self) -> dict[str, ca.SX]:
        """The same with algebraic variables z, mu: ``{"t", "x", "z", "p", "u", "ode", "alg"}``.

        It is of index one, for `casadi.integrator` with "idas" or "collocation", and for
        transcriptions that would rather carry G z - f - A^T mu = 0 and A z - b = 0 than solve them.
        Rows in `left_out` are not part of it.
        """
        kernel = self._kernel
        g, kept = kernel.graph, list(self._solution.kept)
        is_whole = len(kept) == kernel.m
        if not is_whole and ca.depends_on(g.rates, g.multipliers):
            raise _undetermined(kernel)
        mu = g.multipliers if is_whole else ca.SX.sym("mu", len(kept))
        rows, right = ca.SX(0, kernel.n), ca.SX(0, 1)
        if kept:
            rows, right = g.rows[kept, :], g.right[kept]
        balance = g.metric @ g.unknowns - g.force - rows.T @ mu
        alg = ca.vertcat(balance, rows @ g.unknowns - right)
        rates = ca.densify(ca.SX(g.rates))
        own = {"z": ca.vertcat(g.unknowns, mu), "ode": rates, "alg": ca.densify(alg)}
        return self._problem() | own

    def _problem(self) -> dict[str, ca.SX]:
        t, x, p, u = self._symbols
        given = ({"p": p} if self.parameters else {}) | ({"u": u} if self.inputs else {})
        return {"t": t, "x": x} | given

    # -- values by name ----------------------------------------------------------------------------

    def parameter_vector(self, parameters: Parameters) -> ca.DM:
        """Values of parameters by name or symbol as a DM (n_parameters x 1)."""
        return ca.DM(parameter_values(self._kernel.parameters, parameters))

    def state_vector(self, values: Values) -> ca.DM:
        """Values of the state by name, such as ``motion.start``, as a DM (n_state x 1)."""
        table = {str(getattr(key, "name", key)): value for key, value in values.items()}
        missing = [symbol for symbol in self.state if symbol not in table]
        if missing:
            remedy = "give them all; motion.start of a run has a consistent set"
            raise ModelError("A value of the state is missing", ", ".join(missing), remedy)
        return ca.DM(np.array([float(table[symbol]) for symbol in self.state]))


def to_casadi(kernel: Kernel) -> CasadiEquations:
    """The functions of a kernel for CasADi; see `dalembert.Equations.to_casadi`."""
    return CasadiEquations(kernel)


def _solved(kernel: Kernel) -> _WrittenSolve:
    """The solve written out, with the rows that are independent at a generic state."""
    every = tuple(range(kernel.m))
    if kernel.solved is not None:
        return _WrittenSolve(
            kernel.solved.z, kernel.solved.multipliers, kernel.solved.health, every
        )
    for place in _generic_instants(kernel):
        kept = independent_rows(kernel, place).solve
        for augment in (False, True) if kept else (False,):
            found = _written_out(kernel, kept, augment)
            if found is not None and _health(kernel, found, place) > 10 * HEALTHY:
                mu = found.multipliers
                if len(kept) < kernel.m:
                    mu = _least_norm(kernel, kept, mu)
                return _WrittenSolve(found.z, mu, found.health, tuple(kept))
    raise FormError(
        f'The solve of the form "{kernel.equations.form}" cannot be written out as one regular'
        " expression",
        f"{kernel.n} unknowns, {kernel.m} constraint rows",
        "use another form, such as maggi, or drop constraints that repeat others",
    )


def _least_norm(kernel: Kernel, kept: Sequence[int], multipliers: ca.SX) -> ca.SX:
    """mu = C (C^T C)^-1 mu_k of the module's head, (m x 1)."""
    if ca.depends_on(kernel.graph.rates, kernel.graph.multipliers):
        raise _undetermined(kernel)
    rows = kernel.graph.rows
    chosen = rows[list(kept), :]
    columns = [_regular(chosen @ chosen.T, chosen @ rows[k, :].T) for k in range(kernel.m)]
    products = ca.horzcat(*columns)  # C^T
    return products.T @ _regular(products @ products.T, multipliers)


def _regular(matrix: ca.SX, right: ca.SX) -> ca.SX:
    """The solution of a small regular symmetric system in straight-line code."""
    size = matrix.shape[0]
    return unrolled_solve(matrix, right, ca.SX(0, size), ca.SX(0, 1)).z


def _undetermined(kernel: Kernel) -> FormError:
    return FormError(
        f'The rates of the form "{kernel.equations.form}" depend on multipliers that are not'
        " determined",
        ", ".join(kernel.equations.row_names),
        "drop the constraints that repeat others",
    )


def _is_finite(column: ca.SX) -> ca.SX:
    """1 where every entry is a number, else 0."""
    found = ca.SX(1)
    for k in range(column.numel()):
        found = ca.if_else(ca.fabs(column[k]) < np.inf, found, 0)
    return found


def _where(condition: ca.SX, block: ca.SX) -> ca.SX:
    """The block where a condition holds, NaN elsewhere."""
    block = ca.densify(block)
    return ca.if_else(condition, block, ca.SX.nan(*block.shape)) if block.numel() else block


def _stacked(columns: Iterable[ca.SX]) -> ca.SX:
    found = [ca.densify(ca.vec(ca.SX(column))) for column in columns]
    return ca.vertcat(*found) if found else ca.SX(0, 1)


def _side_by_side(columns: Sequence[ca.SX], rows: int) -> ca.SX:
    return ca.horzcat(*columns) if columns else ca.SX(rows, 0)
