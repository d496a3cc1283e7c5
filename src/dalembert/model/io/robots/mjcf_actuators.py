"""Actuators of MJCF: forces along joints, each with an input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import sympy

from ...names import shortened
from ...symbols import Coordinate, Input
from .mjcf_settings import Settings
from .robot_names import Names
from .robot_options import ReadOptions
from .xml_reader import Node, Unread

if TYPE_CHECKING:
    from typing import TypeAlias

__all__ = ["read_actuators"]

#: The force along a coordinate.
Law: TypeAlias = "Callable[[Coordinate], sympy.Expr]"
LIMITS = ("ctrlrange", "forcerange", "ctrllimited", "forcelimited")


def read_actuators(
    nodes: Sequence[Node], settings: Settings, options: ReadOptions, unread: Unread
) -> dict[str, Law]:
    """The force along each joint as a function of its coordinate, by name in the file.

    An actuator exerts gear * F(u, gear * q, gear * q_dot): the input itself (motor), kp (u - l) -
    kv l_dot (position), kv (u - l_dot) (velocity).
    """
    laws: dict[str, list[Law]] = {}
    names = Names()
    for given in nodes:
        node = settings.applied(given, "main")
        if not options.inputs:
            unread.note("actuator (pass inputs=True)")
            continue
        if "joint" not in node.attributes:
            node.fault(
                f"The actuator <{shortened(node.tag)}> does not act along a joint",
                remedy="use a joint, or state its force in Python",
            )
        for key in LIMITS:
            if key in node.attributes:
                unread.note(f"{key} of an actuator")
        joint = node.text("joint")
        control = Input(f"{options.input_prefix}{names.new(node.text('name', joint))}")
        laws.setdefault(joint, []).append(_law(node, control))
    return {joint: _sum(group) for joint, group in laws.items()}


def _sum(group: list[Law]) -> Law:
    return lambda q: sympy.Add(*(law(q) for law in group))


def _law(node: Node, control: Input) -> Law:
    words = node.text("gear", "1").split()
    gear = Node(node.tag, {"gear": words[0] if words else ""}, node.line).number("gear")
    match node.tag:
        case "motor":
            return lambda q: gear * control
        case "position":
            kp, kv = node.number("kp", 1.0), node.number("kv", 0.0)
            return lambda q: gear * (kp * (control - gear * q) - kv * gear * q.dot)
        case "velocity":
            gain = node.number("kv", 1.0)
            return lambda q: gear * gain * (control - gear * q.dot)
    node.fault(
        f"The actuator <{shortened(node.tag)}> is not supported",
        remedy="use motor, position or velocity",
    )
