"""A mechanical system as its user states it: frozen, complete when constructed, and free of any solver."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import sympy
from sympy.core.function import AppliedUndef

from ..errors import DalembertError, ModelError, raise_collected
from .constraints import (
    Constraint,
    HolonomicConstraint,
    ImageConstraint,
    MomentumConstraint,
    UnilateralConstraint,
    VelocityConstraint,
)
from .forces import Part, sum_parts
from .symbols import Acceleration, Coordinate, Input, Momentum, Parameter, Speed, Velocity, as_expression, t

__all__ = ["System"]

ZERO = sympy.Integer(0)


@dataclass(frozen=True, init=False)
class System:
    """Coordinates, energies, constraints, forces and inputs of a mechanical system.

    Exactly one of three descriptions of the energies is given: `lagrangian`, or `kinetic` with `potential`, or
    `hamiltonian`; `parts` add to `kinetic` and `potential`.

    Parameters
    ----------
    coordinates : sequence of Coordinate, or of SymPy dynamic symbols q(t)
    lagrangian, kinetic, potential, hamiltonian : expressions
        L(q, q_dot, t); T(q, q_dot, t) and V(q, t); H(q, p, t).
    constraints : sequence of constraints, see `holonomic`, `velocity`, `momentum`, `image`, `unilateral`
    forces : mapping of coordinate to expression
        Generalised forces Q(q, q_dot, t, inputs).
    dissipation : expression
        Rayleigh's function R; the force is -dR/dq_dot.
    inputs : sequence of Input, or mapping of Input to an expression of time and state
    outputs : mapping of name to expression
        Further quantities that every motion reports.
    parts : sequence of Part
        Bodies, springs and forces made with `particle`, `body`, `spring`, ...
    name : str

    Raises
    ------
    ModelError
        With every fault of the input in one message.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> m, k = da.parameters("m k", positive=True)
    >>> oscillator = da.System(coordinates=[x], kinetic=m/2*x.dot**2, potential=k/2*x**2)
    >>> [str(parameter) for parameter in oscillator.parameters]
    ['k', 'm']
    """

    coordinates: tuple[Coordinate, ...]
    lagrangian: sympy.Expr | None
    hamiltonian: sympy.Expr | None
    constraints: tuple[Constraint, ...]
    forces: Mapping[Coordinate, sympy.Expr]
    dissipation: sympy.Expr
    inputs: Mapping[Input, sympy.Expr | None]
    outputs: Mapping[str, sympy.Expr]
    name: str
    kinetic: sympy.Expr | None = field(repr=False)
    potential: sympy.Expr | None = field(repr=False)

    def __init__(
        self,
        coordinates: Sequence[Any],
        *,
        lagrangian: Any | None = None,
        kinetic: Any | None = None,
        potential: Any | None = None,
        hamiltonian: Any | None = None,
        constraints: Sequence[Constraint] = (),
        forces: Mapping[Any, Any] | None = None,
        dissipation: Any = 0,
        inputs: Mapping[Input, Any] | Sequence[Input] = (),
        outputs: Mapping[str, Any] | None = None,
        parts: Sequence[Part] = (),
        name: str = "system",
    ) -> None:
        faults: list[DalembertError] = []
        if isinstance(coordinates, sympy.Basic):
            coordinates = (coordinates,)
        reader = _Reader(coordinates, faults)
        from_parts = sum_parts(parts)
        if parts:
            kinetic = from_parts.kinetic + (0 if kinetic is None else kinetic)
            potential = from_parts.potential + (0 if potential is None else potential)
        _check_energies(lagrangian, kinetic, potential, hamiltonian, faults)

        motive = reader.expression(kinetic, "kinetic") if kinetic is not None else None
        stored = reader.expression(0 if potential is None else potential, "potential") if kinetic is not None else None
        direct = reader.expression(lagrangian, "lagrangian") if lagrangian is not None else None
        canonical = reader.expression(hamiltonian, "hamiltonian") if hamiltonian is not None else None
        if direct is None and motive is not None and stored is not None:
            direct = motive - stored
        generalised = dict.fromkeys(reader.coordinates, ZERO)
        for where, table in (("forces", forces or {}), ("parts", from_parts.forces)):
            for key, value in table.items():
                q = reader.coordinate(key, where)
                if q is not None:
                    generalised[q] += reader.expression(value, f"force on {q}")
        table_of_inputs = inputs if isinstance(inputs, Mapping) else dict.fromkeys(_listed(inputs))
        drives = {
            symbol: None if value is None else reader.expression(value, f"input `{symbol}`")
            for symbol, value in table_of_inputs.items()
        }
        values = {
            "coordinates": reader.coordinates,
            "lagrangian": direct,
            "kinetic": motive,
            "potential": stored,
            "hamiltonian": canonical,
            "constraints": tuple(reader.constraint(c, k) for k, c in enumerate(constraints, start=1)),
            "forces": MappingProxyType({q: value for q, value in generalised.items() if value != 0}),
            "dissipation": reader.expression(from_parts.dissipation + dissipation, "dissipation"),
            "inputs": MappingProxyType(drives),
            "outputs": MappingProxyType({k: reader.expression(v, f"output `{k}`") for k, v in (outputs or {}).items()}),
            "name": str(name),
        }
        for attribute, value in values.items():
            object.__setattr__(self, attribute, value)
        if not faults:
            _check_roles(self, faults)
            _check_names(self, faults)
        raise_collected(faults)

    # -- what the letters are ------------------------------------------------------------------------------------

    @cached_property
    def velocities(self) -> tuple[Velocity, ...]:
        """q_dot for every coordinate."""
        return tuple(q.dot for q in self.coordinates)

    @cached_property
    def momenta(self) -> tuple[Momentum, ...]:
        """p for every coordinate."""
        return tuple(q.momentum for q in self.coordinates)

    @property
    def is_hamiltonian(self) -> bool:
        """Whether the system was stated by its Hamiltonian."""
        return self.hamiltonian is not None

    @property
    def energy_function(self) -> sympy.Expr:
        """The expression the system was stated by: L, or H."""
        expression = self.hamiltonian if self.hamiltonian is not None else self.lagrangian
        assert expression is not None
        return expression

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Every parameter that occurs anywhere in the system, by name."""
        found = {symbol for expression in self.expressions() for symbol in expression.atoms(Parameter)}
        return tuple(sorted(found, key=lambda symbol: symbol.name))

    @cached_property
    def bilateral(self) -> tuple[Constraint, ...]:
        """The two-sided constraints that give rows: all but image and one-sided ones."""
        return tuple(c for c in self.constraints if not isinstance(c, (UnilateralConstraint, ImageConstraint)))

    @property
    def unilateral(self) -> tuple[UnilateralConstraint, ...]:
        """The one-sided constraints."""
        return tuple(c for c in self.constraints if isinstance(c, UnilateralConstraint))

    @property
    def image(self) -> ImageConstraint | None:
        """The image representation of the velocities, where there is one."""
        return next((c for c in self.constraints if isinstance(c, ImageConstraint)), None)

    def expressions(self) -> Iterable[sympy.Expr]:
        """Every expression of the system."""
        yield self.energy_function
        yield self.dissipation
        yield from self.forces.values()
        yield from self.outputs.values()
        yield from (value for value in self.inputs.values() if value is not None)
        for constraint in self.constraints:
            yield constraint.expression
            yield from constraint.work.values()
            if isinstance(constraint, ImageConstraint):
                yield from constraint.velocities.values()
            if isinstance(constraint, UnilateralConstraint):
                yield constraint.restitution

    # -- systems from systems ------------------------------------------------------------------------------------

    def replacing(self, **changes: Any) -> System:
        """The same system with some of its attributes replaced, checked again."""
        current: dict[str, Any] = {
            "constraints": self.constraints,
            "forces": self.forces,
            "dissipation": self.dissipation,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "name": self.name,
        }
        if self.hamiltonian is not None:
            current["hamiltonian"] = self.hamiltonian
        elif self.kinetic is not None:
            current |= {"kinetic": self.kinetic, "potential": self.potential}
        else:
            current["lagrangian"] = self.lagrangian
        return System(changes.pop("coordinates", self.coordinates), **(current | changes))

    def driven(self, inputs: Mapping[Any, Any]) -> System:
        """The same system with inputs imposed as expressions of time and state."""
        table: dict[Any, Any] = dict(self.inputs)
        by_name = {symbol.name: symbol for symbol in self.inputs}
        for key, value in inputs.items():
            symbol = by_name.get(str(key))
            if symbol is None:
                raise ModelError(
                    f"The system has no input `{key}`",
                    seen=", ".join(by_name) or "no inputs",
                    remedy="name one of its own",
                )
            table[symbol] = value
        return self.replacing(inputs=table)

    def touching(self, names: Sequence[str]) -> System:
        """The same system with the one-sided constraints `names` closed: held as two-sided, the others dropped."""
        kept = [
            HolonomicConstraint(c.expression, c.name) if isinstance(c, UnilateralConstraint) else c
            for c in self.constraints
            if not isinstance(c, UnilateralConstraint) or c.name in names
        ]
        return self.replacing(constraints=kept)

    def describe(self, **options: Any) -> Any:
        """What kind of system this is; see `dalembert.analysis.description.describe`."""
        from ..analysis.description import describe

        return describe(self, **options)


