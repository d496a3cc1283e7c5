// A model that runs in the page: sliders for its parameters and its start, and a viewer of what it computes.

import { h, perFrame, saveBlob } from "./dom.js";
import { Model } from "./model.js";
import { fieldText, number, readNumber, symbol } from "./names.js";
import { useColoursOf } from "./theme.js";
import { Viewer } from "./viewer.js";

const SAMPLES = 1001;

/** The box of points with some room around it: limits of the scene, and its floor in space. */
function boxOf(shapes, dimension) {
  const box = Array.from({ length: dimension }, () => [Infinity, -Infinity]);
  for (const { points, radius } of shapes) {
    const reach = radius ? radius.reduce((most, one) => Math.max(most, one), 0) : 0;
    points.data.forEach((value, k) => {
      const side = box[k % dimension];
      if (value - reach < side[0]) side[0] = value - reach;
      if (value + reach > side[1]) side[1] = value + reach;
    });
  }
  const size = Math.max(1e-9, ...box.map(([low, high]) => (high >= low ? high - low : 0)));
  return box.map(([low, high], axis) => {
    if (!(high >= low)) return [-1, 1];
    const slack = axis === 2 ? 0 : Math.max(0.3 * size - (high - low), 0) / 2 + 0.05 * size;
    return [low - slack, high + slack];
  });
}

const unite = (a, b) => a.map(([low, high], k) => [Math.min(low, b[k][0]), Math.max(high, b[k][1])]);

/** One number to choose: its symbol, a slider and a field that may go beyond the slider. */
class Choice {
  constructor(name, value, [low, high], changed) {
    Object.assign(this, { name, value, first: value });
    this.slider = h("input", { type: "range", min: low, max: high, step: "any", ".value": value, "aria-label": name });
    this.field = h("input", { type: "text", inputmode: "decimal", ".value": fieldText(value), "aria-label": `${name}, a number` });
    this.element = h("div", { class: "choice" }, symbol(name), this.slider, this.field);
    this.slider.addEventListener("input", () => {
      this.value = Number(Number(this.slider.value).toPrecision(4));
      this.field.value = fieldText(this.value);
      changed();
    });
    this.field.addEventListener("change", () => {
      const read = readNumber(this.field.value);
      this.field.setAttribute("aria-invalid", String(read === null || !Number.isFinite(read)));
      if (read === null || !Number.isFinite(read)) return;
      this.set(read);
      changed();
    });
  }

  set(value) {
    this.value = value;
    this.slider.min = Math.min(Number(this.slider.min), value);
    this.slider.max = Math.max(Number(this.slider.max), value);
    this.slider.value = value;
    this.field.value = fieldText(value);
  }
}

class Live {
  constructor(record, model) {
    Object.assign(this, { record, model });
    this.viewer = new Viewer();
    this.recompute = perFrame(() => this.run());
    const choices = (names, values, ranges) => names.map((name, k) => new Choice(name, values[k], ranges[k], this.recompute));
    this.parameters = choices(record.parameters, record.values, record.ranges.parameters);
    this.start = choices(record.state, record.start, record.ranges.start);
    const [low, high] = record.span;
    this.end = new Choice("t", high, [Math.min(low, high), Math.max(high, low + 2 * (high - low))], this.recompute);
    this.status = h("p", { class: "status", role: "status" });
  }

  get element() {
    const group = (title, list) => list.length && h("fieldset", {}, h("legend", {}, title), ...list.map((one) => one.element));
    const reset = h("button", { type: "button", onclick: () => this.reset() }, "Reset");
    const save = h("button", { type: "button", onclick: () => this.save() }, "Data as CSV");
    const groups = [group("Parameters", this.parameters), group("Start", this.start), group("Until", [this.end])].filter(Boolean);
    const setup = h("div", { class: "setup" }, ...groups, h("div", { class: "controls" }, reset, save));
    const notes = this.record.notes.map((note) => h("p", { class: "muted" }, note));
    return h("div", { class: "live" }, h("div", { class: "live-top" }, this.viewer.stage, setup), this.status, this.viewer.plotBox, ...notes);
  }

  reset() {
    for (const one of [...this.parameters, ...this.start, this.end]) one.set(one.first);
    this.limits = null;
    this.run();
  }

