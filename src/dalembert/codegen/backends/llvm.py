"""Programs as LLVM code: text, object code, and a disk cache addressed by content.

Code is generated for the processor at hand, without a compiler on the machine. Multiplications and
additions may be contracted to fused ones; nothing else about floating point is relaxed.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import lru_cache

import llvmlite
import llvmlite.binding as llvm

from ..._version import __version__
from ..object_cache import ObjectCache
from ..program import INPUTS, Instruction, Program
from .llvm_loops import rolled_text
from .llvm_operations import declarations, float_text, step_text

__all__ = ["NativeLibrary", "known_library", "native_code", "native_library", "store", "stored"]

_LOCK = threading.Lock()


def module_text(programs: Sequence[Program]) -> str:
    """LLVM assembly of one function for each program."""
    lines: list[str] = []
    for program in programs:
        lines += _function_text(program)
    lines += declarations()
    return "\n".join(lines)


#: Programs of more operations than `WHOLE` are cut into functions of `PIECE`, as code generation is
#: not linear; values between them pass through memory.
WHOLE, PIECE = 8192, 2048


def _function_text(program: Program) -> list[str]:
    """Write one function: straight, as loops where it repeats, or in pieces with a work array."""
    signature = ", ".join(f"ptr noalias nocapture readonly %{name}" for name in INPUTS)
    signature += ", ptr noalias nocapture %out"
    rolled = rolled_text(program, signature, _PieceWriter(program, {}).clear())
    if rolled is not None:
        return rolled
    steps = [step for step in program.instructions if step.operation not in ("input", "constant")]
    pieces = (
        [steps]
        if len(steps) <= WHOLE
        else [steps[k : k + PIECE] for k in range(0, len(steps), PIECE)]
    )
    home = {step.target: number for number, piece in enumerate(pieces) for step in piece}
    shared: dict[int, int] = {}
    for number, piece in enumerate(pieces):
        for step in piece:
            for argument in step.arguments:
                if home.get(argument, number) != number:
                    shared.setdefault(argument, len(shared))
    writer = _PieceWriter(program, shared)
    bodies = [*(writer.body(piece) for piece in pieces), *writer.rest()]
    if len(bodies) == 1 or (len(steps) <= WHOLE and len(bodies) == 2):
        body = [line for lines in bodies for line in lines]
        return [
            f"define void @{program.name}({signature}) #1 {{",
            *writer.clear(),
            *body,
            "ret void",
            "}",
        ]
    lines: list[str] = []
    for number, body in enumerate(bodies):
        lines.append(
            f"define internal void @{program.name}.{number}({signature}, ptr noalias nocapture"
            " %work) noinline #1 {"
        )
        lines += [*body, "ret void", "}"]
    lines.append(f"define void @{program.name}({signature}) #1 {{")
    lines += [*writer.clear(), f"%work = alloca double, i64 {max(1, len(shared))}"]
    passed = ", ".join(f"ptr %{name}" for name in (*INPUTS, "out", "work"))
    lines += [f"call void @{program.name}.{number}({passed})" for number in range(len(bodies))]
    return [*lines, "ret void", "}"]


class _PieceWriter:
    """Write a function body: load inputs, store outputs and shared values where they arise."""

    def __init__(self, program: Program, shared: dict[int, int]) -> None:
        self.sources = {
            step.target: step
            for step in program.instructions
            if step.operation in ("input", "constant")
        }
        self.shared = shared
        self.places: dict[int, list[int]] = {}
        self.size = len(program.outputs)
        self.has_zeros = False
        for place, source in enumerate(program.outputs):
            if place in program.untouched:
                continue
            if source is None:
                self.has_zeros = True
            else:
                self.places.setdefault(source, []).append(place)
        self.direct = [source for source in self.places if source in self.sources]

    def clear(self) -> list[str]:
        """Zero the structural zeros in one loop; thousands of single stores compile slowly."""
        if not self.has_zeros:
            return []
        return [f"call void @llvm.memset.p0.i64(ptr %out, i8 0, i64 {8 * self.size}, i1 false)"]

    def body(self, steps: Sequence[Instruction]) -> list[str]:
        lines: list[str] = []
        known: dict[int, str] = {}
        for step in steps:
            arguments = [self._value(argument, known, lines) for argument in step.arguments]
            lines += step_text(step.operation, step.target, arguments)
            name = known[step.target] = f"%v{step.target}"
            if step.target in self.shared:
                lines += _store(name, "work", self.shared[step.target])
            for place in self.places.get(step.target, ()):
                lines += _store(name, "out", place)
        return lines

    def rest(self) -> list[list[str]]:
        """Outputs that are constants or inputs themselves, in bodies of limited length."""
        bodies: list[list[str]] = []
        stores = [(source, place) for source in self.direct for place in self.places[source]]
        for first in range(0, len(stores), PIECE):
            lines: list[str] = []
            known: dict[int, str] = {}
            for source, place in stores[first : first + PIECE]:
                lines += _store(self._value(source, known, lines), "out", place)
            bodies.append([line.replace("%v", "%r").replace("%a", "%s") for line in lines])
        return bodies

    def _value(self, number: int, known: dict[int, str], lines: list[str]) -> str:
        name = known.get(number)
        if name is not None:
            return name
        source = self.sources.get(number)
        if source is not None and source.operation == "constant":
            return float_text(source.data)
        array, place = (
            ("work", self.shared[number])
            if source is None
            else (INPUTS[source.data[0]], source.data[1])
        )
        lines.append(f"%a{number} = getelementptr double, ptr %{array}, i64 {place}")
        lines.append(f"%v{number} = load double, ptr %a{number}")
        known[number] = f"%v{number}"
        return known[number]


def _store(value: str, array: str, place: int) -> list[str]:
    address = f"%{array[0]}x{place}"
    return [
        f"{address} = getelementptr double, ptr %{array}, i64 {place}",
        f"store double {value}, ptr {address}",
    ]


@lru_cache(maxsize=1)
def _target() -> llvm.Target:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple()


def _machine(level: int) -> llvm.TargetMachine:
    """A fresh target machine: an execution engine takes possession of the one it is given."""
    return _target().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=level,
        reloc="pic",
        jit=True,
    )


def _identity(text: str, level: int) -> str:
    parts = (
        __version__,
        llvmlite.__version__,
        llvm.get_default_triple(),
        llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(),
        str(level),
        text,
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@contextmanager
def _own_module(text: str) -> Iterator[llvm.ModuleRef]:
    """A module in its own LLVM context, so that constants are freed with the module.

    Both are closed here, the module first: a collector of cycles may come to them in any order, and
    LLVM takes only this one.
    """
    context = llvm.create_context()
    try:
        module = llvm.parse_assembly(text, context)
        try:
            module.triple = llvm.get_default_triple()
            yield module
        finally:
            module.close()
    finally:
        context.close()


def object_code(text: str, level: int) -> bytes:
    """Native object code of LLVM assembly, from the cache where it is known."""
    cache = ObjectCache()
    identity = _identity(text, level)
    known = cache.get(identity)
    if known is not None:
        return known
    _target()
    with _own_module(text) as module:
        code: bytes = _machine(level).emit_object(module)
    cache.put(identity, code)
    return code


def optimised_object_code(write: Callable[[], str], key: str | None = None) -> bytes:
    """Object code of LLVM assembly that needs the optimiser: stack variables, loops, inlining.

    `write` gives the assembly. With a `key` that stands for it, it is written only where the cache
    does not know the code.
    """
    cache = ObjectCache()
    identity = _identity(key or write(), 13)
    with _LOCK:
        known = cache.get(identity)
        if known is not None:
            return known
        _target()
        machine = _machine(2)
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        options.loop_vectorization = True
        options.loop_unrolling = False  # of loops of any length: a third of the time, for 0 to 3 %
        with _own_module(write()) as module:
            module.data_layout = str(machine.target_data)
            # What the passes found out refers to the module, so that they are closed before it.
            with (
                closing(llvm.create_pass_builder(machine, options)) as builder,
                closing(builder.getModulePassManager()) as passes,
            ):
                passes.run(module, builder)
            code: bytes = machine.emit_object(module)
        cache.put(identity, code)
    return code


class NativeLibrary:
    """Loaded native code; the addresses are good as long as this object lives.

    `identity` is that of the code in the cache, where it is looked for again.
    """

    def __init__(self, code: bytes, names: Sequence[str], identity: str = "") -> None:
        self.identity = identity
        with _LOCK:
            _target()
            self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine(1))
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            self._engine.finalize_object()
            self.addresses = {name: int(self._engine.get_function_address(name)) for name in names}


#: Above this many operations code generation favours its own speed.
LARGE_PROGRAM = 5000
#: Stands in the identity of keyed data where that of a text has its level of optimisation.
_KEYED = 20


def _written(programs: Sequence[Program], further: str) -> tuple[str, int]:
    """Programs as assembly, with further assembly that may call them, and how far to optimise."""
    text = module_text(programs) + further
    total = min(
        sum(program.operation_count for program in programs), text.count("\n")
    )  # what is left where loops were made
    return text, 1 if total > LARGE_PROGRAM else 2


def native_code(programs: Sequence[Program], further: str = "") -> bytes:
    """Object code of programs, with further assembly that may call them."""
    text, level = _written(programs, further)
    with _LOCK:
        return object_code(text, level)


def native_library(
    programs: Sequence[Program], further: str = "", names: Sequence[str] = ()
) -> NativeLibrary:
    """Compile and load programs, with further assembly that may call them.

    The names of the functions are the names of the programs; `names` are those to be found, all of
    them by default.
    """
    text, level = _written(programs, further)
    with _LOCK:
        code = object_code(text, level)
    found = list(names) or [program.name for program in programs]
    return NativeLibrary(code, found, _identity(text, level))


def known_library(identity: str, names: Sequence[str]) -> NativeLibrary | None:
    """Load the code of an identity from the cache; None where it is not known."""
    code = ObjectCache().get(identity)
    return None if code is None else NativeLibrary(code, names, identity)


def stored(key: str) -> bytes | None:
    """What `store` keeps under a key for this version and this processor, or None."""
    return ObjectCache().get(_identity(key, _KEYED))


def store(key: str, data: bytes) -> None:
    """Keep data in the cache under a key that stands for all they were made from."""
    ObjectCache().put(_identity(key, _KEYED), data)
