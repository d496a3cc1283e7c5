"""One operation as LLVM text, and the functions that operations call."""

from __future__ import annotations

import ctypes

__all__ = ["declarations", "float_text", "step_text"]

_BINARY = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_INTRINSIC_NAMES = "sqrt sin cos exp log fabs floor ceil"
_INTRINSIC = {name: f"llvm.{name}.f64" for name in _INTRINSIC_NAMES.split()}
_LIBRARY_NAMES = "tan asin acos atan sinh cosh tanh asinh acosh atanh log1p expm1"
_LIBRARY_UNARY = tuple(_LIBRARY_NAMES.split())
_LIBRARY_BINARY = ("pow", "atan2", "hypot", "copysign", "fmod")
_INTRINSIC_BINARY = {"fmin": "llvm.minnum.f64", "fmax": "llvm.maxnum.f64"}
_COMPARE = {"lt": "olt", "le": "ole", "eq": "oeq", "ne": "une"}


def declarations() -> list[str]:
    """What the text of operations refers to."""
    lines = [
        f"declare double @{name}(double) #0" for name in (*_INTRINSIC.values(), *_LIBRARY_UNARY)
    ]
    lines += [
        f"declare double @{name}(double, double) #0"
        for name in (*_INTRINSIC_BINARY.values(), *_LIBRARY_BINARY)
    ]
    lines.append("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
    lines += ["declare ptr @malloc(i64)", "declare void @free(ptr)"]
    lines.append("attributes #0 = { nounwind willreturn memory(none) }")
    lines.append("attributes #1 = { nounwind }")
    return lines


def float_text(value: float) -> str:
    """A double as LLVM writes it, exactly."""
    bits = ctypes.c_uint64.from_buffer(ctypes.c_double(value)).value
    return f"0x{bits:016X}"


def step_text(operation: str, target: int, arguments: list[str]) -> list[str]:
    """The lines that give `%v{target}` from the names of its arguments."""
    name = f"%v{target}"
    first = arguments[0]
    second = arguments[1] if len(arguments) > 1 else ""
    if operation in _BINARY:
        return [f"{name} = {_BINARY[operation]} contract double {first}, {second}"]
    if operation in _INTRINSIC:
        return [f"{name} = call double @{_INTRINSIC[operation]}(double {first})"]
    if operation in _LIBRARY_UNARY:
        return [f"{name} = call double @{operation}(double {first})"]
    if operation in _INTRINSIC_BINARY:
        return [
            f"{name} = call double @{_INTRINSIC_BINARY[operation]}(double {first}, double {second})"
        ]
    if operation in _LIBRARY_BINARY or operation == "constpow":
        function = "pow" if operation == "constpow" else operation
        return [f"{name} = call double @{function}(double {first}, double {second})"]
    if operation in _COMPARE:
        return [
            f"%c{target} = fcmp {_COMPARE[operation]} double {first}, {second}",
            f"{name} = uitofp i1 %c{target} to double",
        ]
    match operation:
        case "neg":
            return [f"{name} = fneg double {first}"]
        case "sq":
            return [f"{name} = fmul contract double {first}, {first}"]
        case "twice":
            return [f"{name} = fadd contract double {first}, {first}"]
        case "inv":
            return [f"{name} = fdiv contract double 1.0, {first}"]
        case "assign":
            return [f"{name} = fadd double {first}, -0.0"]
        case "if_else_zero":
            return [
                f"%c{target} = fcmp une double {first}, 0.0",
                f"{name} = select i1 %c{target}, double {second}, double 0.0",
            ]
        case "sign":
            return [
                f"%c{target} = fcmp ogt double {first}, 0.0",
                f"%d{target} = fcmp olt double {first}, 0.0",
                f"%e{target} = select i1 %d{target}, double -1.0, double {first}",
                f"{name} = select i1 %c{target}, double 1.0, double %e{target}",
            ]
        case "not":
            return [
                f"%c{target} = fcmp oeq double {first}, 0.0",
                f"{name} = uitofp i1 %c{target} to double",
            ]
        case "and" | "or":
            return [
                f"%c{target} = fcmp une double {first}, 0.0",
                f"%d{target} = fcmp une double {second}, 0.0",
                f"%e{target} = {operation} i1 %c{target}, %d{target}",
                f"{name} = uitofp i1 %e{target} to double",
            ]
    raise AssertionError(operation)
