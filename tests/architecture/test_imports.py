"""The direction of the imports, and what no file of the library may call: read from the source,
nothing is run.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache

import pytest
from tests.source_trees import FILES, SOURCE, nodes_of, tree_of

CORE = {"errors", "model", "algebra", "geometry", "formulations", "codegen", "runtime", "integrate"}
#: Parts that only name what others hold.
NAMESPACES = ("bodies", "dirac", "lie", "symmetry", "variational")
#: What each part may import of ours, besides itself, the types of signatures and the version.
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "typing": set(),
    "_version": set(),
    "__init__": set(),
    "model": {"errors"},
    "geometry": {"errors", "algebra"},
    "algebra": {"errors", "model"},
    "formulations": {"errors", "model", "algebra", "geometry"},
    "presentation": {"errors", "model", "algebra", "formulations"},
    "codegen": {"errors", "model", "algebra"},
    "runtime": {"errors", "model", "algebra", "codegen"},
    "integrate": {"errors", "model", "algebra", "geometry", "codegen", "runtime", "formulations"},
    "export": CORE | {"presentation"},
    "analysis": CORE | {"presentation"},
    "control": CORE | {"analysis"},
    "gallery": {"errors", "model"},
    "plotting": CORE | {"presentation", "analysis", "export"},
    "verification": CORE | {"analysis", "control", "gallery"},
    "lab": (
        CORE
        | {"presentation", "export", "analysis", "control", "gallery", "plotting", "verification"}
    ),
    **dict.fromkeys(NAMESPACES, CORE | {"analysis"}),
    "cli": (
        CORE
        | {
            "presentation",
            "export",
            "analysis",
            "control",
            "gallery",
            "plotting",
            "verification",
            "lab",
        }
    ),
}
#: Imports inside a function that lead to a later stage: a method of an earlier one that opens the
#: door to it.
DOORS = {
    ("model/io/run_reader.py", "integrate"),
    ("model/system.py", "analysis"),
    ("model/bodies/mechanism.py", "analysis"),
    ("model/system.py", "plotting"),
    ("model/flow_system.py", "plotting"),
    ("model/constraints/constraint.py", "algebra"),  # for its types, as the next two
    ("model/legendre.py", "algebra"),
    ("model/builders/repeat.py", "algebra"),
    ("model/builders/bracket_flows.py", "formulations"),
    ("formulations/equations.py", "plotting"),
    ("formulations/equations.py", "runtime"),
    ("formulations/equations.py", "presentation"),
    ("formulations/equation_exports.py", "codegen"),
    ("formulations/equation_exports.py", "export"),
    ("integrate/motion_pictures.py", "plotting"),
    ("analysis/sensitivity/fitted.py", "plotting"),
    ("analysis/stability/modes.py", "plotting"),
    ("analysis/symmetry/height.py", "plotting"),
    ("analysis/symmetry/orbit_branches.py", "plotting"),
    ("analysis/stability/melnikov.py", "plotting"),
    ("control/ports/energy_balance.py", "plotting"),
    ("control/trajectory/answer.py", "plotting"),
    ("control/trajectory/phase_answer.py", "plotting"),
    ("plotting/studies/figures.py", "root"),
}
#: Decisions of rank outside `runtime/gauss/factorisations.py`, which `constrained_solve.py` opens
#: to Python, with reasons.
RANK_CALLS = {"pinv", "matrix_rank", "lstsq", "svd", "null_space", "orth"}
RANK_ALLOWED = {
    "runtime/gauss/factorisations.py": "the one place that decides rank, with its thresholds",
    "algebra/structure.py": (
        "the generic rank of a matrix of expressions, a hypothesis and never a solve"
    ),
    "geometry/distributions.py": "the rank of a distribution is a question of geometry",
    "geometry/subspaces.py": (
        "spans and kernels of vectors of numbers, for geometry that no kernel stands behind"
    ),
    "verification/": "recomputes printed results independently of the kernel",
}
FORBIDDEN_CALLS = {"eval", "exec", "sympify", "parse_expr", "__import__"}
FORBIDDEN_MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}


def part_of(file: str) -> str:
    return file.split("/")[0].removesuffix(".py")


@cache
def imports_of(file: str) -> tuple[tuple[str, bool, int], ...]:
    """Every import as (dotted module, whether it is in a function or for type checkers, line); ours
    begin with `dalembert`.
    """
    package = ["dalembert", *file.split("/")[:-1]]

    def visit(node: ast.AST, deferred: bool) -> Iterator[tuple[str, bool, int]]:
        for child in ast.iter_child_nodes(node):
            inside = deferred or isinstance(
                child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
            )
            inside = inside or (
                isinstance(child, ast.If)
                and isinstance(child.test, ast.Name)
                and child.test.id == "TYPE_CHECKING"
            )
            if isinstance(child, ast.Import):
                yield from ((alias.name, deferred, child.lineno) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                base = package[: len(package) - child.level + 1] if child.level else []
                module = ".".join([*base, *([child.module] if child.module else [])])
                if child.module and module != "dalembert":
                    yield module, deferred, child.lineno
                else:
                    yield from (
                        (f"{module}.{alias.name}", deferred, child.lineno) for alias in child.names
                    )
            else:
                yield from visit(child, inside)

    return tuple(visit(tree_of(file), False))


@cache
def our_part(module: str) -> str | None:
    """The part of the library a dotted module belongs to; None for others' modules."""
    words = module.split(".")
    if words[0] != "dalembert":
        return None
    known = {part_of(file) for file in FILES} | set(ALLOWED)
    return words[1] if len(words) > 1 and words[1] in known else "root"


PARTS = sorted({part_of(file) for file in FILES})


def files_of(part: str) -> list[str]:
    return [file for file in FILES if part_of(file) == part]


