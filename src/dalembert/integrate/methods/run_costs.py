"""What runs cost, estimated from counts of operations.

Seconds were measured on one machine for systems of 15 to 93 operations. They decide between methods
only, and only their ratios matter.
"""

from __future__ import annotations

from ...runtime.kernel import Kernel

__all__ = ["compile_seconds", "has_short_program", "runge_kutta_seconds"]

#: Expansions of longer programs take longer to compile than most runs last.
LONGEST_EXPANSION = 4000
#: Seconds of a step beside its evaluations, and of an operation in all its evaluations.
STEP, OPERATION = 0.5e-6, 14e-9
#: Seconds to compile an expansion of no operation, and for each of them.
COMPILE, COMPILE_OPERATION = 0.01, 0.5e-3


def has_short_program(kernel: Kernel) -> bool:
    """Whether the rates are one program, and short enough to be expanded."""
    return kernel.solved is not None and _operations(kernel) <= LONGEST_EXPANSION


def runge_kutta_seconds(kernel: Kernel, steps: float) -> float:
    """Seconds of so many steps of dop853."""
    return steps * (STEP + OPERATION * _operations(kernel))


def compile_seconds(kernel: Kernel) -> float:
    """Seconds to compile the expansion of a motion."""
    return COMPILE + COMPILE_OPERATION * _operations(kernel)


def _operations(kernel: Kernel) -> int:
    if kernel.solved is None:
        return int((kernel.n + kernel.m) ** 3)
    return int(kernel.program("fast").operation_count)
