// The column of values: parameters with sliders, start values with what the constraints make of them, and the run's options.

import { byId, errorNodes, h } from "./dom.js";
import { caseChanged } from "./models.js";
import { fieldText, number, plain, readNumber, symbol } from "./names.js";
import { on, state } from "./state.js";

const CHOOSES_STEPS = new Set(["dop853", "taylor", "heyoka", "cvode-bdf", "cvode-adams", "ida-ggl", "auto"]);
const SLIDER = 1000;
const SHORT_NAME = 5; // longer names of start values get a row of their own

/** Constraints that hold at all times, and so complete a start; a limit does not. */
const isBound = () => state.model.constraints.some(({ kind }) => kind !== "unilateral");

function needsStep(method) {
  if (!method) return false;
  return state.model?.stepped ? state.model.stepped.includes(method) : !CHOOSES_STEPS.has(method);
}

/** The range of a slider around a value: logarithmic for positive values that are large or small. */
function sliderScale(value) {
  if (value === 0) return linear(-1, 1);
  const size = Math.abs(value);
  if (value > 0 && (size >= 100 || size < 0.01)) return logarithmic(value / 10, value * 10);
  return value > 0 ? linear(0, 2 * value) : linear(2 * value, -value);
}

function linear(low, high) {
  const unit = 10 ** Math.floor(Math.log10((high - low) / 200));
  return {
    low,
    high,
    toSlider: (value) => (SLIDER * (value - low)) / (high - low),
    fromSlider: (mark) => Number((Math.round((low + ((high - low) * mark) / SLIDER) / unit) * unit).toPrecision(10)),
  };
}

function logarithmic(low, high) {
  const ratio = Math.log(high / low);
  return {
    low,
    high,
    toSlider: (value) => (SLIDER * Math.log(value / low)) / ratio,
    fromSlider: (mark) => Number((low * Math.exp((ratio * mark) / SLIDER)).toPrecision(3)),
  };
}

function mark(field, wrong) {
  field.setAttribute("aria-invalid", wrong ? "true" : "false");
}

function parameterRow(entry) {
  const name = entry.name;
  let scale = sliderScale(entry.value);
  const slider = h("input", { type: "range", min: 0, max: SLIDER, step: 1, "aria-label": `${name}, slider` });
  const field = h("input", { inputmode: "decimal", "aria-label": name, "data-parameter": name, spellcheck: "false" });
  const told = { title: `Back to ${number(entry.value)}`, "aria-label": `Reset ${name}` };
  const back = h("button", { type: "button", class: "link undo", ...told }, "↺");
  const show = () => {
    const value = state.parameters[name] ?? entry.value;
    if (value < scale.low || value > scale.high || (scale.low > 0 && value <= 0)) scale = sliderScale(value);
    slider.value = scale.toSlider(value);
    slider.style.setProperty("--fill", `${Math.min(100, Math.max(0, slider.value / 10))}%`);
    slider.setAttribute("aria-valuetext", number(value));
    if (document.activeElement !== field) field.value = fieldText(value, 8);
    back.hidden = !(name in state.parameters);
  };
  const set = (value) => {
    if (value === entry.value) delete state.parameters[name];
    else state.parameters[name] = value;
    mark(field, false);
    show();
    caseChanged();
  };
  slider.addEventListener("input", () => set(scale.fromSlider(Number(slider.value))));
  field.addEventListener("input", () => {
    const value = readNumber(field.value);
    if (value === null || Number.isNaN(value)) mark(field, true);
    else set(value);
  });
  field.addEventListener("blur", () => {
    mark(field, false);
    show();
  });
  back.addEventListener("click", () => {
    scale = sliderScale(entry.value);
    set(entry.value);
    field.focus();
  });
  show();
  return h("div", { class: "slider-row" }, h("span", { class: "row-name" }, symbol(name)), slider, field, back);
}

/** Rounding errors of a projection are shown as the zero they mean. */
const tidied = (value) => (Math.abs(value) < 1e-14 ? 0 : value);

function startRow(name) {
  const field = h("input", { inputmode: "decimal", "aria-label": `Start of ${name}`, "data-start": name, spellcheck: "false" });
  const tag = h("span", { class: "tag", "aria-hidden": "true" });
  const row = h("div", { class: "field-row" }, h("span", { class: "row-name" }, symbol(name)), field, tag);
  field.addEventListener("input", () => {
    const value = readNumber(field.value);
    mark(field, Number.isNaN(value));
    if (Number.isNaN(value)) return;
    state.start[name] = value;
    caseChanged();
  });
  field.addEventListener("blur", () => {
    mark(field, false);
    row.show();
  });
  row.show = () => {
    const answer = state.values;
    if (!answer) return;
    const moved = answer.moved?.find((entry) => entry.name === name);
    const typed = state.start[name];
    const given = tidied(typed ?? moved?.from ?? answer.values[name]);
    const empty = typed === null || answer.completed?.includes(name);
    if (document.activeElement !== field) field.value = empty ? "" : fieldText(given, typed === undefined ? 6 : 12);
    const value = answer.values[name];
    field.placeholder = value === null || value === undefined ? "free" : fieldText(tidied(value), 6);
    row.dataset.kind = moved ? "moved" : answer.completed?.includes(name) ? "completed" : "given";
    const word = isBound() ? "completed" : "";
    tag.textContent = moved ? `→ ${number(moved.to, 5)}` : answer.completed?.includes(name) ? word : "";
    const told = moved ? `moved from ${number(moved.from)} to ${number(moved.to)}` : tag.textContent;
    field.setAttribute("aria-description", told);
    row.title = told;
  };
  return row;
}

