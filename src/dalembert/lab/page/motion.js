// The view of a motion: outcome, one or two animations, and the transport that moves the one time of the page.

import { camera, resetCamera } from "./camera.js";
import { clock, fittingSpeed, forget, onTime, pause, playFirst, seek, setTimes, SPEEDS, step, toggle } from "./clock.js";
import { byId, errorNodes, h, rich, setIcon } from "./dom.js";
import { grabIn, wireGrab } from "./grab.js";
import { attempt, openCase } from "./models.js";
import { number } from "./names.js";
import { readScene, SceneView, unite } from "./scene.js";
import { isComparing, isStale, on, state, tell } from "./state.js";
import { onTheme } from "./theme.js";

let views = [];
let shownModel = null;
let failure = null;

const redraw = () => views.forEach((view) => view.redraw());

/** Say why the last run gave nothing, or null. */
export function setFailure(error) {
  failure = error;
  showOutcome();
}

function facts(result) {
  const told = [["form", result.form], ["method", result.method]];
  const duration = (seconds) => (seconds < 1 ? `${Math.max(1, Math.round(seconds * 1000))} ms` : `${number(seconds, 3)} s`);
  if (Number.isFinite(result.seconds)) told.push(["computed in", duration(result.seconds)]);
  for (const [key, value] of Object.entries(result.statistics ?? {})) {
    if (key === "form" || key === "method") continue;
    if (typeof value === "number") told.push([key.replaceAll("_", " "), number(value, 6)]);
    else if (typeof value === "string" || typeof value === "boolean") told.push([key.replaceAll("_", " "), String(value)]);
  }
  return told.filter(([, value]) => value !== null && value !== undefined);
}

function showOutcome() {
  const box = byId("outcome");
  box.classList.toggle("wrong", Boolean(failure));
  if (failure) {
    box.replaceChildren(...errorNodes(failure));
    return;
  }
  const result = state.result;
  if (!result) {
    box.replaceChildren(state.running ? "Computing the motion…" : "Press Run to compute the motion.");
    return;
  }
  const notes = (result.notes ?? []).map((note) => h("p", { class: "note" }, ...rich(note)));
  const modes = (result.modes ?? []).map(({ t, words }) => h("p", { class: "note" }, `t = ${t.toPrecision(6)}: ${words}`));
  const table = h("dl", {}, ...facts(result).flatMap(([key, value]) => [h("dt", {}, key), h("dd", {}, value)]));
  const summary = h("summary", {}, `${result.form} · ${result.method}`);
  const details = h("details", { class: "facts-list" }, summary, h("div", { class: "facts-body" }, ...notes, ...modes, table));
  const count = result.events?.length ?? 0;
  const events = count ? h("span", { class: "note" }, ` ${count} event${count > 1 ? "s" : ""}.`) : null;
  const lamp = h("span", { class: result.success === false ? "lamp amber" : "lamp" });
  const words = h("span", { class: "outcome-words" }, lamp, result.message ?? result.outcome ?? "", events);
  const stale = h("span", { class: "stale", hidden: !isStale() }, "values have changed since");
  box.replaceChildren(words, stale, details);
}

function showScenes(keepTime) {
  const box = byId("scenes");
  const results = state.result ? (isComparing() ? [state.kept, state.result] : [state.result]) : [];
  if (!results.length) {
    views = [];
    forget();
    box.replaceChildren(h("p", { class: "empty block" }, "The motion appears here."));
    return;
  }
  const scenes = results.map(readScene);
  const alike = scenes.every((scene) => scene.dimension === scenes[0].dimension && scene.drawn === scenes[0].drawn);
  if (views.length !== results.length) {
    views = results.map((_, k) => new SceneView(results.length > 1 ? "AB"[k] : null, redraw));
    grabIn(views.at(-1));
    box.replaceChildren(...views.map((view) => view.element));
  }
  box.dataset.count = String(results.length);
  const limits = alike ? unite(scenes) : null;
  views.forEach((view, k) => view.set(results[k], scenes[k], limits ?? scenes[k].limits));
  const longest = results.reduce((best, one) => (span(one) > span(best) ? one : best), results.at(-1));
  setTimes(longest.t, keepTime);
}

const span = (result) => Math.abs(result.t.at(-1) - result.t[0]);

function showTransport() {
  for (const id of ["play", "back", "forth", "time"]) byId(id).disabled = !clock.ready;
  const slider = byId("time");
  slider.min = clock.low;
  slider.max = clock.high;
  slider.value = clock.time;
  const part = clock.high > clock.low ? (clock.time - clock.low) / (clock.high - clock.low) : 0;
  slider.style.setProperty("--fill", `${100 * part}%`);
  const width = clock.high - clock.low;
  const digits = width > 500 ? 0 : width > 50 ? 1 : 2;
  const text = `t = ${clock.ready ? clock.time.toFixed(digits) : "–"}`.replace("-", "−");
  byId("time-value").textContent = text;
  slider.setAttribute("aria-valuetext", text);
  const wanted = clock.playing ? "pause" : "play";
  if (byId("play").dataset.icon !== wanted) {
    byId("play").dataset.icon = wanted;
    setIcon(byId("play"), wanted);
    byId("play").setAttribute("aria-label", clock.playing ? "Pause" : "Play");
  }
}

