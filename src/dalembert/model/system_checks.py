"""The checks of a System: symbols in their places, unique names; every fault is collected."""

from __future__ import annotations

import keyword
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import sympy

from ..errors import Faults, ModelError, raise_collected
from .atoms import leaves
from .constraints import Constraint, FrictionLimit, ImageConstraint
from .constraints.constraint import Place
from .constraints.images import is_linear
from .quantities import definitions_in
from .symbols import (
    Acceleration,
    Coordinate,
    Input,
    Momentum,
    Multiplier,
    Parameter,
    Speed,
    Velocity,
    t,
)

if TYPE_CHECKING:
    from .system import System

__all__ = [
    "check_bundle",
    "check_energies",
    "check_kinds",
    "check_names",
    "check_roles",
    "check_solved_for",
]


def check_energies(
    lagrangian: Any, kinetic: Any, potential: Any, hamiltonian: Any, faults: Faults
) -> None:
    given = [
        name
        for name, value in (
            ("lagrangian", lagrangian),
            ("kinetic", kinetic),
            ("hamiltonian", hamiltonian),
        )
        if value is not None
    ]
    if len(given) != 1:
        faults.add(
            "A system needs exactly one of lagrangian, kinetic and hamiltonian",
            seen=" and ".join(given) or "none of them",
            remedy="state the energies once",
        )
    elif potential is not None and kinetic is None:
        faults.add(
            f"A potential goes with kinetic, not with {given[0]}", remedy=f"put it into {given[0]}"
        )


_IN_MOMENTA = "write it in coordinates, momenta (q.momentum), parameters and t"
_IN_VELOCITIES = "write it in coordinates, velocities (q.dot), parameters and t"
_IN_KINETIC = "put terms with velocities into kinetic, or pass the whole lagrangian"
#: The symbols that each role may contain, besides parameters and time, and what to write instead.
_ROLES: dict[str, tuple[tuple[type[sympy.Symbol], ...], str]] = {
    "kinetic": ((Coordinate, Velocity), _IN_VELOCITIES),
    "potential": ((Coordinate,), _IN_KINETIC),
    "lagrangian": ((Coordinate, Velocity), _IN_VELOCITIES),
    "hamiltonian": ((Coordinate, Momentum), _IN_MOMENTA),
    "force": ((Coordinate, Velocity, Momentum, Input), _IN_VELOCITIES),
    "state": ((Coordinate, Velocity, Momentum), _IN_VELOCITIES),
}


def check_roles(system: System, faults: Faults) -> None:
    """Check that each expression contains only symbols of the system that have a place in it."""
    own: set[sympy.Symbol] = {
        *system.coordinates,
        *system.velocities,
        *system.momenta,
        *system.inputs,
    }
    if system.image is not None:
        own |= set(system.image.speeds)
    stated = [
        ("lagrangian", "lagrangian", system.lagrangian),
        ("hamiltonian", "hamiltonian", system.hamiltonian),
    ]
    stated += [
        ("lagrangian", f"fibre velocity `{symbol}`", v) for symbol, v in system.bundle.items()
    ]
    if system.kinetic is not None:
        stated = [
            ("kinetic", "kinetic", system.kinetic),
            ("potential", "potential", system.potential),
        ]
    stated += [("force", f"force on {q}", value) for q, value in system.forces.items()]
    stated += [("force", "dissipation", system.dissipation)]
    stated += [("state", f"input `{symbol}`", value) for symbol, value in system.inputs.items()]
    stated += [("force", f"output `{key}`", value) for key, value in system.outputs.items()]
    for constraint in system.constraints:
        where = f"constraint `{constraint.name}`"
        stated += [("force", f"work of {where}", value) for value in constraint.work.values()]
    places = [
        (where, Place(value, *_ROLES[role])) for role, where, value in stated if value is not None
    ]
    for constraint in system.constraints:
        places += [(f"constraint `{constraint.name}`", place) for place in constraint.places()]
    for where, (expression, allowed, remedy) in places:
        symbols = {
            s
            for s in leaves(expression)
            if isinstance(s, sympy.Symbol) and not isinstance(s, Parameter)
        } - {t}
        symbols -= {
            s for s in symbols if isinstance(s, (Acceleration, Multiplier))
        }  # see check_solved_for
        wrong = sorted((s for s in symbols if not isinstance(s, allowed)), key=str)
        foreign = sorted((s for s in symbols if isinstance(s, allowed) and s not in own), key=str)
        if wrong:
            faults.add(
                f"The {where} contains {', '.join(map(str, wrong))}, which has no place there",
                remedy=remedy,
            )
        if foreign:
            faults.add(
                f"The {where} contains {', '.join(map(str, foreign))}, which the system does"
                " not have",
                seen=", ".join(q.name for q in system.coordinates),
                remedy="list its coordinate, speed or input in the system",
            )
    for constraint in system.constraints:
        faults += constraint.faults()
    faults += _normal_faults(system)