def _listed(value: Any) -> list[Any]:
    return [value] if isinstance(value, sympy.Basic) else list(value)


class _Reader:
    """Turns what a user may write into expressions of our own symbols, collecting faults on the way.

    SymPy's dynamic symbols q(t) and their derivatives become coordinates and velocities, other plain symbols become
    parameters.
    """

    def __init__(self, coordinates: Sequence[Any], faults: list[DalembertError]) -> None:
        self.faults = faults
        self.translation: dict[Any, Any] = {}
        found: list[Coordinate] = []
        for item in coordinates:
            if isinstance(item, Coordinate):
                found.append(item)
            elif isinstance(item, AppliedUndef) and len(item.args) == 1:
                q, clock = Coordinate(item.func.__name__), item.args[0]
                self.translation |= {
                    sympy.Derivative(item, (clock, 2)): q.ddot,
                    sympy.Derivative(item, clock): q.dot,
                    item: q,
                    clock: t,
                }
                found.append(q)
            else:
                faults.append(
                    ModelError("A coordinate must be made with coordinates(...) or dynamicsymbols(...)", seen=repr(item))
                )
        repeated = sorted({q.name for q in found if found.count(q) > 1})
        if repeated:
            faults.append(ModelError(f"The coordinates {', '.join(repeated)} are listed twice", remedy="list each once"))
        if not found and not faults:
            faults.append(ModelError("A system needs at least one coordinate", remedy="pass coordinates=[...]"))
        self.coordinates = tuple(dict.fromkeys(found))

    def coordinate(self, key: Any, where: str) -> Coordinate | None:
        key = self.translation.get(key, key)
        for q in self.coordinates:
            if key == q or (isinstance(key, str) and key == q.name):
                return q
        self.faults.append(
            ModelError(
                f"The {where} name `{key}`, which is not a coordinate",
                seen=", ".join(q.name for q in self.coordinates),
                remedy="use one of the system's coordinates",
            )
        )
        return None

    def expression(self, value: Any, where: str) -> sympy.Expr:
        if isinstance(value, (int, float)):
            value = as_expression(value)
        if not isinstance(value, sympy.Expr):
            self.faults.append(ModelError(f"The {where} must be an expression, not {type(value).__name__}", seen=value))
            return ZERO
        if self.translation:
            value = value.doit().xreplace(self.translation)
        if value.has(sympy.nan, sympy.zoo, sympy.oo, -sympy.oo):
            self.faults.append(ModelError(f"The {where} is not finite", seen=value))
            return ZERO
        strangers: dict[Any, Any] = {}
        for symbol in value.atoms(sympy.Symbol):
            if isinstance(symbol, (Coordinate, Velocity, Acceleration, Momentum, Parameter, Input, Speed)) or symbol == t:
                continue
            strangers[symbol] = t if symbol.name == "t" else Parameter(symbol.name, **symbol._assumptions_orig)
        unknown = sorted(str(f) for f in value.atoms(AppliedUndef))
        if unknown:
            self.faults.append(ModelError(f"The {where} contains {', '.join(unknown)}", remedy="list it among the coordinates"))
        return value.xreplace(strangers) if strangers else value

    def constraint(self, constraint: Any, number: int) -> Constraint:
        if not isinstance(constraint, Constraint):
            self.faults.append(
                ModelError(
                    f"Constraint {number} is not a constraint",
                    seen=repr(constraint),
                    remedy="wrap it in holonomic(...), velocity(...), momentum(...), image(...) or unilateral(...)",
                )
            )
            return HolonomicConstraint(ZERO, f"c{number}")
        name = constraint.name or f"c{number}"
        where = f"constraint `{name}`"
        work = {}
        for key, value in constraint.work.items():
            q = self.coordinate(key, f"work of {where}")
            if q is not None:
                work[q] = self.expression(value, f"work of {where}")
        changes: dict[str, Any] = {
            "name": name,
            "expression": self.expression(constraint.expression, where),
            "work": MappingProxyType(work),
        }
        if isinstance(constraint, ImageConstraint):
            table = {self.coordinate(key, where): self.expression(value, where) for key, value in constraint.velocities.items()}
            missing = [q.name for q in self.coordinates if q not in table]
            if missing:
                self.faults.append(
                    ModelError(f"The image `{name}` gives no velocity for {', '.join(missing)}", remedy="give one for each")
                )
            changes["velocities"] = MappingProxyType({q: table.get(q, ZERO) for q in self.coordinates})
        return replace(constraint, **changes)


