r"""Conditions of a state that returns up to an element of a group.

With an action $\Phi_g$ on the coordinates, the end is $x(t_1) = \Phi_g(x(t_0))$, velocities are
moved by its derivative, $v(t_1) = T\Phi_g\, v(t_0)$, and the parameters of $g$ are unknowns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import sympy

from ...errors import ModelError
from ...model.flow_system import Flow
from ...model.symbols import Parameter, Velocity
from .dynamics import Dynamics
from .trajectory_quantities import AtEnd, AtStart

__all__ = ["group_parameters", "periodic_conditions"]


def group_parameters(images: Mapping[sympy.Expr, sympy.Expr], own: Iterable[str]) -> set[str]:
    """Names of the parameters of the group: those of the images that the model does not have."""
    used = set().union(*(image.atoms(Parameter) for image in images.values()))
    return {symbol.name for symbol in used} - set(own)


def periodic_conditions(
    dynamics: Dynamics, periodic: Iterable[sympy.Expr], images: Mapping[sympy.Expr, sympy.Expr]
) -> list[sympy.Expr]:
    """What vanishes where the end is the start, moved by the group."""
    system = dynamics.equations.system
    periodic, known = list(periodic), {*dynamics.state, *system.coordinates}
    for symbol, image in images.items():
        loose = sorted(image.free_symbols - known - set(dynamics.parameters), key=str)
        if symbol not in known or loose:
            fault = f"`{loose[0]}` in the image of `{symbol}`" if loose else f"`{symbol}`"
            raise ModelError(
                f"The group cannot act with {fault}", str(image)[:60],
                "write symbols of the state as expressions of the state and of da.parameters",
            )  # fmt: skip
        if symbol not in periodic:
            raise ModelError(
                f"up_to moves `{symbol}`, which does not return", f"periodic={periodic}"[:120],
                f"add {symbol} to periodic, or leave it out of up_to",
            )  # fmt: skip
    return [
        AtEnd(symbol)
        - _image(symbol, system, images).xreplace({each: AtStart(each) for each in dynamics.state})
        for symbol in periodic
    ]


def _image(
    symbol: sympy.Expr, system: object, images: Mapping[sympy.Expr, sympy.Expr]
) -> sympy.Expr:
    """What the group makes of a symbol; velocities are moved by the derivative of the action."""
    if symbol in images or not images or isinstance(system, Flow):
        return images.get(symbol, symbol)
    coordinates = system.coordinates  # type: ignore[attr-defined]
    if isinstance(symbol, Velocity):
        (moved,) = (images.get(q, q) for q in coordinates if q.dot == symbol)
        return sympy.Add(*(moved.diff(q) * q.dot for q in coordinates))
    if symbol not in coordinates:
        raise ModelError(
            f"How the group moves `{symbol}` is not known", "only velocities follow from up_to",
            f"add its image to up_to: {{{symbol}: {symbol}}} where it is invariant",
        )  # fmt: skip
    return symbol
