// The phase portrait: two names of the state, starts by click or key, and the orbits through them.

import * as api from "./api.js";
import { bounds, drawAxes, drawCurve, prepare, scale } from "./axes.js";
import { byId, errorNodes, h, perFrame } from "./dom.js";
import { number, plain, readNumber } from "./names.js";
import { quantities } from "./panels.js";
import { phasePair } from "./phase.js";
import { isOfPresentModel, on, presentCase, state } from "./state.js";
import { onTheme, palette } from "./theme.js";

const MOST = 24;
export const portrait = { x: null, y: null, points: [] };
let orbits = [];
let window_ = null;
let first = null; // the window before any orbit; orbits widen it, within reason
let cursor = null;
const equilibria = new Map(); // [x, y, kind] by place
let shown = "";
let asking = 0;

const still = h("canvas", { "aria-hidden": "true" });
const spoken = "Phase portrait. Arrow keys move the cross, Enter adds an orbit there.";
const above = h("canvas", { tabindex: "0", role: "application", "aria-label": spoken });
const empty = h("p", { class: "empty" }, "Click a starting point: the orbit through it appears.");
const redraw = perFrame(draw);

function fillChoices() {
  const names = state.model?.state ?? [];
  if (!names.includes(portrait.x) || !names.includes(portrait.y)) {
    [portrait.x, portrait.y] = phasePair(state.model);
  }
  for (const [id, key] of [["portrait-x", "x"], ["portrait-y", "y"]]) {
    byId(id).replaceChildren(...names.map((name) => h("option", { value: name }, plain(name))));
    byId(id).value = portrait[key] ?? "";
    byId(`portrait-p${key}`).placeholder = plain(portrait[key] ?? "");
  }
}

/** The window: around the present motion and start, and wide enough for the orbits. */
function fit() {
  const found = { x: [], y: [] };
  for (const axis of ["x", "y"]) {
    const name = portrait[axis];
    const values = isOfPresentModel() ? (quantities(state.result)[name] ?? []) : [];
    found[axis].push(values, [state.values?.values?.[name] ?? 0]);
    for (const orbit of orbits) found[axis].push(orbit[axis]);
  }
  const wide = ([low, high]) => (high - low < 1e-9 ? [low - 1, high + 1] : [low, high]);
  const start = (axis) => {
    const range = wide(bounds(found[axis], false, orbits.length ? 0.05 : 0.25));
    const reach = Math.max(1, Math.abs(range[0]), Math.abs(range[1]));
    if (!first || !orbits.length) return [Math.min(range[0], -reach), Math.max(range[1], reach)];
    const [low, high] = first[axis];
    const room = 4 * (high - low);
    return [Math.max(low - room, Math.min(low, range[0])), Math.min(high + room, Math.max(high, range[1]))];
  };
  window_ = { x: start("x"), y: start("y") };
  if (!orbits.length) first = window_;
}

function maps() {
  const frame = byId("portrait-canvas");
  const [width, height] = [frame.clientWidth, frame.clientHeight];
  const box = { left: 58, top: 18, right: width - 30, bottom: height - 30 };
  return { width, height, box, x: scale(window_.x, [box.left, box.right]), y: scale(window_.y, [box.bottom, box.top]) };
}

