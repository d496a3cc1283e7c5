"""No source of the library runs text, loads pickles or starts a shell: every call that could is on
a list, with its reason.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

import pytest
from tests.source_trees import FILES, nodes_of

#: Functions, by their last name, that run text or bytes as code, or turn text into code.
RUNNING = {
    "eval",
    "exec",
    "compile",
    "__import__",
    "sympify",
    "parse_expr",
    "parse_latex",
    "lambdify",
    "execfile",
    "safe_load",
}
#: Functions of modules that start programs, import by name or load objects.
QUALIFIED = {
    *(
        "os.system",
        "os.popen",
        "os.execv",
        "os.execve",
        "os.spawnv",
        "os.posix_spawn",
        "os.startfile",
    ),
    *("np.load", "numpy.load", "importlib.import_module", "importlib.__import__", "import_module"),
    *(
        "asyncio.create_subprocess_shell",
        "asyncio.create_subprocess_exec",
        "subprocess.run",
        "subprocess.Popen",
    ),
    *(
        "subprocess.call",
        "subprocess.check_output",
        "subprocess.check_call",
        "subprocess.getoutput",
    ),
}
#: Modules whose import alone is a finding.
MODULES = {
    "pickle",
    "dill",
    "cloudpickle",
    "marshal",
    "shelve",
    "joblib",
    "yaml",
    "runpy",
    "code",
    "pty",
    "telnetlib",
}
#: What is there, by file and call, and why it runs nothing that a user wrote.
ALLOWED = {
    ("__init__.py", "importlib.import_module"): "public names are on a list in the source",
    ("lab/__init__.py", "importlib.import_module"): "public names are on a list in the source",
    ("formulations/registry.py", "import_module"): "forms are on a list in the source",
    ("integrate/methods/table.py", "import_module"): "methods are on a list in the source",
    ("model/constraints/kinds.py", "import_module"): "kinds are on a list in the source",
    (
        "gallery/__init__.py",
        "importlib.import_module",
    ): "a name is first looked up among the built-in systems",
    (
        "verification/row_registry.py",
        "importlib.import_module",
    ): "modules are on a list in the source",
    (
        "plotting/scenes/movie_writers.py",
        "importlib.import_module",
    ): "a constant name of an optional package",
    (
        "integrate/methods/external/sundials.py",
        "importlib.import_module",
    ): "a constant name of an optional package",
    ("lab/workers/worker_handlers.py", "import_module"): "answers are on a list in the source",
    (
        "lab/workers/process.py",
        "asyncio.create_subprocess_exec",
    ): "our own worker, by sys.executable; requests go through its input",
    (
        "export/fmu.py",
        "subprocess.run",
    ): "the C compiler, without a shell, in a temporary folder, on files that we name",
    (
        "plotting/scenes/movie_writers.py",
        "subprocess.Popen",
    ): "ffmpeg, without a shell, with arguments that we make",
}
#: The printed results of the source documents state their own expressions.
ALLOWED_FOLDERS = {"verification": {"lambdify"}}
#: Methods of our own and of `re` that only share the name.
OWN = {"re.compile", "equations.compile", "self.compile"}


def calls(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, ast.Call]]:
    """Every call with its name as it is written, such as np.load; an unknown object is a question
    mark.
    """
    for node in nodes:
        match node:
            case ast.Call(func=ast.Name(id=name)):
                yield name, node
            case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr=name)):
                yield f"{module}.{name}", node
            case ast.Call(func=ast.Attribute(attr=name)):
                yield f"?.{name}", node


def findings(nodes: Sequence[ast.AST]) -> set[str]:
    """The calls and imports among nodes of a source text that run things."""
    found = set()
    for name, node in calls(nodes):
        last = name.rpartition(".")[2]
        if (
            last in RUNNING and name not in OWN and not (last == "compile" and "." in name)
        ) or name in QUALIFIED:
            found.add(last if last in RUNNING else name)
        for option in node.keywords:
            if option.arg in ("shell", "allow_pickle") and not (
                isinstance(option.value, ast.Constant) and not option.value.value
            ):
                found.add(f"{option.arg}=")
    for node in nodes:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
        found |= {f"import {name}" for name in names if name.partition(".")[0] in MODULES}
    return found


def test_every_call_that_runs_something_is_listed() -> None:
    seen = set()
    for file in FILES:
        free = ALLOWED_FOLDERS.get(file.partition("/")[0], set())
        seen |= {(file, name) for name in findings(nodes_of(file)) - free}
    assert seen == set(ALLOWED)
    assert all(len(reason.split()) > 3 for reason in ALLOWED.values())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("eval(x)", "eval"),
        ("sympy.sympify(x)", "sympify"),
        ("from sympy import parse_expr\nparse_expr(x)", "parse_expr"),
        ("import pickle", "import pickle"),
        ("np.load(path, allow_pickle=True)", "allow_pickle="),
        ("subprocess.run(x, shell=flag)", "shell="),
        ("os.system(x)", "os.system"),
        ("a.b.lambdify(x)", "lambdify"),
    ],
)
def test_the_search_finds_what_it_looks_for(text: str, found: str) -> None:
    assert found in findings([*ast.walk(ast.parse(text))])
