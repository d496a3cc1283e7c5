// The equations of motion in every form that applies, typeset; a form that does not apply says why.

import * as api from "./api.js";
import { byId, copyText, errorNodes, h, rich } from "./dom.js";
import { typeset } from "./mathml.js";
import { caseChanged } from "./models.js";
import { refreshSetup } from "./setup.js";
import { on, presentCase, state } from "./state.js";

const shown = { form: null, answer: null, key: null };
const ask = api.latest((signal, body) => api.post("/api/equations", body, signal));

const askBeside = api.latest((signal, body) => api.post("/api/equations", body, signal));

export const chosenForm = () => shown.form;
export function chooseForm(name) {
  shown.form = name;
}

function present() {
  const forms = state.model?.forms ?? [];
  const applies = (name) => forms.some((form) => form.name === name && form.applies);
  const wanted = [shown.form, state.form, state.model?.default_form, ...forms.map((form) => form.name)];
  shown.form = wanted.find((name) => name && applies(name)) ?? null;
}

function showForms() {
  present();
  byId("forms").replaceChildren(
    ...(state.model?.forms ?? []).map((form) =>
      h("button", {
        type: "button",
        role: "radio",
        class: "form-choice",
        "data-form": form.name,
        "aria-checked": form.name === shown.form,
        "aria-disabled": !form.applies,
        tabindex: form.name === shown.form ? 0 : -1,
        onclick: () => form.applies && pick(form.name),
      },
      h("span", { class: "form-name" }, form.name),
      form.applies ? null : h("span", { class: "why" }, ...rich(form.why ?? "does not apply"))),
    ),
  );
}

function pick(name) {
  shown.form = name;
  showForms();
  byId("forms").querySelector("[aria-checked=true]")?.focus();
  load();
}

function moveByKey(event) {
  const choices = [...byId("forms").querySelectorAll("[role=radio]:not([aria-disabled=true])")];
  const at = choices.indexOf(document.activeElement);
  const move = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
  if (!move || at < 0) return;
  event.preventDefault();
  pick(choices[(at + move + choices.length) % choices.length].dataset.form);
}

const beside = { form: "", key: null };

/** The forms that may stand beside the present one. */
function showBeside() {
  const forms = (state.model?.forms ?? []).filter((form) => form.applies && form.name !== shown.form).map((form) => form.name);
  if (!forms.includes(beside.form)) beside.form = "";
  const option = (value, text) => h("option", { value }, text);
  byId("beside").replaceChildren(option("", "none"), ...forms.map((name) => option(name, name)));
  byId("beside").value = beside.form;
  byId("beside-lines").hidden = !beside.form;
}

function requestOf(form) {
  const { system, text } = presentCase();
  return { system, text, form, explicit: byId("explicit").checked };
}

function linesOf(answer) {
  const lines = answer.mathml.map((line) => h("div", { class: "equation" }, typeset(line)));
  if (answer.citation) lines.push(h("p", { class: "source" }, answer.citation));
  for (const note of answer.notes ?? []) lines.push(h("p", { class: "note" }, note));
  if (answer.shortened) {
    const told = `Of ${answer.count} equations the longest are shortened here; the copies and the library have all of them.`;
    lines.push(h("p", { class: "note" }, told));
  }
  return lines;
}

/** Fill a box with the equations of a form; the answer, undefined where a later question came, null where there is none. */
async function write(box, asking, request) {
  box.setAttribute("aria-busy", "true");
  try {
    const answer = await asking(request);
    if (answer === undefined) return undefined;
    box.replaceChildren(...linesOf(answer));
    box.setAttribute("aria-busy", "false");
    return answer;
  } catch (failure) {
    box.replaceChildren(h("p", { class: "wrong" }, ...errorNodes(failure.error ?? { what: String(failure.message) })));
    box.setAttribute("aria-busy", "false");
    return null;
  }
}

async function loadBeside() {
  showBeside();
  const request = requestOf(beside.form);
  const key = JSON.stringify(request);
  if (!beside.form || key === beside.key) return;
  beside.key = (await write(byId("beside-lines"), askBeside, request)) ? key : null;
  if (!beside.key) return;
  byId("beside-lines").prepend(h("h3", {}, beside.form));
}

async function load() {
  if (byId("equations").hidden || !state.model || state.error) return;
  present();
  loadBeside();
  const request = requestOf(shown.form);
  const key = JSON.stringify(request);
  showHead();
  if (key === shown.key) return;
  for (const id of ["copy-latex", "copy-text"]) byId(id).disabled = true;
  const answer = await write(byId("equation-lines"), ask, request);
  if (answer === undefined) return;
  shown.key = answer ? key : null;
  if (!answer) return;
  shown.answer = answer;
  for (const id of ["copy-latex", "copy-text"]) byId(id).disabled = false;
}

function showHead() {
  byId("equations-title").textContent = shown.form ?? "Equations";
  byId("use-form").disabled = !shown.form || state.form === shown.form;
  byId("use-form").textContent = state.form === shown.form ? "Runs use this form" : "Run with this form";
  const constraints = state.model?.constraints ?? [];
  byId("constraint-lines").hidden = !constraints.length;
  byId("constraint-lines").replaceChildren(
    ...constraints.map((one) =>
      h("div", { class: "constraint" },
        h("span", { class: "constraint-name" }, one.name.replaceAll("_", " "), h("small", {}, ` ${one.kind}`)),
        one.mathml ? typeset(one.mathml, false) : h("code", {}, one.text ?? "")),
    ),
  );
}

export function showEquations() {
  showForms();
  load();
}

export function wireEquations() {
  byId("forms").addEventListener("keydown", moveByKey);
  byId("explicit").addEventListener("change", load);
  byId("beside").addEventListener("change", () => {
    beside.form = byId("beside").value;
    loadBeside();
  });
  byId("copy-latex").addEventListener("click", () => copyText(shown.answer.latex, "LaTeX"));
  byId("copy-text").addEventListener("click", () => copyText(shown.answer.text, "Text"));
  byId("use-form").addEventListener("click", () => {
    state.form = shown.form;
    refreshSetup();
    caseChanged();
    showHead();
  });
  on("model", () => {
    shown.key = beside.key = null;
    showEquations();
  });
  on("case", () => !byId("equations").hidden && showHead());
}
