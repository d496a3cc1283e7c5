"""Mutants by the operators of cosmic-ray, without those that cannot matter, and a random sample by
files and operators.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.operators.provider import OperatorProvider
from parso.python.tree import Number

#: What is mutated, below src/dalembert, by the name under which its share is reported.
PACKAGES: dict[str, tuple[str, ...]] = {
    "compiled": ("codegen/**/*.py",),
    "runtime": ("runtime/**/*.py",),
    "structure": ("algebra/structure.py", "algebra/finite_field.py", "algebra/running_error.py"),
    "formulations": ("formulations/**/*.py", "presentation/*.py"),
    "integrate": ("integrate/*.py", "integrate/events/*.py", "integrate/methods/**/*.py"),
    "contact": ("integrate/contact/*.py",),
    "reader": (
        "model/io/expression*.py",
        "model/io/file_reader.py",
        "model/system_reader.py",
        "model/io/robots/*.py",
    ),
}
#: Files whose tests need packages that may be missing: then they are left out.
OPTIONAL = {"export/to_jax.py": "jax", "codegen/backends/heyoka_source.py": "heyoka"}
#: An operator is replaced by its neighbours only: `+` by `<<` fails on the first float, and would
#: only raise the share.
NEAR = {
    "Add": ("Sub", "Mul"),
    "Sub": ("Add",),
    "Mul": ("Div", "Add"),
    "Div": ("Mul",),
    "FloorDiv": ("Div", "Mul"),
    "Mod": ("FloorDiv",),
    "Pow": ("Mul",),
    "BitOr": ("BitAnd",),
    "BitAnd": ("BitOr",),
    "BitXor": ("BitAnd",),
    "RShift": ("LShift",),
    "Eq": ("NotEq", "LtE", "GtE"),
    "NotEq": ("Eq", "Lt", "Gt"),
    "Lt": ("LtE", "GtE"),
    "LtE": ("Lt", "Gt"),
    "Gt": ("GtE", "LtE"),
    "GtE": ("Gt", "Lt"),
    "Is": ("IsNot",),
    "IsNot": ("Is",),
}
PLAIN = (
    "AddNot",
    "ReplaceTrueWithFalse",
    "ReplaceFalseWithTrue",
    "ReplaceAndWithOr",
    "ReplaceOrWithAnd",
    "ReplaceBreakWithContinue",
    "ReplaceContinueWithBreak",
    "ReplaceUnaryOperator_Delete_Not",
    "ReplaceUnaryOperator_Delete_USub",
    "ExceptionReplacer",
    "NumberReplacer",
    "RemoveDecorator",
    "ZeroIterationForLoop",
)
#: Decorators without which a function does the same, more slowly or less strictly typed.
IDLE_DECORATORS = {"cache", "lru_cache", "overload", "override", "final", "runtime_checkable"}


class ScaleReplacer(Operator):  # type: ignore[misc]
    """Small and large floats, which are thresholds and tolerances, a thousand times as large and as
    small.
    """

    def mutation_positions(self, node: Any) -> Iterator[Any]:
        """Both changes of a float that is not of the size of one."""
        if isinstance(node, Number) and "e" in node.value and "x" not in node.value:
            yield (node.start_pos, node.end_pos)
            yield (node.start_pos, node.end_pos)

    def mutate(self, node: Any, index: int) -> Any:
        """The literal with the factor behind it."""
        return Number(f"{node.get_code()}{'*1e3' if index == 0 else '*1e-3'}", node.start_pos)

    @classmethod
    def examples(cls) -> Any:
        """None; the class is not registered with cosmic-ray."""
        return ()


@dataclass(frozen=True)
class Mutant:
    """One change of one file: the operator, which of its occurrences, and where that is."""

    package: str
    file: str
    operator: str
    occurrence: int
    line: int
    column: int

    @property
    def key(self) -> str:
        """What identifies it in a given state of the sources."""
        return f"{self.file}:{self.operator}:{self.occurrence}"


def operators() -> dict[str, Any]:
    """The operators by name."""
    provider = OperatorProvider()
    names = [*PLAIN]
    for kind in ("Binary", "Comparison"):
        names += [
            f"Replace{kind}Operator_{old}_{new}" for old, found in NEAR.items() for new in found
        ]
    known = set(provider)
    return {
        "ScaleReplacer": ScaleReplacer(),
        **{name: provider[name]() for name in names if name in known},
    }


def mutants(source: Path, packages: list[str] | None = None, only: str = "") -> list[Mutant]:
    """All mutants that may matter, in the order of files and operators; `only` keeps files with
    this in their name.
    """
    found: list[Mutant] = []
    for package in packages or list(PACKAGES):
        for path in sorted(
            {path for pattern in PACKAGES[package] for path in source.glob(pattern)}
        ):
            name = path.relative_to(source).as_posix()
            if only in name and (name not in OPTIONAL or find_spec(OPTIONAL[name]) is not None):
                found += _of_file(package, path, name)
    return found


def _of_file(package: str, path: Path, name: str) -> Iterator[Mutant]:
    text = path.read_text(encoding="utf-8")
    idle = idle_spans(text)
    nodes = list(ast_nodes(get_ast(text)))
    for label, operator in operators().items():
        places = [place for node in nodes for place in operator.mutation_positions(node)]
        for occurrence, (begin, _) in enumerate(places):
            if not any(first <= begin < last for first, last in idle):
                yield Mutant(package, name, label, occurrence, *begin)


def mutated(text: str, mutant: Mutant) -> str | None:
    """The text of the file with the change made; None where it is not Python any more, or the same
    program.
    """
    changed: str | None = mutate_code(text, operators()[mutant.operator], mutant.occurrence)
    if changed is None:
        return None
    try:
        return changed if ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text)) else None
    except SyntaxError:
        return None


Span = tuple[tuple[int, int], tuple[int, int]]


def idle_spans(text: str) -> list[Span]:
    """Where a change cannot matter to a caller: annotations, what is said in errors, assertions,
    `zip(strict=...)`, repr.

    Assertions and `strict` guard against mistakes in this library only; caches change what is fast.
    Spans are (line, column in characters), the end excluded.
    """
    lines = text.encode().splitlines()
    spans: list[Span] = []

    def place(line: int, column: int) -> tuple[int, int]:
        return line, len(lines[line - 1][:column].decode(errors="ignore"))

    for node in ast.walk(ast.parse(text)):
        for idle in _idle_parts(node):
            assert idle.end_lineno is not None and idle.end_col_offset is not None
            spans.append(
                (
                    place(idle.lineno, max(idle.col_offset - 1, 0)),
                    place(idle.end_lineno, idle.end_col_offset),
                )
            )
    return spans


def _idle_parts(node: ast.AST) -> Iterator[Any]:
    if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
        yield node.annotation
    elif isinstance(node, ast.FunctionDef):
        if node.returns is not None:
            yield node.returns
        if node.name in ("__repr__", "__str__", "_repr_latex_", "_repr_html_"):
            yield node
    elif isinstance(node, ast.keyword) and node.arg in ("strict", "seen", "remedy"):
        yield node.value
    elif isinstance(node, ast.Assert | ast.Raise) or _is_error(node) or _is_declaration(node):
        yield node
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        for decorator in node.decorator_list:
            head = decorator.func if isinstance(decorator, ast.Call) else decorator
            if (
                head.id if isinstance(head, ast.Name) else getattr(head, "attr", "")
            ) in IDLE_DECORATORS:
                yield decorator


def _is_error(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id.endswith(("Error", "Warning"))
    )


def _is_declaration(node: ast.AST) -> bool:
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    return isinstance(node, ast.Assign) and any(
        isinstance(name, ast.Name) and name.id == "__all__" for name in node.targets
    )


def draw(found: list[Mutant], count: int, seed: int) -> list[Mutant]:
    """A sample of `count`, each file and operator with its share, in random order: its beginning is
    a sample, too.

    Each package has the same number of places (all of it where it has fewer). Within a package
    every k-th mutant is taken from the list by files and operators, shuffled inside each of these.
    """
    chance = random.Random(seed)
    taken: list[Mutant] = []
    packages = sorted({mutant.package for mutant in found})
    for package in packages:
        own = [mutant for mutant in found if mutant.package == package]
        own.sort(key=lambda mutant: (mutant.file, mutant.operator, chance.random()))
        wanted = min(len(own), count // len(packages))
        start = chance.random()
        taken += [own[int((start + place) * len(own) / wanted)] for place in range(wanted)]
    chance.shuffle(taken)
    return taken
