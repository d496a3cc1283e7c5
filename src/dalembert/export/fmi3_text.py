"""The functions of FMI 3.0; those of other kinds of units say that this one is for co-simulation.

Names, argument lists and the meaning of both are those of the standard: Functional Mock-up
Interface Specification, version 3.0, chapter 2 (all kinds of units) and chapter 4 (co-simulation).
"""

from __future__ import annotations

from collections.abc import Iterator

from .c_model import CModel
from .fmi_functions import Function, bodies, interface_text
from .fmu_model_text import shared_text

__all__ = ["fmi3_text"]

_TYPES = """\
#include <stdbool.h>
#include <stdint.h>

typedef enum { fmi3OK, fmi3Warning, fmi3Discard, fmi3Error, fmi3Fatal } status;
typedef enum {
    fmi3Independent, fmi3Constant, fmi3Fixed, fmi3Tunable, fmi3Discrete, fmi3Dependent
} dependency;
typedef enum { fmi3IntervalNotYetKnown, fmi3IntervalUnchanged, fmi3IntervalChanged } qualifier;
typedef uint32_t reference;
typedef const char *string;
typedef const uint8_t *binary;
typedef void (*logger_type)(void *environment, status found, string category, string message);
typedef void (*intermediate_update)(void *environment, double time, bool set_requested,
                                    bool get_allowed, bool step_finished, bool can_return_early,
                                    bool *return_requested, double *return_time);
typedef void (*clock_update)(void *environment);
typedef void (*preemption)(void);

#define FINE fmi3OK
#define FAILED fmi3Error
#define LOG(i, message) (i)->logger((i)->environment, fmi3Error, "error", message)"""

#: Types of variables that a unit does not have, with their types in C.
_OTHER_TYPES = {
    "Float32": "float", "Int8": "int8_t", "UInt8": "uint8_t", "Int16": "int16_t",
    "UInt16": "uint16_t", "Int32": "int32_t", "UInt32": "uint32_t", "Int64": "int64_t",
    "UInt64": "uint64_t", "Boolean": "bool", "String": "string",
}  # fmt: skip

_STEP = """\
instance *i = c;
const status found = take_step(i, time, length);
*needs_event = false;
*ends = false;
*early = false;
*reached = i->model.time;
return found;"""

_UPDATE = """\
*again = false;
*ends = false;
*nominals_changed = false;
*states_changed = false;
*has_next_event = false;
*next_event = 0.0;
return FINE;"""


def fmi3_text(model: CModel, token: str) -> str:
    """The C file of the interface for a model; `token` is its instantiation token."""
    functions = (*_life(), *_values(), *_states(), *_co_simulation(), *_clocks(), *_exchange())
    return interface_text(model, "3.0", token, shared_text(model), _TYPES, functions)


_UNIT = "void *c"
_SOME = f"{_UNIT}, const reference references[], size_t count"
_OTHER_KIND = 'return complain(c, "This unit is for co-simulation.");'


def _life() -> Iterator[Function]:
    yield Function("GetVersion", "void", 'return "3.0";', "string")
    logging = f"{_UNIT}, bool on, size_t count, const string categories[]"
    yield Function("SetDebugLogging", logging, bodies("fine"))
    called = "string name, string token, string resources, bool visible, bool on"
    others = f"{called}, void *environment, logger_type logger"
    yield Function("InstantiateModelExchange", others, "return 0;", "void *")
    scheduled = f"{others}, clock_update updated, preemption lock, preemption unlock"
    yield Function("InstantiateScheduledExecution", scheduled, "return 0;", "void *")
    ours = f"{called}, bool event_mode, bool may_return_early"
    ours = f"{ours}, const reference intermediate[], size_t n_intermediate"
    ours = f"{ours}, void *environment, logger_type logger, intermediate_update update"
    made = "return instantiate(name, token, logger, environment);"
    yield Function("InstantiateCoSimulation", ours, made, "void *")
    yield Function("FreeInstance", _UNIT, bodies("free"), "void")
    arguments = f"{_UNIT}, bool has_tolerance, double tolerance, double start"
    arguments = f"{arguments}, bool has_stop, double stop"
    set_up = "return set_up(c, has_tolerance, tolerance, start);"
    yield Function("EnterInitializationMode", arguments, set_up)
    yield Function("ExitInitializationMode", _UNIT, bodies("leave initialisation"))
    yield Function("EnterEventMode", _UNIT, 'return complain(c, "This unit has no events.");')
    yield Function("Terminate", _UNIT, bodies("fine"))
    yield Function("Reset", _UNIT, bodies("reset"))