  /** Integrate with the chosen numbers and show what comes of it. */
  run() {
    const { model, record } = this;
    const began = performance.now();
    model.setReals("parameters", this.parameters.map((one) => one.value));
    const wanted = this.start.map((one) => one.value);
    const [first, last] = [record.span[0], this.end.value];
    const start = model.project(first, wanted);
    if (!start || first === last) {
      this.tell(start ? "The end lies at the start." : "No state on the constraints was found near this start.", true);
      return;
    }
    const times = Float64Array.from({ length: SAMPLES }, (_, k) => first + ((last - first) * k) / (SAMPLES - 1));
    times[SAMPLES - 1] = last;
    const found = model.run(start, times);
    if (found.filled < 2) {
      this.tell(found.message, true);
      return;
    }
    this.shown = this.columns(times.slice(0, found.filled), found);
    const took = performance.now() - began;
    const scene = this.scene();
    this.limits = record.scene?.limits ?? (this.limits && scene ? unite(this.limits, scene.limits) : scene?.limits);
    if (scene) scene.limits = this.limits;
    const { t, state, panels } = this.shown;
    this.viewer.show({ model: record.name, t, state, scene, panels }, Boolean(this.viewer.result), scene ? this.limits : null);
    this.tell(this.sentence(found, wanted, start, took), found.status !== 0);
  }

  tell(sentence, isWrong) {
    this.status.textContent = sentence;
    this.status.classList.toggle("bad", isWrong);
  }

  sentence(found, wanted, start, took) {
    const told = [`${found.steps} steps in ${took.toFixed(1)} ms.`];
    if (found.status !== 0) told.unshift(`${found.message} Reached t = ${number(this.shown.t.at(-1))}.`);
    const moved = this.record.state.filter((_, k) => Math.abs(start[k] - wanted[k]) > 1e-9 * Math.max(1, Math.abs(wanted[k])));
    const value = (name) => `${name} = ${number(start[this.record.state.indexOf(name)])}`;
    if (moved.length) told.push(`The start was moved onto the constraints: ${moved.map(value).join(", ")}.`);
    const { energy } = this.shown;
    if (energy && this.record.conserves) {
      const change = energy.reduce((most, one) => Math.max(most, Math.abs(one - energy[0])), 0);
      told.push(`Energy ${number(energy[0])}, kept to ${number(change, 2)}.`);
    }
    return told.join(" ");
  }

  /** Everything observed along a run, as columns; states whose observation fails are missing. */
  columns(t, found) {
    const { record, model } = this;
    const n = record.state.length;
    const column = () => new Float64Array(t.length).fill(NaN);
    const state = Object.fromEntries(record.state.map((name, i) => [name, column().map((_, k) => found.states[k * n + i])]));
    const seen = Array.from(t, (time, k) => model.observe(time, found.states.subarray(k * n, k * n + n)));
    const at = (place) => column().map((_, k) => (seen[k] ? seen[k][place] : NaN));
    const panels = record.panels.map(({ title, names }) => {
      const series = Object.entries(names).map(([name, place]) => [name, place === null ? state[name] : at(place)]);
      return { title, series: Object.fromEntries(series) };
    });
    const energy = record.observed.energy?.[1] ? at(record.observed.energy[0]) : null;
    return { t, state, panels, seen, energy };
  }

  scene() {
    const { scene, observed } = this.record;
    if (!scene) return null;
    const { seen, t } = this.shown;
    const from = observed["the drawing"][0];
    const shapes = scene.shapes.map(({ first, shape: [count, dimension], radius_at: radiusAt, ...look }) => {
      const size = count * dimension;
      const data = new Float64Array(t.length * size).fill(NaN);
      seen.forEach((one, k) => one && data.set(one.subarray(from + first, from + first + size), k * size));
      const radius = radiusAt === undefined ? {} : { radius: seen.map((one) => (one ? one[from + radiusAt] : NaN)) };
      return { ...look, ...radius, points: { shape: [t.length, count, dimension], data } };
    });
    const limits = boxOf(shapes, scene.dimension);
    const size = Math.max(...limits.map(([low, high]) => high - low));
    const low = limits[2]?.[0];
    const floor = scene.dimension === 3 ? (low >= 0 && low < 0.12 * size ? 0 : low) : null;
    return { dimension: scene.dimension, labels: scene.labels, limits, floor, shapes };
  }

  save() {
    const { t, state, panels } = this.shown;
    const columns = { t, ...state, ...Object.assign({}, ...panels.map((panel) => panel.series)) };
    const rows = Array.from(t, (_, k) => Object.values(columns).map((values) => values[k]).join(","));
    const text = [Object.keys(columns).map((name) => (/[",\s]/.test(name) ? `"${name}"` : name)).join(","), ...rows, ""].join("\n");
    saveBlob(new Blob([text], { type: "text/csv" }), `${this.record.file}.csv`);
  }
}

/** Build the model of a record inside an element, run it and show it. */
export async function startLive(box, record) {
  try {
    useColoursOf(box);
    const live = new Live(record, await Model.make(record));
    box.replaceChildren(live.element);
    live.run();
  } catch (error) {
    box.replaceChildren(h("p", { class: "bad" }, `The model cannot run in this browser: ${error.message}`));
  }
}
