// Undo and redo of parameters, start values and options; texts have the undo of their field.

import { byId, setIcon } from "./dom.js";
import { caseChanged } from "./models.js";
import { refreshSetup } from "./setup.js";
import { adoptOptions, on, presentCase, state } from "./state.js";

const PAUSE = 700; // milliseconds between two changes of the same value that count as one
const MOST = 200;
const KEYS = ["parameters", "start", "span", "form", "method", "rtol", "step"];
const past = [];
const future = [];
let present = null;
let last = { time: 0, what: "" };

const snapshot = () => JSON.stringify(Object.fromEntries(KEYS.map((key) => [key, presentCase()[key] ?? null])));

/** The names of what differs, so that the moves of one slider are one change. */
function changed(before, after) {
  const [a, b] = [JSON.parse(before), JSON.parse(after)];
  const names = (key) => [...new Set([...Object.keys(a[key] ?? {}), ...Object.keys(b[key] ?? {})])];
  const inside = (key) => names(key).filter((name) => a[key]?.[name] !== b[key]?.[name]);
  const whole = KEYS.slice(2).filter((key) => JSON.stringify(a[key]) !== JSON.stringify(b[key]));
  return [...inside("parameters"), ...inside("start").map((name) => `${name}(0)`), ...whole].join(" ");
}

function show() {
  byId("undo").disabled = !past.length;
  byId("redo").disabled = !future.length;
}

function note() {
  const now = snapshot();
  if (present === null || now === present) return;
  const what = changed(present, now);
  const time = performance.now();
  if (!past.length || what !== last.what || time - last.time > PAUSE) past.push(present);
  if (past.length > MOST) past.shift();
  last = { time, what };
  future.length = 0;
  present = now;
  show();
}

function move(from, to) {
  if (!from.length || !state.model) return;
  to.push(present);
  present = from.pop();
  last = { time: 0, what: "" };
  adoptOptions(JSON.parse(present));
  refreshSetup();
  caseChanged();
  show();
}

function begin() {
  past.length = future.length = 0;
  present = snapshot();
  show();
}

export function wireUndo() {
  setIcon(byId("undo"), "undo");
  setIcon(byId("redo"), "redo");
  byId("undo").addEventListener("click", () => move(past, future));
  byId("redo").addEventListener("click", () => move(future, past));
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.target.closest("textarea, dialog")) return;
    const key = event.key.toLowerCase();
    if (key === "z" && !event.shiftKey) move(past, future);
    else if (key === "y" || (key === "z" && event.shiftKey)) move(future, past);
    else return;
    event.preventDefault();
  });
  on("case", note);
  on("open", begin);
  on("model", () => {
    if (!past.length && !future.length) present = snapshot();
  });
  begin();
}
