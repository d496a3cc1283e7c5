// Many runs in one picture: sweeps, bifurcation diagrams and maps of the largest Lyapunov exponent, drawn while they are computed.

import * as api from "./api.js";
import { bounds, drawAxes, prepare, scale } from "./axes.js";
import { byId, errorNodes, h, perFrame } from "./dom.js";
import { caseChanged } from "./models.js";
import { fieldText, number, plain, readNumber } from "./names.js";
import { quantities } from "./panels.js";
import { refreshSetup } from "./setup.js";
import { on, presentCase, state } from "./state.js";
import { onTheme, palette } from "./theme.js";

const KINDS = [["sweep", "Sweep"], ["bifurcation", "Bifurcation diagram"], ["chaos", "Map of Lyapunov exponents"]];
const [MOST_POINTS, AT_ONCE] = [10000, 64];
const PARTS = ["least", "largest", "last"];
const still = h("canvas", { tabindex: "0", role: "img", "aria-label": "Study" });
const empty = h("p", { class: "empty" }, "Choose what is varied, then Compute. A click in the picture takes its value over.");
const redraw = perFrame(draw);
let found = []; // {point, values}
let asked = null; // what is shown: {kind, names, quantity, across, up}
let computing = null;

const kind = () => byId("study-kind").value;
const parameter = (name) => state.model?.parameters.find((entry) => entry.name === name);

/** A range around the present value of a name. */
function around(name) {
  const value = state.parameters[name] ?? parameter(name)?.value ?? state.start[name] ?? state.values?.values?.[name] ?? 0;
  if (value === 0) return [-1, 1];
  return value > 0 && parameter(name) ? [value / 2, 2 * value] : [value - Math.abs(value), value + Math.abs(value)];
}

function fillRange(axis) {
  const [low, high] = around(byId(`study-${axis}`).value);
  byId(`study-${axis}-from`).value = fieldText(low, 6);
  byId(`study-${axis}-to`).value = fieldText(high, 6);
}

function fill(id, names, wanted) {
  const before = byId(id).value;
  byId(id).replaceChildren(...names.map((name) => h("option", { value: name }, plain(name))));
  byId(id).value = names.includes(before) ? before : (wanted ?? names[0] ?? "");
  return byId(id).value !== before;
}

export function showStudy() {
  if (byId("study").hidden || !state.model || state.error) return;
  const varied = [...state.model.parameters.map((entry) => entry.name), ...state.model.state];
  if (fill("study-x", varied)) fillRange("x");
  if (fill("study-y", varied, varied[1])) fillRange("y");
  const looked = state.result ? Object.keys(quantities(state.result)) : state.model.state;
  fill("study-quantity", [...new Set([...state.model.state, ...looked])]);
  showKind();
  redraw();
}

function showKind() {
  const map = kind() === "chaos";
  byId("study-second").hidden = !map;
  byId("study-quantity").parentElement.hidden = map;
  byId("study-period-label").hidden = kind() !== "bifurcation";
}

function say(error, words = "") {
  byId("study-state").classList.toggle("wrong", Boolean(error));
  byId("study-state").replaceChildren(...(error ? errorNodes(error) : [words]));
}

/** Equally spaced values of an axis; throws where a field is not a number. */
function axisValues(axis) {
  const [low, high, count] = ["from", "to", "count"].map((end) => readNumber(byId(`study-${axis}-${end}`).value));
  if (![low, high, count].every(Number.isFinite) || count < 2 || count !== Math.round(count) || low === high) {
    throw new api.Refusal({ what: "The range needs two different values and their number", remedy: "fill the three fields" }, 0);
  }
  return Array.from({ length: count }, (_, k) => Number((low + ((high - low) * k) / (count - 1)).toPrecision(12)));
}

function question() {
  const names = kind() === "chaos" ? ["x", "y"] : ["x"];
  const [across, up] = [axisValues("x"), names.length > 1 ? axisValues("y") : [null]];
  const points = up.flatMap((b) => across.map((a) => (b === null ? [a] : [a, b])));
  if (points.length > MOST_POINTS) throw new api.Refusal({ what: `A study has at most ${MOST_POINTS} runs`, remedy: "ask for fewer values" }, 0);
  const varied = names.map((axis) => byId(`study-${axis}`).value);
  if (varied[0] === varied[1]) throw new api.Refusal({ what: "A map varies two different quantities", remedy: "choose another one" }, 0);
  const skip = readNumber(byId("study-skip").value);
  const period = readNumber(byId("study-period").value);
  if (!(skip >= 0 && skip < 1)) throw new api.Refusal({ what: "The skipped part is from 0 to below 1" }, 0);
  const more = kind() === "bifurcation" && period !== null ? { period } : {};
  return { head: { study: kind(), names: varied, quantity: byId("study-quantity").value, skip, ...more }, points, across, up };
}

async function compute() {
  const mine = (computing = {});
  let fault = null;
  try {
    const { head, points, across, up } = question();
    asked = { ...head, across, up };
    found = [];
    const present = presentCase();
    let size = 2;
    while (found.length < points.length && computing === mine) {
      progress(found.length / points.length, `${found.length} / ${points.length}`);
      const began = performance.now();
      const some = points.slice(found.length, found.length + size);
      const answer = await api.post("/api/study", { ...present, ...head, points: some });
      if (computing !== mine) break;
      answer.points.forEach((one, k) => found.push({ point: some[k], ...one }));
      fault ??= answer.points.find((one) => one.message)?.message ?? null;
      size = performance.now() - began < 400 ? Math.min(AT_ONCE, 2 * size) : Math.max(1, answer.points.length);
      redraw();
    }
    const none = found.filter((one) => one.message).length;
    say(none ? { what: `${none} of ${found.length} runs gave nothing`, seen: fault } : null, `${found.length} / ${points.length}`);
  } catch (failure) {
    say(failure.error ?? { what: String(failure.message) });
  }
  if (computing === mine) computing = null;
  progress();
  redraw();
}