def _check_energies(lagrangian: Any, kinetic: Any, potential: Any, hamiltonian: Any, faults: list[DalembertError]) -> None:
    given = [
        name
        for name, value in (("lagrangian", lagrangian), ("kinetic", kinetic), ("hamiltonian", hamiltonian))
        if value is not None
    ]
    if len(given) != 1:
        faults.append(
            ModelError(
                "A system needs exactly one of lagrangian, kinetic and hamiltonian",
                seen=" and ".join(given) or "none of them",
                remedy="state the energies once",
            )
        )
    elif potential is not None and kinetic is None:
        faults.append(ModelError(f"A potential goes with kinetic, not with {given[0]}", remedy=f"put it into {given[0]}"))


#: Which kinds of letters each role may contain, besides parameters and time.
_ALLOWED: dict[str, tuple[type, ...]] = {
    "kinetic": (Coordinate, Velocity),
    "potential": (Coordinate,),
    "lagrangian": (Coordinate, Velocity),
    "hamiltonian": (Coordinate, Momentum),
    "holonomic": (Coordinate,),
    "velocity": (Coordinate, Velocity),
    "momentum": (Coordinate, Momentum),
    "image": (Coordinate, Speed),
    "force": (Coordinate, Velocity, Momentum, Input),
    "state": (Coordinate, Velocity, Momentum),
    "constant": (),
}


