r"""Taylor coefficients of a motion as native code, from the instructions of its right-hand side.

With y(t + h) = sum_k y_k h^k every instruction of a program has coefficients of its own, which
follow from those of its arguments (R. E. Moore; A. Jorba and M. Zou, Experimental Mathematics 14
(2005) 99-117):

    w = a b        w_k = sum_j a_j b_(k-j)
    w = a / b      w_k = (a_k - sum_(j<k) w_j b_(k-j)) / b_0
    w = sin u      w_k = sum_j (j/k) u_j cos(u)_(k-j)               and so on,
    y' = f         y_(k+1) = f_k / (k + 1)

A sum runs over j = 1 .. k - 1 of coefficients that are known before order k begins, and two terms
more. All sums of an order are made first, a dozen at a time in registers; then the instructions
follow one after another. One trajectory takes four values of j at a time; with lanes, as many
trajectories go together, and none of them knows of the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..backends.llvm import NativeLibrary, object_code
from ..program import INPUTS, Program
from .taylor_rules import Rules, expanded, moving, reached
from .taylor_text import HIGHEST_ORDER, Sum, TaylorText

__all__ = ["HIGHEST_ORDER", "Expansion", "expansion"]

#: How many sums are accumulated in one loop: as many as there are registers for them.
GROUP = 12


@dataclass(frozen=True)
class Expansion:
    """Native code for the coefficients of a motion.

    Called like a program with (t, y, p, u, w, out). ``w[0]`` is the order, and the rest of w
    working memory that must be zero at the first call. ``out`` takes the health of the solve, then
    the coefficients (order + 1, n_state). With lanes, every number of t, y, p, u and out is `lanes`
    numbers.

    Attributes
    ----------
    address : int
    sum_address : int
        Native code for the states after steps: t takes the steps, y the states, p the order, w the
        coefficients, out the new states.
    work_size, out_size : int
        Doubles of w and of out.
    """

    address: int
    sum_address: int
    work_size: int
    out_size: int
    lanes: int
    library: NativeLibrary


def expansion(program: Program, n_state: int, lanes: int = 1) -> Expansion:
    """The expansion of the motion whose rates (n_state) and health (1) a program computes."""
    name = f"taylor{lanes}"
    writer = _ExpansionWriter(expanded(program), n_state, lanes)
    names = [name, f"{name}_sum"]
    library = NativeLibrary(object_code(writer.module(*names), 2), names)
    work_size = writer.text.work_place + writer.text.work_size
    return Expansion(
        library.addresses[names[0]],
        library.addresses[names[1]],
        work_size,
        lanes * (1 + (HIGHEST_ORDER + 1) * n_state),
        lanes,
        library,
    )


class _ExpansionWriter:
    """Writes the function: order 0, then a loop over the orders."""

    def __init__(self, program: Program, n_state: int, lanes: int) -> None:
        self.program, self.n_state, self.lanes = program, n_state, lanes
        self.steps = program.instructions
        self.text = TaylorText(lanes)
        self.moving = moving(self.steps)
        live = reached(self.steps, program.outputs[:n_state])
        self.live = [
            step for step in self.steps if step.target in live and step.target in self.moving
        ]
        self.rules = Rules(self.text, self.moving, self.steps)
        for step in self.live:
            self.rules.prepare(step)

    def module(self, name: str, sum_name: str) -> str:
        """The module, as LLVM assembly."""
        text = self.text
        self._coefficients(name)
        arguments = ", ".join(f"ptr noalias %{name}" for name in (*INPUTS, "out"))
        text.line(f"define void @{sum_name}({arguments}) #1 {{")
        text.label("begin")
        text.line(f"%h = load {text.type}, ptr %t, align 8")
        text.line("%order.real = load double, ptr %p, align 8")
        text.line("%highest = fptosi double %order.real to i64")
        previous = "begin"
        for first in range(0, self.n_state, GROUP):
            places = range(first, min(first + GROUP, self.n_state))
            previous = text.polynomials(first, previous, places, self.n_state)
        text.line("ret void")
        text.line("}")
        return text.module()

    def _coefficients(self, name: str) -> None:
        text = self.text
        arguments = ", ".join(f"ptr noalias %{name}" for name in (*INPUTS, "out"))
        text.line(f"define void @{name}({arguments}) #1 {{")
        text.label("entry")
        text.line("%order.real = load double, ptr %w, align 8")
        text.line("%order = fptosi double %order.real to i64")
        text.line(f"%work = getelementptr double, ptr %w, i64 {text.work_place}")
        self._order_zero()
        text.line("%more = icmp sgt i64 %order, 1")
        text.line("br i1 %more, label %order.loop, label %end")
        self._loop()
        text.label("end")
        text.line("ret void")
        text.line("}")

    def _order_zero(self) -> None:
        text, rules = self.text, self.rules
        for step in self.steps:
            if step.operation == "input":
                which, place = step.data
                value = text.load(INPUTS[which], place)
            elif step.operation == "constant":
                value = text.constant(step.data)
            else:
                value = rules.first(step)
            rules.zero[step.target] = value
        for step in self.live:
            rules.begin(step)
        health = self.program.outputs[self.n_state]
        text.store(text.constant(1.0) if health is None else rules.zero[health], "out", 0)
        for i in range(self.n_state):
            text.store(text.load("y", i), "out", 1 + i)
            source = self.program.outputs[i]
            text.store(
                text.constant(0.0) if source is None else rules.zero[source],
                "out",
                1 + self.n_state + i,
            )

    def _loop(self) -> None:
        text, rules, ns = self.text, self.rules, self.n_state
        text.label("order.loop")
        text.line("%k = phi i64 [ 1, %entry ], [ %k.next, %order.end ]")
        text.line("%k.real = sitofp i64 %k to double")
        text.line("%k.inverse = fdiv double 1.0, %k.real")
        text.line("%k.next = add i64 %k, 1")
        text.line("%next.real = sitofp i64 %k.next to double")
        text.line("%next.inverse = fdiv double 1.0, %next.real")
        text.prepare_order(ns)
        previous = "order.loop"
        sums = _neighbours(rules.sums)
        for number in range(0, len(sums), GROUP):
            previous = text.sums_loop(
                number // GROUP, previous, sums[number : number + GROUP], rules.totals
            )
        text.line("br label %order.rules")
        text.label("order.rules")
        for step in self.live:
            if step.operation == "input":
                which, place = step.data
                value = text.clock_coefficient() if which == 0 else text.state_coefficient(place)
            else:
                value = rules.following(step)
            rules.at_order[step.target] = value
            rules.keep(step.target, value)
        for i in range(ns):
            source = self.program.outputs[i]
            self._store_next(i, None if source is None else rules.at_order.get(source))
        text.line("br label %order.end")
        text.label("order.end")
        text.line("%again = icmp slt i64 %k.next, %order")
        text.line("br i1 %again, label %order.loop, label %end")

    def _store_next(self, place: int, value: str | None) -> None:
        """y_(k+1) = f_k / (k + 1); rates that do not move have no coefficients beyond the first."""
        text = self.text
        text.store_next(
            place,
            text.constant(0.0) if value is None else text.multiplied(value, text.next_inverse),
        )


def _neighbours(sums: Iterable[Sum]) -> list[Sum]:
    """Order the sums so that those that share arrays are adjacent and load them once."""
    left = list(sums)
    found: list[Sum] = []
    while left:
        near = {array for pair in found[1 - GROUP :] for array in pair}
        best = max(range(len(left)), key=lambda k: (sum(array in near for array in left[k]), -k))
        found.append(left.pop(best))
    return found
