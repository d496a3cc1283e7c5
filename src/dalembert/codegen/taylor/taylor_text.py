"""LLVM text of Taylor expansions: lanes, coefficient arrays, and the loops of their sums."""

from __future__ import annotations

from collections.abc import Sequence

from ..backends.llvm_operations import float_text

__all__ = ["HIGHEST_ORDER", "Sum", "TaylorText"]

HIGHEST_ORDER = 30
#: Zeros beyond the last coefficient, for loads that look four places ahead.
AHEAD = 4
#: The width of the vectors in which one trajectory takes its sums.
WIDTH = 4

#: Two arrays of coefficients to be summed, a_j b_(k-j) over j = 1 .. k-1: kind and value of each.
Sum = tuple[tuple[str, int], tuple[str, int]]

_SAME_NAMES = "sqrt sin cos exp log fabs floor ceil copysign"
_INTRINSICS = {name: name for name in _SAME_NAMES.split()}
_INTRINSICS |= {"fmin": "minnum", "fmax": "maxnum"}
_BINARY = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}


class TaylorText:
    """Lines of a function on values that have one number for each lane.

    Coefficients of a value live in arrays: "forward" a_j, "backward" a_(HIGHEST_ORDER - j) where
    one trajectory sums four at a time, and "derivative" j a_j. Their zeroth places are never
    written and stay zero: the sums begin with j = 1 and end with k
    - 1.
    """

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.type = "double" if lanes == 1 else f"<{lanes} x double>"
        self.suffix = "f64" if lanes == 1 else f"v{lanes}f64"
        self.lines: list[str] = []
        self.declared: set[str] = set()
        self.arrays: dict[tuple[str, int], int] = {}
        self.next_inverse = self.k_inverse = self.k_real = ""
        self._count = 0

    @property
    def work_size(self) -> int:
        """Doubles of working memory."""
        return len(self.arrays) * self._length

    @property
    def work_place(self) -> int:
        """The offset of the arrays after the order: sums from j = 1 then load whole cache lines."""
        return self.lanes if self.lanes > 1 else WIDTH - 1

    @property
    def _length(self) -> int:
        places = HIGHEST_ORDER + 1 + AHEAD
        return self.lanes * (places + -places % WIDTH)

    def line(self, text: str) -> None:
        self.lines.append(text)

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def named(self, text: str) -> str:
        """A new value."""
        self._count += 1
        name = f"%v{self._count}"
        self.lines.append(f"{name} = {text}")
        return name

    def module(self) -> str:
        """All lines with the declarations they need."""
        attributes = 'attributes #1 = { nounwind "prefer-vector-width"="512" }'
        return "\n".join([*self.lines, *sorted(self.declared), attributes])

    # -- arithmetic --------------------------------------------------------------------------------

    def constant(self, value: float) -> str:
        number = float_text(value)
        return (
            number if self.lanes == 1 else "<" + ", ".join([f"double {number}"] * self.lanes) + ">"
        )

    def binary(self, operation: str, left: str, right: str) -> str:
        return self.named(f"{_BINARY[operation]} contract {self.type} {left}, {right}")

    def added(self, left: str, right: str) -> str:
        return self.binary("add", left, right)

    def subtracted(self, left: str, right: str) -> str:
        return self.binary("sub", left, right)

    def multiplied(self, left: str, right: str) -> str:
        return self.binary("mul", left, right)

    def divided(self, left: str, right: str) -> str:
        return self.binary("div", left, right)

    def negated(self, value: str) -> str:
        return self.named(f"fneg {self.type} {value}")

    def compared(self, relation: str, left: str, right: str) -> str:
        """Bits, one a lane."""
        return self.named(f"fcmp {relation} {self.type} {left}, {right}")

    def selected(self, bits: str, one: str, other: str) -> str:
        kind = "i1" if self.lanes == 1 else f"<{self.lanes} x i1>"
        return self.named(f"select {kind} {bits}, {self.type} {one}, {self.type} {other}")

    def function(self, name: str, *arguments: str) -> str:
        """A function of mathematics, lane by lane where the processor has none for vectors."""
        if name in _INTRINSICS:
            full = f"llvm.{_INTRINSICS[name]}.{self.suffix}"
            self.declared.add(
                f"declare {self.type} @{full}({', '.join([self.type] * len(arguments))})"
            )
            return self.named(
                f"call {self.type} @{full}({', '.join(f'{self.type} {a}' for a in arguments)})"
            )
        self.declared.add(f"declare double @{name}({', '.join(['double'] * len(arguments))})")
        if self.lanes == 1:
            return self.named(f"call double @{name}({', '.join(f'double {a}' for a in arguments)})")
        result = "undef"
        for lane in range(self.lanes):
            own = [self.named(f"extractelement {self.type} {a}, i64 {lane}") for a in arguments]
            value = self.named(f"call double @{name}({', '.join(f'double {a}' for a in own)})")
            result = self.named(f"insertelement {self.type} {result}, double {value}, i64 {lane}")
        return result

    def spread(self, number: str) -> str:
        """A number on every lane."""
        if self.lanes == 1:
            return number
        first = self.named(f"insertelement {self.type} undef, double {number}, i64 0")
        return self.named(
            f"shufflevector {self.type} {first}, {self.type} undef, <{self.lanes} x i32>"
            " zeroinitializer"
        )

    # -- memory ------------------------------------------------------------------------------------

    def load(self, array: str, place: int) -> str:
        address = self.named(f"getelementptr double, ptr %{array}, i64 {place * self.lanes}")
        return self.named(f"load {self.type}, ptr {address}, align 8")

    def store(self, value: str, array: str, place: int) -> None:
        address = self.named(f"getelementptr double, ptr %{array}, i64 {place * self.lanes}")
        self.line(f"store {self.type} {value}, ptr {address}, align 8")

    def array(self, kind: str, value: int) -> None:
        """Ask for an array of coefficients."""
        self.arrays.setdefault((kind, value), len(self.arrays) * self._length)

    def prepare_order(self, n_state: int) -> None:
        """Values that an order needs in many places."""
        self.k_real, self.k_inverse = self.spread("%k.real"), self.spread("%k.inverse")
        self.next_inverse = self.spread("%next.inverse")
        self.line(f"%row = mul i64 %k, {n_state * self.lanes}")
        self.line(f"%row.next = mul i64 %k.next, {n_state * self.lanes}")
        self.line(f"%k.forward = mul i64 %k, {self.lanes}")
        self.line(f"%k.backward = sub i64 {HIGHEST_ORDER}, %k")

    def state_coefficient(self, place: int) -> str:
        address = self.named(f"getelementptr double, ptr %out, i64 {(1 + place) * self.lanes}")
        own = self.named(f"getelementptr double, ptr {address}, i64 %row")
        return self.named(f"load {self.type}, ptr {own}, align 8")

    def store_next(self, place: int, value: str) -> None:
        address = self.named(f"getelementptr double, ptr %out, i64 {(1 + place) * self.lanes}")
        own = self.named(f"getelementptr double, ptr {address}, i64 %row.next")
        self.line(f"store {self.type} {value}, ptr {own}, align 8")

    def clock_coefficient(self) -> str:
        """Of time itself: one at the first order, zero beyond."""
        first = self.named("icmp eq i64 %k, 1")
        return self.spread(self.named(f"select i1 {first}, double 1.0, double 0.0"))

    def keep(self, kind: str, value: int, coefficient: str) -> None:
        """Store the coefficient of this order."""
        base = self.named(f"getelementptr double, ptr %work, i64 {self.arrays[kind, value]}")
        place = "%k.backward" if kind == "backward" else "%k.forward"
        address = self.named(f"getelementptr double, ptr {base}, i64 {place}")
        self.line(f"store {self.type} {coefficient}, ptr {address}, align 8")

    # -- sums --------------------------------------------------------------------------------------

    def backward_kind(self) -> str:
        """The kind of array that holds the second factors of sums."""
        return "backward" if self.lanes == 1 else "forward"

    def sums_loop(
        self, number: int, previous: str, sums: Sequence[Sum], totals: dict[Sum, str]
    ) -> str:
        """A loop over j that enters the totals of some sums; returns the label that follows."""
        head, after = f"sums{number}", f"after{number}"
        vector = f"<{WIDTH if self.lanes == 1 else self.lanes} x double>"
        step = WIDTH if self.lanes == 1 else 1
        self.line(f"br label %{head}")
        self.label(head)
        self.line(f"%j{number} = phi i64 [ 1, %{previous} ], [ %jn{number}, %{head} ]")
        names = [f"%s{number}.{place}" for place in range(len(sums))]
        for name in names:
            self.line(
                f"{name} = phi {vector} [ zeroinitializer, %{previous} ], [ {name}n, %{head} ]"
            )
        first = self.named(f"mul i64 %j{number}, {self.lanes}")
        if self.lanes == 1:
            second = self.named(f"add i64 %k.backward, %j{number}")
        else:
            second = self.named(f"sub i64 %k.forward, {first}")
        loaded: dict[tuple[tuple[str, int], str], str] = {}
        for name, (left, right) in zip(names, sums, strict=True):
            values = []
            for array, place in ((left, first), (right, second)):
                if (array, place) not in loaded:
                    base = self.named(f"getelementptr double, ptr %work, i64 {self.arrays[array]}")
                    address = self.named(f"getelementptr double, ptr {base}, i64 {place}")
                    loaded[array, place] = self.named(f"load {vector}, ptr {address}, align 8")
                values.append(loaded[array, place])
            product = self.named(f"fmul contract {vector} {values[0]}, {values[1]}")
            self.line(f"{name}n = fadd contract {vector} {name}, {product}")
        self.line(f"%jn{number} = add i64 %j{number}, {step}")
        again = self.named(f"icmp slt i64 %jn{number}, %k")
        self.line(f"br i1 {again}, label %{head}, label %{after}")
        self.label(after)
        for name, key in zip(names, sums, strict=True):
            totals[key] = f"{name}n" if self.lanes > 1 else self._reduced(f"{name}n", vector)
        return after

    def polynomials(self, number: int, previous: str, places: Sequence[int], count: int) -> str:
        """Store the sums of some expansions by Horner's rule; returns the label that follows.

        %h are the steps, %highest the order, and %w the coefficients (order + 1, count).
        """
        head, after, step = f"horner{number}", f"summed{number}", f"%i{number}"
        self.line(f"br label %{head}")
        self.label(head)
        self.line(f"{step} = phi i64 [ %highest, %{previous} ], [ {step}n, %{head} ]")
        sums = {place: f"%p{place}" for place in places}
        for name in sums.values():
            zero = f"[ zeroinitializer, %{previous} ]"
            self.line(f"{name} = phi {self.type} {zero}, [ {name}n, %{head} ]")
        row = self.named(f"mul i64 {step}, {count * self.lanes}")
        for place, name in sums.items():
            own = self.named(f"getelementptr double, ptr %w, i64 {place * self.lanes}")
            address = self.named(f"getelementptr double, ptr {own}, i64 {row}")
            term = self.named(f"load {self.type}, ptr {address}, align 8")
            higher = self.multiplied(name, "%h")
            self.line(f"{name}n = fadd contract {self.type} {higher}, {term}")
        self.line(f"{step}n = sub i64 {step}, 1")
        again = self.named(f"icmp sgt i64 {step}n, 0")
        self.line(f"br i1 {again}, label %{head}, label %{after}")
        self.label(after)
        for place, name in sums.items():
            change = self.multiplied(f"{name}n", "%h")
            self.store(self.added(self.load("y", place), change), "out", place)
        return after

    def _reduced(self, value: str, vector: str) -> str:
        """The sum of a vector: two halves, then two numbers."""
        low = self.named(
            f"shufflevector {vector} {value}, {vector} undef, <2 x i32> <i32 0, i32 1>"
        )
        high = self.named(
            f"shufflevector {vector} {value}, {vector} undef, <2 x i32> <i32 2, i32 3>"
        )
        half = self.named(f"fadd <2 x double> {low}, {high}")
        one = self.named(f"extractelement <2 x double> {half}, i64 0")
        other = self.named(f"extractelement <2 x double> {half}, i64 1")
        return self.named(f"fadd double {one}, {other}")
