"""The rules of Taylor coefficients, one operation at a time.

Below, S(a, b) is the sum of a_j b_(k-j) over j = 1 .. k - 1, and D a the coefficients j a_j.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import FormError
from ..program import Instruction, Program
from .taylor_text import Sum, TaylorText

__all__ = ["Rules", "expanded", "moving", "reached"]

_PAIRED = {"sin": "cos", "cos": "sin", "sinh": "cosh", "cosh": "sinh"}
_HELPED = (*_PAIRED, "tan", "tanh", "atan", "asin", "acos")
_COMPARED = {"lt": "olt", "le": "ole", "eq": "oeq", "ne": "une"}
#: Operations that switch between analytic functions, beyond which no expansion holds.
_SWITCHES = {"fabs": "an absolute value", "fmin": "a minimum", "fmax": "a maximum"}
_SWITCHES |= {"fmod": "a remainder", **dict.fromkeys(("sign", "copysign"), "a sign")}
_SWITCHES |= dict.fromkeys(("floor", "ceil"), "a rounding")
_CASES = ("lt", "le", "eq", "ne", "not", "and", "or", "if_else_zero")
#: Operations whose coefficients are those of their arguments, combined.
_LINEAR = ("add", "sub", "neg", "twice", "assign")


def moving(steps: Sequence[Instruction]) -> set[int]:
    """Values that change along a motion."""
    found: set[int] = set()
    for step in steps:
        is_input = step.operation == "input" and step.data[0] in (0, 1)
        if is_input or any(argument in found for argument in step.arguments):
            found.add(step.target)
    return found


def reached(steps: Sequence[Instruction], outputs: Sequence[int | None]) -> set[int]:
    """Values that the outputs depend on, helpers of rules included."""
    found: set[int] = set()
    pending = [source for source in outputs if source is not None]
    while pending:
        target = pending.pop()
        if target not in found:
            found.add(target)
            step = steps[target]
            pending += step.arguments
            pending += [step.data] if step.operation in _HELPED else []
    return found


def expanded(program: Program) -> Program:
    """The program with helpers expanded, so that every operation has a Taylor rule.

    Sines get their cosines; tan, tanh, atan, asin and acos the squares and roots in their
    derivatives; powers with a moving exponent become exp(b log a).
    """
    return _Helpers(program).result()


class _Helpers:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.moving = moving(program.instructions)
        self.steps: list[Instruction] = []
        self.names: dict[int, int] = {}
        self.known: dict[tuple[str, tuple[int, ...], float | None], int] = {}

    def result(self) -> Program:
        for step in self.program.instructions:
            arguments = tuple(self.names[a] for a in step.arguments)
            self.names[step.target] = self._copied(step, arguments)
        outputs = tuple(
            None if source is None else self.names[source] for source in self.program.outputs
        )
        return Program(self.program.name, self.program.sizes, tuple(self.steps), outputs)

    def _new(self, operation: str, arguments: tuple[int, ...] = (), data: object = None) -> int:
        key = (operation, arguments, data if isinstance(data, float) else None)
        if operation != "input" and key in self.known:
            return self.known[key]
        target = len(self.steps)
        self.steps.append(Instruction(operation, target, arguments, data))
        self.known[key] = target
        return target

    def _one(self) -> int:
        return self._new("constant", (), 1.0)

    def _copied(self, step: Instruction, arguments: tuple[int, ...]) -> int:
        match step.operation:
            case "sin" | "cos" | "sinh" | "cosh":
                target = self._new(step.operation, arguments)
                other = self._new(_PAIRED[step.operation], arguments)
                self._link(target, other)
                self._link(other, target)
                return target
            case "inv":
                return self._new("div", (self._one(), arguments[0]))
            case "sq":
                return self._new("mul", (arguments[0], arguments[0]))
            case "hypot":
                squares = [self._new("mul", (a, a)) for a in arguments]
                return self._new("sqrt", (self._new("add", (squares[0], squares[1])),))
            case "pow" if step.arguments[1] in self.moving:
                exponent = self._new("mul", (arguments[1], self._new("log", (arguments[0],))))
                return self._new("exp", (exponent,))
            case "tan" | "tanh":
                target = self._new(step.operation, arguments)
                square = self._new("mul", (target, target))
                self._link(
                    target,
                    self._new("add" if step.operation == "tan" else "sub", (self._one(), square)),
                )
                return target
            case "atan" | "asin" | "acos":
                square = self._new("mul", (arguments[0], arguments[0]))
                if step.operation == "atan":
                    below = self._new("add", (self._one(), square))
                else:
                    below = self._new("sqrt", (self._new("sub", (self._one(), square)),))
                target = self._new(step.operation, arguments)
                self._link(target, below)
                return target
        return self._new(step.operation, arguments, step.data)

    def _link(self, target: int, helper: int) -> None:
        """Let an instruction carry the helper that its rule needs."""
        step = self.steps[target]
        self.steps[target] = Instruction(step.operation, target, step.arguments, helper)


class Rules:
    """What each operation does at order zero and at the orders that follow.

    Attributes
    ----------
    zero, at_order : values by instruction
    sums : the sums that the rules need, in order; totals : their values at the present order
    """

    def __init__(self, text: TaylorText, moving: set[int], steps: Sequence[Instruction]) -> None:
        self.text, self.moving, self.steps = text, moving, steps
        self.zero: dict[int, str] = {}
        self.at_order: dict[int, str] = {}
        self.sums: dict[Sum, None] = {}
        self.totals: dict[Sum, str] = {}
        self._inverse: dict[int, str] = {}

    # -- what is needed ----------------------------------------------------------------------------

    def prepare(self, step: Instruction) -> None:
        """Ask for the sums and arrays of a rule."""
        a, b = (*step.arguments, None, None)[:2]
        match step.operation:
            case "input" | "constant":
                pass
            case "mul" if self._both_move(step):
                self._sum("forward", a, b)
            case "div" if b in self.moving:
                self._sum("forward", step.target, b)
            case "sqrt":
                self._sum("forward", step.target, step.target)
            case "sin" | "cos" | "sinh" | "cosh" | "tan" | "tanh":
                self._sum("derivative", a, step.data)
            case "exp":
                self._sum("derivative", a, step.target)
            case "log":
                self._sum("derivative", step.target, a)
            case "atan" | "asin" | "acos":
                self._sum("derivative", step.target, step.data)
            case "pow" | "constpow":
                self._sum("derivative", a, step.target)
                self._sum("derivative", step.target, a)
            case _ if step.operation in (*_LINEAR, "mul", "div"):
                pass
            case _ if step.operation in _SWITCHES or step.operation in _CASES:
                raise FormError(
                    "The Taylor method needs equations that are analytic",
                    seen=f"{_SWITCHES.get(step.operation, 'cases')} of something that moves",
                    remedy="use method dop853",
                )
            case _:
                raise FormError(
                    f"The Taylor method has no rule for the function {step.operation}",
                    seen="it stands in the equations of motion",
                    remedy="use method dop853",
                )

    def _both_move(self, step: Instruction) -> bool:
        return all(argument in self.moving for argument in step.arguments)

    def _sum(self, kind: str, left: int | None, right: int | None) -> None:
        assert left is not None and right is not None
        if left in self.moving and right in self.moving:
            self.text.array(kind, left)
            self.text.array(self.text.backward_kind(), right)
            self.sums[(kind, left), (self.text.backward_kind(), right)] = None

    def _total(self, kind: str, left: int, right: int) -> str:
        key = (kind, left), (self.text.backward_kind(), right)
        return self.totals.get(key, self.text.constant(0.0))

    def keep(self, target: int, value: str) -> None:
        """Store a coefficient where sums will look for it."""
        for kind in ("forward", "backward"):
            if (kind, target) in self.text.arrays:
                self.text.keep(kind, target, value)
        if ("derivative", target) in self.text.arrays:
            self.text.keep("derivative", target, self.text.multiplied(self.text.k_real, value))

    # -- order zero --------------------------------------------------------------------------------

    def first(self, step: Instruction) -> str:
        """The value itself."""
        text, operation = self.text, step.operation
        values = [self.zero[argument] for argument in step.arguments]
        if operation in ("add", "sub", "mul", "div"):
            return text.binary(operation, *values)
        match operation:
            case "neg":
                return text.negated(values[0])
            case "twice":
                return text.added(values[0], values[0])
            case "assign":
                return values[0]
            case "constpow" | "pow":
                return text.function("pow", *values)
            case "if_else_zero":
                bits = text.compared("une", values[0], text.constant(0.0))
                return text.selected(bits, values[1], text.constant(0.0))
            case "sign":
                above = text.compared("ogt", values[0], text.constant(0.0))
                below = text.compared("olt", values[0], text.constant(0.0))
                negative = text.selected(below, text.constant(-1.0), values[0])
                return text.selected(above, text.constant(1.0), negative)
            case "not":
                return self._truth(text.compared("oeq", values[0], text.constant(0.0)))
            case "and" | "or":
                either = [text.function("fabs", value) for value in values]
                joined = text.function("fmin" if operation == "and" else "fmax", *either)
                return self._truth(text.compared("une", joined, text.constant(0.0)))
            case _ if operation in _COMPARED:
                return self._truth(text.compared(_COMPARED[operation], *values))
        return text.function(operation, *values)

    def _truth(self, bits: str) -> str:
        return self.text.selected(bits, self.text.constant(1.0), self.text.constant(0.0))

    def begin(self, step: Instruction) -> None:
        """What a rule divides by at every order."""
        below = None
        if step.operation == "div" and step.arguments[1] in self.moving:
            below = self.zero[step.arguments[1]]
        elif step.operation in ("log", "pow", "constpow"):
            below = self.zero[step.arguments[0]]
        elif step.operation == "sqrt":
            below = self.text.added(self.zero[step.target], self.zero[step.target])
        elif step.operation in ("atan", "asin", "acos"):
            below = self.zero[step.data]
        if below is not None:
            self._inverse[step.target] = self.text.divided(self.text.constant(1.0), below)

    # -- the orders that follow --------------------------------------------------------------------

    def following(self, step: Instruction) -> str:
        """The coefficient of order k."""
        operation = step.operation
        if operation in _LINEAR:
            return self._linear(step)
        if operation in ("mul", "div"):
            return self._product(step) if operation == "mul" else self._quotient(step)
        if operation in ("pow", "constpow"):
            return self._power(step)
        return self._function(step)

    def _now(self, value: int) -> str:
        return self.at_order.get(value, self.text.constant(0.0))

    def _linear(self, step: Instruction) -> str:
        text, arguments = self.text, step.arguments
        moved = [self._now(argument) for argument in arguments]
        match step.operation:
            case "neg":
                return text.negated(moved[0])
            case "twice":
                return text.added(moved[0], moved[0])
            case "assign":
                return moved[0]
        if arguments[1] not in self.moving:
            return moved[0]
        if arguments[0] not in self.moving:
            return moved[1] if step.operation == "add" else text.negated(moved[1])
        return text.binary(step.operation, *moved)

    def _product(self, step: Instruction) -> str:
        """(a b)_k = S(a, b) + a_0 b_k + a_k b_0."""
        text, (a, b) = self.text, step.arguments
        if a not in self.moving:
            return text.multiplied(self.zero[a], self._now(b))
        if b not in self.moving:
            return text.multiplied(self._now(a), self.zero[b])
        found = text.added(
            self._total("forward", a, b), text.multiplied(self.zero[a], self._now(b))
        )
        return text.added(found, text.multiplied(self._now(a), self.zero[b]))

    def _quotient(self, step: Instruction) -> str:
        """(a / b)_k = (a_k - S(w, b) - w_0 b_k) / b_0."""
        text, (a, b) = self.text, step.arguments
        if b not in self.moving:
            return text.divided(self._now(a), self.zero[b])
        rest = text.added(
            self._total("forward", step.target, b),
            text.multiplied(self.zero[step.target], self._now(b)),
        )
        above = text.subtracted(self._now(a), rest) if a in self.moving else text.negated(rest)
        return text.multiplied(above, self._inverse[step.target])

    def _power(self, step: Instruction) -> str:
        """(a^r)_k = (r (S(D a, w) + k a_k w_0) - S(D w, a)) / (k a_0)."""
        text, a, w = self.text, step.arguments[0], step.target
        first = text.multiplied(text.multiplied(text.k_real, self._now(a)), self.zero[w])
        first = text.multiplied(
            self.zero[step.arguments[1]], text.added(self._total("derivative", a, w), first)
        )
        above = text.subtracted(first, self._total("derivative", w, a))
        return text.multiplied(text.multiplied(above, text.k_inverse), self._inverse[w])

    def _function(self, step: Instruction) -> str:
        text, a, w = self.text, step.arguments[0], step.target
        match step.operation:
            case "sqrt":  # w_k = (a_k - S(w, w)) / (2 w_0)
                return text.multiplied(
                    text.subtracted(self._now(a), self._total("forward", w, w)), self._inverse[w]
                )
            case (
                "exp" | "sin" | "cos" | "sinh" | "cosh" | "tan" | "tanh"
            ):  # w' = +-v a', v the helper: S(D a, v) / k + a_k v_0
                helper = w if step.operation == "exp" else step.data
                found = text.multiplied(self._total("derivative", a, helper), text.k_inverse)
                found = text.added(found, text.multiplied(self._now(a), self.zero[helper]))
                return text.negated(found) if step.operation == "cos" else found
            case "log":  # w_k = (a_k - S(D w, a) / k) / a_0
                rest = text.multiplied(self._total("derivative", w, a), text.k_inverse)
                return text.multiplied(text.subtracted(self._now(a), rest), self._inverse[w])
        # atan, asin, acos: v w' = +-a'
        derivative = text.negated(self._now(a)) if step.operation == "acos" else self._now(a)
        rest = text.multiplied(self._total("derivative", w, step.data), text.k_inverse)
        return text.multiplied(text.subtracted(derivative, rest), self._inverse[w])