let rows = [];

function showModel() {
  const model = state.model;
  byId("model-name").textContent = state.title;
  byId("model-source").textContent = state.source;
  document.title = `${state.title} – dalembert lab`;
  if (!model || state.error) return;
  const count = (number, one, many) => `${number} ${number === 1 ? one : many}`;
  const counts = [count(model.coordinates.length, "coordinate", "coordinates")];
  if (model.constraints.length) counts.push(count(model.constraints.length, "constraint", "constraints"));
  if (Number.isFinite(model.degrees_of_freedom)) counts.push(count(model.degrees_of_freedom, "degree of freedom", "degrees of freedom"));
  byId("model-facts").textContent = counts.join(" · ");
  byId("model-notes").textContent = (model.notes ?? []).join(" ");
  byId("parameters").replaceChildren(
    ...(model.parameters.length ? model.parameters.map(parameterRow) : [h("p", { class: "note" }, "This model has none.")]),
  );
  rows = model.state.map(startRow);
  byId("start").classList.toggle("wide", model.state.some((name) => plain(name).length > SHORT_NAME));
  byId("start").replaceChildren(...rows);
  showOptions();
  showResets();
}

function option(value, text, attributes = {}) {
  return h("option", { value, ...attributes }, text);
}

function showOptions() {
  const model = state.model;
  if (!model) return;
  const span = state.span ?? model.span;
  for (const [id, value] of [["span-from", span?.[0]], ["span-to", span?.[1]]]) {
    if (document.activeElement !== byId(id)) byId(id).value = fieldText(value);
  }
  byId("form").replaceChildren(
    option("", "automatic"),
    ...model.forms.map((form) => option(form.name, form.name, { disabled: !form.applies, title: form.applies ? null : form.why })),
  );
  byId("form").value = state.form ?? "";
  byId("method").replaceChildren(option("", "automatic"), ...model.methods.map((name) => option(name, name)));
  byId("method").value = state.method ?? "";
  if (document.activeElement !== byId("rtol")) byId("rtol").value = state.rtol ?? "";
  byId("rtol").placeholder = model.rtol ? model.rtol.toExponential().replace("+", "") : "1e-10";
  const fixed = needsStep(state.method);
  byId("step").hidden = byId("step-label").hidden = !fixed;
  if (document.activeElement !== byId("step")) byId("step").value = state.step ?? "";
  byId("step").placeholder = "0.01";
}

function showResets() {
  byId("reset-parameters").hidden = Object.keys(state.parameters).length === 0;
  byId("reset-start").hidden = Object.keys(state.start).length === 0;
}

function showStart() {
  const note = byId("start-note");
  note.classList.toggle("wrong", Boolean(state.startError));
  if (state.startError) {
    note.replaceChildren(...errorNodes(state.startError));
    return;
  }
  for (const row of rows) row.show();
  const answer = state.values;
  const told = [];
  if (answer?.completed?.length && isBound()) told.push(`Completed by the constraints: ${answer.completed.map(plain).join(", ")}.`);
  else if (answer?.completed?.length) told.push("Values in dashed fields are not given.");
  if (answer?.moved?.length) told.push(`Moved onto the constraints: ${answer.moved.map((entry) => plain(entry.name)).join(", ")}.`);
  note.textContent = told.join(" ");
}

function numberOption(id, key, accept) {
  byId(id).addEventListener("input", () => {
    const value = readNumber(byId(id).value);
    const wrong = Number.isNaN(value) || (value !== null && !accept(value));
    mark(byId(id), wrong);
    if (wrong) return;
    state[key] = value;
    caseChanged();
  });
}

export function wireSetup() {
  for (const id of ["span-from", "span-to"]) {
    byId(id).addEventListener("input", () => {
      const span = [readNumber(byId("span-from").value), readNumber(byId("span-to").value)];
      const wrong = span.some((value) => value === null || Number.isNaN(value)) || span[0] === span[1];
      mark(byId(id), wrong);
      if (wrong) return;
      state.span = span;
      caseChanged();
    });
  }
  for (const id of ["form", "method"]) {
    byId(id).addEventListener("change", () => {
      state[id] = byId(id).value || null;
      if (id === "method") state.step = needsStep(state.method) ? (state.step ?? 0.01) : null;
      showOptions();
      caseChanged();
    });
  }
  numberOption("rtol", "rtol", (value) => value > 0 && value < 1);
  numberOption("step", "step", (value) => value > 0);
  byId("reset-parameters").addEventListener("click", () => {
    state.parameters = {};
    showModel();
    showStart();
    caseChanged();
  });
  byId("reset-start").addEventListener("click", () => {
    state.start = {};
    caseChanged();
  });
  on("model", showModel);
  on("start", showStart);
  on("case", () => {
    showResets();
    if (byId("form").value !== (state.form ?? "")) showOptions();
  });
}

/** Show every value anew, after a case was taken over. */
export function refreshSetup() {
  showModel();
  showStart();
}