function draw() {
  if (byId("portrait").hidden || !state.model) return;
  if (!window_) fit();
  const view = maps();
  if (view.width < 40) return;
  const pen = prepare(still, view.width, view.height);
  const colours = palette();
  const axis = (name) => ({ range: window_[name], map: view[name], label: plain(portrait[name]) });
  drawAxes(pen, view.box, axis("x"), axis("y"));
  pen.save();
  pen.beginPath();
  pen.rect(view.box.left, view.box.top, view.box.right - view.box.left, view.box.bottom - view.box.top);
  pen.clip();
  pen.lineJoin = "round";
  if (isOfPresentModel()) {
    const known = quantities(state.result);
    if (known[portrait.x] && known[portrait.y]) {
      pen.strokeStyle = colours.muted;
      pen.lineWidth = 1.2;
      pen.setLineDash([4, 4]);
      drawCurve(pen, known[portrait.x], known[portrait.y], view.x, view.y);
      pen.setLineDash([]);
    }
  }
  orbits.forEach((orbit, k) => {
    pen.strokeStyle = colours.cycle[k % 6];
    pen.lineWidth = 1.5;
    drawCurve(pen, orbit.x, orbit.y, view.x, view.y);
    const begin = orbit.x.length ? [orbit.x[0], orbit.y[0]] : null;
    if (begin && orbit.start) joint(pen, view, orbit.start, begin);
    dot(pen, view, begin ?? orbit.start, colours.cycle[k % 6]);
  });
  for (const place of equilibria.values()) dot(pen, view, place, colours.accent, place[2] !== "stable");
  pen.restore();
  empty.hidden = orbits.length > 0;
  drawCursor(view);
}

/** A faint line from the start asked for to where the constraints allow it. */
function joint(pen, view, [ax, ay], [bx, by]) {
  if (Math.hypot(view.x(ax) - view.x(bx), view.y(ay) - view.y(by)) < 2) return;
  pen.strokeStyle = palette().muted;
  pen.lineWidth = 0.8;
  pen.setLineDash([2, 3]);
  pen.beginPath();
  pen.moveTo(view.x(ax), view.y(ay));
  pen.lineTo(view.x(bx), view.y(by));
  pen.stroke();
  pen.setLineDash([]);
}

/** A start, or an equilibrium: a ring where it is not stable. */
function dot(pen, view, [x, y], ink, hollow = false) {
  pen.beginPath();
  pen.arc(view.x(x), view.y(y), hollow ? 4.2 : 3.5, 0, 7);
  pen.fillStyle = hollow ? palette().paper : ink;
  pen.fill();
  pen.strokeStyle = hollow ? ink : palette().paper;
  pen.lineWidth = hollow ? 1.8 : 1.2;
  pen.stroke();
}

function drawCursor(view = maps()) {
  const pen = prepare(above, view.width, view.height);
  if (!cursor) return;
  const [x, y] = [view.x(cursor[0]), view.y(cursor[1])];
  pen.strokeStyle = palette().accent;
  pen.lineWidth = 1;
  pen.beginPath();
  pen.moveTo(x - 9, y);
  pen.lineTo(x + 9, y);
  pen.moveTo(x, y - 9);
  pen.lineTo(x, y + 9);
  pen.stroke();
  byId("portrait-px").placeholder = number(cursor[0], 3);
  byId("portrait-py").placeholder = number(cursor[1], 3);
}

async function add(points) {
  const room = points.slice(0, Math.max(0, MOST - portrait.points.length));
  if (!room.length) {
    say({ what: `A portrait holds ${MOST} orbits`, remedy: "clear some of them" });
    return;
  }
  portrait.points.push(...room);
  await trace(room);
}

async function trace(points) {
  const mine = key();
  asking += 1;
  say(null, `computing ${points.length} orbit${points.length > 1 ? "s" : ""}…`);
  try {
    const answer = await api.post("/api/portrait", { ...presentCase(), x: portrait.x, y: portrait.y, points });
    if (mine !== key()) return;
    answer.orbits.forEach((orbit, k) => orbits.push({ ...orbit, start: points[k] }));
    for (const place of answer.equilibria ?? []) equilibria.set(`${place[0].toPrecision(5)} ${place[1].toPrecision(5)}`, place);
    const short = answer.orbits.filter((orbit) => orbit.x.length < 2);
    const fault = short.length ? { what: short[0].message ?? short[0].outcome ?? "An orbit could not be followed" } : null;
    say(fault, `${orbits.length} orbit${orbits.length > 1 ? "s" : ""}`);
    fit();
  } catch (failure) {
    portrait.points = portrait.points.filter((point) => !points.includes(point));
    say(failure.error ?? { what: String(failure.message) });
  } finally {
    asking -= 1;
    redraw();
  }
}