@pytest.mark.parametrize("part", PARTS)
def test_imports_go_one_way(part: str) -> None:
    assert part in ALLOWED, f"{part}: give this part of the library its place in ALLOWED"
    for file in files_of(part):
        for module, deferred, line in imports_of(file):
            target = our_part(module)
            if target is None or target in {part, "typing", "_version"} or target in ALLOWED[part]:
                continue
            assert deferred and (file, target) in DOORS, f"{file}:{line} imports {module}"


def test_every_door_is_in_use() -> None:
    used = {
        (file, our_part(module))
        for file in FILES
        for module, deferred, _ in imports_of(file)
        if deferred
    }
    assert used >= DOORS


def test_compiled_code_knows_no_formulation() -> None:
    for file in FILES:
        if part_of(file) in {"codegen", "runtime"}:
            assert all(our_part(module) != "formulations" for module, _, _ in imports_of(file)), (
                file
            )


def calls_of(file: str) -> Iterator[tuple[str, ast.Call]]:
    """Every call with the last word of what is called."""
    for node in nodes_of(file):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                yield node.func.attr, node
            elif isinstance(node.func, ast.Name):
                yield node.func.id, node


@pytest.mark.parametrize("part", PARTS)
def test_rank_is_decided_in_one_place(part: str) -> None:
    for file in files_of(part):
        if any(
            file == place or (place.endswith("/") and file.startswith(place))
            for place in RANK_ALLOWED
        ):
            continue
        found = [
            f"{name} at line {call.lineno}" for name, call in calls_of(file) if name in RANK_CALLS
        ]
        assert not found, f"{file}: {found}"


def test_the_thresholds_of_rank_stand_beside_the_decision() -> None:
    thresholds = {"RANK_TOLERANCE", "PIVOT_TOLERANCE", "DOUBTFUL_PIVOT"}
    homes: dict[str, list[str]] = {name: [] for name in thresholds}
    for file in FILES:
        for node in nodes_of(file):
            if (
                isinstance(node, ast.Name)
                and isinstance(node.ctx, ast.Store)
                and node.id in thresholds
            ):
                homes[node.id].append(file)
    assert homes == {name: ["runtime/gauss/factorisations.py"] for name in thresholds}


@pytest.mark.parametrize("part", PARTS)
def test_text_is_never_executed(part: str) -> None:
    for file in files_of(part):
        found = [
            f"{name} at line {call.lineno}"
            for name, call in calls_of(file)
            if name in FORBIDDEN_CALLS
        ]
        found += [
            module for module, _, _ in imports_of(file) if module.split(".")[0] in FORBIDDEN_MODULES
        ]
        found += [
            f"S at line {call.lineno}" for name, call in calls_of(file) if name == "S"
        ]  # sympify under another name
        named = {
            alias.name
            for node in nodes_of(file)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        found += sorted(named & FORBIDDEN_CALLS)
        assert not found, f"{file}: {found}"


@pytest.mark.parametrize("part", [part for part in PARTS if part != "cli"])
def test_the_library_never_prints(part: str) -> None:
    for file in files_of(part):
        assert not [call.lineno for name, call in calls_of(file) if name in ("print", "pprint")], (
            file
        )


HEAVY = ["casadi", "numpy", "matplotlib", "scipy", "xarray", "llvmlite", "pandas", "rich", "typer"]
#: The most modules of ours that the access of `da.simulate` may load.
MOST_MODULES = 12
OSCILLATOR = (
    "x = da.coordinates('x'); system = da.System([x], kinetic=x.dot**2/2, potential=x**2/2);"
)


def modules_after(statements: str) -> set[str]:
    """The modules that a new process has loaded after `import dalembert as da` and statements."""
    code = f"import sys, dalembert as da; {statements} print(*sys.modules)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return set(done.stdout.split())


def test_importing_the_library_is_cheap() -> None:
    """Heavy packages are imported where they are used; SymPy only when a name is asked for."""
    assert not modules_after("") & {*HEAVY, "sympy"}


def test_the_access_of_simulate_loads_the_entry_alone() -> None:
    loaded = modules_after("da.simulate;")
    assert not loaded & set(HEAVY)
    ours = sorted(name for name in loaded if name.split(".")[0] == "dalembert")
    assert "dalembert.integrate.simulate" in ours
    assert len(ours) <= MOST_MODULES, ours


def test_stating_a_system_needs_no_solver() -> None:
    heavy = {"casadi", "matplotlib", "scipy", "xarray", "llvmlite"}
    assert not modules_after(OSCILLATOR) & heavy


def test_namespaces_only_name_what_others_hold() -> None:
    for file in FILES:
        if part_of(file) in NAMESPACES and not file.endswith("__init__.py"):
            assert all(
                isinstance(node, ast.ImportFrom | ast.Expr) for node in tree_of(file).body
            ), file


# -- packages --------------------------------------------------------------------------------------

#: Modules by the names of their packages, where these differ; those that a notebook brings itself.
PACKAGES = {
    "PIL": "pillow",
    "google_crc32c": "google-crc32c",
    "lazy_loader": "lazy-loader",
    "mpl_toolkits": "matplotlib",
}
BROUGHT_BY_THE_CALLER = {"IPython", "dalembert"}


def test_every_imported_package_is_declared() -> None:
    project = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    declared = {
        re.match(r"[\w-]+", requirement)[0].lower()
        for requirement in (*project["dependencies"], *(line for extra in extras for line in extra))
    }
    for path in FILES:
        for node in nodes_of(path):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module]
            for module in {name.partition(".")[0] for name in names}:
                if module not in sys.stdlib_module_names | BROUGHT_BY_THE_CALLER:
                    assert PACKAGES.get(module, module).lower() in declared, f"{path}: {module}"
