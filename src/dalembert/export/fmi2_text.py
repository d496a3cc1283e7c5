"""The functions of FMI 2.0 for co-simulation.

Names, argument lists and the meaning of both are those of the standard: Functional Mock-up Interface for Model Exchange and
Co-Simulation, version 2.0.4, sections 2.1 and 4.2.
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
typedef enum { fmi2DoStepStatus, fmi2PendingStatus, fmi2LastSuccessfulTime, fmi2Terminated } kind_of_status;
typedef unsigned int reference;
typedef const char *string;
typedef void (*logger_type)(void *environment, string name, status found, string category, string message, ...);
typedef struct {
    logger_type logger;
    void *(*allocate)(size_t count, size_t size);
    void (*release)(void *memory);
    void (*step_finished)(void *environment, status found);
    void *environment;
} callbacks;

#define FINE fmi2OK
#define FAILED fmi2Error
#define LOG(i, message) (i)->logger((i)->environment, (i)->name, fmi2Error, "error", "%s", message)"""

_INSTANTIATE = """\
if (kind != fmi2CoSimulation) {
    return 0;
}
return instantiate(name, token, functions != 0 ? functions->logger : 0, functions != 0 ? functions->environment : 0);"""

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
    unit = "void *c"
    yield Function("GetTypesPlatform", "void", 'return "default";', "string")
    yield Function("GetVersion", "void", 'return "2.0";', "string")
    yield Function("SetDebugLogging", f"{unit}, int on, size_t count, const string categories[]", bodies("fine"))
    arguments = (
        "string name, kind_of_unit kind, string token, string resources, const callbacks *functions, int visible, int on"
    )
    yield Function("Instantiate", arguments, _INSTANTIATE, "void *")
    yield Function("FreeInstance", unit, bodies("free"), "void")
    arguments = f"{unit}, int has_tolerance, double tolerance, double start, int has_stop, double stop"
    yield Function("SetupExperiment", arguments, "return set_up(c, has_tolerance, tolerance, start);")
    yield Function("EnterInitializationMode", unit, bodies("fine"))
    yield Function("ExitInitializationMode", unit, bodies("leave initialisation"))
    yield Function("Terminate", unit, bodies("fine"))
    yield Function("Reset", unit, bodies("reset"))
    some = f"{unit}, const reference references[], size_t count"
    yield Function("GetReal", f"{some}, double values[]", bodies("get"))
    yield Function("SetReal", f"{some}, const double values[]", bodies("set"))
    for word, kind in (("Integer", "int"), ("Boolean", "int"), ("String", "string")):
        yield Function(f"Get{word}", f"{some}, {kind} values[]", bodies("no such type"))
        yield Function(f"Set{word}", f"{some}, const {kind} values[]", bodies("no such type"))
    yield Function("GetFMUstate", f"{unit}, void **state", bodies("get state"))
    yield Function("SetFMUstate", f"{unit}, void *state", bodies("set state"))
    yield Function("FreeFMUstate", f"{unit}, void **state", bodies("free state"))
    yield Function("SerializedFMUstateSize", f"{unit}, void *state, size_t *size", bodies("size of state"))
    yield Function("SerializeFMUstate", f"{unit}, void *state, char bytes[], size_t size", bodies("serialise"))
    yield Function("DeSerializeFMUstate", f"{unit}, const char bytes[], size_t size, void **state", bodies("deserialise"))
    arguments = f"{unit}, const reference unknowns[], size_t n_unknowns, const reference knowns[], size_t n_knowns"
    refusal = 'return complain(c, "This unit gives no directional derivatives.");'
    yield Function("GetDirectionalDerivative", f"{arguments}, const double seed[], double sensitivity[]", refusal)
    held = 'return count == 0 ? FINE : complain(c, "Inputs are held over a step.");'
    yield Function("SetRealInputDerivatives", f"{some}, const int order[], const double values[]", held)
    rates = 'return count == 0 ? FINE : complain(c, "Read the variables der(...) for rates.");'
    yield Function("GetRealOutputDerivatives", f"{some}, const int order[], double values[]", rates)
    yield Function("DoStep", f"{unit}, double time, double length, int no_return", "return take_step(c, time, length);")
    yield Function("CancelStep", unit, 'return complain(c, "Steps are finished when the call returns.");')
    yield Function("GetRealStatus", f"{unit}, const kind_of_status kind, double *value", _LAST_TIME)
    for word, kind in (("Status", "status"), ("IntegerStatus", "int"), ("BooleanStatus", "int"), ("StringStatus", "string")):
        yield Function(f"Get{word}", f"{unit}, const kind_of_status kind, {kind} *value", "return fmi2Discard;")
