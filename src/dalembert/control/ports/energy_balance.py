r"""The energy balance of a motion: what was stored, supplied, dissipated.

    H(t) - H(0) = int y . u dt - int D dt + int P_rest dt + int dH/dt|_x dt

with D = q_dot^T R q_dot. The integrals are taken over the steps of the motion by the rule of Gauss
on dense output, each from its own expression; what they leave open is the residual.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...errors import ModelError
from ...integrate.motion import Motion
from ...integrate.quadrature import integrate_along
from ...model.flow_system import Flow
from ...model.read_only import ReadOnlyArrays
from ...model.symbols import t
from ...model.system import System
from ...typing import Array, Path
from .ports import PortForm, linear_rows, port_forces, velocities_from_momenta

if TYPE_CHECKING:
    from ...plotting.style import Picture, Style

__all__ = ["EnergyBalance", "energy_balance"]


@dataclass(frozen=True, repr=False)
class EnergyBalance(ReadOnlyArrays):
    """Energies along a motion, all (nt,) and zero at the start; printed with the values at the end.

    Attributes
    ----------
    t : array (nt,)
    stored : array
        H(t) - H(0).
    supplied : mapping of input's name to array
        The work of each port.
    dissipated : array
    other : array
        The work of forces that are neither ports nor damping.
    explicit : array
        What the explicit time in the energy adds.
    residual : array
        stored - supplied + dissipated - other - explicit.
    least_dissipation : float
        The smallest power of the damping along the motion: not negative where the system is
        passive.
    energy : array
        H itself.
    """

    t: Array
    stored: Array
    supplied: Mapping[str, Array]
    dissipated: Array
    other: Array
    explicit: Array
    residual: Array
    least_dissipation: float
    energy: Array

    def __repr__(self) -> str:
        terms = [(values[-1], f"by {name}") for name, values in self.supplied.items()]
        terms.append((-self.dissipated[-1], "dissipated"))
        further = ((self.other, "by other forces"), (self.explicit, "by explicit time"))
        terms += [(values[-1], word) for values, word in further if np.any(values)]
        signed = [f" {'+' if size > 0 else '-'} {abs(size):.4g} {word}" for size, word in terms]
        work = "".join(signed).removeprefix(" +")
        left = float(np.max(np.abs(self.residual)))
        span = f"t = {self.t[0]:.6g} to {self.t[-1]:.6g}"
        return f"<EnergyBalance, {span}: {self.stored[-1]:.4g} stored ={work}; open {left:.1e}>"

    def plot(
        self, *, path: Path | None = None, style: str | Style = "light", title: str | None = None
    ) -> Picture:
        """Draw the energies over time, and below them what their sum leaves open.

        Parameters
        ----------
        path : path, optional
            A .png, .svg or .pdf to write.
        style : "light", "dark" or Style
        title : str, optional
        """
        from ...plotting.studies.balance_plot import plot_balance

        return plot_balance(self, path=path, style=style, title=title)

    @property
    def worst(self) -> float:
        """The largest residual, relative to the largest energy that was there or moved."""
        moved = (self.energy, self.stored, self.dissipated, self.other, self.explicit)
        parts = [*moved, *self.supplied.values()]
        size = max(float(np.max(np.abs(part), initial=0.0)) for part in parts) or 1.0
        return float(np.max(np.abs(self.residual))) / size

    @property
    def is_passive(self) -> bool:
        """Whether stored energy never exceeds the supplied, and only ports brought energy in."""
        total = sum(self.supplied.values(), np.zeros_like(self.t))
        size = max(1.0, float(np.max(np.abs(self.stored))))
        apart = [float(np.max(np.abs(p), initial=0.0)) for p in (self.other, self.explicit)]
        scale = max(1e-12, float(np.max(np.abs(self.dissipated), initial=0.0)), size)
        is_damped = self.least_dissipation >= -1e-9 * scale
        is_bounded = bool(np.all(self.stored <= total + 1e-7 * scale))
        return max(apart) <= 1e-9 * size and is_damped and is_bounded


def energy_balance(motion: Motion, form: PortForm | None = None) -> EnergyBalance:
    """The energy balance of a motion of a System, or of the flow of a `PortForm` (then passed).

    Raises
    ------
    ModelError
        Where an input was a function and not an expression, constraints do work, or an impact took
        energy away.

    Examples
    --------
    >>> import dalembert as da
    >>> from sympy import sin
    >>> x = da.coordinates("x")
    >>> u = da.inputs("u")
    >>> stated = {"potential": x**2, "dissipation": x.dot**2 / 4, "forces": {x: u}}
    >>> mass = da.System([x], kinetic=x.dot**2 / 2, inputs=[u], **stated)
    >>> balance = energy_balance(da.simulate(mass, {x: 1.0}, (0, 5), inputs={u: sin(3*da.t)}))
    >>> balance.worst < 1e-9, balance.is_passive
    (True, True)
    """
    system = motion.system
    if motion.impacts:
        first, name = motion.impacts[0][:2]
        raise ModelError(
            "Impacts take energy away that no port accounts for",
            f"{len(motion.impacts)} impacts, the first at t = {first:.6g} on {name!r}",
            "take the balance of a motion that ends before the first impact",
        )
    if isinstance(system, Flow):
        if form is None:
            what = "A flow does not say what its energy is"
            raise ModelError(what, remedy="pass the PortForm it came from")
        expressions = _of_form(form, system)
    else:
        linear_rows(system)
        expressions = _of_system(system, {symbol.name for symbol in motion.state})
    used = {s.name for e in expressions.values() for s in e.free_symbols}
    free = sorted(used & {u.name for u in system.inputs})
    if free:
        remedy = "pass inputs as expressions of time and state"
        raise ModelError("An input has no law", ", ".join(free), remedy)
    return _balance(motion, expressions)


def _balance(motion: Motion, expressions: Mapping[str, sympy.Expr]) -> EnergyBalance:
    """Integrate the powers, the expressions after the first, over the steps of the motion."""
    evaluate = _evaluator(motion, list(expressions.values()))
    times = motion.t
    work = integrate_along(motion, evaluate)
    energy = evaluate(np.append(times, motion.segments[0].step_t[0]))[0]
    energy, first = energy[:-1], energy[-1]
    table = dict(zip(expressions, work.values, strict=True))
    ports = [key for key in table if key.startswith("port ")]
    supplied = {key.removeprefix("port "): table[key] for key in ports}
    stored = energy - first
    given = sum(supplied.values(), np.zeros_like(times))
    residual = stored - given + table["dissipated"] - table["other"] - table["explicit"]
    losing = work.integrand[list(expressions).index("dissipated")]
    least = float(np.min(losing, initial=np.inf))
    losses = (table["dissipated"], table["other"], table["explicit"])
    return EnergyBalance(times, stored, supplied, *losses, residual, least, energy)


def _of_system(system: System, state: set[str]) -> dict[str, sympy.Expr]:
    """Energy and powers in coordinates, and velocities or momenta."""
    forces = port_forces(system)
    v = sympy.Matrix(system.velocities)
    laws = {s: law for s, law in system.inputs.items() if law is not None}
    E = system.energy_function
    speed = {} if all(w.name in state for w in v) else velocities_from_momenta(system)
    if system.is_hamiltonian:
        energy, explicit = E, sympy.diff(E, t)
    else:
        energy = sum((w * sympy.diff(E, w) for w in v), sympy.S.Zero) - E
        explicit = -sympy.diff(E, t)
    work = [(forces.columns[:, k].T * v)[0] * u for k, u in enumerate(forces.inputs)]
    table = {
        "energy": energy,
        "dissipated": (v.T * forces.friction * v)[0],
        "other": (v.T * forces.rest)[0],
        "explicit": explicit,
        **{f"port {u.name}": power for u, power in zip(forces.inputs, work, strict=True)},
    }
    return {key: value.xreplace(laws).xreplace(speed) for key, value in table.items()}


def _of_form(form: PortForm, flow: Flow) -> dict[str, sympy.Expr]:
    """The same in the symbols of a port form, as those of its flow."""
    symbols = form.flow_symbols
    laws = {s: law for s, law in flow.inputs.items() if law is not None}
    ports = {f"port {u.name}": y * u for u, y in zip(form.inputs, form.outputs, strict=True)}
    energy = form.hamiltonian
    other, explicit = (form.gradient.T * form.rest)[0], sympy.diff(energy, t)
    losses = {"dissipated": form.dissipated, "other": other, "explicit": explicit}
    table = {"energy": energy, **losses, **ports}
    return {key: value.xreplace(symbols).xreplace(laws) for key, value in table.items()}


def _evaluator(motion: Motion, expressions: list[sympy.Expr]) -> Callable[[Array], Array]:
    """A function of times (k,) that gives the expressions along the motion, (number, k)."""
    algebra = GraphAlgebra()
    block = ca.densify(ca.vertcat(*(algebra.scalar(e) for e in expressions)))
    symbols = list(algebra.symbols)
    function = ca.Function("powers", [algebra.symbols[s] for s in symbols], [block])
    places = {symbol.name: k for k, symbol in enumerate(motion.state)}

    def evaluate(times: Array) -> Array:
        states = motion.sol(times)
        rows = []
        for s in symbols:
            if s == t:
                rows.append(times)
            elif s.name in places:
                rows.append(states[places[s.name]])
            else:
                rows.append(np.full(len(times), motion.parameters[s.name]))
        if not rows:
            return np.repeat(np.asarray(function()["o0"], dtype=float), len(times), axis=1)
        values = function.map(len(times))(*(np.atleast_2d(row) for row in rows))
        return np.asarray(values, dtype=float)

    return evaluate
