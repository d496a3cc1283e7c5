// The model's text: a plain text area over a coloured copy of itself, with line numbers and the fault at its line.

import * as api from "./api.js";
import { byId, errorNodes, h, toast } from "./dom.js";
import { wireHelp } from "./model_help.js";
import { attempt, checkNow, edit, fileName, isXml } from "./models.js";
import { isEdited, on, state, tell } from "./state.js";

const area = h("textarea", {
  class: "code",
  spellcheck: "false",
  autocapitalize: "off",
  autocomplete: "off",
  wrap: "off",
  "aria-label": "Model file",
  "aria-describedby": "editor-error",
});
const colours = h("pre", { class: "code", "aria-hidden": "true" });
const gutter = h("div", { class: "gutter", "aria-hidden": "true" });

const TOKENS = [
  /(#[^\n]*)/,
  /("""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'[^'\n]*'?)/,
  /^([ \t]*\[{1,2}[^\]\n]*\]{1,2})/,
  /^([ \t]*[\w.-]+)(?=\s*=)/,
  /\b(true|false|[-+]?\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?)\b/,
];
const XML_TOKENS = [/(<!--[\s\S]*?(?:-->|$))/, TOKENS[1], /(<[/?]?[\w:.-]*|[/?]?>)/, /([\w:.-]+)(?=\s*=)/, /(?!)()/];
const tokens = (kinds) => new RegExp(kinds.map((one) => one.source).join("|"), "gm");
const [TOML, XML] = [tokens(TOKENS), tokens(XML_TOKENS)];
const KINDS = ["", "comment", "string", "table", "key", "value"];
const COLOURED = 60000;

/** The text as spans by kind of token; very long texts stay plain. */
function colour(text) {
  if (text.length > COLOURED) return [text];
  const nodes = [];
  let last = 0;
  for (const found of text.matchAll(isXml(text) ? XML : TOML)) {
    const kind = KINDS.findIndex((_, k) => k > 0 && found[k] !== undefined);
    if (found.index > last) nodes.push(text.slice(last, found.index));
    nodes.push(h("span", { class: `tok-${KINDS[kind]}` }, found[0]));
    last = found.index + found[0].length;
  }
  nodes.push(text.slice(last));
  return nodes;
}

function paint() {
  const text = area.value;
  colours.replaceChildren(...colour(text), "\n");
  const lines = text.split("\n").length;
  const wrong = new Set([state.error?.line, ...(state.error?.faults ?? []).map((fault) => fault.line)].filter(Number.isFinite));
  if (gutter.childElementCount !== lines) {
    gutter.replaceChildren(...Array.from({ length: lines }, (_, k) => h("span", {}, String(k + 1))));
  }
  [...gutter.children].forEach((line, k) => line.classList.toggle("wrong", wrong.has(k + 1)));
  scroll();
}

function scroll() {
  colours.scrollTop = gutter.scrollTop = area.scrollTop;
  colours.scrollLeft = area.scrollLeft;
}

function showText() {
  const none = state.text === null;
  area.disabled = none;
  area.placeholder = none ? "This system of the gallery is written in Python and has no model file." : "";
  if (area.value !== (state.text ?? "")) area.value = state.text ?? "";
  if (document.activeElement !== byId("file-name")) byId("file-name").value = suggestedName();
  showState();
  paint();
}

const suggestedName = () => (state.origin.kind === "gallery" ? `${state.origin.name}.toml` : state.origin.name);

function verdict(edited) {
  if (state.checking) return "checking…";
  if (state.error) return state.error.line ? `Fault in line ${state.error.line}` : "Fault";
  if (state.text === null) return "";
  return edited ? "Correct, not saved" : "Correct";
}

function showState() {
  const edited = isEdited();
  byId("unsaved").hidden = !edited;
  byId("revert").disabled = !edited || state.origin.kind === "text";
  byId("save").disabled = state.text === null;
  byId("pick-title").textContent = state.title || state.origin.name;
  const box = byId("editor-error");
  box.hidden = !state.error;
  area.setAttribute("aria-invalid", state.error ? "true" : "false");
  byId("check-state").textContent = verdict(edited);
  byId("check-state").dataset.kind = state.checking ? "open" : state.error ? "wrong" : "right";
  byId("tab-model").classList.toggle("has-fault", Boolean(state.error));
  if (!state.error) return;
  const { line } = state.error;
  const jump = line ? [h("button", { type: "button", class: "link", onclick: () => goTo(line) }, `Line ${line}`), " "] : [];
  box.replaceChildren(...jump, ...errorNodes(state.error));
}

/** Put the caret at a line and show it. */
function goTo(line) {
  const starts = area.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  const end = area.value.indexOf("\n", starts);
  area.focus();
  area.setSelectionRange(starts, end < 0 ? area.value.length : end);
  area.scrollTop = Math.max(0, (line - 5) * 20);
}

async function save() {
  const name = fileName(byId("file-name").value.trim() || "model", state.text);
  const draft = Boolean(state.error);
  const body = { text: state.text };
  if (draft) body.draft = true;
  if (state.origin.kind === "file" && state.origin.name === name && state.origin.modified) body.modified = state.origin.modified;
  const saved = await api.put(`/api/files/${encodeURIComponent(name)}`, body);
  state.origin = { kind: "file", name, modified: saved.modified };
  state.original = state.text;
  tell("edit");
  toast(draft ? `${name} saved as a draft: it has a fault` : `${name} saved`);
}

function onKey(event) {
  if ((event.ctrlKey || event.metaKey) && event.key === "s") {
    event.preventDefault();
    attempt(save);
  }
}

export function wireEditor() {
  byId("editor").append(gutter, h("div", { class: "code-frame" }, colours, area));
  wireHelp(area);
  area.addEventListener("input", () => {
    edit(area.value);
    paint();
  });
  area.addEventListener("scroll", scroll);
  area.addEventListener("keydown", onKey);
  byId("save").addEventListener("click", () => attempt(save));
  byId("revert").addEventListener("click", () => {
    state.text = state.original;
    tell("edit");
    checkNow();
  });
  on("edit", showText);
  on("model", showText);
}
