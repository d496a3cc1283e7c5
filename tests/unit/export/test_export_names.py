"""Names of a model that mean something elsewhere: exports compile and give the same numbers, or
are refused in a sentence.
"""

from __future__ import annotations

import ast
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy

import dalembert as da
from c_library import COMPILER, CLibrary, needs_compiler
from dalembert.errors import ModelError
from dalembert.export.c_model import c_model
from dalembert.export.c_names import identifiers
from dalembert.export.export_task import read_export
from dalembert.export.fmu_variables import unit_variables
from dalembert.export.jax_source import jax_source
from dalembert.presentation.document_layout import escaped, verbatim

#: Words of C and C++, functions and macros of their headers, words of Python, and names that an
#: export has itself.
PARAMETERS = """
    int double register restrict inline typeof nullptr alignas constexpr static_assert
    and xor bool true wchar_t
    sin gamma y0 j1 log exp isnan signbit assert main printf malloc
    I NULL EOF M_PI M_E INFINITY NAN HUGE_VAL FP_NAN SEEK_SET RAND_MAX EXIT_SUCCESS
    DBL_MAX linux unix errno math_errhandling
    lambda print jnp jax None self def E pi_ N S zoo
    none parameters context work seen out scratch program model model_open N_STATE
    a_b a_B x_1 x1 X1 u03b8 θ energy time
""".split()  # noqa: SIM905
STATE = ["OK", "H", "N_ROWS", "MAIN", "double", "M_PI", "x", "X", "σ", "u03c3"]
LONG = "k" * 100
EVIL = 'a"""\\ %#$&_{}~^\n\nimport os */ ??/ \x1b[0m'


def crowded(coordinates: list[str], parameters: list[str]) -> da.Equations:
    """Oscillators with a constraint; every parameter has an influence of its own."""
    found = [da.coordinates(name) for name in coordinates]
    values = [da.parameters(name) for name in parameters]
    kinetic = sum((1 + q**2 / 4) * q.dot**2 / 2 for q in found)
    potential = sum((k + 1) * p * found[k % len(found)] ** 2 / 20 for k, p in enumerate(values))
    row = da.velocity(found[0].dot - 2 * found[1].dot, name=EVIL)
    return da.derive(
        da.System(found, kinetic=kinetic, potential=potential, constraints=[row], name=EVIL),
        "lagrange",
    )


@pytest.fixture(scope="module")
def equations() -> da.Equations:
    names = [name for name in PARAMETERS if name not in STATE]
    return crowded(STATE, [*names, LONG])


def at(equations: da.Equations) -> tuple[Any, Any, Any]:
    """A state, parameters, and the rates by native code."""
    kernel = equations.compile()
    values, y = np.linspace(0.5, 1.5, len(kernel.parameters)), np.linspace(0.1, 0.7, kernel.n_state)
    return y, values, kernel.rates(0.2, y, values)


@pytest.mark.long
@needs_compiler
def test_c_compiles_and_gives_the_same_numbers(equations: da.Equations, tmp_path: Path) -> None:
    """Parameters called M_PI, FP_NAN, RAND_MAX or typeof had a header that no compiler took."""
    y, values, expected = at(equations)
    names = [symbol.name for symbol in equations.compile().parameters]
    source = equations.to_c(
        name="model", parameters=dict(zip(names, values, strict=True)), start={}, span=(0, 1)
    )
    library = CLibrary(source, tmp_path, "-O0")
    status, found = library.rates(0.2, y)
    assert status == 0
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    source.write(tmp_path)
    for standard in ("gnu17", "gnu2x"):
        check = [
            str(COMPILER),
            f"-std={standard}",
            "-fsyntax-only",
            "-I",
            str(tmp_path),
            str(tmp_path / "model.c"),
            "-DMODEL_MAIN",
        ]
        run = subprocess.run(check, capture_output=True, text=True)
        assert (
            run.returncode == 0 or "unrecognized" in run.stderr or "invalid value" in run.stderr
        ), run.stderr[:500]