function say(error, words = "") {
  const box = byId("portrait-state");
  box.classList.toggle("wrong", Boolean(error));
  box.replaceChildren(...(error ? errorNodes(error) : [words]));
}

const key = () => JSON.stringify([presentCase(), portrait.x, portrait.y]);

/** Orbits belong to a case and a pair of names; with others they are computed anew. */
export function showPortrait() {
  if (byId("portrait").hidden || !state.model || state.error) return;
  fillChoices();
  if (shown !== key()) {
    shown = key();
    orbits = [];
    window_ = null;
    equilibria.clear();
    if (portrait.points.length) trace([...portrait.points]);
    else say(null, "");
  }
  redraw();
}

function forgetPoints() {
  portrait.points = [];
  orbits = [];
  window_ = null;
  say(null, "");
  redraw();
}

function at(event) {
  const view = maps();
  const box = above.getBoundingClientRect();
  const digits = (value, [low, high]) => 3 + Math.ceil(Math.log10(Math.abs(value) / (high - low) + 1e-9));
  const round = (value, range) => Number(value.toPrecision(Math.max(2, digits(value, range))));
  return [round(view.x.invert(event.clientX - box.left), window_.x), round(view.y.invert(event.clientY - box.top), window_.y)];
}

function byKey(event) {
  const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] };
  if (event.key === "Enter" && cursor) add([[...cursor]]);
  else if (moves[event.key] && window_) {
    cursor ??= [(window_.x[0] + window_.x[1]) / 2, (window_.y[0] + window_.y[1]) / 2];
    const [dx, dy] = moves[event.key];
    cursor = [cursor[0] + (dx * (window_.x[1] - window_.x[0])) / 40, cursor[1] + (dy * (window_.y[1] - window_.y[0])) / 40];
    drawCursor();
  } else return;
  event.preventDefault();
}

/** Starts on a grid of 4 x 3 within the window. */
function grid() {
  if (!window_) fit();
  const inside = (range, part) => Number((range[0] + (range[1] - range[0]) * part).toPrecision(4));
  const points = [];
  for (const a of [0.2, 0.4, 0.6, 0.8]) for (const b of [0.25, 0.5, 0.75]) points.push([inside(window_.x, a), inside(window_.y, b)]);
  add(points);
}

export function wirePortrait() {
  const frame = byId("portrait-canvas");
  frame.append(still, above, empty);
  new ResizeObserver(redraw).observe(frame);
  above.addEventListener("pointermove", (event) => {
    if (!window_ || event.pointerType === "touch") return;
    cursor = at(event);
    drawCursor();
  });
  above.addEventListener("pointerleave", () => {
    cursor = null;
    if (window_) drawCursor();
  });
  above.addEventListener("click", (event) => window_ && !asking && add([at(event)]));
  above.addEventListener("keydown", byKey);
  for (const [id, axis] of [["portrait-x", "x"], ["portrait-y", "y"]]) {
    byId(id).addEventListener("change", () => {
      portrait[axis] = byId(id).value;
      forgetPoints();
      showPortrait();
    });
  }
  byId("portrait-add").addEventListener("click", () => {
    const point = [readNumber(byId("portrait-px").value), readNumber(byId("portrait-py").value)];
    if (point.every((value) => value !== null && Number.isFinite(value))) add([point]);
    else say({ what: "A start needs two numbers", remedy: "fill both fields, or click into the plane" });
  });
  byId("portrait-grid").addEventListener("click", grid);
  byId("portrait-undo").addEventListener("click", () => {
    portrait.points.pop();
    orbits.pop();
    redraw();
  });
  byId("portrait-clear").addEventListener("click", forgetPoints);
  on("model", () => {
    if (portrait.x && !state.model?.state.includes(portrait.x)) forgetPoints();
    showPortrait();
  });
  on("start", showPortrait);
  on("result", redraw);
  onTheme(redraw);
}
