r"""Energies that a feedback gives a system: matching conditions, and the control law.

With T = Gamma~ - Gamma, h_i^j = g_ik g~^kj the closed loop of L = g q_dot q_dot/2 - U is that of L~
= g~ q_dot q_dot/2 - U~ just where, for every unactuated a (Hamberg; Bloch and others, Supplement,
9.4.21 and 9.4.22),

    g_al T^l_jk = 0,     h_a^j d_j U~ = d_a U,
    u_al = d_al U - h_al^j d_j U~ - g_al,l T^l_jk q_dot^j q_dot^k.

With lambda_a^j = h_a^j the first condition says that the Lie derivative of g~ along lambda_a is d_a
g. Where a force Y of the closed loop, quadratic in q_dot and without power (q_dot . Y = 0), is
allowed beside L~, it reads

    (L_lambda g~ - d_a g)(q_dot, q_dot) = -2 lambda_a . Y,

which for one unactuated coordinate asks only for the value at q_dot = lambda. Without Y the
document's condition is meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

import casadi as ca
import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...algebra.structure import Verdict, conjunction
from ...analysis.named_blocks import NamedBlocks
from ...model.symbols import Input
from ...typing import Array
from .mechanics import Mechanics, vanishing_at

__all__ = [
    "MatchingCertificate",
    "Shaped",
    "bend",
    "gyroscopic_force",
    "in_graph",
    "inverse",
    "part_of",
]

ZERO = sympy.Integer(0)
#: Random states of a certificate, and how far they are from the equilibrium.
STATES, SPREAD = 24, 0.5
NAMES = ("kinetic", "potential", "power")


def bend(
    metric: sympy.Matrix, q: Sequence[sympy.Symbol], v: Sequence[sympy.Symbol]
) -> sympy.Matrix:
    """[jk, i] v^j v^k, (n x 1)."""
    velocity, pairs = sympy.Matrix(v), list(product(range(len(q)), repeat=2))
    energy = (velocity.T * metric * velocity)[0] / 2
    found = []
    for i, x in enumerate(q):
        along = [sympy.diff(metric[i, k], q[j]) * v[j] * v[k] for j, k in pairs]
        found.append(sympy.Add(*along) - sympy.diff(energy, x))
    return sympy.Matrix(found)


def inverse(matrix: sympy.Matrix) -> sympy.Matrix:
    """The inverse by blocks, without expanding its entries; leading minors must not vanish."""
    n = matrix.rows
    if n == 1:
        return sympy.Matrix([[1 / matrix[0, 0]]])
    if n == 2:
        (a, b), (c, d) = matrix.tolist()
        return sympy.Matrix([[d, -b], [-c, a]]) / (a * d - b * c)
    head, right = matrix[: n - 1, : n - 1], matrix[: n - 1, n - 1 :]
    below, rest = matrix[n - 1 :, : n - 1], matrix[n - 1, n - 1]
    inner = inverse(head)
    left = rest - (below * inner * right)[0]
    corner = inner + inner * right * below * inner / left
    last = sympy.Matrix([[1 / left]])
    blocks = [[corner, -inner * right / left], [-below * inner / left, last]]
    return sympy.Matrix(sympy.BlockMatrix(blocks))


@dataclass(frozen=True)
class MatchingCertificate:
    """Whether the matching conditions hold, and what is left of them at random states.

    Attributes
    ----------
    kinetic, potential, power : float
        Of (9.4.21), first and second; and q_dot . Y beside |q_dot| |Y|; each as a part of its
        terms.
    states : int
        Near the equilibrium.
    verdict : Verdict
        Proved or refuted for all states; not established where numbers that were fitted stand in
        the way.
    """

    kinetic: float
    potential: float
    power: float
    states: int
    verdict: Verdict

    @property
    def residual(self) -> float:
        """The worst of them."""
        return float(np.max([self.kinetic, self.potential, self.power]))


@dataclass(frozen=True, eq=False)
class Shaped:
    """The energies of a closed loop.

    Attributes
    ----------
    mechanics : Mechanics
    kind : str
        The class of matching.
    metric : matrix (n x n)
        g~.
    potential : expression
        U~.
    gyroscopic : matrix (n x 1)
        Y; zero in the classes of the document.
    gains : dict of name to float
        What was chosen.
    """

    mechanics: Mechanics
    kind: str
    metric: sympy.Matrix
    potential: sympy.Expr
    gyroscopic: sympy.Matrix
    gains: dict[str, float] = field(default_factory=dict)

    @property
    def is_gyroscopic(self) -> bool:
        """Whether Y is there."""
        return any(entry != 0 for entry in self.gyroscopic)

    def turned(self) -> Shaped:
        """The same closed loop with the other sign of its energies."""
        energies = (-self.metric, -self.potential, -self.gyroscopic)
        return Shaped(self.mechanics, self.kind, *energies, self.gains)

    # -- expressions -------------------------------------------------------------------------------

    @cached_property
    def energy(self) -> sympy.Expr:
        """E~ = g~ q_dot q_dot / 2 + U~."""
        v = sympy.Matrix(self.mechanics.velocities)
        return (v.T * self.metric * v)[0] / 2 + self.potential

    @cached_property
    def quotient(self) -> sympy.Matrix:
        """h = g g~^-1 (n x n)."""
        return self.mechanics.metric * inverse(self.metric)

    @cached_property
    def inverse_quotient(self) -> sympy.Matrix:
        """h~ = g~ g^-1 (n x n)."""
        return self.metric * inverse(self.mechanics.metric)

    @cached_property
    def control(self) -> sympy.Matrix:
        """The generalised forces of (9.4.22) (n x 1); those on unactuated coordinates vanish."""
        here = self.mechanics
        q, v = here.coordinates, here.velocities
        wanted = bend(self.metric, q, v) + here.derivatives(self.potential) - self.gyroscopic
        return here.derivatives(here.potential) + bend(here.metric, q, v) - self.quotient * wanted

    @cached_property
    def passive_velocities(self) -> sympy.Matrix:
        """h~_j^al q_dot^j (k x 1), along which forces on actuated coordinates change E~."""
        moved = self.inverse_quotient.T * sympy.Matrix(self.mechanics.velocities)
        return moved.extract(list(self.mechanics.actuated), [0])

    def laws(self, damping: float) -> dict[Input, sympy.Expr]:
        """The inputs: (9.4.22) with the dissipation -d h~_j^al q_dot^j of (9.4.24)."""
        here = self.mechanics
        shaping = self.control.extract(list(here.actuated), [0])
        forces = shaping - sympy.Float(damping) * self.passive_velocities
        return dict(zip(here.inputs, inverse(here.acts) * forces, strict=True))

    # -- numbers -----------------------------------------------------------------------------------

    def definiteness(self) -> tuple[Array, Array]:
        """Eigenvalues of g~ and of the second variation of U~ at the equilibrium, ascending."""
        metric, bent = self.mechanics.numbers(self.metric), self.mechanics.hessian(self.potential)
        matrices = ((metric + metric.T) / 2, bent)
        kinetic, potential = (np.asarray(np.linalg.eigvalsh(m), dtype=float) for m in matrices)
        return kinetic, potential

    @cached_property
    def _conditions(self) -> tuple[GraphAlgebra, dict[str, ca.SX]]:
        """Both conditions with derivatives by CasADi, where the control law has those of SymPy."""
        here, algebra = self.mechanics, GraphAlgebra()
        q, v = algebra.vector(here.coordinates), algebra.vector(here.velocities)
        free = list(here.unactuated)

        def push(metric: ca.SX) -> ca.SX:
            """d/dt (g v) without accelerations, less the derivative of the kinetic energy."""
            momentum = metric @ v
            energy = algebra.inner(v, momentum) / 2
            found: ca.SX = algebra.along(momentum, q, v) - algebra.gradient(energy, q)
            return found

        own, new = (in_graph(algebra, matrix) for matrix in (here.metric, self.metric))
        force = algebra.vector(list(self.gyroscopic))
        moved = own @ algebra.solve_square(new, push(new) - force)
        potential = algebra.gradient(algebra.scalar(self.potential), q)
        lifted = own @ algebra.solve_square(new, potential)
        derivatives = algebra.gradient(algebra.scalar(here.potential), q)
        return algebra, {
            "metric": new,
            "kinetic": algebra.part(moved - push(own), free, [0]),
            "kinetic_terms": algebra.stack([moved, push(own), own @ (v * v)]),
            "potential": algebra.part(lifted - derivatives, free, [0]),
            "potential_terms": algebra.stack([lifted, derivatives]),
            "power": algebra.inner(v, force),
            "power_terms": force,
        }

    @cached_property
    def verdict(self) -> Verdict:
        """Whether the conditions hold for all states."""
        (algebra, blocks), values = self._conditions, self.mechanics.values
        return conjunction({name: vanishing_at(algebra, blocks[name], values) for name in NAMES})

    def certificate(self, seed: int = 0) -> MatchingCertificate:
        """The verdict on the matching conditions, with residuals at random states."""
        here, random = self.mechanics, np.random.default_rng(seed)
        blocks = NamedBlocks(*self._conditions, here.known)
        left, terms, count = np.zeros(len(NAMES)), np.zeros(len(NAMES)), 0
        signs = np.sign(self.definiteness()[0])
        names = [x.name for x in (*here.coordinates, *here.velocities)]
        origin = np.array(list(here.equilibrium.values()))
        for _ in range(20 * STATES):
            q = origin + random.uniform(-SPREAD, SPREAD, len(here.coordinates))
            v = random.uniform(-1, 1, len(here.velocities))
            found = blocks({**here.values, **dict(zip(names, [*q, *v], strict=True))}, finite=False)
            turned = np.sign(np.linalg.eigvalsh((found["metric"] + found["metric"].T) / 2))
            if not np.array_equal(signs, turned):
                continue  # beyond the edge of the region in which g~ keeps its signature
            count += 1
            worst = {name: np.max(np.abs(block), initial=0.0) for name, block in found.items()}
            left = np.maximum(left, [worst[name] for name in NAMES])
            terms = np.maximum(terms, [worst[f"{name}_terms"] for name in NAMES])
            if count == STATES:
                break
        parts = [part_of(*pair) if count else np.inf for pair in zip(left, terms, strict=True)]
        kinetic, potential, power = parts
        return MatchingCertificate(kinetic, potential, power, count, self.verdict)


def part_of(left: float, terms: float) -> float:
    """A residual as a part of the terms that it is a difference of."""
    return float(left / terms) if 0 < terms < np.inf else 0.0 if left == 0 else np.inf


def in_graph(algebra: GraphAlgebra, matrix: sympy.Matrix) -> ca.SX:
    """A matrix of expressions in a graph."""
    columns = [algebra.vector(list(matrix.col(k))) for k in range(matrix.cols)]
    found: ca.SX = algebra.columns(columns)
    return found


def gyroscopic_force(
    here: Mechanics, metric: sympy.Matrix, field: sympy.Matrix, unactuated: int, pivot: int
) -> sympy.Matrix:
    r"""Y with (L_lambda g~ - d_a g)(v, v) = -2 lambda . Y, v . Y = 0, one unactuated a, (n x 1).

    With eta^k = v^k - (lambda^k / lambda^p) v^p except for k = p, the pivot, and S = L_lambda g~ -
    d_a g, S(lambda, lambda) = 0 leaves S(v, v) = eta^k (2 S_k(lambda) v^p / lambda^p + S_kl eta^l).
    So c = b_k eta^k with b_k = -(the bracket)/2 is a form that annihilates lambda, and Y_i =
    (delta^p_i c(v) - c_i v^p) / lambda^p.
    """
    q, v = list(here.coordinates), list(here.velocities)
    n, a = len(q), q[unactuated]
    derivatives = field.jacobian(q)  # d_j lambda^i at [i, j]

    def carried(j: int, k: int) -> sympy.Expr:
        return sympy.Add(*(field[i] * sympy.diff(metric[j, k], q[i]) for i in range(n)))

    drift = sympy.Matrix(n, n, carried)
    S = drift + metric * derivatives + (metric * derivatives).T - sympy.diff(here.metric, a)
    along = S * field
    ratio = [field[k] / field[pivot] for k in range(n)]
    eta = [v[k] - ratio[k] * v[pivot] for k in range(n)]
    others = [k for k in range(n) if k != pivot]
    b = {}
    for k in others:
        across = sympy.Add(*(S[k, m] * eta[m] for m in others))
        b[k] = -(2 * along[k] * v[pivot] / field[pivot] + across) / 2
    form = [b.get(k, ZERO) for k in range(n)]
    form[pivot] = -sympy.Add(*(b[k] * ratio[k] for k in others))
    value = sympy.Add(*(form[k] * v[k] for k in range(n)))
    values = [value if i == pivot else ZERO for i in range(n)]
    return sympy.Matrix([(values[i] - form[i] * v[pivot]) / field[pivot] for i in range(n)])
