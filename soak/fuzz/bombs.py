"""Texts that are small to write and large to work on: each has to be read or refused within bounds
of time and memory.
"""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["expression_bombs", "model_bombs"]


def expression_bombs() -> Iterator[tuple[str, str]]:
    """A label and a text, in the symbols x, y, m, t; the longest is 10 MB."""
    yield "parentheses", "(" * 100_000 + "x" + ")" * 100_000
    yield "calls", "sin(" * 30_000 + "x" + ")" * 30_000
    yield "signs", "-" * 100_000 + "x"
    yield "tower", "9**9**9**9"
    yield "large exponent", "x**(10**9)"
    yield "small power", "2**-(10**12)"
    yield "factorial", "*".join(str(k) for k in range(1, 2000))
    yield "ten megabytes", "x+" * 5_000_000 + "x"
    yield "million digits", "9" * 1_000_000
    yield "fraction of digits", "0." + "3" * 90_000
    yield "extremes", _nested(38)
    yield "wide extreme", "Min(" + ",".join(_sum(k, 90) for k in range(8)) + ")"
    yield "many extremes", "+".join(f"Max(x, y, {k}*x**2, 1, x**2 + {k})" for k in range(1, 700))
    yield "fine angles", "+".join(f"sin({k}*pi/{k + 7})" for k in range(1, 1500))
    yield "magnitude of a product", "abs(" + "*".join(f"(x - {k}*y)" for k in range(900)) + ")"
    yield "distributed sums", "2*(" * 99 + "+".join(f"x**{k}*y" for k in range(900)) + ")" * 99
    yield "nested cases", "where(x > 1, y, " * 39 + "0" + ")" * 39
    yield "fractions", "+".join(f"x/{k}" for k in range(1, 4000))
    yield "hidden overflow", "(x*10**300)*10**300"
    yield "hidden underflow", "(x*1e-300)*1e-300"
    yield "roots", "sqrt(" * 39 + "x**2 + 2" + ")" * 39


def _nested(depth: int) -> str:
    text = "x"
    for k in range(depth):
        text = f"{'Max' if k % 2 else 'Min'}({text}, {_sum(k, 3)})"
    return text


def _sum(seed: int, terms: int) -> str:
    return " + ".join(
        f"{(seed * 7 + k * 3) % 19 - 9}*x**{k % 6}*y**{(seed + k) % 4}" for k in range(terms)
    )


def model_bombs() -> Iterator[tuple[str, str]]:
    """A label and the text of a model file."""
    head = 'coordinates = ["x"]\nkinetic = "x_dot**2/2"\n'
    yield (
        "unknown names beside many",
        (
            f'{head}potential = "{"ab" * 49}q"\n[parameters]\n'
            + "\n".join(f"{'ba' * 47}{k:04d} = 1" for k in range(4900))
        ),
    )
    yield "many faults", head + "\n".join(f'wrong_{k} = "a"' for k in range(30_000))
    yield "long arrays", f"{head}[simulate]\nt = [0, 1]\nat = [{'0.5,' * 150_000}]\n"
    yield "formulas in arrays", head + "[simulate]\nt = [0, 1]\nat = [" + '"1/2",' * 60_000 + "]\n"
    yield "dotted keys", f"{head}{'a.' * 150}b = 1\n" * 400
    yield "nested arrays", f"{head}a = {'[' * 100_000}\n"
    yield "nested tables", head + "".join(f"[{'.'.join('a' * k)}]\n" for k in range(1, 150))
    yield "many constraints", head + "constraints = [" + '"x_dot = 0",' * 1000 + "]\n"
    yield "many drawings", head + '[[drawing]]\npoint = ["x", "0"]\n' * 20_000
    yield (
        "large matrix",
        head + '[rates]\nx = "1"\n[matrices]\nM = [' + ("[" + "0," * 300 + "],") * 300 + "]\n",
    )
    yield "long comment", head + "#" * 990_000
    yield "long string", head + 'summary = "' + "a" * 990_000 + '"\n'
    yield (
        "parameters in a row",
        f"{head}[parameters]\na0 = 1\n"
        + "\n".join(f'a{k} = "a{k - 1} + 1"' for k in range(1, 4900)),
    )
    yield "escapes", head + 'summary = "' + "\\u0041" * 150_000 + '"\n'
