"""The functions of FMI 2.0 for co-simulation.

Names, argument lists and the meaning of both are those of the standard: Functional Mock-up
Interface for Model Exchange and Co-Simulation, version 2.0.4, sections 2.1 and 4.2.
"""

from __future__ import annotations

from collections.abc import Iterator

from .c_model import CModel
from .fmi_functions import Function, bodies, interface_text
from .fmu_model_text import shared_text

__all__ = ["fmi2_text"]

_TYPES = """\
typedef enum { fmi2OK, fmi2Warning, fmi2Discard, fmi2Error, fmi2Fatal, fmi2Pending } status;
typedef enum { fmi2ModelExchange, fmi2CoSimulation } kind_of_unit;
typedef enum {
    fmi2DoStepStatus, fmi2PendingStatus, fmi2LastSuccessfulTime, fmi2Terminated
} kind_of_status;
typedef unsigned int reference;
typedef const char *string;
typedef void (*logger_type)(void *environment, string name, status found, string category,
                            string message, ...);
typedef struct {
    logger_type logger;
    void *(*allocate)(size_t count, size_t size);
    void (*release)(void *memory);
    void (*step_finished)(void *environment, status found);
    void *environment;
} callbacks;

#define FINE fmi2OK
#define FAILED fmi2Error
#define LOG(i, message) \\
    (i)->logger((i)->environment, (i)->name, fmi2Error, "error", "%s", message)"""

_INSTANTIATE = """\
if (kind != fmi2CoSimulation) {
    return 0;
}
return instantiate(name, token, functions != 0 ? functions->logger : 0,
                   functions != 0 ? functions->environment : 0);"""

_LAST_TIME = """\
instance *i = c;
if (kind != fmi2LastSuccessfulTime) {
    return fmi2Discard;
}
*value = i->model.time;
return FINE;"""


def fmi2_text(model: CModel, token: str) -> str:
    """The C file of the interface for a model; `token` is its GUID."""
    return interface_text(model, "2.0", token, shared_text(model), _TYPES, _functions())


def _functions() -> Iterator[Function]:
    yield from _life()
    yield from _values()
    yield from _steps()


_UNIT = "void *c"
_SOME = f"{_UNIT}, const reference references[], size_t count"


def _life() -> Iterator[Function]:
    yield Function("GetTypesPlatform", "void", 'return "default";', "string")
    yield Function("GetVersion", "void", 'return "2.0";', "string")
    logging = f"{_UNIT}, int on, size_t count, const string categories[]"
    yield Function("SetDebugLogging", logging, bodies("fine"))
    arguments = "string name, kind_of_unit kind, string token, string resources"
    arguments = f"{arguments}, const callbacks *functions, int visible, int on"
    yield Function("Instantiate", arguments, _INSTANTIATE, "void *")
    yield Function("FreeInstance", _UNIT, bodies("free"), "void")
    arguments = f"{_UNIT}, int has_tolerance, double tolerance, double start"
    arguments = f"{arguments}, int has_stop, double stop"
    set_up = "return set_up(c, has_tolerance, tolerance, start);"
    yield Function("SetupExperiment", arguments, set_up)
    yield Function("EnterInitializationMode", _UNIT, bodies("fine"))
    yield Function("ExitInitializationMode", _UNIT, bodies("leave initialisation"))
    yield Function("Terminate", _UNIT, bodies("fine"))
    yield Function("Reset", _UNIT, bodies("reset"))


def _values() -> Iterator[Function]:
    yield Function("GetReal", f"{_SOME}, double values[]", bodies("get"))
    yield Function("SetReal", f"{_SOME}, const double values[]", bodies("set"))
    for word, kind in (("Integer", "int"), ("Boolean", "int"), ("String", "string")):
        yield Function(f"Get{word}", f"{_SOME}, {kind} values[]", bodies("no such type"))
        yield Function(f"Set{word}", f"{_SOME}, const {kind} values[]", bodies("no such type"))
    yield Function("GetFMUstate", f"{_UNIT}, void **state", bodies("get state"))
    yield Function("SetFMUstate", f"{_UNIT}, void *state", bodies("set state"))
    yield Function("FreeFMUstate", f"{_UNIT}, void **state", bodies("free state"))
    size = f"{_UNIT}, void *state, size_t *size"
    yield Function("SerializedFMUstateSize", size, bodies("size of state"))
    out = f"{_UNIT}, void *state, char bytes[], size_t size"
    yield Function("SerializeFMUstate", out, bodies("serialise"))
    back = f"{_UNIT}, const char bytes[], size_t size, void **state"
    yield Function("DeSerializeFMUstate", back, bodies("deserialise"))
    arguments = f"{_UNIT}, const reference unknowns[], size_t n_unknowns"
    arguments = f"{arguments}, const reference knowns[], size_t n_knowns"
    arguments = f"{arguments}, const double seed[], double sensitivity[]"
    refusal = 'return complain(c, "This unit gives no directional derivatives.");'
    yield Function("GetDirectionalDerivative", arguments, refusal)
    held = 'return count == 0 ? FINE : complain(c, "Inputs are held over a step.");'
    rates = f"{_SOME}, const int order[]"
    yield Function("SetRealInputDerivatives", f"{rates}, const double values[]", held)
    read = 'return count == 0 ? FINE : complain(c, "Read the variables der(...) for rates.");'
    yield Function("GetRealOutputDerivatives", f"{rates}, double values[]", read)


def _steps() -> Iterator[Function]:
    arguments = f"{_UNIT}, double time, double length, int no_return"
    yield Function("DoStep", arguments, "return take_step(c, time, length);")
    done = 'return complain(c, "Steps are finished when the call returns.");'
    yield Function("CancelStep", _UNIT, done)
    asked = f"{_UNIT}, const kind_of_status kind"
    yield Function("GetRealStatus", f"{asked}, double *value", _LAST_TIME)
    types = {"": "status", "Integer": "int", "Boolean": "int", "String": "string"}
    for word, kind in types.items():
        yield Function(f"Get{word}Status", f"{asked}, {kind} *value", "return fmi2Discard;")