def _values() -> Iterator[Function]:
    none, number = bodies("no such type"), "size_t n_values"
    for word, kind in _OTHER_TYPES.items():
        yield Function(f"Get{word}", f"{_SOME}, {kind} values[], {number}", none)
        yield Function(f"Set{word}", f"{_SOME}, const {kind} values[], {number}", none)
    sizes, given = "size_t sizes[], binary values[]", "const size_t sizes[], const binary values[]"
    yield Function("GetBinary", f"{_SOME}, {sizes}, {number}", none)
    yield Function("SetBinary", f"{_SOME}, {given}, {number}", none)
    yield Function("GetClock", f"{_SOME}, bool values[]", bodies("no such type"))
    yield Function("SetClock", f"{_SOME}, const bool values[]", bodies("no such type"))
    yield Function("GetFloat64", f"{_SOME}, double values[], size_t n_values", bodies("get"))
    yield Function("SetFloat64", f"{_SOME}, const double values[], size_t n_values", bodies("set"))
    reason = "Dependencies are not told: each output may depend on everything."
    unknown = f'return complain(c, "{reason}");'
    one = f"{_UNIT}, reference which"
    yield Function("GetNumberOfVariableDependencies", f"{one}, size_t *count", unknown)
    arguments = f"{one}, size_t places[], reference independents[], size_t other_places[]"
    arguments = f"{arguments}, dependency kinds[], size_t count"
    yield Function("GetVariableDependencies", arguments, unknown)
    arguments = f"{_UNIT}, const reference unknowns[], size_t n_unknowns"
    arguments = f"{arguments}, const reference knowns[], size_t n_knowns"
    arguments = f"{arguments}, const double seed[], size_t n_seed"
    arguments = f"{arguments}, double sensitivity[], size_t n_sensitivity"
    refusal = 'return complain(c, "This unit gives no such derivatives.");'
    for word in ("Directional", "Adjoint"):
        yield Function(f"Get{word}Derivative", arguments, refusal)


def _states() -> Iterator[Function]:
    yield Function("GetFMUState", f"{_UNIT}, void **state", bodies("get state"))
    yield Function("SetFMUState", f"{_UNIT}, void *state", bodies("set state"))
    yield Function("FreeFMUState", f"{_UNIT}, void **state", bodies("free state"))
    size = f"{_UNIT}, void *state, size_t *size"
    yield Function("SerializedFMUStateSize", size, bodies("size of state"))
    out = f"{_UNIT}, void *state, uint8_t bytes[], size_t size"
    yield Function("SerializeFMUState", out, bodies("serialise"))
    back = f"{_UNIT}, const uint8_t bytes[], size_t size, void **state"
    yield Function("DeserializeFMUState", back, bodies("deserialise"))


def _co_simulation() -> Iterator[Function]:
    yield Function("EnterConfigurationMode", _UNIT, bodies("fine"))
    yield Function("ExitConfigurationMode", _UNIT, bodies("fine"))
    yield Function("EnterStepMode", _UNIT, bodies("fine"))
    arguments = f"{_UNIT}, double time, double length, bool no_return"
    arguments = f"{arguments}, bool *needs_event, bool *ends, bool *early"
    yield Function("DoStep", f"{arguments}, double *reached", _STEP)
    rates = 'return count == 0 ? FINE : complain(c, "Read the variables der(...) for rates.");'
    arguments = f"{_SOME}, const int32_t orders[], double values[], size_t n_values"
    yield Function("GetOutputDerivatives", arguments, rates)
    yield Function("EvaluateDiscreteStates", _UNIT, bodies("fine"))
    flags = "bool *again, bool *ends, bool *nominals_changed, bool *states_changed"
    flags = f"{flags}, bool *has_next_event"
    yield Function("UpdateDiscreteStates", f"{_UNIT}, {flags}, double *next_event", _UPDATE)


def _clocks() -> Iterator[Function]:
    none = 'return count == 0 ? FINE : complain(c, "This unit has no clocks.");'
    fractions = "uint64_t counters[], uint64_t resolutions[]"
    given = "const uint64_t counters[], const uint64_t resolutions[]"
    decimal = f"{_SOME}, double intervals[], qualifier qualifiers[]"
    yield Function("GetIntervalDecimal", decimal, none)
    yield Function("GetIntervalFraction", f"{_SOME}, {fractions}, qualifier qualifiers[]", none)
    yield Function("GetShiftDecimal", f"{_SOME}, double shifts[]", none)
    yield Function("GetShiftFraction", f"{_SOME}, {fractions}", none)
    yield Function("SetIntervalDecimal", f"{_SOME}, const double intervals[]", none)
    yield Function("SetIntervalFraction", f"{_SOME}, {given}", none)
    yield Function("SetShiftDecimal", f"{_SOME}, const double shifts[]", none)
    yield Function("SetShiftFraction", f"{_SOME}, {given}", none)
    yield Function("ActivateModelPartition", f"{_UNIT}, reference which, double time", _OTHER_KIND)


def _exchange() -> Iterator[Function]:
    yield Function("EnterContinuousTimeMode", _UNIT, _OTHER_KIND)
    completed = f"{_UNIT}, bool no_return, bool *event, bool *ends"
    yield Function("CompletedIntegratorStep", completed, _OTHER_KIND)
    yield Function("SetTime", f"{_UNIT}, double time", _OTHER_KIND)
    states = f"{_UNIT}, const double states[], size_t count"
    yield Function("SetContinuousStates", states, _OTHER_KIND)
    words = ("ContinuousStateDerivatives", "EventIndicators", "ContinuousStates")
    for word in (*words, "NominalsOfContinuousStates"):
        yield Function(f"Get{word}", f"{_UNIT}, double values[], size_t count", _OTHER_KIND)
    for word in ("EventIndicators", "ContinuousStates"):
        yield Function(f"GetNumberOf{word}", f"{_UNIT}, size_t *count", _OTHER_KIND)
