// What the page knows, in one place. Parts change it through the functions here and hear of changes by topic:
//   "model"  another system or text, checked anew      "case"    a parameter, start value or option
//   "start"  completed start values                    "result"  a run has ended; A was kept or dropped
//   "edit"   the text has changed and is not checked yet   "open"  another model is being opened

const listeners = new Map();

export function on(topic, listener) {
  if (!listeners.has(topic)) listeners.set(topic, new Set());
  listeners.get(topic).add(listener);
}

export function tell(topic) {
  for (const listener of listeners.get(topic) ?? []) listener();
}

export const state = {
  origin: { kind: "gallery", name: "snakeboard" }, // or {kind: "file"|"text", name}
  title: "",
  source: "",
  text: null, // the model file as edited; null where a gallery system has none
  original: null, // as it was opened
  base: null, // the gallery system that the text began as
  parameters: {},
  start: {},
  span: null,
  form: null,
  method: null,
  rtol: null,
  step: null,
  model: null, // the server's description of the text
  error: null, // or why there is none
  checking: false, // whether an answer is awaited
  running: false, // whether a run is under way
  values: null, // the server's answer about the start
  startError: null,
  result: null, // RESULT with `.request`, the case it came from
  kept: null, // the same, kept as A
};

export const isEdited = () => state.text !== null && state.text !== state.original;

/** The common part of every request about the present model. */
export function presentCase() {
  const untouched = state.origin.kind === "gallery" && !isEdited();
  const reference = untouched ? { system: state.origin.name } : { text: state.text ?? "" };
  if (!untouched && state.base) reference.system = state.base;
  const { parameters, start, span, form, method, rtol, step } = state;
  return { ...reference, parameters: { ...parameters }, start: { ...start }, span, form, method, rtol, step };
}

/** Whether two different runs are on show. */
export const isComparing = () => Boolean(state.kept && state.result && state.kept !== state.result);

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** Whether the result on show came from another case than the present one. */
export const isStale = () => Boolean(state.result) && !same(state.result.request, presentCase());

/** Whether the result on show is of the present model, whatever its values. */
export function isOfPresentModel() {
  const [then, now] = [state.result?.request, presentCase()];
  return Boolean(then) && then.system === now.system && then.text === now.text;
}

/** Take over a case, that of a link or of A. */
export function adoptOptions(given) {
  state.parameters = { ...(given.parameters ?? {}) };
  state.start = { ...(given.start ?? {}) };
  for (const key of ["span", "form", "method", "rtol", "step"]) state[key] = given[key] ?? null;
}

/** Drop values of names that the checked model does not have. */
export function dropUnknown() {
  const known = new Set(state.model.parameters.map((entry) => entry.name));
  const letters = new Set(state.model.state);
  for (const name of Object.keys(state.parameters)) if (!known.has(name)) delete state.parameters[name];
  for (const name of Object.keys(state.start)) if (!letters.has(name)) delete state.start[name];
  const form = state.model.forms.find((entry) => entry.name === state.form);
  if (state.form && !form?.applies) state.form = null;
  if (state.method && !state.model.methods.includes(state.method)) state.method = null;
}