def _check_roles(system: System, faults: list[DalembertError]) -> None:
    """Each expression contains only letters that make sense in its place, and only the system's own."""
    own: set[sympy.Symbol] = {*system.coordinates, *system.velocities, *system.momenta, *system.inputs}
    if system.image is not None:
        own |= set(system.image.speeds)
    stated = [("lagrangian", "lagrangian", system.lagrangian), ("hamiltonian", "hamiltonian", system.hamiltonian)]
    if system.kinetic is not None:
        stated = [("kinetic", "kinetic", system.kinetic), ("potential", "potential", system.potential)]
    stated += [("force", f"force on {q}", value) for q, value in system.forces.items()]
    stated += [("force", "dissipation", system.dissipation)]
    stated += [("state", f"input `{symbol}`", value) for symbol, value in system.inputs.items()]
    stated += [("force", f"output `{key}`", value) for key, value in system.outputs.items()]
    for constraint in system.constraints:
        where = f"constraint `{constraint.name}`"
        stated += [("force", f"work of {where}", value) for value in constraint.work.values()]
        match constraint:
            case ImageConstraint():
                stated += [("image", where, value) for value in constraint.velocities.values()]
            case UnilateralConstraint():
                stated += [("holonomic", where, constraint.expression), ("constant", where, constraint.restitution)]
            case VelocityConstraint():
                stated.append(("velocity", where, constraint.expression))
            case MomentumConstraint():
                stated.append(("momentum", where, constraint.expression))
            case _:
                stated.append(("holonomic", where, constraint.expression))
    for role, where, expression in stated:
        if expression is None:
            continue
        letters = expression.free_symbols - set(expression.atoms(Parameter)) - {t}
        wrong = sorted((s for s in letters if not isinstance(s, _ALLOWED[role])), key=str)
        foreign = sorted((s for s in letters if isinstance(s, _ALLOWED[role]) and s not in own), key=str)
        if wrong:
            faults.append(
                ModelError(
                    f"The {where} contains {', '.join(map(str, wrong))}, which has no place there",
                    remedy=_role_remedy(role),
                )
            )
        if foreign:
            faults.append(
                ModelError(
                    f"The {where} contains {', '.join(map(str, foreign))}, which the system does not have",
                    seen=", ".join(q.name for q in system.coordinates),
                    remedy="list its coordinate, speed or input in the system",
                )
            )
    for constraint in (*system.bilateral, *system.unilateral):
        _check_constraint_moves(constraint, faults)
    if system.image is not None:
        _check_image_is_linear(system.image, faults)