function describeCase(request) {
  const told = Object.entries(request.parameters ?? {}).map(([name, value]) => `${name} = ${number(value)}`);
  for (const [name, value] of Object.entries(request.start ?? {})) if (value !== null) told.push(`${name}(0) = ${number(value)}`);
  return told.join(", ");
}

function showCompare() {
  const bar = byId("compare");
  const a = state.kept;
  bar.hidden = !a;
  byId("keep").disabled = !state.result;
  byId("keep").textContent = a ? "Keep B as A" : "Keep as A";
  if (!a) return;
  const values = (result) => h("span", { class: "note" }, describeCase(result.request));
  const line = (tag, result) => h("span", { class: "case" }, h("b", {}, tag), ` ${result.form} · ${result.method} `, values(result));
  const back = h("button", { type: "button", class: "link", onclick: () => attempt(() => takeA(a)) }, "set up as A");
  const drop = h("button", { type: "button", class: "link", id: "drop-a", onclick: () => {
    state.kept = null;
    tell("result");
  } }, "drop A");
  const hint = h("span", { class: "case note" }, "Change a value or the form, then run B.");
  bar.replaceChildren(line("A", a), state.result === a ? hint : line("B", state.result), back, drop);
}

async function takeA(kept) {
  const result = state.result;
  await openCase(kept.request);
  Object.assign(state, { kept, result });
  tell("result");
}

function onResult() {
  const changed = shownModel !== state.result?.model;
  if (changed) resetCamera();
  const first = state.result && changed;
  shownModel = state.result?.model ?? null;
  const running = clock.playing;
  showScenes(!first && clock.ready);
  if (first) {
    clock.speed = fittingSpeed();
    byId("speed").value = String(clock.speed);
  }
  showOutcome();
  showCompare();
  showTransport();
  if (first) playFirst();
  else if (state.result && !running && clock.time >= clock.high && state.result.fresh) {
    clock.time = clock.low;
    playFirst();
  }
  if (state.result) state.result.fresh = false;
}

function keys(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target;
  if (target.closest("dialog, textarea, select, [role=radiogroup], [role=menu], .portrait-canvas")) return;
  if (target.matches("input") || byId("motion").hidden) return;
  if (event.key === " " && !target.matches("button, summary, a")) toggle();
  else if (event.key === "ArrowRight" && !target.matches("[role=tab]")) step(event.shiftKey ? 10 : 1);
  else if (event.key === "ArrowLeft" && !target.matches("[role=tab]")) step(event.shiftKey ? -10 : -1);
  else if (event.key === "Home") seek(clock.low);
  else if (event.key === "End") seek(clock.high);
  else return;
  event.preventDefault();
}

export function wireMotion() {
  setIcon(byId("back"), "back");
  setIcon(byId("forth"), "forth");
  setIcon(byId("loop"), "loop");
  wireGrab();
  setIcon(byId("follow"), "follow");
  byId("follow").addEventListener("click", () => {
    camera.follows = !camera.follows;
    byId("follow").setAttribute("aria-pressed", String(camera.follows));
    redraw();
  });
  byId("speed").replaceChildren(...SPEEDS.map((speed) => h("option", { value: speed }, `${speed} ×`)));
  byId("speed").value = "1";
  byId("speed").addEventListener("change", () => (clock.speed = Number(byId("speed").value)));
  byId("play").addEventListener("click", toggle);
  byId("back").addEventListener("click", () => step(-1));
  byId("forth").addEventListener("click", () => step(1));
  byId("loop").addEventListener("click", () => {
    clock.loop = !clock.loop;
    byId("loop").setAttribute("aria-pressed", String(clock.loop));
  });
  const slider = byId("time");
  slider.addEventListener("input", () => {
    const wanted = Number(slider.value);
    pause();
    seek(wanted);
  });
  slider.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1, PageDown: -10, PageUp: 10 };
    if (event.key === " ") toggle();
    else if (moves[event.key]) step(moves[event.key] * (event.shiftKey ? 10 : 1));
    else return;
    event.preventDefault();
  });
  byId("keep").addEventListener("click", () => {
    state.kept = state.result;
    tell("result");
  });
  document.addEventListener("keydown", keys);
  onTime(() => {
    redraw();
    showTransport();
  });
  onTheme(redraw);
  on("result", onResult);
  on("case", showOutcome);
  on("model", showOutcome);
  onResult();
}
