"""Model files that are wrong in every way we could think of: each must end in one clear error, and
quickly.

`hostile_models()` gives pairs of a label and the bytes of a file, always the same ones in the same
order.
"""

from __future__ import annotations

from collections.abc import Iterator

GOOD = """\
name = "Pendulum"
coordinates = ["x", "y"]
kinetic = "m*(x_dot**2 + y_dot**2)/2"
potential = "m*g*y"
constraints = ["x**2 + y**2 - l**2 = 0"]
[parameters]
m = 1.0
g = 9.81
l = 1.0
[forces]
x = "-c0*x_dot + u"
[inputs]
u = "sin(t)"
[outputs]
height = "y + l"
[start]
x = 1.0
y_dot = 0.5
[simulate]
t = [0, 10]
rtol = 1e-9
"""
GOOD = GOOD.replace("c0", "0.1")


def swapped(old: str, new: str) -> bytes:
    """The good model with one piece replaced."""
    assert GOOD.count(old) >= 1, old
    return GOOD.replace(old, new, 1).encode("utf-8", "surrogatepass")


def with_expression(text: str) -> bytes:
    """The good model with another potential; the text is quoted for TOML."""
    quoted = (
        '"'
        + text.replace("\\", "\\\\")
        .replace('"', '\\"')
        .replace("\n", "\\n")
        .replace("\x00", "\\u0000")
        + '"'
    )
    return swapped('"m*g*y"', quoted)


EXPRESSIONS = {
    "empty": "",
    "blank": "   ",
    "unknown name": "m*g*h",
    "unknown function": "foo(y)",
    "misspelt velocity": "m*x_dott",
    "misspelt parameter": "mm*y",
    "acceleration": "m*x_ddot",
    "velocity in a potential": "m*x_dot",
    "momentum in a potential": "p_x",
    "input in a potential": "u*y",
    "import": "__import__('os').system('true')",
    "import without quotes": "__import__(os)",
    "builtins": "__builtins__",
    "getattr": "getattr(x, y)",
    "eval": "eval(x)",
    "exec": "exec(x)",
    "open": "open(x)",
    "attribute": "x.__class__",
    "attribute chain": "().__class__.__bases__[0].__subclasses__()",
    "method": "x.subs(x, 1)",
    "lambda": "(lambda: 0)()",
    "lambda with argument": "lambda q: q",
    "list comprehension": "[q for q in x]",
    "generator": "sum(q for q in x)",
    "dictionary": "{x: y}",
    "set": "{x, y}",
    "list": "[x, y]",
    "tuple": "(x, y)",
    "index": "x[0]",
    "slice": "x[1:2]",
    "formatted string": "f'{x}'",
    "string": "'x'",
    "bytes": "b'x'",
    "walrus": "(x := 1)",
    "conditional": "x if y else 0",
    "boolean and": "x and y",
    "boolean not": "not x",
    "true": "True",
    "none": "None",
    "ellipsis": "...",
    "star": "*x",
    "double star": "f(**x)",
    "keyword argument": "sin(x=1)",
    "await": "await x",
    "yield": "(yield x)",
    "semicolon": "x; y",
    "newline": "x\ny",
    "comment": "x # y",
    "backslash": "x \\ y",
    "assignment": "x = y",
    "comparison": "x < y",
    "caret": "x^2",
    "floor division": "x//2",
    "remainder": "x % 2",
    "matrix product": "x @ y",
    "shift": "x << 2",
    "bit and": "x & y",
    "bit or": "x | y",
    "complement": "~x",
    "factorial": "x!",
    "dollar": "$x",
    "backtick": "`x`",
    "question": "x?",
    "missing operator": "2 x",
    "implicit product": "2x",
    "called symbol": "x(y)",
    "trailing operator": "x +",
    "leading operator": "* x",
    "two operators": "x */ y",
    "triple star": "x***y",
    "open parenthesis": "(x + y",
    "closed parenthesis": "x + y)",
    "crossed parentheses": ")x(",
    "empty parentheses": "()",
    "empty call": "sin()",
    "function without call": "sin + 1",
    "too many arguments": "sin(x, y)",
    "too few arguments": "atan2(x)",
    "trailing comma": "sin(x,)",
    "comma": "x, y",
    "decimal comma": "0,5*x",
    "where without comparison": "where(x, 1, 2)",
    "where with two arguments": "where(x > 0, 1)",
    "where with chain": "where(0 < x < 1, 1, 2)",
    "where in where": "where(where(x > 0, 1, 2) > 1, 1, 2)",
    "comparison as argument": "sin(x > 0)",
    "division by zero": "1/0",
    "hidden division by zero": "y/(x - x)",
    "zero to a negative power": "0**-1",
    "imaginary": "sqrt(-1)*y",
    "imaginary root": "(-8)**(1/3)",
    "imaginary function": "sqrt(-1 - x**2 + x**2)",
    "domain of asin": "asin(2)",
    "domain of log": "log(0)",
    "domain of acosh": "acosh(1/2)",
    "infinite literal": "1e999",
    "vanishing literal": "1e-999*y",
    "inf": "inf",
    "nan": "nan",
    "infinity of SymPy": "oo",
    "overflow": "exp(1000)",
    "overflow of a product": "1e200*1e200*y",
    "tower": "9**9**9**9",
    "tower of symbols": "**".join("x" * 5000),
    "tower of squares": "x" + "**2" * 5000,
    "tower of exponentials": "exp(" * 30 + "1" + ")" * 30,
    "nested powers": "((2*x)**999)**999",
    "large exponent": "x**100000",
    "large integer": "9" * 2000,
    "long product": "*".join("9" * 300 for _ in range(200)),
    "long fraction sum": " + ".join(f"1/{k}" for k in range(1, 3000)),
    "fraction power": "(10**300/(10**300 + 1))**1000",
    "many parentheses": "(" * 5000 + "x" + ")" * 5000,
    "many open parentheses": "(" * 90000,
    "many minus signs": "-" * 90000,
    "many calls": "sin(" * 3000 + "x" + ")" * 3000,
    "many words": "+x" * 40000,
    "long text": "x + " * 40000 + "x",
    "long name": "x" * 5000,
    "zero byte": "x\x00",
    "control character": "x\x07",
    "zero width space": "x\u200b + y",
    "right-to-left mark": "x\u202e + y",
    "cyrillic symbol": "\u0445",
    "greek omicron": "\u03bf",
    "theta symbol": "\u03d1",
    "mathematical symbol": "\U0001d465",
    "full width symbol": "\uff58",
    "full width digit": "\uff11",
    "arabic digit": "\u0663",
    "superscript": "x\u00b2",
    "subscript": "x\u2081",
    "ligature": "\ufb01",
    "combining accent": "e\u0301",
    "unicode minus": "x \u2212 y",
    "emoji": "\U0001f600",
    "hexadecimal": "0x10",
    "binary": "0b1",
    "underscored number": "1_000",
    "imaginary literal": "1j",
    "two points": "1.2.3",
    "lonely point": ".",
    "lonely exponent": "1e",
}

