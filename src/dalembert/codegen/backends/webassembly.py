"""LLVM assembly as a WebAssembly module for browsers.

LLVM's object file for wasm32 is a module already: calls, addresses of data and places in the table
are those of the one file. What a linker would add for a single object is a list of exports; it is
written here from the symbols of the object, and the sections for linkers are left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

import llvmlite
import llvmlite.binding as llvm

from ..._version import __version__
from ...errors import ModelError
from ..object_cache import ObjectCache

__all__ = ["WasmCode", "wasm_code"]

TRIPLE = "wasm32-unknown-unknown"
_MAGIC = b"\0asm\x01\0\0\0"
#: Numbers of sections, and of the kinds of symbols and subsections in the section for linkers.
CUSTOM, EXPORTS, ELEMENTS, DATA = 0, 7, 9, 11
SYMBOL_TABLE, FUNCTION_SYMBOL = 8, 0
UNDEFINED, EXPLICIT_NAME = 0x10, 0x40


@dataclass(frozen=True)
class WasmCode:
    """A WebAssembly module.

    It imports its memory (``env.__linear_memory``), its table of functions
    (``env.__indirect_function_table``), its stack pointer where it needs one, and functions of
    mathematics by their names in C.

    Attributes
    ----------
    code : bytes
    data_end : int
        The first address behind the constants in its memory.
    """

    code: bytes
    data_end: int


def wasm_code(text: str, exports: Sequence[str]) -> WasmCode:
    """The module of LLVM assembly that exports functions by name.

    Raises
    ------
    ModelError
        Where LLVM was built without its WebAssembly target.
    """
    parts = ("wasm", __version__, llvmlite.__version__, *exports, text)
    identity = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    cache = ObjectCache()
    code = cache.get(identity)
    if code is None:
        code = _with_exports(_object_code(text), exports)
        cache.put(identity, code)
    return WasmCode(code, _data_end(code))


def _object_code(text: str) -> bytes:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        target = llvm.Target.from_triple(TRIPLE)
    except RuntimeError as error:
        what = "This build of llvmlite has no WebAssembly target"
        raise ModelError(what, str(error), "pip install --upgrade llvmlite") from error
    machine = target.create_target_machine(opt=2, reloc="static")
    context = llvm.create_context()
    try:
        with closing(llvm.parse_assembly(text, context)) as module:
            module.triple, module.data_layout = TRIPLE, str(machine.target_data)
            options = llvm.create_pipeline_tuning_options(speed_level=2)
            with (
                closing(llvm.create_pass_builder(machine, options)) as builder,
                closing(builder.getModulePassManager()) as passes,
            ):
                passes.run(module, builder)
            code: bytes = machine.emit_object(module)
    finally:
        context.close()
    return code


# -- the binary format -----------------------------------------------------------------------------


class _ModuleReader:
    """Reads the binary format of WebAssembly from a place on."""

    def __init__(self, code: bytes, place: int = 0) -> None:
        self.code, self.place = code, place

    def byte(self) -> int:
        self.place += 1
        return self.code[self.place - 1]

    def number(self) -> int:
        """An unsigned integer in LEB128."""
        value, shift = 0, 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def part(self, size: int) -> bytes:
        self.place += size
        return self.code[self.place - size : self.place]

    def name(self) -> str:
        return self.part(self.number()).decode()


def _leb(value: int) -> bytes:
    """An unsigned integer in LEB128.

    >>> _leb(624485).hex()
    'e58e26'
    """
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def _sections(code: bytes) -> Iterator[tuple[int, bytes]]:
    reader = _ModuleReader(code, len(_MAGIC))
    while reader.place < len(code):
        kind = reader.byte()
        yield kind, reader.part(reader.number())


def _with_exports(code: bytes, exports: Sequence[str]) -> bytes:
    """The object as a module that exports functions, without what is meant for linkers."""
    sections = list(_sections(code))
    found: dict[str, int] = {}
    for kind, body in sections:
        if kind == CUSTOM:
            found |= _defined_functions(body)
    entries = [
        _leb(len(name)) + name.encode() + b"\0" + _leb(found[name]) for name in exports
    ]  # a kind of zero: a function
    written = {EXPORTS: _leb(len(entries)) + b"".join(entries)}
    written |= {kind: body for kind, body in sections if kind != CUSTOM}
    # Sections stand in the order of their numbers, but the count of data (12) before the code.
    order = sorted(written, key=lambda kind: 9.5 if kind == 12 else kind)
    parts = [bytes([kind]) + _leb(len(written[kind])) + written[kind] for kind in order]
    return b"".join([_MAGIC, *parts])


def _defined_functions(body: bytes) -> dict[str, int]:
    """Index by name of the functions that a section for linkers defines."""
    reader = _ModuleReader(body)
    if reader.name() != "linking":
        return {}
    reader.number()  # the version of the section
    while reader.place < len(body):
        kind, size = reader.byte(), reader.number()
        if kind != SYMBOL_TABLE:
            reader.part(size)
            continue
        found: dict[str, int] = {}
        for _ in range(reader.number()):
            kind, flags = reader.byte(), reader.number()
            if kind == FUNCTION_SYMBOL or kind > 1:
                index = reader.number()
                is_named = kind != 3 and (not flags & UNDEFINED or bool(flags & EXPLICIT_NAME))
                name = reader.name() if is_named else ""
                if kind == FUNCTION_SYMBOL and not flags & UNDEFINED:
                    found[name] = index
            else:  # data: a name, and its place where it is defined
                reader.name()
                if not flags & UNDEFINED:
                    for _ in range(3):
                        reader.number()
        return found
    return {}


def _data_end(code: bytes) -> int:
    """The first address behind the data of a module."""
    end = 0
    for kind, body in _sections(code):
        if kind != DATA:
            continue
        reader = _ModuleReader(body)
        for _ in range(reader.number()):
            assert reader.byte() == 0 and reader.byte() == 0x41  # active, and at a constant
            start = reader.number()
            reader.byte()  # the end of the expression
            size = reader.number()
            reader.part(size)
            end = max(end, start + size)
    return end
