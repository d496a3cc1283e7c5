"""What a System must be like: each symbol in its place, each name with one meaning; every fault is collected."""

from __future__ import annotations

import keyword
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import sympy

from ..errors import DalembertError, ModelError, raise_collected
from .atoms import leaves
from .constraints import (
    Constraint,
    HolonomicConstraint,
    ImageConstraint,
    MomentumConstraint,
    UnilateralConstraint,
    VelocityConstraint,
)
from .symbols import Acceleration, Coordinate, Input, Momentum, Multiplier, Parameter, Speed, Velocity, t

if TYPE_CHECKING:
    from .system import System

__all__ = ["check_bundle", "check_energies", "check_kinds", "check_names", "check_roles", "check_solved_for"]


def check_energies(lagrangian: Any, kinetic: Any, potential: Any, hamiltonian: Any, faults: list[DalembertError]) -> None:
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


#: Which kinds of symbols each role may contain, besides parameters and time.
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


def check_roles(system: System, faults: list[DalembertError]) -> None:
    """Each expression contains only symbols that make sense in its place, and only the system's own."""
    own: set[sympy.Symbol] = {*system.coordinates, *system.velocities, *system.momenta, *system.inputs}
    if system.image is not None:
        own |= set(system.image.speeds)
    stated = [("lagrangian", "lagrangian", system.lagrangian), ("hamiltonian", "hamiltonian", system.hamiltonian)]
    stated += [("velocity", f"fibre velocity `{symbol}`", value) for symbol, value in system.bundle.items()]
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
        symbols = {s for s in leaves(expression) if isinstance(s, sympy.Symbol) and not isinstance(s, Parameter)} - {t}
        symbols -= {s for s in symbols if isinstance(s, (Acceleration, Multiplier))}  # see check_solved_for
        wrong = sorted((s for s in symbols if not isinstance(s, _ALLOWED[role])), key=str)
        foreign = sorted((s for s in symbols if isinstance(s, _ALLOWED[role]) and s not in own), key=str)
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
        if not _is_linear(value, image.speeds):
            faults.append(
                ModelError(
                    f"The velocity of `{q}` in the image `{image.name}` must be linear in the speeds without a rest",
                    seen=value,
                    remedy="use velocity(...) for affine and nonlinear constraints",
                )
            )


def _is_linear(value: sympy.Expr, symbols: Sequence[sympy.Symbol]) -> bool:
    """Whether an expression is linear and homogeneous in some symbols: its derivatives are free of them."""
    if any(sympy.diff(value, symbol).has(*symbols) for symbol in symbols):
        return False
    rest = value.xreplace(dict.fromkeys(symbols, sympy.S.Zero))
    return bool(rest == 0 or sympy.expand(rest) == 0)


def check_bundle(bundle: Any, energies: list[sympy.Expr], faults: list[DalembertError]) -> None:
    """A bundle gives its fibre velocities as v = sigma(q) q_dot, and the Lagrangian is written in them, not in q_dot."""
    for symbol, value in bundle.items():
        if not isinstance(symbol, Speed):
            faults.append(
                ModelError(
                    "A fibre velocity must be made with speeds(...)", seen=repr(symbol), remedy='write v = da.speeds("v")'
                )
            )
        velocities = sorted(value.atoms(Velocity), key=str)
        if not _is_linear(value, velocities) or value.has(t):
            faults.append(
                ModelError(
                    f"The fibre velocity `{symbol}` must be linear in the velocities, without a rest and without time",
                    seen=value,
                    remedy="write v = sigma(q) q_dot",
                )
            )
    if not energies:
        faults.append(ModelError("A bundle goes with a Lagrangian or a kinetic energy", remedy="leave the bundle out"))
    for energy in energies:
        if bundle and energy.atoms(Velocity):
            faults.append(
                ModelError(
                    "A Lagrangian on a bundle is written in its fibre velocities, not in the velocities",
                    seen=", ".join(sorted(map(str, energy.atoms(Velocity)))),
                    remedy="add a fibre velocity for each, or leave the bundle out",
                )
            )


