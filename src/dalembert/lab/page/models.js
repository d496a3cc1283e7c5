// Opening systems: from the gallery, from the folder, from a file of the reader, from a link; and checking them.

import * as api from "./api.js";
import { debounce, notice } from "./dom.js";
import { adoptOptions, dropUnknown, isEdited, presentCase, state, tell } from "./state.js";

const MODEL_FILE = /\.(toml|urdf|mjcf|xml)$/;

/** Whether a text states a robot: no TOML begins so. */
export const isXml = (text) => text.trimStart().startsWith("<");

/** The name of a model file; one without such an ending gets that of its text. */
export function fileName(name, text) {
  if (MODEL_FILE.test(name)) return name;
  return `${name}${isXml(text) ? ".urdf" : ".toml"}`;
}

export const STARTER = `name = "Pendulum on a cart"
coordinates = ["x", "theta"]
kinetic = "M*x_dot**2/2 + m/2*((x_dot + l*theta_dot*cos(theta))**2 + (l*theta_dot*sin(theta))**2)"
potential = "-m*g*l*cos(theta)"

[parameters]
M = 2.0
m = 1.0
l = 1.0
g = 9.81

[start]
theta = "pi/3"

[simulate]
t = [0, 10]

[[drawing]]
ground = [[-2, -0.15], [2, -0.15]]

[[drawing]]
body = { at = ["x", 0], box = [0.6, 0.3] }

[[drawing]]
link = [["x", 0], ["x + l*sin(theta)", "-l*cos(theta)"]]

[[drawing]]
point = ["x + l*sin(theta)", "-l*cos(theta)"]
size = 14
color = "accent"
`;

function clear() {
  Object.assign(state, { model: null, error: null, values: null, startError: null, result: null, kept: null });
  adoptOptions({});
  tell("open");
  tell("result");
}

export async function openSystem(name, options = null) {
  const entry = await api.get(`/api/gallery/${encodeURIComponent(name)}`);
  clear();
  state.origin = { kind: "gallery", name };
  state.base = name;
  state.title = entry.title ?? name;
  state.source = entry.source ?? "";
  state.text = state.original = entry.text ?? null;
  if (options) adoptOptions(options);
  return checkNow();
}

export async function openFile(name) {
  const entry = await api.get(`/api/files/${encodeURIComponent(name)}`);
  return openText(entry.text, { kind: "file", name, modified: entry.modified });
}

/** Open a text that is not, or not yet, a file of the folder. */
export async function openText(text, origin = { kind: "text", name: "model.toml" }, options = null, base = null) {
  clear();
  state.origin = origin;
  state.base = base;
  state.title = origin.name;
  state.source = "";
  state.text = text;
  state.original = origin.kind === "file" ? text : "";
  if (options) adoptOptions(options);
  return checkNow();
}

export async function openCase(given) {
  if (typeof given.text !== "string") return openSystem(given.system, given);
  return openText(given.text, { kind: "text", name: fileName("model", given.text) }, given, given.system ?? null);
}

const askCheck = api.latest((signal, body) => api.post("/api/check", body, signal));
const askStart = api.latest((signal, body) => api.post("/api/start", body, signal));

/** The reference alone: values of the page may not fit the text while it is being typed. */
function reference() {
  const { system, text } = presentCase();
  return { system, text };
}

export async function checkNow() {
  checkSoon.cancel();
  state.checking = true;
  tell("edit");
  let answer;
  try {
    answer = await askCheck(reference());
  } catch (failure) {
    answer = { ok: false, error: failure.error ?? { what: String(failure.message) } };
  }
  if (answer === undefined) return false;
  state.checking = false;
  if (answer.ok) {
    state.model = answer.model;
    state.error = null;
    if (state.origin.kind !== "gallery" || isEdited()) {
      state.title = answer.model.name || state.origin.name;
      state.source = answer.model.source ?? "";
    }
    dropUnknown();
  } else {
    state.error = answer.error;
  }
  tell("model");
  return answer.ok ? startNow() : false;
}

const checkSoon = debounce(checkNow, 350);

async function startNow() {
  if (!state.model || state.error) return false;
  try {
    const answer = await askStart(presentCase());
    if (answer === undefined) return false;
    state.startError = answer.error ?? null;
    if (!answer.error) state.values = answer;
  } catch (failure) {
    state.startError = failure.error ?? { what: String(failure.message) };
  }
  tell("start");
  return !state.startError;
}

const startSoon = debounce(startNow, 180);

/** A value of the case has changed. */
export function caseChanged() {
  tell("case");
  startSoon();
}

/** The text has been edited. */
export function edit(text) {
  state.text = text;
  state.checking = true;
  tell("edit");
  checkSoon();
}

/** Do something the reader asked for; an error is shown above the page, and an earlier one goes. */
export async function attempt(action) {
  notice(null);
  return orNotice(action);
}

export async function orNotice(action) {
  try {
    return await action();
  } catch (failure) {
    notice(failure.error ?? { what: String(failure.message ?? failure) });
    return undefined;
  }
}