PIECES = {
    "no coordinates": ('coordinates = ["x", "y"]\n', ""),
    "empty coordinates": ('["x", "y"]', "[]"),
    "coordinates as text": ('["x", "y"]', '"x y"'),
    "coordinates of numbers": ('["x", "y"]', "[1, 2]"),
    "coordinates as table": ('["x", "y"]', "{x = 1}"),
    "repeated coordinate": ('["x", "y"]', '["x", "y", "x"]'),
    "coordinate that is no name": ('["x", "y"]', '["x", "y", "2z"]'),
    "coordinate with a space": ('["x", "y"]', '["x", "y", "a b"]'),
    "empty coordinate": ('["x", "y"]', '["x", "y", ""]'),
    "coordinate called t": ('["x", "y"]', '["x", "y", "t"]'),
    "coordinate like a velocity": ('["x", "y"]', '["x", "y", "x_dot"]'),
    "coordinate like a momentum": ('["x", "y"]', '["x", "y", "p_x"]'),
    "coordinate like a parameter": ('["x", "y"]', '["x", "y", "m"]'),
    "coordinate of code": ('["x", "y"]', '["x", "y", "__import__(\'os\')"]'),
    "coordinate with a newline": ('["x", "y"]', '["x", "y", "a\\nb"]'),
    "look-alike coordinate": ('["x", "y"]', '["x", "y", "\u0445"]'),
    "long coordinate": ('["x", "y"]', '["x", "y", "' + "q" * 5000 + '"]'),
    "too many coordinates": ('["x", "y"]', "[" + ", ".join(f'"q{k}"' for k in range(3000)) + "]"),
    "unknown key": ("name =", "title ="),
    "misspelt kinetic": ("kinetic =", "kinetik ="),
    "misspelt table": ("[parameters]", "[parameter]"),
    "drawing": ("[start]", "[drawing]\nshape = 1\n[start]"),
    "unknown table": ("[start]", "[colours]\nred = 1\n[start]"),
    "name as number": ('"Pendulum"', "3"),
    "name as array": ('"Pendulum"', '["a"]'),
    "no energies": ('kinetic = "m*(x_dot**2 + y_dot**2)/2"\npotential = "m*g*y"\n', ""),
    "potential alone": ('kinetic = "m*(x_dot**2 + y_dot**2)/2"\n', ""),
    "two energies": ("potential =", "lagrangian ="),
    "lagrangian and hamiltonian": ("kinetic =", 'hamiltonian = "p_x**2"\nlagrangian ='),
    "hamiltonian of velocities": (
        'kinetic = "m*(x_dot**2 + y_dot**2)/2"\npotential = "m*g*y"',
        'hamiltonian = "m*x_dot**2"',
    ),
    "kinetic of momenta": ("x_dot**2 + y_dot**2", "p_x**2 + p_y**2"),
    "kinetic as boolean": ('"m*(x_dot**2 + y_dot**2)/2"', "true"),
    "kinetic as array": ('"m*(x_dot**2 + y_dot**2)/2"', "[1]"),
    "kinetic as date": ('"m*(x_dot**2 + y_dot**2)/2"', "2020-01-01"),
    "kinetic infinite": ('"m*(x_dot**2 + y_dot**2)/2"', "inf"),
    "kinetic not a number": ('"m*(x_dot**2 + y_dot**2)/2"', "nan"),
    "dissipation of speeds": ("[parameters]", 'dissipation = "u1**2"\n[parameters]'),
    "constraint without variables": ('"x**2 + y**2 - l**2 = 0"', '"l = 1"'),
    "contradiction": ('"x**2 + y**2 - l**2 = 0"', '"1 = 0"'),
    "tautology": ('"x**2 + y**2 - l**2 = 0"', '"x - x = 0"'),
    "zero": ('"x**2 + y**2 - l**2 = 0"', '"0"'),
    "constraint on time": ('"x**2 + y**2 - l**2 = 0"', '"t = 1"'),
    "one-sided without variables": ('"x**2 + y**2 - l**2 = 0"', '"l <= 1"'),
    "one-sided on velocities": ('"x**2 + y**2 - l**2 = 0"', '"x_dot <= 1"'),
    "constraint on velocities and momenta": ('"x**2 + y**2 - l**2 = 0"', '"x_dot - p_y = 0"'),
    "constraint with input": ('"x**2 + y**2 - l**2 = 0"', '"x = u"'),
    "constraint with two relations": ('"x**2 + y**2 - l**2 = 0"', '"0 <= x <= 1"'),
    "constraint with unequal": ('"x**2 + y**2 - l**2 = 0"', '"x != 1"'),
    "empty constraint": ('"x**2 + y**2 - l**2 = 0"', '""'),
    "constraint as number": ('"x**2 + y**2 - l**2 = 0"', "1"),
    "constraint as array": ('"x**2 + y**2 - l**2 = 0"', '["x"]'),
    "constraints as text": ('["x**2 + y**2 - l**2 = 0"]', '"x = 0"'),
    "constraint table without expression": ('"x**2 + y**2 - l**2 = 0"', '{name = "a"}'),
    "constraint table with unknown key": (
        '"x**2 + y**2 - l**2 = 0"',
        '{expression = "x = 0", nmae = "a"}',
    ),
    "constraint of unknown kind": (
        '"x**2 + y**2 - l**2 = 0"',
        '{expression = "x = 0", kind = "holonomik"}',
    ),
    "constraint of number kind": ('"x**2 + y**2 - l**2 = 0"', '{expression = "x = 0", kind = 1}'),
    "constraint of wrong kind": (
        '"x**2 + y**2 - l**2 = 0"',
        '{expression = "x = 0", kind = "velocity"}',
    ),
    "holonomic with velocities": (
        '"x**2 + y**2 - l**2 = 0"',
        '{expression = "x_dot = 0", kind = "holonomic"}',
    ),
    "two-sided called unilateral": (
        '"x**2 + y**2 - l**2 = 0"',
        '{expression = "x = 0", kind = "unilateral"}',
    ),
    "one-sided called holonomic": (
        '"x**2 + y**2 - l**2 = 0"',
        '{expression = "x <= 0", kind = "holonomic"}',
    ),
    "negative restitution": (
        '"x**2 + y**2 - l**2 = 0"',
        '{expression = "x <= 0", restitution = -0.5}',
    ),
    "restitution above one": (
        '"x**2 + y**2 - l**2 = 0"',
        '{expression = "x <= 0", restitution = 1.5}',
    ),
    "restitution by expression above one": (
        '"x**2 + y**2 - l**2 = 0"',
        '{expression = "x <= 0", restitution = "2*l"}',
    ),
    "restitution of state": (
        '"x**2 + y**2 - l**2 = 0"',
        '{expression = "x <= 0", restitution = "x"}',
    ),
    "restitution not a number": (
        '"x**2 + y**2 - l**2 = 0"',
        '{expression = "x <= 0", restitution = nan}',
    ),
    "restitution as boolean": (
        '"x**2 + y**2 - l**2 = 0"',
        '{expression = "x <= 0", restitution = true}',
    ),
    "restitution of a two-sided one": (
        '"x**2 + y**2 - l**2 = 0"',
        '{expression = "x = 0", restitution = 0.5}',
    ),
    "work of a one-sided one": (
        '"x**2 + y**2 - l**2 = 0"',
        '{expression = "x <= 0", work = {x = "1"}}',
    ),
    "work on a stranger": ('"x**2 + y**2 - l**2 = 0"', '{expression = "x = 0", work = {q = "1"}}'),
    "work as text": ('"x**2 + y**2 - l**2 = 0"', '{expression = "x = 0", work = "1"}'),
    "constraint name as number": ('"x**2 + y**2 - l**2 = 0"', '{expression = "x = 0", name = 1}'),
    "constraint name with newline": (
        '"x**2 + y**2 - l**2 = 0"',
        '{expression = "x = 0", name = "a\\nb"}',
    ),
    "empty constraint name": ('"x**2 + y**2 - l**2 = 0"', '{expression = "x = 0", name = ""}'),
    "constraints of one name": (
        '["x**2 + y**2 - l**2 = 0"]',
        '[{expression = "x = 0", name = "a"}, {expression = "y = 0", name = "a"}]',
    ),
    "too many constraints": ('["x**2 + y**2 - l**2 = 0"]', "[" + '"x = 0", ' * 2000 + "]"),
    "parameters as array": ("[parameters]\nm = 1.0\ng = 9.81\nl = 1.0\n", ""),
    "parameter as boolean": ("m = 1.0", "m = true"),
    "parameter as array": ("m = 1.0", "m = [1.0]"),
    "parameter as table": ("m = 1.0", "m = {value = 1}"),
    "parameter as date": ("m = 1.0", "m = 2020-01-01"),
    "parameter infinite": ("m = 1.0", "m = inf"),
    "parameter not a number": ("m = 1.0", "m = nan"),
    "parameter too large": ("m = 1.0", "m = 1e999"),
    "parameter as long integer": ("m = 1.0", "m = " + "9" * 4000),
    "parameter as endless integer": ("m = 1.0", "m = " + "9" * 50000),
    "parameter of itself": ("m = 1.0", 'm = "m"'),
    "parameters in a circle": ("m = 1.0\ng = 9.81", 'm = "g"\ng = "m"'),
    "parameter of state": ("m = 1.0", 'm = "x"'),
    "parameter of time": ("m = 1.0", 'm = "t"'),
    "parameter of code": ("m = 1.0", "m = \"__import__('os')\""),
    "parameter without value": ("m = 1.0", 'm = "1/(g - g)"'),
    "parameter outside the range": ("m = 1.0", 'm = "exp(g*100)"'),
    "parameter outside the domain": ("m = 1.0", 'm = "sqrt(-g)"'),
    "parameter called t": ("m = 1.0", "m = 1.0\nt = 1.0"),
    "parameter like a velocity": ("m = 1.0", "m = 1.0\nx_dot = 1.0"),
    "parameter like an acceleration": ("m = 1.0", "m = 1.0\ny_ddot = 1.0"),
    "parameter like an input": ("m = 1.0", "m = 1.0\nu = 1.0"),
    "parameter that is no name": ("m = 1.0", 'm = 1.0\n"a b" = 1.0'),
    "parameter with a newline": ("m = 1.0", 'm = 1.0\n"a\\nb" = 1.0'),
    "nested parameters": ("m = 1.0", "m = 1.0\na.b.c = 1.0"),
    "repeated parameter": ("m = 1.0", "m = 1.0\nm = 2.0"),
    "undeclared parameter": ("g = 9.81\n", ""),
    "too many parameters": ("m = 1.0", "m = 1.0\n" + "\n".join(f"a{k} = 1" for k in range(9000))),
    "force on a stranger": ('x = "-0.1*x_dot + u"', 'q = "1"'),
    "force on a misspelt coordinate": ('x = "-0.1*x_dot + u"', 'x_ = "1"'),
    "force as array": ('"-0.1*x_dot + u"', "[1]"),
    "force with unknown name": ("x_dot + u", "x_dot + w"),
    "forces as text": ('[forces]\nx = "-0.1*x_dot + u"\n', 'forces = "x"\n'),
    "input of input": ('"sin(t)"', '"u"'),
    "input of strangers": ('"sin(t)"', '"sin(q)"'),
    "input as array": ('"sin(t)"', "[1, 2]"),
    "input as table": ('"sin(t)"', "{free = 1}"),
    "input called like a coordinate": ('u = "sin(t)"', 'u = "sin(t)"\nx = "1"'),
    "output of strangers": ('"y + l"', '"q"'),
    "output that is no name": ("height =", '"a b" ='),
    "output like a coordinate": ("height =", "x ="),
    "image without speeds": ("[start]", '[image]\nx = "1"\n[start]'),
    "image with empty speeds": ("[start]", '[image]\nspeeds = []\nx = "1"\n[start]'),
    "image with repeated speeds": (
        "[start]",
        '[image]\nspeeds = ["w", "w"]\nx = "w"\ny = "w"\n[start]',
    ),
    "image with missing velocity": ("[start]", '[image]\nspeeds = ["w"]\nx = "w"\n[start]'),
    "image on a stranger": (
        "[start]",
        '[image]\nspeeds = ["w"]\nx = "w"\ny = "w"\nq = "w"\n[start]',
    ),
    "image that is not linear": (
        "[start]",
        '[image]\nspeeds = ["w"]\nx = "w**2"\ny = "w"\n[start]',
    ),
    "image that is affine": ("[start]", '[image]\nspeeds = ["w"]\nx = "w + 1"\ny = "w"\n[start]'),
    "image of velocities": ("[start]", '[image]\nspeeds = ["w"]\nx = "y_dot"\ny = "w"\n[start]'),
    "speed like a parameter": ("[start]", '[image]\nspeeds = ["m"]\nx = "m"\ny = "m"\n[start]'),
    "bundle beside velocities": ("[start]", '[bundle]\nw = "x_dot"\n[start]'),
    "bundle that is not linear": ("[start]", '[bundle]\nw = "x_dot**2"\n[start]'),
    "bundle of text": ("[start]", '[bundle]\nw = ["x_dot"]\n[start]'),
    "bundle of code": ("[start]", '[bundle]\nw = "__import__(os)"\n[start]'),
    "bundle with a name that is none": ("[start]", '[bundle]\n"2 w" = "x_dot"\n[start]'),
    "speeds as text": ("[start]", '[image]\nspeeds = "w"\nx = "w"\ny = "w"\n[start]'),
    "start of a stranger": ("y_dot = 0.5", "z_dot = 0.5"),
    "start of a parameter": ("y_dot = 0.5", "m = 0.5"),
    "start of an acceleration": ("y_dot = 0.5", "y_ddot = 0.5"),
    "start of an unknown multiplier": ("y_dot = 0.5", "chi_blade = 0.5"),
    "start as boolean": ("y_dot = 0.5", "y_dot = false"),
    "start as array": ("y_dot = 0.5", "y_dot = [0.5]"),
    "start infinite": ("y_dot = 0.5", "y_dot = -inf"),
    "start of state": ("y_dot = 0.5", 'y_dot = "x"'),
    "start of code": ("y_dot = 0.5", 'y_dot = "exit()"'),
    "start outside the domain": ("y_dot = 0.5", 'y_dot = "sqrt(-l)"'),
    "repeated start": ("y_dot = 0.5", "y_dot = 0.5\ny_dot = 0.6"),
    "start as text": ("[start]\nx = 1.0\ny_dot = 0.5\n", ""),
    "span of one": ("t = [0, 10]", "t = [10]"),
    "span of three": ("t = [0, 10]", "t = [0, 5, 10]"),
    "empty span": ("t = [0, 10]", "t = [1, 1]"),
    "span as number": ("t = [0, 10]", "t = 10"),
    "span infinite": ("t = [0, 10]", "t = [0, inf]"),
    "span of text": ("t = [0, 10]", 't = ["a", "b"]'),
    "span of booleans": ("t = [0, 10]", "t = [false, true]"),
    "times outside the span": ("rtol =", "at = [1, 11]\nrtol ="),
    "no times": ("rtol =", "at = []\nrtol ="),
    "times not numbers": ("rtol =", "at = [nan]\nrtol ="),
    "negative tolerance": ("rtol = 1e-9", "rtol = -1e-9"),
    "zero tolerance": ("rtol = 1e-9", "atol = 0"),
    "tolerance as array": ("rtol = 1e-9", "rtol = [1e-9]"),
    "tolerance as boolean": ("rtol = 1e-9", "rtol = true"),
    "method as number": ("rtol = 1e-9", "method = 853"),
    "form as array": ("rtol = 1e-9", 'form = ["hamilton"]'),
    "unknown option": ("rtol = 1e-9", "rtoll = 1e-9"),
    "option of Python": ("rtol = 1e-9", "max_steps = 10"),
    "syntax: no value": ("m = 1.0", "m ="),
    "syntax: no key": ("m = 1.0", "= 1.0"),
    "syntax: open string": ('"Pendulum"', '"Pendulum'),
    "syntax: open array": ('["x", "y"]', '["x", "y"'),
    "syntax: open table": ("[start]", "[start"),
    "syntax: repeated table": ("[start]", "[parameters]\n[start]"),
    "syntax: bare text": ('"Pendulum"', "Pendulum"),
    "syntax: Python": ("m = 1.0", "m: float = 1.0"),
    "syntax: escape": ('"Pendulum"', '"\\q"'),
    "syntax: control character": ('"Pendulum"', '"\x01"'),
    "syntax: null": ("m = 1.0", "m = null"),
}
EMPTIED = {"parameters as array": "parameters = []\n", "start as text": 'start = "x"\n'}