def _role_remedy(role: str) -> str:
    return {
        "hamiltonian": "write it in coordinates, momenta (q.momentum), parameters and t",
        "holonomic": "use velocity(...) for a constraint on velocities and momentum(...) for one on momenta",
        "velocity": "write it in coordinates, velocities (q.dot), parameters and t",
        "momentum": "write it in coordinates, momenta (q.momentum), parameters and t",
        "image": "write it in coordinates, speeds, parameters and t",
        "potential": "put terms with velocities into kinetic, or pass the whole lagrangian",
        "constant": "use numbers and parameters only",
    }.get(role, "write it in coordinates, velocities (q.dot), parameters and t")


def _check_constraint_moves(constraint: Constraint, faults: list[DalembertError]) -> None:
    """A constraint must restrict what it is about: g some coordinate, f some velocity, phi some momentum."""
    kind, what = {
        HolonomicConstraint: (Coordinate, "coordinate"),
        UnilateralConstraint: (Coordinate, "coordinate"),
        VelocityConstraint: (Velocity, "velocity"),
        MomentumConstraint: (Momentum, "momentum"),
    }[type(constraint)]
    if constraint.expression.atoms(kind):
        return
    remedy = (
        "use holonomic(...) for a constraint on positions"
        if constraint.expression.atoms(Coordinate)
        else "remove it, or write the condition it stands for"
    )
    faults.append(
        ModelError(f"The constraint `{constraint.name}` contains no {what}", seen=f"{constraint.expression} = 0", remedy=remedy)
    )


def _check_image_is_linear(image: ImageConstraint, faults: list[DalembertError]) -> None:
    for q, value in image.velocities.items():
        linear = sum(sympy.diff(value, u) * u for u in image.speeds)
        if any(sympy.diff(value, u).has(*image.speeds) for u in image.speeds) or sympy.expand(value - linear) != 0:
            faults.append(
                ModelError(
                    f"The velocity of `{q}` in the image `{image.name}` must be linear in the speeds without a rest",
                    seen=value,
                    remedy="use velocity(...) for affine and nonlinear constraints",
                )
            )


def _check_names(system: System, faults: list[DalembertError]) -> None:
    """No two letters of the system may share a name, derived names included."""
    taken: dict[str, str] = {"t": "time"}

    def take(name: str, owner: str) -> None:
        if name in taken and taken[name] != owner:
            faults.append(ModelError(f"The name `{name}` means both {taken[name]} and {owner}", remedy="rename one of them"))
        taken.setdefault(name, owner)
        if not (name.isidentifier() or keyword.iskeyword(name)):
            faults.append(ModelError(f"`{name}` is not a name", remedy="use letters, digits and underscores"))

    shown = (*system.coordinates, *system.inputs, *(system.image.speeds if system.image else ()))
    if "energy" in {*(symbol.name for symbol in shown), *system.outputs}:
        faults.append(ModelError("The name `energy` is kept for the energy of a motion", remedy="choose another name"))
    for q in system.coordinates:
        take(q.name, f"the coordinate {q}")
        take(q.dot.name, f"the velocity of {q}")
        take(q.ddot.name, f"the acceleration of {q}")
        take(q.momentum.name, f"the momentum of {q}")
    for symbol in system.parameters:
        take(symbol.name, f"the parameter {symbol}")
    for symbol in system.inputs:
        take(symbol.name, f"the input {symbol}")
    if system.image is not None:
        for symbol in system.image.speeds:
            take(symbol.name, f"the speed {symbol}")
    for name in system.outputs:
        take(name, f"the output {name}")
    names = [constraint.name for constraint in system.constraints]
    for name in sorted({name for name in names if names.count(name) > 1}):
        faults.append(ModelError(f"Two constraints are called `{name}`", remedy="name them apart"))
    if sum(isinstance(c, ImageConstraint) for c in system.constraints) > 1:
        faults.append(ModelError("A system takes one image constraint", remedy="combine them into one"))
