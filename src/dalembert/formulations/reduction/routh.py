r"""Routh's reduction: cyclic coordinates go, their momenta stay as parameters.

A coordinate theta is cyclic where it occurs in L only by its velocity; without a force along it its
momentum is conserved. With

    L = 1/2 theta_dot . I theta_dot + a . theta_dot + b,      p = L_theta_dot = I theta_dot + a,

I(r) the locked inertia, a(r, r_dot) and b(r, r_dot) of the other coordinates r and their
velocities, Routh's function is

    R(r, r_dot; p) = L - p . theta_dot = b - 1/2 (p - a) . I^-1 (p - a),      theta_dot = I^-1 (p -
    a)        (Routh 1877)

and Lagrange's equations of R are those of r. The momenta of r are the same in R as in L. At rest R
is -V_p with the amended potential V_p = V + 1/2 p . I^-1 p, whose critical points are the relative
equilibria. Hinged bodies are the case of section 3.13 of Bloch and others (Supplement), where theta
is the angle of the whole. A Hamiltonian needs no more than p as a parameter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import sympy

from ...algebra.graph import GraphAlgebra
from ...algebra.simplify.simplifier import simplify
from ...errors import FormError, ModelError, nearest
from ...model.symbols import Coordinate, Parameter, as_expression
from ...model.system import System
from ...typing import Symbol, Symbols, Values, Vector

if TYPE_CHECKING:
    from ...algebra.protocol import Block

__all__ = ["routh"]

ZERO = sympy.Integer(0)


def routh(
    system: System,
    cyclic: Symbols | Symbol,
    momenta: Values | Vector | None = None,
    *,
    name: str = "",
) -> System:
    """The system that is left of another one when its cyclic coordinates are taken out.

    Parameters
    ----------
    system : System without constraints
        Its kinetic energy is quadratic in the cyclic velocities.
    cyclic : sequence of coordinates or names
        That each of them is cyclic is checked.
    momenta : mapping of cyclic coordinate to symbol, number or expression of parameters; or a
    sequence in the order of `cyclic`
        The conserved momenta; the parameters p_x, p_y, ... where one is not given.
    name : str

    Returns
    -------
    System
        With Routh's function as its Lagrangian, or the Hamiltonian at the given momenta. Motions
        report the cyclic velocities as outputs x_dot, y_dot, ... of the same names as in the whole
        system; `recover_cyclic` integrates them. Outputs of the system that are written in cyclic
        coordinates are left out.

    Raises
    ------
    FormError
        Where a coordinate is not cyclic, a force acts along it, or its velocity does not follow
        from the momenta.

    Examples
    --------
    >>> import dalembert as da
    >>> r, phi = da.coordinates("r phi")
    >>> m, k = da.parameters("m k", positive=True)
    >>> planet = da.System(
    ...     [r, phi],
    ...     kinetic=m / 2 * (r.dot**2 + r**2 * phi.dot**2),
    ...     potential=-k / r,
    ...     name="Planet",
    ... )
    >>> radial = da.symmetry.routh(planet, [phi])
    >>> print(radial.lagrangian)
    k/r + m*r_dot**2/2 - p_phi**2/(2*m*r**2)
    >>> print(radial.outputs["phi_dot"])
    p_phi/(m*r**2)
    """
    places = _read_cyclic(system, cyclic)
    values = _read_momenta(system, places, momenta)
    _check_hypotheses(system, places)
    left_out = dict.fromkeys(places, ZERO)
    kept = [q for q in system.coordinates if q not in places]
    energies, rates = (
        _hamiltonian(system, places, values)
        if system.is_hamiltonian
        else _lagrangian(system, places, values)
    )
    known = dict(zip((q.dot for q in places), rates, strict=True)) | dict(
        zip((q.momentum for q in places), values, strict=True)
    )

    def rest(expression: sympy.Expr) -> sympy.Expr:
        return expression.xreplace(left_out).xreplace(known)

    outputs = {
        key: rest(e) for key, e in system.outputs.items() if not (e.free_symbols & {*places})
    }
    return System(
        kept,
        **energies,
        forces={q: rest(force) for q, force in system.forces.items() if q not in places},
        dissipation=rest(system.dissipation),
        inputs={u: None if value is None else rest(value) for u, value in system.inputs.items()},
        outputs=outputs | {q.dot.name: rate for q, rate in zip(places, rates, strict=True)},
        name=name or f"{system.name} without {', '.join(q.name for q in places)}",
    )


def _lagrangian(
    system: System, cyclic: Sequence[Coordinate], momenta: Sequence[sympy.Expr]
) -> tuple[dict[str, sympy.Expr], list[sympy.Expr]]:
    """R and the cyclic velocities: I, a and b are read off at rest of the cyclic coordinates."""
    assert system.lagrangian is not None
    lagrangian = system.lagrangian.xreplace(dict.fromkeys(cyclic, ZERO))
    still = dict.fromkeys((q.dot for q in cyclic), ZERO)
    derivatives = [sympy.diff(lagrangian, q.dot) for q in cyclic]
    inertia = sympy.Matrix(
        [
            [simplify(sympy.diff(derivative, q.dot).xreplace(still)) for q in cyclic]
            for derivative in derivatives
        ]
    )
    own = sympy.Matrix(
        [
            simplify(p - derivative.xreplace(still))
            for p, derivative in zip(momenta, derivatives, strict=True)
        ]
    )
    rates = inertia.LUsolve(own)
    routhian = simplify(lagrangian.xreplace(still)) - simplify((own.T * rates)[0] / 2)
    return {"lagrangian": routhian}, [simplify(rate) for rate in rates]


def _hamiltonian(
    system: System, cyclic: Sequence[Coordinate], momenta: Sequence[sympy.Expr]
) -> tuple[dict[str, sympy.Expr], list[sympy.Expr]]:
    """H at the given momenta, and the cyclic velocities H_p."""
    assert system.hamiltonian is not None
    hamiltonian = system.hamiltonian.xreplace(dict.fromkeys(cyclic, ZERO))
    known = dict(zip((q.momentum for q in cyclic), momenta, strict=True))
    rates = [simplify(sympy.diff(hamiltonian, q.momentum).xreplace(known)) for q in cyclic]
    return {"hamiltonian": simplify(hamiltonian.xreplace(known))}, rates


# -- reading and checking --------------------------------------------------------------------------


def _read_cyclic(system: System, cyclic: Symbols | Symbol) -> list[Coordinate]:
    given = [cyclic] if isinstance(cyclic, str | sympy.Symbol) else list(cyclic)
    by_name = {q.name: q for q in system.coordinates}
    names = [str(getattr(key, "name", key)) for key in given]
    for key in names:
        if key not in by_name:
            near = nearest(key, by_name)
            remedy = f"did you mean {near}" if near else "name coordinates of the system"
            raise ModelError(
                f"The system has no coordinate `{key}`", seen=", ".join(by_name), remedy=remedy
            )
    if not names or len({*names}) != len(names) or len(names) == len(by_name):
        raise ModelError(
            "Cyclic coordinates are some of the coordinates, each named once",
            seen=", ".join(names) or "none",
            remedy=(
                "leave at least one coordinate, or use da.symmetry.reduce where the group is all"
                " there is"
            ),
        )
    return [by_name[key] for key in names]


def _read_momenta(system: System, cyclic: Sequence[Coordinate], momenta: Block) -> list[sympy.Expr]:
    if momenta is None:
        momenta = {}
    if not isinstance(momenta, Mapping):
        listed = [momenta] if isinstance(momenta, sympy.Basic | float | int) else list(momenta)
        if len(listed) != len(cyclic):
            raise ModelError(
                "There must be a momentum for each cyclic coordinate",
                seen=f"{len(listed)} for {', '.join(q.name for q in cyclic)}",
                remedy="give them in that order, or by coordinate",
            )
        momenta = dict(zip(cyclic, listed, strict=True))
    table = {str(getattr(key, "name", key)): as_expression(value) for key, value in momenta.items()}
    strange = [key for key in table if key not in {q.name for q in cyclic}]
    moving = sorted(
        s.name
        for value in table.values()
        for s in value.free_symbols
        if not isinstance(s, Parameter)
    )
    if strange or moving:
        raise ModelError(
            "A momentum belongs to a cyclic coordinate, and is a number or made of parameters",
            seen=", ".join([*strange, *moving]),
            remedy="give momenta of cyclic coordinates, written in da.parameters",
        )
    return [table.get(q.name, Parameter(q.momentum.name)) for q in cyclic]


def _check_hypotheses(system: System, cyclic: Sequence[Coordinate]) -> None:
    if system.constraints:
        raise FormError(
            "Routh's reduction needs a system without constraints",
            seen=", ".join(c.name for c in system.constraints),
            remedy="use da.symmetry.reduce, or nonholonomic_routhian for constraints on velocities",
        )
    if system.bundle:
        raise FormError(
            "Routh's reduction needs a Lagrangian in q_dot",
            remedy="state the system without a bundle",
        )
    algebra = GraphAlgebra()
    algebra.vector(cyclic)
    expressions = {
        "Lagrangian" if system.lagrangian is not None else "Hamiltonian": system.energy_function
    }
    expressions |= {"dissipation": system.dissipation} | {
        f"force on {c}": e for c, e in system.forces.items()
    }
    expressions |= {f"input {u}": e for u, e in system.inputs.items() if e is not None}
    for what, expression in expressions.items():
        for coordinate in cyclic:
            found = algebra.independence(algebra.scalar(expression), algebra.scalar(coordinate))
            if not found.is_proved:
                cyclic_or_not = "is not" if found.is_refuted else "is not shown to be"
                raise FormError(
                    f"The coordinate {coordinate.name} {cyclic_or_not} cyclic",
                    seen=f"it occurs in the {what}",
                    remedy=(
                        "choose coordinates that nothing depends on; "
                        "da.symmetry.discover_symmetries finds symmetries that need others"
                    ),
                )
    pushed = [
        c.name
        for c in cyclic
        if system.forces.get(c, ZERO) != 0 or sympy.diff(system.dissipation, c.dot) != 0
    ]
    if pushed:
        raise FormError(
            "A force acts along a cyclic coordinate, so that its momentum is not conserved",
            seen=", ".join(pushed),
            remedy="keep that coordinate, or use da.symmetry.reduce, whose momenta may change",
        )
    if system.lagrangian is not None:
        _check_inertia(system, cyclic, algebra)


def _check_inertia(system: System, cyclic: Sequence[Coordinate], algebra: GraphAlgebra) -> None:
    """The momenta must give the cyclic velocities, by a linear equation."""
    velocities = algebra.vector([c.dot for c in cyclic])
    inertia = algebra.jacobian(
        algebra.gradient(algebra.scalar(system.energy_function), velocities), velocities
    )
    if algebra.without(inertia, velocities) is None:
        raise FormError(
            "Routh's reduction needs a Lagrangian quadratic in the cyclic velocities",
            seen=", ".join(c.name for c in cyclic),
            remedy="state the system by its Hamiltonian",
        )
    rank = algebra.rank(inertia).value
    if rank < len(cyclic):
        raise FormError(
            "The momenta do not determine the cyclic velocities",
            seen=f"a locked inertia of rank {rank} for {', '.join(c.name for c in cyclic)}",
            remedy="leave the coordinates without inertia out",
        )
