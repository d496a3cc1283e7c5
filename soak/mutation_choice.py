"""Which tests judge a mutant: those that run its line, one of each test function first, the
quickest before the others.
"""

from __future__ import annotations

import ast
import json
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .mutation_draw import Mutant

#: Modules that translate native functions, beside those that hold some: a change there changes
#: native code.
TRANSLATORS = ("language", "llvm", "native_module", "loops")
#: Native functions are not seen by coverage, which sees Python only: these tests call them.
NATIVE_TESTS = (
    "test_constrained_solve",
    "test_rank",
    "test_kernel",
    "test_language",
    "test_language_refuses",
    "test_skew",
    "test_dense_and",
    "test_cache",
)


@dataclass(frozen=True)
class Cover:
    """What the measuring run has found: tests with their processor time, and the tests of each
    line.
    """

    tests: tuple[tuple[str, float], ...]
    lines: dict[str, dict[int, frozenset[int]]]

    @classmethod
    def read(cls, *paths: Path) -> Cover:
        """From the files of one or several measuring runs."""
        tests: dict[str, float] = {}
        parts = [json.loads(path.read_text()) for path in paths]
        for part in parts:
            tests.update(dict(part["tests"]))
        places = {name: place for place, name in enumerate(tests)}
        lines: dict[str, dict[int, frozenset[int]]] = defaultdict(dict)
        for part in parts:
            for file, found in part["lines"].items():
                for line, own in found.items():
                    named = frozenset(places[part["tests"][place][0]] for place in own)
                    lines[file][int(line)] = lines[file].get(int(line), frozenset()) | named
        return cls(tuple(tests.items()), dict(lines))

    def named(self, *parts: str) -> frozenset[int]:
        """The tests in whose names one of these words stands."""
        return frozenset(
            place
            for place, (name, _) in enumerate(self.tests)
            if any(part in name for part in parts)
        )

    def within(self, file: str, first: int, last: int) -> frozenset[int]:
        """The tests of some lines."""
        found = self.lines.get(file, {})
        return frozenset().union(*(tests for line, tests in found.items() if first <= line <= last))


@dataclass(frozen=True)
class Choice:
    """The tests of a mutant, in the order in which they run, and whether any of them was seen to
    run its line.
    """

    tests: tuple[tuple[str, float], ...]
    covered: bool


def choose(cover: Cover, mutant: Mutant, source: Path, budget: float) -> Choice:
    """The tests that run the line; if these take less than the budget, those of its function, then
    of its file.
    """
    text = (source / mutant.file).read_text(encoding="utf-8")
    (first, last), body = _around(text, mutant.line)
    native = body is not None and body[2]
    called = cover.named(*NATIVE_TESTS)
    if native:
        return Choice(
            _within(cover, [cover.named(f"test_{Path(mutant.file).stem}"), called], budget), True
        )
    on_line = cover.within(mutant.file, mutant.line, mutant.line)
    in_statement = cover.within(mutant.file, first, last)
    in_function = cover.within(mutant.file, body[0], body[1]) if body else frozenset()
    in_file = cover.within(mutant.file, 1, 1 << 20)
    if body is not None and not in_function:
        return Choice((), False)
    if is_native(mutant.file, source):
        in_file |= called
    return Choice(_within(cover, [on_line, in_statement, in_function, in_file], budget), True)


def _around(text: str, line: int) -> tuple[tuple[int, int], tuple[int, int, bool] | None]:
    """The lines of the smallest statement at a line, and those of the function around it, with
    whether that is native.
    """
    statement, function = (line, line), None
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.stmt) or not node.lineno <= line <= (node.end_lineno or 0):
            continue
        last = node.end_lineno or node.lineno
        compound = isinstance(getattr(node, "body", None), list)
        if not compound:
            statement = (node.lineno, last)
        elif isinstance(node, ast.FunctionDef) and node.body[0].lineno <= line:
            marks = {mark.id for mark in node.decorator_list if isinstance(mark, ast.Name)}
            function = (
                node.body[0].lineno,
                last,
                bool(marks & {"native", "rare"}) or bool(function and function[2]),
            )
        elif isinstance(node, ast.FunctionDef):  # its decorators and defaults belong to it
            marks = {mark.id for mark in node.decorator_list if isinstance(mark, ast.Name)}
            statement, function = (
                (node.lineno, last),
                (node.body[0].lineno, last, bool(marks & {"native", "rare"})),
            )
    return statement, function


def _within(
    cover: Cover, groups: list[frozenset[int]], budget: float
) -> tuple[tuple[str, float], ...]:
    """Tests of the first group, which may take twice the budget, then of the next, until it is
    used; at least one.
    """
    taken: list[tuple[str, float]] = []
    seen: set[int] = set()
    spent = 0.0
    for group in groups:
        allowed = 2.0 * budget if group is groups[0] else budget
        for place in _diverse(cover, group - seen):
            cpu = cover.tests[place][1]
            if taken and spent + cpu > allowed:
                break
            taken.append(cover.tests[place])
            spent += cpu
        seen |= group
    return tuple(sorted(taken, key=lambda test: test[1]))


def _diverse(cover: Cover, group: frozenset[int]) -> list[int]:
    """The quickest case of every test function, then the next ones."""
    cases: dict[str, list[int]] = defaultdict(list)
    for place in sorted(group, key=lambda place: cover.tests[place][1]):
        cases[cover.tests[place][0].partition("[")[0]].append(place)
    ranked = [
        (rank, cover.tests[place][1], place)
        for own in cases.values()
        for rank, place in enumerate(own)
    ]
    return [place for _, _, place in sorted(ranked)]


@cache
def native_files(source: Path) -> frozenset[str]:
    """Files that native code is made of or by, with those from which they take constants."""
    paths = [path for part in ("codegen", "runtime") for path in (source / part).rglob("*.py")]
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    written = {path for path, text in texts.items() if "@native\n" in text or "@rare\n" in text}
    found = written | {path for path in texts if path.name.startswith(TRANSLATORS)}
    for path in written:
        for node in ast.walk(ast.parse(texts[path])):
            if isinstance(node, ast.ImportFrom) and node.level and node.module:
                base = path.parents[node.level - 1]
                found.add((base / node.module.replace(".", "/")).with_suffix(".py"))
    return frozenset(path.relative_to(source).as_posix() for path in found if path in texts)


def is_native(file: str, source: Path) -> bool:
    """Whether a change of the file may change native code that is the same for all models."""
    return file in native_files(source)