def check_bundle(bundle: Any, energies: list[sympy.Expr], faults: Faults) -> None:
    """Check that v = sigma(q) q_dot, and that the Lagrangian is written in v, not in q_dot."""
    for symbol, value in bundle.items():
        if not isinstance(symbol, Speed):
            faults.add(
                "A fibre velocity must be made with speeds(...)",
                seen=repr(symbol),
                remedy='write v = da.speeds("v")',
            )
        velocities = sorted(value.atoms(Velocity), key=str)
        if not is_linear(value, velocities) or value.has(t):
            faults.add(
                f"The fibre velocity `{symbol}` must be linear in the velocities, without a"
                " rest and without time",
                seen=value,
                remedy="write v = sigma(q) q_dot",
            )
    if not energies:
        faults.add(
            "A bundle goes with a Lagrangian or a kinetic energy", remedy="leave the bundle out"
        )
    for energy in energies:
        if bundle and energy.atoms(Velocity):
            faults.add(
                "A Lagrangian on a bundle is written in its fibre velocities, not in the"
                " velocities",
                seen=", ".join(sorted(map(str, energy.atoms(Velocity)))),
                remedy="add a fibre velocity for each, or leave the bundle out",
            )


def check_kinds(inputs: Mapping[Any, Any], outputs: Any, faults: Faults) -> None:
    """Check that inputs are input symbols and outputs have names, before reading on."""
    found = Faults()
    for key in inputs:
        if not isinstance(key, Input):
            found.append(
                ModelError(
                    "An input must be made with inputs(...)",
                    seen=repr(key)[:60],
                    remedy='u = da.inputs("u")',
                )
            )
    if not isinstance(outputs or {}, Mapping) or any(
        not isinstance(key, str) for key in outputs or {}
    ):
        seen = (
            ", ".join(map(str, outputs))[:60]
            if isinstance(outputs, Mapping)
            else type(outputs).__name__
        )
        found.append(
            ModelError(
                "The outputs are expressions by name",
                seen=seen,
                remedy='pass outputs={"height": y}',
            )
        )
    if found:
        raise_collected([*faults, *found])


def _symbols(system: System) -> dict[sympy.Symbol, sympy.Expr | str]:
    """Every symbol of the system besides its state, with the first expression that contains it."""
    found: dict[sympy.Symbol, sympy.Expr | str] = {}
    for expression in system.expressions():
        for symbol in leaves(expression):
            if isinstance(symbol, (Acceleration, Multiplier, Parameter)):
                found.setdefault(symbol, expression)
    declared = (
        *system.parameters,
        *system.inputs,
        *system.bundle,
        *(system.image.speeds if system.image else ()),
    )
    return found | {symbol: "declared or drawn" for symbol in declared if symbol not in found}


