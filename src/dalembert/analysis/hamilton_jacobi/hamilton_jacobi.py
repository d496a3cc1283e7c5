r"""The Hamilton-Jacobi method for constrained systems (Rumyantsev, section 5).

The momenta pi = p + lambda f_v of the variational problem have a Hamiltonian H_1(q, pi, t), and the
generalised equation

    dS/dt + H_1(q, dS/dq, t) = 0                                                      (5.8)

has the characteristics q' = dH_1/dpi, pi' = -dH_1/dq, which are the vakonomic equations (5.9). A
complete integral S gives their motions by dS/dq = pi, dS/d(constant) = beta (Jacobi). They are
motions of the mechanical system just where (5.10) holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any

import casadi as ca
import numpy as np
import sympy
from sympy.core.relational import Relational

from ...algebra.graph import GraphAlgebra
from ...algebra.simplify.simplifier import simplify
from ...algebra.tree import TreeAlgebra
from ...errors import ModelError, RunError
from ...formulations.constraint_equations import velocity_level
from ...formulations.forms.lagrange import lagrangian_and_momenta
from ...formulations.registry import derive
from ...integrate.motion import Motion
from ...integrate.start import consistent_start
from ...model.parameter_values import parameter_values
from ...model.scenario import Scenario
from ...model.symbols import Coordinate, Parameter, t
from ...model.system import System
from ...model.values import numbers_by_name
from ...runtime.context import Context
from ...runtime.kernel import kernel_of
from ...typing import Array, Values
from ..anatomy import read_model
from ..proofs.bounded import fresh
from ..tables import Report, Section
from ..variational.variational_hamiltonian import VariationalHamiltonian, variational_hamiltonian
from .invariant_family import InvariantFamily, invariant_family
from .jacobi_condition import AlongMotion, Applicability, applicability, condition_along
from .jacobi_motion import JacobiMotion, jacobi_motion
from .separation import CompleteIntegral, levi_civita, separate

__all__ = ["HamiltonJacobi", "hamilton_jacobi"]

#: Velocities of the start and those that its momenta give back must agree to this part.
SAME_VELOCITY = 1e-7


@dataclass(frozen=True, repr=False, eq=False)
class HamiltonJacobi(Report):
    """The Hamilton-Jacobi equation of a system, n coordinates.

    Attributes
    ----------
    system : System
    variational : VariationalHamiltonian
        H_1 and where its formulas hold.
    definitions : mapping of pi to expression
        p + lambda f_v, with one symbol lambda_<constraint> for each constraint (5.3).
    applicability : Applicability
        Whether all motions are mechanical ones (5.10), at generic states.
    integral : CompleteIntegral or None
        A complete integral by separation of variables.
    reason : str
        Why there is none; empty where there is one.
    """

    system: System
    variational: VariationalHamiltonian
    definitions: Mapping[sympy.Symbol, sympy.Expr]
    applicability: Applicability
    integral: CompleteIntegral | None
    reason: str
    parameters: Mapping[str, float] = field(default_factory=dict)
    start: Mapping[str, float] = field(default_factory=dict)

    # -- equations ---------------------------------------------------------------------------------

    @property
    def momenta(self) -> Mapping[Coordinate, sympy.Symbol]:
        """pi, by coordinate (n)."""
        return dict(zip(self.system.coordinates, self.variational.momenta, strict=True))

    @property
    def hamiltonian(self) -> sympy.Expr:
        """H_1(q, pi, t)."""
        return self.variational.hamiltonian

    @property
    def velocities(self) -> Mapping[Coordinate, sympy.Expr]:
        """q_dot(q, pi, t), by coordinate."""
        return self.variational.velocities

    @property
    def multipliers(self) -> Mapping[Coordinate, sympy.Expr]:
        """lambda(q, pi, t) = pi_a - p_a of the constraint solved as v_a - phi_a = 0."""
        return self.variational.multipliers

    @property
    def branch(self) -> tuple[Relational, ...]:
        """Where these formulas hold; empty where they do everywhere."""
        return self.variational.branch

    @cached_property
    def equation(self) -> sympy.Eq:
        """(5.8) for an unknown function S(q, t)."""
        action = sympy.Function("S")(*self.system.coordinates, t)
        derivatives = {pi: sympy.Derivative(action, q) for q, pi in self.momenta.items()}
        return sympy.Eq(sympy.Derivative(action, t) + self.hamiltonian.xreplace(derivatives), 0)

    @cached_property
    def canonical_equations(self) -> Mapping[sympy.Symbol, sympy.Expr]:
        """(5.9): the rates of q and of pi, by symbol, coordinates first."""
        rates: dict[sympy.Symbol, sympy.Expr] = dict(self.velocities)
        for q, pi in self.momenta.items():
            rates[pi] = simplify(-sympy.diff(self.hamiltonian, q))
        return rates

    def latex(self) -> str:
        """(5.8) in LaTeX, with subscripts for derivatives."""
        names = {pi: f"S_{{{sympy.latex(sympy.Symbol(q.name))}}}" for q, pi in self.momenta.items()}
        return f"S_t + {sympy.latex(self.hamiltonian, symbol_names=names)} = 0"

    def on(self, relations: Mapping[sympy.Symbol | str, object]) -> InvariantFamily:
        """The method on an invariant family of motions, where the equation may separate.

        Parameters
        ----------
        relations : mapping of symbol or name to value
            ``pi_<coordinate>`` with a number or an expression of the parameters, and
            ``<coordinate>_dot`` with 0 for a coordinate that rests.

        Raises
        ------
        ModelError
            Where the canonical equations do not keep the relations.

        Examples
        --------
        >>> import dalembert as da
        >>> disk = da.variational.hamilton_jacobi(da.gallery.load("rolling-disk"))
        >>> family = disk.on({"theta_dot": 0, "pi_x": 0, "pi_y": 0})
        >>> family.motion[disk.system.coordinates[3]], family.mechanical.status
        (beta_x - omega_psi*r*sin(beta_phi + omega_phi*t)/omega_phi, 'proved')
        """
        return invariant_family(self.variational, relations)

    # -- motions -----------------------------------------------------------------------------------

    def along(self, motion: Motion) -> AlongMotion:
        """Whether a motion of the system, mechanical or vakonomic, is both (5.10)."""
        if not isinstance(motion, Motion) or motion.system.coordinates != self.system.coordinates:
            remedy = "pass da.simulate(...)"
            raise ModelError("A motion of this system is needed", repr(motion)[:80], remedy)
        return condition_along(motion)

    def motion(
        self, at: Sequence[float], start: Values | None = None, parameters: Values | None = None
    ) -> JacobiMotion:
        """The motion by Jacobi's theorem, from the complete integral and no integrator.

        Parameters
        ----------
        at : sequence of times, ascending or descending
            The start holds at the first of them.
        start : mapping of symbol or name to value
            As for `simulate`; ``chi_<constraint>`` for the multipliers, zero by default.
        parameters : mapping of symbol or name to value

        Raises
        ------
        RunError
            Where there is no complete integral, or it does not determine the motion.
        """
        if self.integral is None:
            what = "There is no complete integral to take the motion from"
            raise RunError(what, seen=self.reason, remedy="simulate it")
        times = np.asarray(at, dtype=float)
        steps = np.diff(times)
        if times.ndim != 1 or not len(times) or not (np.all(steps > 0) or np.all(steps < 0)):
            raise ModelError("The times must go one way", str(at)[:60], "pass at=[t0, t1, ...]")
        values = self._parameters(parameters)
        q, v, pi = self._beginning(float(times[0]), start, values)
        by_symbol = dict(zip(self.system.parameters, values.tolist(), strict=True))
        self._check_branch(by_symbol, float(times[0]), q, v, pi)
        return jacobi_motion(self.integral, tuple(self.momenta.values()), by_symbol, times, q, pi)

    def _parameters(self, parameters: Values | None) -> Any:
        table = dict(self.parameters) | numbers_by_name(parameters)
        return parameter_values(self.system.parameters, table)

    def _beginning(
        self, time: float, start: Values | None, parameters: Array
    ) -> tuple[Array, Array, Array]:
        """q, q_dot and pi at the start, (n,) each, projected onto the constraints."""
        system = self.system
        given = dict(self.start) | numbers_by_name(start)
        equations = derive(system, "vakonomic" if system.bilateral else None)
        kernel = kernel_of(equations, system.parameters)
        state = consistent_start(Context(kernel, parameters), time, given, parameters).state
        algebra, n = kernel.algebra, len(system.coordinates)
        momenta = kernel.graph.momenta
        if system.bilateral:
            chi = algebra.vector(kernel.equations.state[2 * n :])
            momenta = momenta + kernel.graph.rows.T @ chi
        blocks = [ca.densify(kernel.graph.velocities), ca.densify(momenta)]
        function = ca.Function("momenta", kernel._inputs(), blocks)
        v, pi = function.call([time, state, parameters, np.zeros(0), np.zeros(0)])
        return state[:n], np.asarray(v, dtype=float).ravel(), np.asarray(pi, dtype=float).ravel()

    def _check_branch(
        self, parameters: Mapping[sympy.Symbol, float], time: float, q: Array, v: Array, pi: Array
    ) -> None:
        """Check that the momenta of the start give back its velocities."""
        algebra = GraphAlgebra()
        block = algebra.vector([self.velocities[q] for q in self.system.coordinates])
        values = dict(parameters) | {t: time} | dict(zip(self.momenta, q, strict=True))
        values |= dict(zip(self.momenta.values(), pi, strict=True))
        symbols = list(algebra.symbols)
        function = ca.Function("velocities", [algebra.vector(symbols)], [ca.densify(block)])
        back = np.asarray(function([values[symbol] for symbol in symbols]), dtype=float).ravel()
        if not np.max(np.abs(back - v)) <= SAME_VELOCITY * (np.max(np.abs(v)) + 1e-9):
            branch = "; ".join(map(str, self.branch)) or "regular momenta"
            raise RunError(
                "The start does not lie on the branch of the Hamiltonian",
                seen=f"velocities {v.tolist()}, {back.tolist()} from the momenta",
                remedy=f"choose multipliers with {branch}",
            )

    # -- reading -----------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """Everything as plain data, expressions as text."""
        found = None
        if (integral := self.integral) is not None:
            constants = {str(c): str(value) for c, value in integral.constants.items()}
            found = {"action": str(integral.action), "constants": constants}
            found["certified"] = integral.certified
        return {
            "name": self.system.name,
            "momenta": {str(pi): str(value) for pi, value in self.definitions.items()},
            "hamiltonian": str(self.hamiltonian),
            "branch": [str(relation) for relation in self.branch],
            "applies": self.applicability.applies,
            "applicability": self.applicability.sentence,
            "integral": found,
            "reason": self.reason,
        }

    def _title(self) -> str:
        return self.system.name

    def _sections(self) -> list[Section]:
        derivatives = {pi: sympy.Symbol(f"S_{q}", real=True) for q, pi in self.momenta.items()}
        equation = f"S_t + {self.hamiltonian.xreplace(derivatives)} = 0"
        branch = [("where", str(relation)) for relation in self.branch]
        sections: list[Section] = [
            ("Momenta", [(str(pi), str(value)) for pi, value in self.definitions.items()]),
            ("Hamiltonian", [("H_1", str(self.hamiltonian)), *branch]),
            ("Hamilton-Jacobi equation", [("S", equation)]),
            ("Mechanical motions", [("gives", self.applicability.sentence)]),
        ]
        if self.integral is None:
            return [*sections, ("Complete integral", [("none", self.reason)])]
        lines = [("S", str(self.integral.action)), ("certified", self.integral.certified)]
        lines += [(str(c), str(value)) for c, value in self.integral.constants.items()]
        motion = self.integral.motion
        by_jacobi = [] if motion is None else [(str(q), str(value)) for q, value in motion.items()]
        return [*sections, ("Complete integral", lines), ("Motion", by_jacobi)]


def hamilton_jacobi(
    system: System | Scenario, parameters: Values | None = None, start: Values | None = None
) -> HamiltonJacobi:
    """The Hamilton-Jacobi equation of a system, with a complete integral where it separates.

    Parameters
    ----------
    system : System or Scenario
    parameters, start : mappings of symbol or name to value
        Values for the applicability test, and defaults of `HamiltonJacobi.motion`.

    Raises
    ------
    FormError
        Where a hypothesis fails: applied forces, or a Hamiltonian that has no closed form.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> m, k = da.parameters("m k", positive=True)
    >>> found = hamilton_jacobi(da.System([x], kinetic=m/2*x.dot**2, potential=k/2*x**2))
    >>> found.hamiltonian
    k*x**2/2 + pi_x**2/(2*m)
    >>> found.integral.motion[x]
    sqrt(2)*sqrt(E)*sin(sqrt(k)*(beta_E + t)/sqrt(m))/sqrt(k)
    """
    stated, values, beginning = read_model(system, parameters, start)
    found = variational_hamiltonian(stated)
    H, pi = found.hamiltonian, found.momenta
    integral = separate(H, stated.coordinates, pi)
    return HamiltonJacobi(
        system=stated,
        variational=found,
        definitions=_definitions(stated, pi),
        applicability=applicability(found, values, beginning),
        integral=integral,
        reason="" if integral is not None else _why_not(H, stated.coordinates, pi),
        parameters=values,
        start=beginning,
    )


def _definitions(system: System, momenta: Sequence[sympy.Symbol]) -> dict[sympy.Symbol, sympy.Expr]:
    """pi = p + lambda f_v."""
    if not system.bilateral:
        return {pi: q.momentum for q, pi in zip(system.coordinates, momenta, strict=True)}
    algebra = TreeAlgebra()
    _, at_velocity = lagrangian_and_momenta(system, algebra)
    residual = velocity_level(system, algebra, at_velocity).residual
    taken = {symbol.name for symbol in system.parameters}
    symbols = [Parameter(fresh(f"lambda_{c.name}", taken)) for c in system.bilateral]
    table = {}
    for q, pi in zip(system.coordinates, momenta, strict=True):
        rows = zip(symbols, residual, strict=True)
        terms = [symbol * simplify(sympy.diff(f, q.dot)) for symbol, f in rows]
        table[pi] = sympy.Add(q.momentum, *terms)
    return table


def _why_not(
    hamiltonian: sympy.Expr, coordinates: Sequence[sympy.Symbol], momenta: Sequence[sympy.Symbol]
) -> str:
    """Why no complete integral was found."""
    timed = hamiltonian.has(t)
    moving = [q.name for q in coordinates if hamiltonian.has(q)] + ["t"] * timed
    clock = Parameter("pi_t_") if timed else None
    verdict = levi_civita(hamiltonian, coordinates, momenta, clock)
    names = ", ".join(moving)
    tried = (
        "tried: the equation as it stands, and divided by each coefficient of a squared momentum"
    )
    if len(moving) > 1 and verdict.is_refuted:
        family = _separable_family(hamiltonian, coordinates, momenta)
        return f"the equation does not separate in {names}: Levi-Civita's conditions fail{family}"
    if len(moving) > 1:
        known = f"Levi-Civita's conditions {'hold' if verdict.holds else 'are not established'}"
        return f"{known}, and no separation in {names} was found in closed form; {tried}"
    return f"H_1 = E could not be solved for the momentum of {names} in closed form"


def _separable_family(
    hamiltonian: sympy.Expr, coordinates: Sequence[sympy.Symbol], momenta: Sequence[sympy.Symbol]
) -> str:
    """Name one or two momenta of cyclic coordinates which, being zero, leave a separable rest."""
    cyclic = [pi for q, pi in zip(coordinates, momenta, strict=True) if not hamiltonian.has(q)]
    for count in (1, 2):
        for chosen in combinations(cyclic, count):
            rest = hamiltonian.xreplace(dict.fromkeys(chosen, sympy.S.Zero))
            if not rest.has(t) and sum(rest.has(q) for q in coordinates) <= 1:
                names = " = ".join(pi.name for pi in chosen)
                return f"; it does on the family {names} = 0, see on(...)"
    return ""