@pytest.mark.long
@pytest.mark.skipif(
    shutil.which("g++") is None, reason="there is no compiler of C++ on this machine"
)
def test_the_header_is_one_of_cpp_too(equations: da.Equations, tmp_path: Path) -> None:
    equations.to_c(name="model").write(tmp_path)
    text = (
        "#include <math.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <limits.h>\n#include"
        ' "model.h"\n'
    )
    run = subprocess.run(
        ["g++", "-fsyntax-only", "-x", "c++", "-I", str(tmp_path), "-"],
        input=text,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr[:500]


@needs_compiler
def test_no_identifier_is_a_macro_of_the_headers_that_are_included() -> None:
    text = "".join(
        f"#include <{name}.h>\n"
        for name in ("math", "string", "stdio", "stdlib", "limits", "float", "stdint")
    )
    run = subprocess.run(
        [str(COMPILER), "-dM", "-E", "-"], input=text, capture_output=True, text=True, check=True
    )
    words = [line.split()[1] for line in run.stdout.splitlines() if len(line.split()) > 2]
    public = {word for word in words if "(" not in word and word[0] != "_"}
    assert "M_PI" in public
    assert not public & set(identifiers(sorted(public)))


def test_ordinary_names_stay_as_they_are() -> None:
    plain = ["m", "M_A", "F_MAX", "EI", "X_1", "FE_1", "EIX", "T_MIN", "gamma", "y0"]
    assert identifiers(plain) == plain


@pytest.mark.parametrize(
    "name", ["string", "String", "Math", "program", "PROGRAM", "time", "stdio", "con"]
)
def test_a_system_called_like_a_file_of_the_compiler(name: str) -> None:
    """A system called String was written to string.h, which then stood for that of C; Program
    had its own functions twice.
    """
    x = da.coordinates("x")
    equations = da.derive(da.System([x], kinetic=x.dot**2 / 2, name=name))
    assert equations.to_c().name == f"{name.lower()}_model"
    with pytest.raises(ModelError, match=r"no standard file .*_model"):
        equations.to_c(name=name)


@pytest.mark.parametrize(("head", "symbol"), [("m", "PI"), ("fp", "NAN"), ("seek", "SET")])
def test_a_symbol_and_the_name_of_an_export_make_no_macro(head: str, symbol: str) -> None:
    q = da.coordinates(symbol)
    source = da.derive(da.System([q], kinetic=q.dot**2 / 2)).to_c(name=head)
    assert (
        f" {head.upper()}_{symbol}," not in source.header
        and f"{head.upper()}_{symbol}_" in source.header
    )


def test_jax_text_is_python_that_imports_jax_alone(equations: da.Equations) -> None:
    text = jax_source(equations.compile())
    names: dict[str, Any] = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign):
            names[ast.unparse(node.targets[0])] = node.value
    assert ast.literal_eval(names["PARAMETERS"]) == [
        symbol.name for symbol in equations.compile().parameters
    ]
    assert ast.literal_eval(names["STATE"]) == [symbol.name for symbol in equations.state]
    imported = [
        node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.Import, ast.ImportFrom))
    ]
    assert {ast.unparse(node) for node in imported} <= {"import jax", "import jax.numpy as jnp"}


def test_casadi_gives_the_same_numbers(equations: da.Equations) -> None:
    y, values, expected = at(equations)
    found = np.array(equations.to_casadi().rates(0.2, y, values, [])).ravel()
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


def test_variables_of_a_unit_have_names_of_their_own() -> None:
    """Two names that differ by a control character only became one when they were written as
    XML.
    """
    x, y = da.coordinates("x y")
    rows = [da.velocity(x.dot - y.dot, name="a\tb"), da.velocity(x.dot + y.dot, name="a b")]
    k = da.parameters("time")
    system = da.System(
        [x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=k * x**2, constraints=rows
    )
    task = read_export(da.derive(system, "lagrange"), {"time": 2.0}, {}, (0, 1))
    names = [variable.name for variable in unit_variables(c_model(task))]
    assert len(set(names)) == len(names) and all(name.isprintable() for name in names)


def test_sympy_takes_any_name_and_mixes_no_two_up() -> None:
    """The speed of x was called u_x, as a coordinate may be; and a constraint called `left
    wheel` ended in a ValueError.
    """
    x, other, z = da.coordinates("x u_x z")
    row = da.velocity(z.dot - x.dot * other, name="left wheel, a:b")
    kinetic = (x.dot**2 + 2 * other.dot**2 + z.dot**2) / 2
    system = da.System([x, other, z], kinetic=kinetic, potential=x * other**2, constraints=[row])
    for form in ("maggi", "lagrange"):
        equations = da.derive(system, form)
        kernel, eom = equations.compile(), equations.to_sympy()
        symbols = [*eom.q, *eom.u]
        assert len(set(symbols)) == len(symbols)
        y = np.linspace(0.3, 0.8, kernel.n_state)
        point = dict(zip(symbols, y, strict=True))
        rates = eom.rhs()[: kernel.n_state, 0]
        moving = sorted(point, key=lambda symbol: -symbol.has(sympy.Derivative))
        found = [float(rate.subs([(symbol, point[symbol]) for symbol in moving])) for rate in rates]
        np.testing.assert_allclose(found, kernel.rates(0.0, y, []), rtol=1e-12)


@pytest.mark.long
def test_latex_has_no_empty_line_in_a_formula_and_no_listing_that_ends_itself() -> None:
    """A name with an empty line in it ended the formula, and one with the end of a listing
    ended that.
    """
    text = verbatim("name = '\\end{verbatim}\\input{/etc/passwd}'")
    assert text.count("\\end{verbatim}") == 1 and text.index("\\input") < text.index(
        "\\end{verbatim}"
    )
    document = crowded(["a", "σ"], ["x_y_z"]).to_latex()
    assert (
        "\x1b" not in document
        and "\nimport os" not in document
        and "\n\nimport" not in escaped(EVIL)
    )


@pytest.mark.long
def test_greek_and_other_symbols_are_those_that_pdflatex_knows() -> None:
    """A coordinate called σ ended pdflatex with an error: that of the document itself."""
    document = crowded(["σ", "жа"], ["Δ_t", "θ1"]).to_latex()
    preamble, _, body = document.partition("\\begin{document}")
    formulas = body.partition("\\begin{verbatim}")[0]
    assert (
        r"\dot{\sigma}" in formulas
        and r"\Delta_{t}" in formulas
        and r"\theta_{1}" in formulas
        and "σ" not in formulas
    )
    for c in {c for c in body if not c.isascii()}:
        assert f"\\DeclareUnicodeCharacter{{{ord(c):04X}}}" in preamble


@pytest.mark.parametrize(("first", "second"), [("x1", "x_1"), ("theta", "θ"), ("theta_1", "θ1")])
def test_symbols_that_look_the_same_in_latex_are_refused(first: str, second: str) -> None:
    """x1 and x_1 were both set as x with the index 1."""
    with pytest.raises(ModelError, match=rf"`{first}` and `{second}` look the same .* rename"):
        crowded([first, "b"], [second]).to_latex()
