"""C text that both versions of the interface share: an instance, its values, a step."""

from __future__ import annotations

from string import Template

from .c_model import CModel

__all__ = ["shared_text"]

_TEXT = Template("""\
#include "$name.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Value references: time, parameters, inputs, state, rates, what is observed. */
enum {
    FIRST_PARAMETER = 1,
    FIRST_INPUT = FIRST_PARAMETER + ${HEAD}_N_PARAMETERS,
    FIRST_STATE = FIRST_INPUT + ${HEAD}_N_INPUTS,
    FIRST_RATE = FIRST_STATE + ${HEAD}_N_STATE,
    FIRST_SEEN = FIRST_RATE + ${HEAD}_N_STATE,
    N_SEEN = $seen,
    N_REFERENCES = FIRST_SEEN + N_SEEN
};

/* Fails to compile where the observed quantities are not as many numbers in a row. */
typedef char seen_is_all_numbers[sizeof(${name}_seen) == $size * sizeof(double) ? 1 : -1];

/* An instance without what belongs to its environment: copying it copies the whole state. */
typedef struct {
    double time;
    double parameters[${HEAD}_N_PARAMETERS + 1];
    double inputs[${HEAD}_N_INPUTS + 1];
    double state[${HEAD}_N_STATE];
    double rates[${HEAD}_N_STATE];
    double seen[$size];
    int runs;       /* initialised: the start cannot be set any more */
    int moved;      /* parameters changed since the state was last on the constraints */
    int knows_rates, knows_seen;
    ${name}_work work;
} model;

static void apply_settings(model *m)
{
    ${name}_parameters values;
$fields
    ${name}_set_parameters(&m->work, &values);
    ${name}_set_inputs(&m->work, m->inputs);
    m->knows_rates = 0;
    m->knows_seen = 0;
}

/* Parameters, start and tolerances as they were exported. */
static void reset_model(model *m)
{
    ${name}_parameters values;
    memset(m, 0, sizeof *m);
    ${name}_open(&m->work, 0);
    ${name}_default_parameters(&values);
$defaults
    ${name}_default_start(m->state);
    apply_settings(m);
}

/* The state brought to the constraints. */
static int project_model(model *m)
{
    apply_settings(m);
    m->moved = 0;
    return ${name}_project(&m->work, m->time, m->state);
}

static int get_value(model *m, unsigned int reference, double *value)
{
    int status = 0;
    if (reference == 0) {
        *value = m->time;
    } else if (reference < FIRST_INPUT) {
        *value = m->parameters[reference - FIRST_PARAMETER];
    } else if (reference < FIRST_STATE) {
        *value = m->inputs[reference - FIRST_INPUT];
    } else if (reference < FIRST_RATE) {
        *value = m->state[reference - FIRST_STATE];
    } else if (reference < FIRST_SEEN) {
        if (!m->knows_rates) {
            apply_settings(m);
            status = ${name}_rates(&m->work, m->time, m->state, m->rates);
            m->knows_rates = status < ${HEAD}_CONTRADICTORY;
        }
        *value = m->rates[reference - FIRST_RATE];
    } else {
        if (!m->knows_seen) {
            ${name}_seen seen;
            apply_settings(m);
            status = ${name}_observe(&m->work, m->time, m->state, &seen);
            memcpy(m->seen, &seen, sizeof seen);
            m->knows_seen = status < ${HEAD}_CONTRADICTORY;
        }
        *value = m->seen[reference - FIRST_SEEN];
    }
    return status < ${HEAD}_CONTRADICTORY ? 0 : status;
}

/* Whether a value may be set now; it is then set. */
static int set_value(model *m, unsigned int reference, double value)
{
    if (reference >= FIRST_PARAMETER && reference < FIRST_INPUT) {
        m->parameters[reference - FIRST_PARAMETER] = value;
        m->moved = 1;
    } else if (reference >= FIRST_INPUT && reference < FIRST_STATE) {
        m->inputs[reference - FIRST_INPUT] = value;
    } else if (reference >= FIRST_STATE && reference < FIRST_RATE && !m->runs) {
        m->state[reference - FIRST_STATE] = value;
        m->moved = 1;
    } else {
        return 0;
    }
    m->knows_rates = 0;
    m->knows_seen = 0;
    return 1;
}

/* One communication step, by as many steps of the integrator as the tolerance asks for; inputs are
   held. */
static int step_model(model *m, double time, double length)
{
    int status = 0;
    m->time = time;
    apply_settings(m);
    if (m->moved) {
        status = project_model(m);
    }
    if (status == 0) {
        status = ${name}_run(&m->work, time, m->state, time + length, &m->time);
    }
    return status;
}
""")


def shared_text(model: CModel) -> str:
    """The text for a model."""
    seen = sum(quantity.size for quantity in model.observed)
    names = [word for word, _ in model.parameters]
    pairs = [(f"values.{word}", f"m->parameters[{k}]") for k, word in enumerate(names)]
    fields = "\n".join(f"    {field} = {place};" for field, place in pairs)
    defaults = "\n".join(f"    {place} = {field};" for field, place in pairs) or "    (void)values;"
    return _TEXT.substitute(
        name=model.name,
        HEAD=model.head,
        seen=seen,
        size=max(1, seen),
        fields=fields or "    values.none = 0.0;",
        defaults=defaults,
    )
