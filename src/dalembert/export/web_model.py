"""The equations of motion as WebAssembly for a page that runs them.

The module has what a native run has: the programs of the kernel and the loops around them, the
constrained solve with its rank decision, the projection and Dormand and Prince's method. The
context of the run lies in the memory of the module at addresses that are chosen here;
``plotting/page_modules/model.js`` fills it and calls the functions.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import casadi as ca

from ..codegen.backends.llvm import module_text as programs_text
from ..codegen.backends.webassembly import WasmCode, wasm_code
from ..codegen.native.llvm_language import module_text as functions_text
from ..codegen.native.native_module import specialised
from ..codegen.program import Program, straight_line
from ..integrate.methods.adaptive.dop853 import DOP853_STEP
from ..integrate.run_fields import Clock, Counts, RunFields
from ..integrate.run_kinds import EXACT_TIMES
from ..runtime.kernel_programs import observed_columns
from ..runtime.projection import MISSING, MOST_PROJECTIONS, project
from .c_layout import context_arrays, context_numbers, exported_programs
from .export_task import ExportTask
from .run_in_c import STATUSES, begin, follow, observe_state

if TYPE_CHECKING:
    from ..runtime.kernel import Kernel

__all__ = ["WebModel", "web_model"]

#: The states that a run in a page keeps, and the attempts at steps it may take.
MOST_SAMPLES, MOST_ATTEMPTS = 2001, 200_000
#: Bytes of the stack, beside eight for each instruction of the programs; bytes of a page of memory.
STACK, PAGE = 1 << 18, 1 << 16
_ENTRIES: tuple[Callable[..., Any], ...] = (observe_state, begin, follow, project)


@dataclass(frozen=True)
class WebModel:
    """A model that a page can run.

    Attributes
    ----------
    task : ExportTask
    code : WasmCode
    programs : tuple of str
        The fields of the context that are programs, in the order of their numbers.
    words : dict of int to int
        Integers of the memory by their address.
    arrays : dict of str to int
        Addresses of arrays and records.
    size : int
        Bytes of memory.
    observed : dict of str to (int, int)
        First place and length of each observed quantity.
    """

    task: ExportTask
    code: WasmCode
    programs: tuple[str, ...]
    words: dict[int, int]
    arrays: dict[str, int]
    size: int
    observed: dict[str, tuple[int, int]]

    def record(self) -> dict[str, Any]:
        """The model as a page takes it: plain data for JSON."""
        task, kernel = self.task, self.task.kernel
        assert task.parameters is not None and task.start is not None and task.span is not None
        return {
            "code": base64.b64encode(self.code.code).decode(),
            "programs": list(self.programs),
            "fields": {name: place for name, (place, _) in RunFields.fields.items()},
            "clock": {name: place for name, (place, _) in Clock.fields.items()},
            "counts": {name: place for name, (place, _) in Counts.fields.items()},
            "words": [[address, value] for address, value in self.words.items()],
            "arrays": self.arrays,
            "size": self.size,
            "state": [symbol.name for symbol in kernel.equations.state],
            "parameters": [symbol.name for symbol in kernel.parameters],
            "values": [float(value) for value in task.parameters],
            "start": [float(value) for value in task.start],
            "span": list(task.span),
            "rtol": task.local_rtol,
            "atol": [float(value) for value in task.local_atol],
            "observed": self.observed,
            "constrained": bool(kernel.is_constrained),
            "projections": MOST_PROJECTIONS,
            "missing": MISSING,
            "attempts": MOST_ATTEMPTS,
            "samples": MOST_SAMPLES,
            "exact": EXACT_TIMES,
            "messages": {str(number): sentence for number, sentence in STATUSES.values()},
        }


def web_model(task: ExportTask, further: dict[str, ca.SX] | None = None) -> WebModel:
    """The model of a task; `further` columns over its graph are observed beside its own."""
    kernel = task.kernel
    columns = {**observed_columns(kernel), **(further or {})}
    programs = {
        place: make() for place, make in exported_programs(kernel, task.threshold).items()
    } | {"observe": _observe(kernel, columns)}
    programs = {
        place: replace(program, name=f"program_{place}") for place, program in programs.items()
    }
    code = wasm_code(_text(list(programs.values())), [*_names(), "program_index"])
    observed, place = {}, 0
    for name, column in columns.items():
        observed[name] = (place, int(column.numel()))
        place += column.numel()
    numbers: dict[str, int] = dict(context_numbers(kernel, "", task.threshold))
    numbers["n_observed"] = place
    words, arrays, end = _memory(kernel, code.data_end, numbers, place)
    stack = STACK + 8 * sum(len(program.instructions) for program in programs.values())
    arrays["stack"] = end + stack // 16 * 16
    size = -(-(arrays["stack"] + 16) // PAGE) * PAGE
    return WebModel(task, code, tuple(programs), words, arrays, size, observed)


def _names() -> list[str]:
    return [entry.__name__ for entry in _ENTRIES]


def _observe(kernel: Kernel, columns: dict[str, ca.SX]) -> Program:
    blocks = [ca.densify(ca.vec(ca.SX(column))) for column in columns.values()]
    return straight_line("observe", kernel._inputs(kernel._unknown_symbols), blocks)


def _text(programs: Sequence[Program]) -> str:
    """LLVM assembly of the programs, the loops, and the place of each program in the table."""
    functions = functions_text(specialised(_ENTRIES, dict(DOP853_STEP.bound)))
    cases = " ".join(f"i64 {k}, label %case{k}" for k in range(len(programs)))
    found = [
        "define i64 @program_index(i64 %which) {",
        f"switch i64 %which, label %none [{cases}]",
        "none:",
        "ret i64 0",
    ]
    for k, program in enumerate(programs):
        found += [f"case{k}:", f"ret i64 ptrtoint (ptr @{program.name} to i64)"]
    declared: set[str] = set()
    lines = []
    for line in (*programs_text(programs).splitlines(), *functions.splitlines(), *found, "}"):
        if line.startswith("declare "):  # both parts declare the functions of mathematics
            name = line[: line.index("(")].split()[-1]
            if name in declared:
                continue
            declared.add(name)
        lines.append(line)
    return "\n".join(lines)


def _memory(
    kernel: Kernel, first: int, numbers: dict[str, int], observed: int
) -> tuple[dict[int, int], dict[str, int], int]:
    """The words of the context, where its arrays and records lie, and the first free address."""
    context = -(-first // 64) * 64
    place = context + 8 * len(RunFields.fields)
    arrays = {"context": context}
    lengths = {name: max(1, size) for name, _, size, _ in context_arrays(kernel)}
    lengths |= {"clock": len(Clock.fields), "counts": len(Counts.fields)}
    lengths |= {"at": MOST_SAMPLES, "at_states": MOST_SAMPLES * kernel.n_state}
    lengths["reached"] = max(lengths["reached"], observed)
    for name, length in lengths.items():
        arrays[name] = place
        place += 8 * length
    fields = RunFields.fields
    words = {context + 8 * fields[name][0]: int(value) for name, value in numbers.items()}
    words |= {context + 8 * fields[name][0]: arrays[name] for name in lengths if name in fields}
    return words, arrays, place
