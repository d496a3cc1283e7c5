r"""Where a mesh is too coarse: for the motion, and for the cost.

*The motion.* Each interval is integrated again from its first node by a step of high order; its
miss of the next node is the local error of the collocation.

*The cost.* By Pontryagin an optimal input minimises H(x, v, lambda) = L(x, v) + V_x . f(x, v) at
each instant, within its bounds; bounds on expressions of it enter with their multipliers. The
integral of

    H(x, u, V_x) - min over v of H(x, v, V_x)

is what the piecewise polynomials lose to the first order: it tells where an input wants to jump.
"""

from __future__ import annotations

from itertools import pairwise

import casadi as ca
import numpy as np

from ...integrate.methods.adaptive.dop853_coefficients import STAGES, A, C
from ...typing import Array
from .answer import InputArc
from .nonlinear_program import Iterate, NonlinearProgram
from .polynomials import node_table
from .problem_statement import Range, Statement
from .schemes import bernstein, interpolation

__all__ = ["Assessor", "next_mesh", "refined"]

#: Places on each interval at which the minimum of H is compared.
CHECKS = 9
#: An arc is singular where an input keeps this part of its range away from its bounds, for longer
#: than this part of the span.
SINGULAR_MARGIN, SHORT_ARC = 0.02, 0.02
#: Most parts of an interval in one refinement.
MOST_PARTS = 4


