"""Random texts of the model language and random model files, right ones and nearly right ones, for
hypothesis.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from dalembert.errors import DalembertError
from dalembert.model.io.files import loads

__all__ = ["FAULTS", "broken_models", "expression_texts", "model_tables", "toml_text"]

UNARY = [
    "sin",
    "cos",
    "tanh",
    "atan",
    "exp",
    "Abs",
    "abs",
    "sign",
    "asinh",
    "-",
    "+",
    "(",
    "sqrt(1 + ",
    "log(2 + ",
]
SYMBOLS = ["x", "y", "x_dot", "m", "t", "pi"]
NUMBERS = ["0", "1", "2", "3", "7", "0.5", "1.25", "1e-3", "2.5e1", ".5", "3."]


@st.composite
def expression_texts(draw: Any, symbols: tuple[str, ...] = tuple(SYMBOLS), depth: int = 4) -> str:
    """Text that the model language takes, unless a constant in it has no value."""
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        return draw(st.sampled_from([*symbols, *NUMBERS]))
    part = expression_texts(symbols, depth - 1)
    match draw(st.integers(0, 5)):
        case 0 | 1:
            sign = draw(st.sampled_from(["+", "-", "*", " + ", " - ", "*", "/"]))
            return f"{draw(part)}{sign}{draw(part)}"
        case 2:
            power = draw(
                st.sampled_from(["2", "3", "-1", "-2", "1/2", "-2**2", "x", "0.5", "(1/3)"])
            )
            return f"({draw(part)})**{power}"
        case 3:
            name = draw(st.sampled_from(UNARY))
            opened = name if name.endswith(("(", "+ ", "-", "+")) else f"{name}("
            inner = f"({draw(part)})**2" if opened.startswith(("sqrt", "log")) else draw(part)
            return f"{opened}{inner}" + ")" * opened.count("(")
        case 4:
            sign = draw(st.sampled_from(["<", "<=", ">", ">="]))
            return f"where({draw(part)} {sign} {draw(part)}, {draw(part)}, {draw(part)})"
        case _:
            name = draw(st.sampled_from(["Min", "Max", "min", "max", "atan2"]))
            return f"{name}({draw(part)}, {draw(part)})"


@st.composite
def model_tables(draw: Any) -> dict[str, Any]:
    """The table of a model file with a definite kinetic energy, and whatever else a file may
    hold.
    """
    names = draw(
        st.lists(
            st.sampled_from(["x", "y", "theta", "q_1", "lambda", "S"]),
            min_size=1,
            max_size=3,
            unique=True,
        )
    )
    others = [name for name in ("m", "k", "E", "sin", "g_0") if draw(st.booleans())]
    weights = [
        draw(st.sampled_from([*others, "2", "0.5 + sin({0})**2"])).format(name) for name in names
    ]
    text = expression_texts((*names, *others, "2"), 2)
    number = st.floats(0.1, 10.0) | st.integers(1, 5)
    table: dict[str, Any] = {
        "name": draw(st.text(st.characters(exclude_categories=["Cs"]), max_size=12)) or "system",
        "coordinates": names,
        "kinetic": " + ".join(
            f"({w})**2*{q}_dot**2/2" for w, q in zip(weights, names, strict=True)
        ),
        "potential": draw(text),
        "parameters": {name: draw(number) for name in others},
        "start": {name: draw(st.floats(-1.0, 1.0)) for name in names},
        "simulate": {
            "t": [0, draw(st.integers(1, 9))],
            "rtol": draw(st.sampled_from([1e-6, 1e-9])),
        },
    }
    if draw(st.booleans()):
        table["forces"] = {names[0]: f"-{draw(text)}*{names[0]}_dot"}
    if draw(st.booleans()):
        table["outputs"] = {"height": draw(text)}
    if len(names) > 1 and draw(st.booleans()):
        table["constraints"] = [f"{names[0]}_dot - ({draw(text)})*{names[1]}_dot = 0"]
    return table


def toml_text(table: dict[str, Any]) -> str:
    """A table of model values as TOML, by a writer of its own: scalars and arrays first, then one
    table after the other.
    """
    collected = {key: value for key, value in table.items() if not isinstance(value, dict)}
    lines = [f"{_key(key)} = {_value(value)}" for key, value in collected.items()]
    for key, entries in table.items():
        if isinstance(entries, dict):
            lines += [
                f"[{_key(key)}]",
                *(f"{_key(name)} = {_value(value)}" for name, value in entries.items()),
            ]
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    return json.dumps(name, ensure_ascii=True)


def _value(value: Any) -> str:
    if isinstance(value, Raw):
        return value.text
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, str):  # as TOML escapes it: beyond the basic plane by eight digits
        return '"' + "".join(_escaped(c) for c in value) + '"'
    return "true" if value is True else "false" if value is False else repr(value)


def _escaped(character: str) -> str:
    return (
        character
        if character.isascii() and character.isprintable() and character not in '"\\'
        else f"\\U{ord(character):08x}"
    )


class Raw:
    """A value that is written as it stands."""

    def __init__(self, text: str) -> None:
        self.text = text


#: What may be wrong with a value; a place that takes text takes no date, a place that takes a
#: number no truth.
FAULTS = {
    "a date": Raw("1979-05-27"),
    "a table in an array": Raw("[{a = 1}]"),
    "a truth": True,
    "not a number": Raw("nan"),
    "infinite": Raw("-inf"),
    "huge": Raw("9" * 400),
}


def _is_taken(table: dict[str, Any]) -> bool:
    """Whether a table has no fault of its own, such as a root of a negative constant."""
    try:
        loads(toml_text(table))
    except DalembertError:
        return False
    return True


@st.composite
def broken_models(draw: Any) -> tuple[dict[str, Any], str]:
    """A model file with one fault, and the word that an error has to say."""
    table = draw(model_tables().filter(_is_taken))
    places = [("kinetic", None), ("potential", None), ("coordinates", None), ("simulate", "rtol")]
    places += [("start", name) for name in table["start"]] + [
        ("parameters", name) for name in table["parameters"]
    ]
    section, key = draw(st.sampled_from(places))
    named = key or section
    match draw(st.sampled_from(["wrong", "misspelt", "dropped"])):
        case "wrong":
            fault = draw(st.sampled_from(list(FAULTS.values())))
            if key is None:
                table[section] = fault
            else:
                table[section] = table[section] | {key: fault}
            return table, named
        case "misspelt":
            wrong = f"{section}z"
            table[wrong] = table.pop(section)
            return table, wrong
        case _:
            table.pop("coordinates" if section != "kinetic" else "kinetic")
            return table, "coordinates" if section != "kinetic" else "kinetic"
