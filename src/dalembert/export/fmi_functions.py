"""Functions of the interface in C, and the bodies that versions 2.0 and 3.0 have in common.

A version has its own types and argument lists; `status`, `FINE` and `FAILED` in the bodies are its.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass

from .c_model import CModel

__all__ = ["Function", "bodies", "interface_text"]

_PREAMBLE = """\
#if defined(_WIN32) || defined(__CYGWIN__)
#define EXPORTED __declspec(dllexport)
#elif defined(__GNUC__)
#define EXPORTED __attribute__((visibility("default")))
#else
#define EXPORTED
#endif

/* Source code is linked with others, so that names need a prefix; a shared library is built with
   the override. */
#ifdef @FMI@_OVERRIDE_FUNCTION_PREFIX
#define NAMED(word) @fmi@##word
#else
#define NAMED(word) @name@_@fmi@##word
#endif
"""

_INSTANCE = """\
#define TOKEN "@token@"

/* The model, and what belongs to the environment of the instance. */
typedef struct {
    model model;
    logger_type logger;
    void *environment;
    char *name;
} instance;

static status complain(instance *i, const char *message)
{
    if (i != 0 && i->logger != 0) {
        LOG(i, message);
    }
    return FAILED;
}

static status told(instance *i, int found)
{
    return found == 0 ? FINE : complain(i, @name@_message(found));
}

static void release(instance *i)
{
    if (i != 0) {
        free(i->name);
        free(i);
    }
}

static instance *instantiate(const char *name, const char *token, logger_type logger,
                             void *environment)
{
    instance *i = calloc(1, sizeof *i);
    if (i == 0) {
        return 0;
    }
    i->logger = logger;
    i->environment = environment;
    i->name = calloc(name != 0 ? strlen(name) + 1 : 1, 1);
    if (i->name != 0 && name != 0) {
        strcpy(i->name, name);
    }
    if (i->name == 0 || token == 0 || strcmp(token, TOKEN) != 0) {
        complain(i, i->name == 0 ? "There is not enough memory."
                                 : "The token is not that of this unit.");
        release(i);
        return 0;
    }
    reset_model(&i->model);
    return i;
}

static status set_up(instance *i, int has_tolerance, double tolerance, double start)
{
    if (has_tolerance) {
        if (!(tolerance > 0.0 && tolerance < 1.0)) {
            return complain(i, "The tolerance must lie between 0 and 1.");
        }
        @name@_set_tolerances(&i->model.work, tolerance, 0.01 * tolerance);
    }
    i->model.time = start;
    return FINE;
}

static status take_step(instance *i, double time, double length)
{
    if (!(length > 0.0)) {
        return complain(i, "A communication step must be positive.");
    }
    if (!(fabs(time - i->model.time) <= 1e-6 * length + 1e-12 * fabs(time))) {
        return complain(i, "A communication step must begin where the last one ended.");
    }
    return told(i, step_model(&i->model, time, length));
}
"""

_BODIES = {
    "fine": "return FINE;",
    "free": "release(c);",
    "leave initialisation": """\
instance *i = c;
i->model.runs = 1;
return told(i, project_model(&i->model));""",
    "reset": """\
instance *i = c;
reset_model(&i->model);
return FINE;""",
    "get": """\
instance *i = c;
size_t k;
int worst = 0;
for (k = 0; k < count; k += 1) {
    int found;
    if (references[k] >= N_REFERENCES) {
        return complain(i, "There is no variable with this value reference.");
    }
    found = get_value(&i->model, references[k], &values[k]);
    worst = found > worst ? found : worst;
}
return told(i, worst);""",
    "set": """\
instance *i = c;
size_t k;
for (k = 0; k < count; k += 1) {
    if (!set_value(&i->model, references[k], values[k])) {
        return complain(i, "Only parameters, inputs, and the start before it was initialised can"
                           " be set.");
    }
}
return FINE;""",
    "no such type": (
        'return count == 0 ? FINE : complain(c, "All variables of this unit are doubles.");'
    ),
    "get state": """\
instance *i = c;
if (*state == 0) {
    *state = malloc(sizeof(model));
}
if (*state == 0) {
    return complain(i, "There is not enough memory.");
}
memcpy(*state, &i->model, sizeof(model));
return FINE;""",
    "set state": """\
instance *i = c;
memcpy(&i->model, state, sizeof(model));
return FINE;""",
    "free state": """\
if (state != 0) {
    free(*state);
    *state = 0;
}
return FINE;""",
    "size of state": "*size = sizeof(model);\nreturn FINE;",
    "serialise": """\
if (size < sizeof(model)) {
    return complain(c, "The buffer is too small for the state.");
}
memcpy(bytes, state, sizeof(model));
return FINE;""",
    "deserialise": """\
if (size != sizeof(model)) {
    return complain(c, "These bytes are no state of this unit.");
}
if (*state == 0) {
    *state = malloc(sizeof(model));
}
if (*state == 0) {
    return complain(c, "There is not enough memory.");
}
memcpy(*state, bytes, sizeof(model));
return FINE;""",
}


@dataclass(frozen=True)
class Function:
    """A function of the interface.

    Attributes
    ----------
    word : str
        Its name without the version.
    arguments : str
        As C declares them; arguments that the body does not use are marked so.
    body : str
    result : str
        The type of what it returns.
    """

    word: str
    arguments: str
    body: str
    result: str = "status"

    def text(self) -> str:
        """The definition in C."""
        arguments = [part for part in self.arguments.split(",") if part.strip() != "void"]
        names = [re.findall(r"\w+", argument)[-1] for argument in arguments]
        lines = self.body.split("\n")
        unused = [f"(void){name};" for name in names if not re.search(rf"\b{name}\b", self.body)]
        is_code = [not re.match(r"(instance \*|size_t |int )", line) for line in lines]
        declared = is_code.index(True) if True in is_code else 0
        inside = [*lines[:declared], *unused, *lines[declared:]]
        result = self.result if self.result.endswith("*") else f"{self.result} "
        head = textwrap.fill(
            f"EXPORTED {result}NAMED({self.word})({self.arguments})", 100, subsequent_indent=" " * 4
        )
        return "\n".join([head, "{", *(f"    {line}" for line in inside), "}"])


def bodies(name: str) -> str:
    """A body that both versions have."""
    return _BODIES[name]


def interface_text(
    model: CModel, version: str, token: str, shared: str, types: str, functions: Iterable[Function]
) -> str:
    """The C file of a version around a model."""
    title = (
        f"Functional Mock-up Interface {version} for co-simulation, around the model {model.name}."
    )
    parts = [
        f"/* {title} */",
        shared.rstrip(),
        "/* -- the interface -- */",
        _PREAMBLE.rstrip(),
        types.rstrip(),
        _INSTANCE.rstrip(),
        *(function.text() for function in functions),
    ]
    text = "\n\n".join(parts) + "\n"
    fmi = f"fmi{version[0]}"
    words = {"@FMI@": fmi.upper(), "@fmi@": fmi, "@name@": model.name, "@token@": token}
    for word, value in words.items():
        text = text.replace(word, value)
    return text