def check_solved_for(
    coordinates: Sequence[Coordinate],
    constraints: Sequence[Constraint],
    symbols: Mapping[sympy.Symbol, sympy.Expr | str],
    faults: Faults,
) -> set[str]:
    """Refuse symbols that are solved for at each instant: accelerations and multipliers.

    `symbols` gives the expression that each one was seen in. The names of those refused are
    returned.
    """
    meaning = {q.ddot.name: f"the acceleration of {q.name}" for q in coordinates}
    for constraint in (c for c in constraints if isinstance(c, Constraint) and c.name):
        for prefix in ("mu", "lambda"):
            meaning[f"{prefix}_{constraint.name}"] = (
                f"the multiplier of the constraint `{constraint.name}`"
            )
    refused = sorted(
        (s for s in symbols if s.name in meaning or isinstance(s, (Acceleration, Multiplier))),
        key=lambda s: s.name,
    )
    for symbol in refused:
        what = meaning.get(symbol.name, "an acceleration or a multiplier of another system")
        faults.add(
            f"`{symbol.name}` is {what}, and forces may not depend on accelerations or"
            " reactions, nor may any other expression of a model",
            seen=str(symbols[symbol])[:60],
            remedy=(
                "rename it if it is a parameter; otherwise write coordinates, velocities and t"
            ),
        )
    return {symbol.name for symbol in refused}


def check_names(system: System, faults: Faults) -> None:
    """No two symbols of the system may share a name, derived names included."""
    taken: dict[str, str] = {"t": "time"}

    def take(name: str, owner: str) -> None:
        if name in taken and taken[name] != owner:
            faults.add(
                f"The name `{name}` means both {taken[name]} and {owner}",
                remedy="rename one of them",
            )
        taken.setdefault(name, owner)
        if not (name.isidentifier() or keyword.iskeyword(name)):
            faults.add(f"`{name}` is not a name", remedy="use symbols, digits and underscores")

    shown = (*system.coordinates, *system.inputs, *(system.image.speeds if system.image else ()))
    if "energy" in {*(symbol.name for symbol in shown), *system.outputs}:
        faults.add(
            "The name `energy` is kept for the energy of a motion", remedy="choose another name"
        )
    for q in system.coordinates:
        take(q.name, f"the coordinate {q.name}")
        take(q.dot.name, f"the velocity of {q.name}")
        take(q.ddot.name, f"the acceleration of {q.name}")
        if system.momenta:  # a flow has none
            take(q.momentum.name, f"the momentum of {q.name}")
    solved = check_solved_for(system.coordinates, system.constraints, _symbols(system), faults)
    speeds = (*(system.image.speeds if system.image is not None else ()), *system.bundle)
    for kind, symbols in (
        ("parameter", system.parameters),
        ("input", system.inputs),
        ("speed", speeds),
    ):
        for symbol in (s for s in symbols if s.name not in solved):
            take(symbol.name, f"the {kind} {symbol}")
    for name in system.outputs:
        take(name, f"the output {name}")
    quantities = definitions_in(system.expressions())
    shared = Counter(quantity.name for quantity in quantities)
    for quantity in quantities:  # printing a definition takes long, and few are named in faults
        meaning = ""
        if quantity.name in taken or shared[quantity.name] > 1:
            meaning = f" = {str(quantity.definition)[:40]}"
        take(quantity.name, f"the quantity {quantity.name}{meaning}")
    names = [constraint.name for constraint in system.constraints]
    for name in sorted(name for name, count in Counter(names).items() if count > 1):
        faults.add(f"Two constraints are called `{name}`", remedy="name them apart")
    if sum(isinstance(c, ImageConstraint) for c in system.constraints) > 1:
        faults.add("A system takes one image constraint", remedy="combine them into one")


def _normal_faults(system: System) -> Iterator[ModelError]:
    """Friction limits whose load is the reaction of no constraint that presses."""
    pressing = [c.name for c in system.constraints if c.restricts is Coordinate]
    one_sided = [c.name for c in system.unilateral]
    for limit in (c for c in system.constraints if isinstance(c, FrictionLimit)):
        unknown = [name for name in limit.normal if name not in pressing]
        pushing = [name for name in limit.normal if name in one_sided]
        if unknown:
            yield ModelError(
                f"The friction limit `{limit.name}` has the load of `{unknown[0]}`, which is no"
                " constraint on positions and no contact",
                seen=", ".join(pressing) or "no such constraint",
                remedy="name one of these, or give load=",
            )
        elif pushing and len(limit.normal) > 1:
            yield ModelError(
                f"The friction limit `{limit.name}` has the norm of several reactions as its load,"
                " among them that of a contact",
                seen=", ".join(pushing),
                remedy="name constraints on positions that hold both ways, or one contact alone",
            )