def check_kinds(inputs: Mapping[Any, Any], outputs: Any, faults: list[DalembertError]) -> None:
    """Inputs are symbols of that kind, and outputs have names; without these nothing further can be read."""
    found: list[DalembertError] = []
    for key in inputs:
        if not isinstance(key, Input):
            found.append(ModelError("An input must be made with inputs(...)", seen=repr(key)[:60], remedy='u = da.inputs("u")'))
    if not isinstance(outputs or {}, Mapping) or any(not isinstance(key, str) for key in outputs or {}):
        seen = ", ".join(map(str, outputs))[:60] if isinstance(outputs, Mapping) else type(outputs).__name__
        found.append(ModelError("The outputs are expressions by name", seen=seen, remedy='pass outputs={"height": y}'))
    if found:
        raise_collected([*faults, *found])


def _symbols(system: System) -> dict[sympy.Symbol, sympy.Expr | str]:
    """Every symbol of the system that is no state variable, with the first expression that contains it."""
    found: dict[sympy.Symbol, sympy.Expr | str] = {}
    for expression in system.expressions():
        for symbol in leaves(expression):
            if isinstance(symbol, (Acceleration, Multiplier, Parameter)):
                found.setdefault(symbol, expression)
    declared = (*system.parameters, *system.inputs, *system.bundle, *(system.image.speeds if system.image else ()))
    return found | {symbol: "declared or drawn" for symbol in declared if symbol not in found}


def check_solved_for(
    coordinates: Sequence[Coordinate],
    constraints: Sequence[Constraint],
    symbols: Mapping[sympy.Symbol, sympy.Expr | str],
    faults: list[DalembertError],
) -> set[str]:
    """Refuse symbols that name what is solved for at each instant: accelerations, multipliers and with them reactions.

    `symbols` gives the expression that each one was seen in. The names of those refused are returned.
    """
    meaning = {q.ddot.name: f"the acceleration of {q.name}" for q in coordinates}
    for constraint in (c for c in constraints if isinstance(c, Constraint) and c.name):
        for prefix in ("mu", "lambda"):
            meaning[f"{prefix}_{constraint.name}"] = f"the multiplier of the constraint `{constraint.name}`"
    refused = sorted(
        (s for s in symbols if s.name in meaning or isinstance(s, (Acceleration, Multiplier))), key=lambda s: s.name
    )
    for symbol in refused:
        what = meaning.get(symbol.name, "an acceleration or a multiplier of another system")
        faults.append(
            ModelError(
                f"`{symbol.name}` is {what}, and forces may not depend on accelerations or reactions, "
                "nor may any other expression of a model",
                seen=str(symbols[symbol])[:60],
                remedy="rename it if it is a parameter; otherwise write coordinates, velocities and t",
            )
        )
    return {symbol.name for symbol in refused}


def check_names(system: System, faults: list[DalembertError]) -> None:
    """No two symbols of the system may share a name, derived names included."""
    taken: dict[str, str] = {"t": "time"}

    def take(name: str, owner: str) -> None:
        if name in taken and taken[name] != owner:
            faults.append(ModelError(f"The name `{name}` means both {taken[name]} and {owner}", remedy="rename one of them"))
        taken.setdefault(name, owner)
        if not (name.isidentifier() or keyword.iskeyword(name)):
            faults.append(ModelError(f"`{name}` is not a name", remedy="use symbols, digits and underscores"))

    shown = (*system.coordinates, *system.inputs, *(system.image.speeds if system.image else ()))
    if "energy" in {*(symbol.name for symbol in shown), *system.outputs}:
        faults.append(ModelError("The name `energy` is kept for the energy of a motion", remedy="choose another name"))
    for q in system.coordinates:
        take(q.name, f"the coordinate {q.name}")
        take(q.dot.name, f"the velocity of {q.name}")
        take(q.ddot.name, f"the acceleration of {q.name}")
        take(q.momentum.name, f"the momentum of {q.name}")
    solved = check_solved_for(system.coordinates, system.constraints, _symbols(system), faults)
    speeds = (*(system.image.speeds if system.image is not None else ()), *system.bundle)
    for kind, symbols in (("parameter", system.parameters), ("input", system.inputs), ("speed", speeds)):
        for symbol in (s for s in symbols if s.name not in solved):
            take(symbol.name, f"the {kind} {symbol}")
    for name in system.outputs:
        take(name, f"the output {name}")
    names = [constraint.name for constraint in system.constraints]
    for name in sorted(name for name, count in Counter(names).items() if count > 1):
        faults.append(ModelError(f"Two constraints are called `{name}`", remedy="name them apart"))
    if sum(isinstance(c, ImageConstraint) for c in system.constraints) > 1:
        faults.append(ModelError("A system takes one image constraint", remedy="combine them into one"))
