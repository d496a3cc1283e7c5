r"""Linear conditions on a vector field to be a symmetry, as numbers at random states.

A field X on the configurations moves velocities by its tangent lift and momenta by its cotangent
lift,

    Z = (X, DX q_dot),        Z = (X, -DX^T p).

It is a symmetry where it leaves alone everything that the motion is made of:

    Z(L) = 0 or Z(H) = 0,   Z(R) = 0             at all states: the energies and Rayleigh's function
    Z(Q_i) + Q_j dX^j/dq_i = 0                      at all states: generalised forces, as a one-form
    X(g) = 0 on g = 0,  Z(f) = 0 on f = 0
        at consistent states: constraints on positions, velocities and momenta
    [E_j, X] in the span of E                        at consistent states: the image q_dot = E u
    X(g) = 0 on g = 0                                one-sided constraints, at contact

The conditions on the constraints say that the set they define is invariant, not that each function
is. They are conclusive where the derivatives of the constraints are as independent on that set as
they are next to it (`Conditions.is_regular`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
import sympy

from ...errors import ModelError, StartError
from ...geometry.actions import field_text, read_field
from ...model.symbols import by_name, t
from ...model.system import System
from ...model.values import used_parameters
from ...runtime.gauss.constrained_solve import rank
from ...typing import Array, BoolArray, Values, Vector
from ..anatomy import GENERIC, common, take_apart
from ..sampling import Samples

if TYPE_CHECKING:
    from ...algebra.protocol import Block

__all__ = ["Condition", "Conditions", "States", "autonomous", "drawn_parameters", "energy_name"]
__all__ += ["given_fields", "given_parameters"]

#: Distances from the consistent states of those off the constraints: far, and nearer if needed.
RADII = (1.0, 0.5, 0.2, 0.05)
#: How far beside the constraints their derivatives are compared with those on them.
BESIDE = 1e-2
#: The least size of terms, as a part of the largest derivative times the field.
SCALE = 1e-3


@dataclass(frozen=True)
class Condition:
    """One requirement on K fields at several states: a combination c meets it if rows @ c = 0.

    Attributes
    ----------
    part : str
        What it is about, such as "Lagrangian" or "constraint `blade`".
    rows : array (r, K)
    sizes : array (r, K)
        The sizes of the terms that each entry is the sum of.
    """

    part: str
    rows: Array
    sizes: Array

    @cached_property
    def residuals(self) -> Any:
        """The largest relative entry for each field, (K,), with a floor for small terms."""
        if not self.rows.size:
            return np.zeros(self.rows.shape[1])
        floor = SCALE * np.max(self.sizes, axis=0, keepdims=True) + 1e-300
        return np.max(np.abs(self.rows) / np.maximum(self.sizes, floor), axis=0)


@dataclass(frozen=True)
class States:
    """Times (N,), states (N, 2n) in (q, q_dot) or (q, p), and inputs (N, k) for conditions."""

    times: Array
    states: Array
    inputs: Array

    def __len__(self) -> int:
        return len(self.times)

    def where(self, chosen: BoolArray) -> States:
        """Those that are marked, (N,)."""
        return States(self.times[chosen], self.states[chosen], self.inputs[chosen])


def energy_name(system: System) -> str:
    """What the energy function of a system is called."""
    return "Hamiltonian" if system.is_hamiltonian else "Lagrangian"


class Conditions:
    """The conditions of one system at random states for one set of parameters.

    Parameters
    ----------
    system : System
    parameters : mapping of name to value
        Those that are missing are drawn at random.
    start : mapping of name to value
        The middle of the states.
    free, consistent : int
        How many states are drawn off and on the constraints.
    """

    def __init__(
        self,
        system: System,
        parameters: Mapping[str, float],
        start: Mapping[str, float],
        free: int = 12,
        consistent: int = 8,
        seed: int = 3,
    ) -> None:
        self.system, self._start = system, dict(start)
        self._random = np.random.default_rng(seed)
        self.anatomy = take_apart(system, parameters, start, consistent)
        names = [symbol.name for symbol in self.anatomy.kernel.parameters]
        self.parameters = dict(zip(names, self.anatomy.samples.parameters, strict=True))
        self.consistent = self._states_of(self.anatomy.samples)
        self._free = free

    # -- states ------------------------------------------------------------------------------------

    def _states_of(self, samples: Samples) -> States:
        shape = (len(samples), len(self.anatomy.kernel.free_inputs))
        return States(samples.times, samples.states, self._random.uniform(-1.0, 1.0, shape))

    @cached_property
    def anywhere(self) -> States:
        """States off the constraints where the energies and forces have finite derivatives."""
        block = ca.vertcat(*(ca.vec(part) for part in self._everywhere.values()))
        found: list[States] = []
        for radius in RADII:
            places = self._random.integers(0, len(self.consistent), 2 * self._free)
            centers = self.consistent.states[places]
            steps = radius * self._random.uniform(-1.0, 1.0, centers.shape)
            steps = steps * np.maximum(np.abs(centers), 1.0)
            times = self._random.uniform(0.0, 2.0, len(places))
            drawn = States(times, centers + steps, self.consistent.inputs[places])
            finite = np.all(np.isfinite(self.values(block, drawn)[:, :, 0]), axis=1)
            found.append(drawn.where(finite))
            if sum(map(len, found)) >= self._free:
                break
        tables = ([getattr(entry, x) for entry in found] for x in ("times", "states", "inputs"))
        whole = States(*(np.concatenate(table)[: self._free] for table in tables))
        if not len(whole):
            what = "No state was found where the energies have finite derivatives"
            raise StartError(what, remedy="pass parameters= and start= around which to look")
        return whole

    def values(self, block: ca.SX, states: States) -> Array:
        """Values (N, rows, columns) of an expression of the graph."""
        function = ca.Function("block", self.anatomy.kernel._inputs(), [ca.densify(block)])
        parameters, none = self.anatomy.samples.parameters[:, None], np.zeros((0, 1))
        table = function(states.times[None, :], states.states.T, parameters, states.inputs.T, none)
        values = np.asarray(table, dtype=float)
        return values.reshape(block.shape[0], len(states), block.shape[1]).transpose(1, 0, 2)

    # -- what the system is made of ----------------------------------------------------------------

    @cached_property
    def _symbols(self) -> Block:
        return self.anatomy.kernel.algebra.vector(self.anatomy.kernel.equations.state)

    @cached_property
    def _scalars(self) -> dict[str, ca.SX]:
        """Functions that must be invariant everywhere."""
        kernel, system = self.anatomy.kernel, self.system
        found = {energy_name(system): kernel.lower([system.energy_function])}
        if system.dissipation != 0:
            found["dissipation"] = kernel.lower([system.dissipation])
        return found

    @cached_property
    def _one_forms(self) -> dict[str, ca.SX]:
        """Columns (n x 1) that must be invariant everywhere, as one-forms."""
        system, components = self.system, {}
        if system.forces:
            components["forces"] = {q.name: force for q, force in system.forces.items()}
        for c in system.bilateral:
            if not c.is_ideal:
                work = {str(q): value for q, value in c.work.items()}
                components[f"work of constraint `{c.name}`"] = work
        lower, names = self.anatomy.kernel.lower, [q.name for q in system.coordinates]
        return {
            part: lower([table.get(name, sympy.S.Zero) for name in names])
            for part, table in components.items()
        }

    @cached_property
    def _everywhere(self) -> dict[str, ca.SX]:
        """Derivatives by the state of everything that must be invariant everywhere."""
        blocks = self._scalars | self._one_forms
        return {part: ca.jacobian(value, self._symbols) for part, value in blocks.items()}

    @cached_property
    def _held(self) -> dict[str, ca.SX]:
        """What vanishes on the constraints, by part: positions, velocities or momenta."""
        positions = iter(ca.vertsplit(self.anatomy.kernel.graph.position.residual))
        found = {}
        for place, c in enumerate(self.system.bilateral):
            own = next(positions) if c.is_position_level else self.anatomy.residual[place]
            found[f"constraint `{c.name}`"] = own
        return found

    @cached_property
    def is_regular(self) -> bool:
        """Whether constraint derivatives keep their rank on the constraints."""
        if not all(inner.is_regular for _, inner in self._contacts if inner is not None):
            return False
        if not self._held:
            return True
        residuals = (self.anatomy.kernel.graph.position.residual, self.anatomy.residual)
        rows = ca.jacobian(ca.vertcat(*residuals), self._symbols)
        states = self.consistent
        step = BESIDE * self._random.uniform(-1.0, 1.0, states.states.shape)
        beside = States(states.times, states.states + step, states.inputs)
        ranks = []
        for values in (self.values(rows, states), self.values(rows, beside)):
            finite = [matrix for matrix in values if np.all(np.isfinite(matrix))]
            ranks.append(common(rank(matrix, GENERIC).rank for matrix in finite) if finite else -1)
        return ranks[0] >= ranks[1]

    # -- conditions --------------------------------------------------------------------------------

    def on(self, fields: sympy.MatrixBase) -> list[Condition]:
        """All conditions on the columns of `fields` (n x K), in coordinates and parameters."""
        lifted = _Lifted(self, fields, self.anywhere)
        found = [self._scalar(part, lifted) for part in self._scalars]
        found += [self._one_form(part, lifted) for part in self._one_forms]
        if self._held or self.system.image is not None:
            held = _Lifted(self, fields, self.consistent)
            found += [_along(part, self._derivatives[part], held.fields) for part in self._held]
            if self.system.image is not None:
                found.append(self._image(held))
        contacts = self._contacts
        return found + [self._on_contact(name, inner, fields, lifted) for name, inner in contacts]

    @cached_property
    def _derivatives(self) -> dict[str, Array]:
        """Values of the derivatives by the state: anywhere, or on the constraints for these."""
        found = {part: self.values(x, self.anywhere) for part, x in self._everywhere.items()}
        for part, value in self._held.items():
            found[part] = self.values(ca.jacobian(value, self._symbols), self.consistent)
        return found

    def _scalar(self, part: str, lifted: _Lifted) -> Condition:
        return _along(part, self._derivatives[part], lifted.fields)

    def _one_form(self, part: str, lifted: _Lifted) -> Condition:
        derivatives = self._derivatives[part]
        forms = self.values(self._one_forms[part], lifted.at)[:, :, 0]
        moved = np.einsum("Nil,NKl->NiK", derivatives, lifted.fields)
        turned = np.einsum("Nj,NKji->NiK", forms, lifted.derivatives)
        sizes = np.einsum("Nil,NKl->NiK", np.abs(derivatives), np.abs(lifted.fields))
        sizes = sizes + np.einsum("Nj,NKji->NiK", np.abs(forms), np.abs(lifted.derivatives))
        lifts, bends = np.abs(lifted.fields), np.abs(lifted.derivatives)
        largest = np.max(np.abs(derivatives), axis=(1, 2))[:, None] * np.max(lifts, axis=2)
        carried = np.max(np.abs(forms), axis=1)[:, None] * np.max(bends, axis=(2, 3))
        sizes = sizes + SCALE * (largest + carried)[:, None, :]
        width = moved.shape[2]
        return Condition(part, (moved + turned).reshape(-1, width), sizes.reshape(-1, width))

    def _image(self, lifted: _Lifted) -> Condition:
        """Rows that annihilate the image, applied to brackets of its columns with the fields."""
        frame, image = self.anatomy.image_frame, self.system.image
        assert frame is not None and image is not None
        n, k = frame.shape
        frames = self.values(frame, lifted.at)
        by_places = ca.jacobian(ca.vec(frame), self.anatomy.coordinates)
        derivatives = self.values(by_places, lifted.at).reshape(-1, k, n, n)
        rows, sizes = [], []
        places = lifted.fields[:, :, :n]
        for E, DE, X, DX in zip(frames, derivatives, places, lifted.derivatives, strict=True):
            outside = rank(E.T, GENERIC).null_space.T
            one, two = np.einsum("Kil,lj->ijK", DX, E), np.einsum("jil,Kl->ijK", DE, X)
            rows.append(np.einsum("ri,ijK->rjK", outside, one - two).reshape(-1, X.shape[0]))
            size = np.einsum("ri,ijK->rjK", np.abs(outside), np.abs(one) + np.abs(two))
            sizes.append(size.reshape(-1, X.shape[0]))
        return Condition(f"constraint `{image.name}`", np.vstack(rows), np.vstack(sizes))

    @cached_property
    def _contacts(self) -> list[tuple[str, Conditions | None]]:
        """For each one-sided constraint the conditions at contact; None where none was found."""
        found: list[tuple[str, Conditions | None]] = []
        count = len(self.consistent)
        for c in self.system.unilateral:
            if not c.is_one_sided:  # a friction limit: its slip must not change anywhere
                found.append((c.name, None))
                continue
            touching = self.system.touching((c.name,))
            known = {symbol.name for symbol in touching.parameters}
            values = {name: value for name, value in self.parameters.items() if name in known}
            inner: Conditions | None = None
            with suppress(StartError):  # without a start in contact `inner` stays None
                inner = Conditions(touching, values, self._start, consistent=count, seed=5)
            found.append((c.name, inner))
        return found

    def _on_contact(
        self, name: str, inner: Conditions | None, fields: sympy.MatrixBase, anywhere: _Lifted
    ) -> Condition:
        """X(g) = 0 at contact; everywhere (more than needed) where no contact was found."""
        part = f"constraint `{name}`"
        if inner is not None:
            lifted = _Lifted(inner, fields, inner.consistent)
            return _along(part, inner._derivatives[part], lifted.fields)
        stated = next(c for c in self.system.unilateral if c.name == name)
        rows = ca.jacobian(self.anatomy.kernel.lower([*stated.conditions()]), self._symbols)
        derivatives = self.values(rows, self.anywhere)
        return _along(part, derivatives, anywhere.fields)


class _Lifted:
    """Values of K fields at N states: lifts (N, K, 2n) and derivatives by q (N, K, n, n)."""

    def __init__(self, conditions: Conditions, fields: sympy.MatrixBase, at: States) -> None:
        algebra, system = conditions.anatomy.kernel.algebra, conditions.system
        n, count = fields.shape
        column = algebra.vector(list(fields.T))  # field after field
        self.at, q = at, conditions.anatomy.coordinates
        bends = conditions.values(ca.jacobian(column, q), at)
        self.derivatives = bends.reshape(len(at), count, n, n)
        lower = conditions.values(column, at).reshape(len(at), count, n)
        second = at.states[:, n:]
        if system.is_hamiltonian:
            upper = -np.einsum("NKji,Nj->NKi", self.derivatives, second)
        else:
            upper = np.einsum("NKij,Nj->NKi", self.derivatives, second)
        self.fields = np.concatenate([lower, upper], axis=2)


def _along(part: str, derivatives: Array, fields: Array) -> Condition:
    """Derivatives (N, r, 2n) along lifted fields (N, K, 2n)."""
    rows = np.einsum("Nrl,NKl->NrK", derivatives, fields)
    sizes = np.einsum("Nrl,NKl->NrK", np.abs(derivatives), np.abs(fields))
    largest = SCALE * np.max(np.abs(derivatives), axis=(1, 2))[:, None, None]
    sizes = sizes + largest * np.max(np.abs(fields), axis=2)[:, None, :]
    return Condition(part, rows.reshape(-1, rows.shape[2]), sizes.reshape(-1, rows.shape[2]))


def given_parameters(system: System, given: Values | None) -> dict[str, float]:
    """Values by name of parameters that are held fixed, checked."""
    known = [symbol.name for symbol in system.parameters]
    found = used_parameters(by_name(given, "mapping of parameters"), known)
    for name, value in found.items():
        is_number = isinstance(value, (int, float, np.number, sympy.Number))
        if not is_number or not np.isfinite(float(value)):
            raise ModelError(f"The parameter `{name}` needs a finite number", seen=repr(value)[:60])
    return {name: float(value) for name, value in found.items()}


def given_fields(system: System, given: Iterable[Values | Vector]) -> list[sympy.MatrixBase]:
    """Fields (n x 1) in coordinates and parameters of the system, checked."""
    found = [read_field(entry, system.coordinates) for entry in given]
    own = {*system.coordinates, *system.parameters}
    for column in found:
        foreign = sorted(str(symbol) for symbol in column.free_symbols - own)
        if foreign:
            raise ModelError(
                f"The field {field_text(column, system.coordinates)} contains {', '.join(foreign)}",
                remedy="write fields in the coordinates and parameters of the system",
            )
    return found


def drawn_parameters(
    system: System,
    fixed: Mapping[str, float],
    typical: Mapping[str, float],
    random: np.random.Generator,
) -> dict[str, float]:
    """Values of all parameters: fixed ones, and random ones near the typical nonzero ones."""
    found = {}
    for symbol in system.parameters:
        if symbol.name in fixed:
            found[symbol.name] = float(fixed[symbol.name])
            continue
        usual = float(typical.get(symbol.name, 0.0)) or (-1.0 if symbol.is_negative else 1.0)
        found[symbol.name] = usual * float(random.uniform(0.7, 1.4))
    return found


def autonomous(system: System) -> bool:
    """Whether time occurs nowhere, and no input is left open."""
    timed = any(t in expression.free_symbols for expression in system.expressions())
    return not timed and all(law is not None for law in system.inputs.values())