class Assessor:
    """The functions that judge a mesh; made once for a statement."""

    def __init__(self, statement: Statement) -> None:
        self.statement = statement
        dynamics = statement.dynamics
        time, x, _, u, p = dynamics.arguments
        self.rates = explicit(statement, [dynamics.kernel.graph.rates])
        self.mixed = [k for k, bound in enumerate(statement.path) if not bound.of_state]
        self.hamiltonian = None
        q = statement.quantities
        values = statement.path_values[self.mixed] if self.mixed else ca.SX(0, 1)
        found = written_out(statement, [dynamics.kernel.graph.rates, q.integrands, values])
        if found is None or not dynamics.inputs:
            return
        weights, derivative = (
            ca.SX.sym("weights", q.integrands.numel()),
            ca.SX.sym("V_x", x.numel()),
        )
        nu = ca.SX.sym("nu", len(self.mixed))
        H = ca.dot(weights, found[1]) + ca.dot(derivative, found[0]) + ca.dot(nu, found[2])
        first = ca.gradient(H, u)
        second = ca.diag(ca.densify(ca.jacobian(first, u)))
        arguments = [time, x, u, p, weights, derivative, nu]
        self.hamiltonian = ca.Function("H", arguments, [H])
        self.derivatives = ca.Function(
            "H_u", arguments, [ca.densify(each) for each in (H, first, second)]
        )
        self.is_affine = [bool(second[k].is_zero()) for k in range(u.numel())]
        #: Inputs in bounds on expressions are not driven to their own bounds.
        self.is_mixed = np.array(
            [bool(self.mixed) and ca.depends_on(found[2], u[k]) for k in range(u.numel())]
        )

    @property
    def inputs_switch(self) -> bool:
        """Whether an input may jump between bounds: the Hamiltonian is affine in it, or unknown."""
        if not self.statement.dynamics.inputs:
            return False
        return self.hamiltonian is None or any(self.is_affine)

    def errors(self, iterate: Iterate) -> Array | None:
        """The local errors of all intervals, by two steps of order eight."""
        if self.rates is None:
            return None
        found = iterate.unknowns
        N = len(found.edges) - 1
        duration = found.times[1] - found.times[0]
        widths = np.diff(found.edges) * duration
        starts = found.times[0] + found.edges[:-1] * duration
        function, numbers = self.rates.map(N), np.tile(found.parameters[:, None], (1, N))
        x, degree = found.nodes[:-1].T.copy(), found.inputs.shape[1] - 1
        steps = 2
        for step in range(steps):
            h: Array = widths / steps
            k: list[Array] = []
            for i in range(STAGES):
                place = (step + C[i]) / steps
                table = bernstein(degree, np.array([place]))[0]
                u = np.einsum("j,kjm->mk", table, found.inputs)
                y = x + h * sum((A[i, j] * k[j] for j in range(i) if A[i, j]), np.zeros_like(x))
                times = (starts + place * widths)[None, :]
                k.append(np.asarray(function(times, y, u, numbers), dtype=float))
            x = x + h * sum(A[STAGES, i] * k[i] for i in range(STAGES))
        scale = np.maximum(1.0, np.max(np.abs(found.nodes), axis=0))
        missed: Array = np.max(np.abs(x.T - found.nodes[1:]) / scale, axis=1)
        return missed

    def losses(self, iterate: Iterate, program: NonlinearProgram) -> Array | None:
        """What each interval loses because its inputs do not minimise H everywhere."""
        if self.hamiltonian is None:
            return None
        statement, found = self.statement, iterate.unknowns
        fixed = self._instants(iterate, program)
        u, flat = fixed[2], fixed[0].shape[1]
        now, first, second = (
            np.asarray(e, dtype=float) for e in self.derivatives.map(flat)(*fixed)
        )
        low = np.array([own.low for own in statement.inputs])[:, None]
        high = np.array([own.high for own in statement.inputs])[:, None]
        best = now.copy()
        curved = second > 1e-9 * np.max(np.abs(second), initial=1e-300)
        with np.errstate(all="ignore"):
            newton = np.clip(u - np.where(curved, first / second, 0.0), low, high)
        bang = np.where(self.is_mixed[:, None], np.inf, np.where(first > 0, low, high))
        other = np.where(curved, newton, np.where(np.isfinite(bang), bang, u))
        for share in (1.0, 0.5):
            fixed[2] = u + share * (other - u)
            value = np.asarray(self.hamiltonian.map(flat)(*fixed), dtype=float)
            best = np.minimum(best, np.where(np.isfinite(value), value, best))
        widths = np.diff(found.edges) * (found.times[1] - found.times[0])
        lost = (now - best).reshape(-1, CHECKS).mean(axis=1) * widths
        return np.asarray(lost, dtype=float)

    def _instants(self, iterate: Iterate, program: NonlinearProgram) -> list[Array]:
        """The arguments of H at the checks of all intervals, a column for each of them."""
        found, scheme = iterate.unknowns, program.scheme
        N, m = len(found.edges) - 1, len(self.statement.inputs)
        places, flat = (np.arange(CHECKS) + 0.5) / CHECKS, N * CHECKS
        states = np.einsum("ij,kjn->kin", interpolation(scheme.places, places), node_table(found))
        nodes, stages = iterate.costates
        begins, ends = scheme.starts_at_node, scheme.ends_at_node
        at = np.concatenate([[0.0][begins:], scheme.stages, [1.0][ends:]])
        first_nodes, last_nodes = nodes[:-1, None][:, begins:], nodes[1:, None][:, ends:]
        known = np.concatenate([first_nodes, stages, last_nodes], axis=1)
        derivative = -np.einsum("ij,kjn->kin", interpolation(at, places), known)
        u = np.einsum("ij,kjm->kim", bernstein(scheme.degree, places), found.inputs)
        parts = found.edges[:-1, None] + np.diff(found.edges)[:, None] * places
        times = found.times[0] + (found.times[1] - found.times[0]) * parts
        return [
            times.reshape(1, flat), states.reshape(flat, -1).T, u.reshape(flat, m).T,
            np.tile(found.parameters[:, None], (1, flat)),
            np.tile(iterate.weights[:, None], (1, flat)), derivative.reshape(flat, -1).T,
            self._path_multipliers(iterate, program, places).reshape(flat, -1).T,
        ]  # fmt: skip

    def arcs(self, iterate: Iterate, program: NonlinearProgram) -> list[InputArc]:
        """The structure of the inputs: bang, singular and regular arcs.

        Intervals in which an input passes from one arc to the next belong to none.
        """
        if self.hamiltonian is None:
            return []
        found, arcs = iterate.unknowns, []
        times = found.times[0] + found.edges * (found.times[1] - found.times[0])
        fixed = self._instants(iterate, program)
        _, derivatives, _ = self.derivatives.map(fixed[0].shape[1])(*fixed)
        shape = (len(self.statement.inputs), -1, CHECKS)
        by_input = np.abs(np.asarray(derivatives, dtype=float)).reshape(shape)
        for k, (symbol, own) in enumerate(
            zip(self.statement.dynamics.inputs, self.statement.inputs, strict=True)
        ):
            if own.is_fixed or self.is_mixed[k]:
                continue
            inside = "singular" if self.is_affine[k] else "regular"
            whole = max(float(np.max(by_input[k])), 1e-300)
            for first, last, kind, bound in _runs(found.inputs[:, :, k], own, inside):
                begin, end = float(times[first]), float(times[last])
                if end - begin > SHORT_ARC * (times[-1] - times[0]) or kind == "bang":
                    switching = float(np.max(by_input[k, first:last])) / whole
                    arcs.append(InputArc(symbol.name, kind, begin, end, bound, switching))
        return arcs

    def _path_multipliers(
        self, iterate: Iterate, program: NonlinearProgram, places: Array
    ) -> Array:
        """Multipliers of bounds on expressions of inputs as functions of time, (N, k, mixed)."""
        scheme, found = program.scheme, iterate.unknowns
        widths = np.diff(found.edges) * (found.times[1] - found.times[0])
        density = iterate.path_multipliers[:, :, self.mixed]
        density = density / (widths[:, None, None] * scheme.weights[:, None])
        table = interpolation(scheme.stages, places)
        multipliers: Array = np.einsum("ij,kjm->kim", table, density)
        return multipliers