FILES = {
    "empty file": b"",
    "blank file": b" \n\n",
    "only a comment": b"# nothing\n",
    "not UTF-8": b'name = "\xff\xfe"\n',
    "UTF-16": GOOD.encode("utf-16"),
    "binary": bytes(range(256)) * 10,
    "executable": b"\x7fELF\x02\x01\x01" + b"\x00" * 100,
    "zero bytes": b"\x00" * 1000,
    "JSON": b'{"coordinates": ["x"], "kinetic": "x_dot**2/2"}',
    "YAML": b"coordinates:\n  - x\nkinetic: x_dot**2/2\n",
    "Python": b"import os\nos.system('true')\n",
    "pickle": (
        b"\x80\x04\x95\x1d\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93\x94"
    ),
    "XML bomb": b'<!DOCTYPE a [<!ENTITY b "c"><!ENTITY d "&b;&b;">]><a>&d;</a>',
    "too large": b"#" * 1_100_000,
    "large binary": b"\xf0" * 1_000_000,
    "deep arrays": b"a = " + b"[" * 50_000,
    "closed deep arrays": b"a = " + b"[" * 3_000 + b"]" * 3_000,
    "deep tables": b"a = " + b"{b = " * 20_000,
    "deep keys": b".".join([b"a"] * 100_000) + b" = 1\n",
    "deep header": b"[" + b".".join([b"a"] * 50_000) + b"]\n",
    "many keys": b"\n".join(b"k%d = 1" % k for k in range(50_000)),
    "many tables": b"\n".join(b"[k%d]" % k for k in range(50_000)),
    "many faults": GOOD.encode() + b"\n".join(b"k%d = 1" % k for k in range(20_000)),
    "long line": b'name = "' + b"a" * 900_000,
    "top-level array of tables": b"[[coordinates]]\nx = 1\n",
    "only a name": b'name = "a"\n',
    "only coordinates": b'coordinates = ["x"]\n',
}


def hostile_models() -> Iterator[tuple[str, bytes]]:
    """Pairs of a label and the bytes of a model file that must be refused."""
    for label, text in EXPRESSIONS.items():
        yield f"expression: {label}", with_expression(text)
    for label, (old, new) in PIECES.items():
        content = swapped(old, new)
        yield f"piece: {label}", EMPTIED.get(label, "").encode() + content
    for label, content in FILES.items():
        yield f"file: {label}", content