function progress(fraction = null, words = "") {
  byId("study-progress").hidden = fraction === null;
  if (fraction !== null) {
    byId("study-progress").value = fraction;
    say(null, words);
  }
  byId("study-run").textContent = computing ? "Stop" : "Compute";
  byId("study-run").classList.toggle("cancel", Boolean(computing));
}

function maps() {
  const frame = byId("study-canvas");
  const [width, height] = [frame.clientWidth, frame.clientHeight];
  const box = { left: 62, top: 18, right: width - 30, bottom: height - 30 };
  const values = found.map((one) => one.values);
  const up = asked.study === "chaos" ? [asked.up[0], asked.up.at(-1)] : bounds(values);
  const across = [asked.across[0], asked.across.at(-1)];
  return { width, height, box, across, up, x: scale(across, [box.left, box.right]), y: scale(up, [box.bottom, box.top]) };
}

function draw() {
  const frame = byId("study-canvas");
  if (byId("study").hidden || frame.clientWidth < 40) return;
  empty.hidden = found.length > 0;
  const pen = prepare(still, frame.clientWidth, frame.clientHeight);
  if (!found.length) return;
  const view = maps();
  const map = asked.study === "chaos";
  if (map) drawMap(pen, view);
  const labels = [plain(asked.names[0]), plain(map ? asked.names[1] : asked.quantity)];
  drawAxes(pen, view.box, { range: view.across, map: view.x, label: labels[0] }, { range: view.up, map: view.y, label: labels[1] });
  if (!map) drawPoints(pen, view);
  const what = `${byId("study-kind").selectedOptions[0].textContent}: ${labels.join(", ")}, ${found.length} runs`;
  still.setAttribute("aria-label", what);
}

function drawPoints(pen, view) {
  const colours = palette();
  const sweep = asked.study === "sweep";
  pen.globalAlpha = sweep ? 1 : 0.6;
  for (const { point, values } of found) {
    values.forEach((value, k) => {
      pen.fillStyle = sweep ? colours.cycle[k] : colours.ink;
      pen.beginPath();
      pen.arc(view.x(point[0]), view.y(value), sweep ? 2 : 1, 0, 7);
      pen.fill();
    });
  }
  pen.globalAlpha = 1;
  if (!sweep) return;
  pen.font = `12px ${colours.sans}`;
  pen.textAlign = "right";
  PARTS.forEach((part, k) => {
    pen.fillStyle = colours.cycle[k];
    pen.fillText(part, view.box.right - 4, view.box.top + 14 + 15 * k);
  });
}

/** Cells coloured from white at zero and below to the accent at the largest exponent. */
function drawMap(pen, view) {
  const [wide, tall] = [(view.box.right - view.box.left) / (asked.across.length - 1), (view.box.bottom - view.box.top) / (asked.up.length - 1)];
  const largest = Math.max(1e-9, ...found.flatMap((one) => one.values));
  pen.save();
  pen.beginPath();
  pen.rect(view.box.left, view.box.top, view.box.right - view.box.left, view.box.bottom - view.box.top);
  pen.clip();
  for (const { point, values } of found) {
    pen.fillStyle = values.length ? palette().accent : palette().ground;
    pen.globalAlpha = values.length ? Math.max(0.03, Math.min(1, values[0] / largest)) : 0.5;
    pen.fillRect(view.x(point[0]) - wide / 2, view.y(point[1]) - tall / 2, wide + 0.6, tall + 0.6);
  }
  pen.restore();
  if (!computing) say(null, `${found.length} runs; the darkest is λ = ${number(largest, 3)}`);
}

/** Take over the value under the pointer. */
function takeOver(event) {
  if (!found.length) return;
  const view = maps();
  const near = (values, wanted) => values.reduce((best, value) => (Math.abs(value - wanted) < Math.abs(best - wanted) ? value : best));
  const wanted = [near(asked.across, view.x.invert(event.offsetX))];
  if (asked.study === "chaos") wanted.push(near(asked.up, view.y.invert(event.offsetY)));
  wanted.forEach((value, k) => ((parameter(asked.names[k]) ? state.parameters : state.start)[asked.names[k]] = value));
  refreshSetup();
  caseChanged();
}

export function wireStudy() {
  byId("study-canvas").append(still, empty);
  new ResizeObserver(redraw).observe(byId("study-canvas"));
  byId("study-kind").replaceChildren(...KINDS.map(([value, title]) => h("option", { value }, title)));
  byId("study-kind").addEventListener("change", () => {
    const map = kind() === "chaos";
    byId("study-x-count").value = map ? "24" : "80";
    showKind();
  });
  for (const axis of ["x", "y"]) byId(`study-${axis}`).addEventListener("change", () => fillRange(axis));
  byId("study-run").addEventListener("click", () => {
    if (!computing) return compute();
    computing = null;
    return progress();
  });
  still.addEventListener("click", takeOver);
  on("open", () => {
    computing = null;
    found = [];
    say(null);
    progress();
  });
  on("model", showStudy);
  on("result", showStudy);
  onTheme(redraw);
}