def _runs(coefficients: Array, own: Range, inside: str) -> list[tuple[int, int, str, float | None]]:
    """Runs of intervals (first, last, kind, bound) of an input with coefficients (N, d + 1)."""
    width = own.high - own.low if own.is_finite else max(1.0, float(np.max(np.abs(coefficients))))
    margin = SINGULAR_MARGIN * width
    low = np.all(coefficients < own.low + margin, axis=1)
    high = np.all(coefficients > own.high - margin, axis=1)
    free = np.all((coefficients > own.low + margin) & (coefficients < own.high - margin), axis=1)
    codes = np.where(low, 1, np.where(high, 2, np.where(free, 3, 0)))
    edges = np.flatnonzero(np.diff(np.concatenate([[-1], codes, [-1]])))
    words: dict[int, tuple[str, float | None]] = {
        1: ("bang", own.low), 2: ("bang", own.high), 3: (inside, None)
    }  # fmt: skip
    return [(int(a), int(b), *words[int(codes[a])]) for a, b in pairwise(edges) if codes[a]]


def written_out(statement: Statement, columns: list[ca.SX]) -> list[ca.SX] | None:
    """Columns with z and mu replaced by their solution, or None where it is not written out."""
    dynamics = statement.dynamics
    kernel = dynamics.kernel
    g, solved = kernel.graph, kernel.solved
    symbols = ca.vertcat(g.unknowns, g.multipliers)
    if solved is None:
        return None
    found = ca.vertcat(solved.z, solved.multipliers)
    return [
        ca.SX(kernel.algebra.substitute(ca.SX(column), symbols, found))
        if symbols.numel() and ca.depends_on(ca.SX(column), symbols)
        else ca.SX(column)
        for column in columns
    ]


def explicit(statement: Statement, columns: list[ca.SX]) -> ca.Function | None:
    """Columns as a function of t, x, u, p with the Gauss problem solved."""
    found = written_out(statement, columns)
    if found is None:
        return None
    time, x, _, u, p = statement.dynamics.arguments
    return ca.Function("explicit", [time, x, u, p], [ca.densify(column) for column in found])


def next_mesh(
    edges: Array, errors: Array | None, losses: Array | None, beyond: Array, distance: float,
    order: int, tolerance: float, size: float,
) -> Array:  # fmt: skip
    """A finer mesh for a solution whose replay is some `distance` away, and whose cost has a size.

    Local errors grow into the distance along the motion; their targets are as much smaller.
    """
    N, target = len(edges) - 1, np.inf
    is_off = distance > 0.5 * tolerance
    if errors is not None and is_off:
        growth = min(distance, 1e3) / max(float(np.sum(errors)), 1e-300)
        target = tolerance / max(growth, 1.0) / N / 4.0
    elif (errors is None and is_off) or (losses is None and not is_off):
        errors, target = np.ones(N), 0.5
    return refined(
        edges, errors, losses, beyond, order, target, tolerance * size / N / 2.0, 0.5 * tolerance
    )


def refined(
    edges: Array, errors: Array | None, losses: Array | None, beyond: Array, order: int,
    error_target: float, loss_target: float, bound_target: float,
) -> Array:  # fmt: skip
    """A mesh whose intervals are divided where their errors or losses are above their targets."""
    parts = np.ones(len(edges) - 1, dtype=int)
    if errors is not None:
        ratio = np.clip(np.where(np.isfinite(errors), errors, 1e9) / error_target, 0.0, 1e12)
        needed = np.ceil(ratio ** (1.0 / order) * (ratio > 1.0)).astype(int)
        parts = np.maximum(parts, np.minimum(needed, MOST_PARTS))
        parts = np.maximum(parts, np.where(ratio > 1.0, 2, 1))
    if losses is not None:
        parts = np.maximum(parts, np.where(losses > loss_target, 2, 1))
        parts = np.maximum(parts, np.where(losses > 30 * loss_target, 3, 1))
    parts = np.maximum(parts, np.where(beyond > bound_target, 2, 1))
    pieces = [np.linspace(edges[k], edges[k + 1], count + 1)[:-1] for k, count in enumerate(parts)]
    return np.append(np.concatenate(pieces), edges[-1])
