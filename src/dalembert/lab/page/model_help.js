// Help beside the editor: what the language has, completion of words (Ctrl Space, or while typing), and the meaning of a word under the pointer or caret.

import { byId, h } from "./dom.js";
import { completions, EXAMPLES, FUNCTIONS, KEYS, meaning, TABLES } from "./model_words.js";
import { isXml } from "./models.js";
import { state } from "./state.js";

const LINE = 20; // CSS pixels, as in style.css
const list = h("ul", { id: "completions", class: "completions", role: "listbox", "aria-label": "Completions", hidden: true });
let area = null;
let offered = [];
let chosen = 0;

const isPart = (letter) => /[\w]/.test(letter ?? "");

/** The word around an index: {word, begin, end}; robot files are XML, which has none of these words. */
function wordAt(text, index) {
  if (isXml(area.value)) return { word: "", begin: index, end: index };
  let [begin, end] = [index, index];
  while (begin > 0 && isPart(text[begin - 1])) begin -= 1;
  while (end < text.length && isPart(text[end])) end += 1;
  return { word: text.slice(begin, end), begin, end };
}

/** Whether an index lies between quotes of its line. */
function isInsideText(text, index) {
  const before = text.slice(text.lastIndexOf("\n", index - 1) + 1, index);
  return (before.match(/"/g) ?? []).length % 2 === 1;
}

function insert(text, begin = area.selectionStart, end = area.selectionEnd) {
  area.focus();
  area.setSelectionRange(begin, end);
  if (document.execCommand("insertText", false, text)) return; // keeps the undo of the field
  area.setRangeText(text, begin, end, "end");
  area.dispatchEvent(new Event("input", { bubbles: true }));
}

/** Insert a snippet on lines of its own. */
function insertLines(text) {
  const after = area.value.indexOf("\n", area.selectionStart);
  const at = after < 0 ? area.value.length : after + 1;
  const isOpen = at > 0 && area.value[at - 1] !== "\n";
  insert(`${isOpen ? "\n" : ""}${text}${text.endsWith("\n") ? "" : "\n"}`, at, at);
}

function close() {
  list.hidden = true;
  offered = [];
  area.removeAttribute("aria-activedescendant");
}

function show() {
  list.replaceChildren(
    ...offered.map(([word, told], k) =>
      h("li", { id: `completion-${k}`, role: "option", "aria-selected": k === chosen, onpointerdown: (event) => {
        event.preventDefault();
        take(word);
      } }, h("b", { translate: "no" }, word), h("span", {}, told)),
    ),
  );
  list.hidden = !offered.length;
  if (list.hidden) return;
  area.setAttribute("aria-activedescendant", `completion-${chosen}`);
  const lines = area.value.slice(0, area.selectionStart).split("\n");
  const left = 12 + characterWidth() * lines.at(-1).length - area.scrollLeft;
  list.style.left = `${Math.max(0, Math.min(left, area.clientWidth - 260))}px`;
  list.style.top = `${12 + LINE * lines.length - area.scrollTop}px`;
}

function offer(asked) {
  const { word, begin } = wordAt(area.value, area.selectionStart);
  const typed = area.value.slice(begin, area.selectionStart);
  offered = !isXml(area.value) && typed.length >= (asked ? 0 : 2) && word === typed ? completions(typed, state.model, isInsideText(area.value, begin)) : [];
  chosen = 0;
  if (offered.length) show();
  else close();
}

function take(word) {
  const { begin } = wordAt(area.value, area.selectionStart);
  insert(word, begin, area.selectionStart);
  close();
}

function keys(event) {
  if (event.key === " " && event.ctrlKey) offer(true);
  else if (list.hidden) return;
  else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    chosen = (chosen + (event.key === "ArrowDown" ? 1 : -1) + offered.length) % offered.length;
    show();
  } else if (event.key === "Enter" || event.key === "Tab") take(offered[chosen][0]);
  else if (event.key === "Escape") close();
  else return;
  event.preventDefault();
  event.stopPropagation();
}

let pen = null;

function characterWidth() {
  pen ??= document.createElement("canvas").getContext("2d");
  pen.font = getComputedStyle(area).font;
  return pen.measureText("0").width || 8;
}

/** Explain the word under the pointer as the title of the editor. */
function hover(event) {
  const row = Math.floor((event.offsetY + area.scrollTop - 12) / LINE);
  const column = Math.floor((event.offsetX + area.scrollLeft - 12) / characterWidth());
  const lines = area.value.split("\n");
  const { word } = wordAt(lines[row] ?? "", Math.max(0, column));
  const inside = column <= (lines[row]?.length ?? 0);
  area.title = word && inside && meaning(word, state.model) ? `${word}: ${meaning(word, state.model)}` : "";
}

/** Say below the editor what the word at the caret means. */
function follow() {
  const { word } = wordAt(area.value, area.selectionStart);
  const told = document.activeElement === area && word ? meaning(word, state.model) : null;
  byId("word-help").textContent = told ? `${word}: ${told}` : "";
}

function section(title, entries, action) {
  const row = ([word, told, snippet]) => h("li", {},
    h("button", { type: "button", class: "link", translate: told ? "no" : null, onclick: () => action(snippet ?? `${word}(`) }, word), told ? ` ${told}` : "");
  return h("section", {}, h("h3", {}, title), h("ul", {}, ...entries.map(row)));
}

function fill() {
  const examples = EXAMPLES.map(([title, snippet]) => [title, "", snippet]);
  const intro = "For model files in TOML; robot files (URDF, MJCF) are XML. Click a word to insert it. A text in quotes is an expression: +, -, *, /, ** and these functions.";
  byId("help").replaceChildren(
    h("h2", {}, "Model files"),
    h("p", { class: "note" }, intro),
    section("Examples", examples, insertLines),
    section("Keys", KEYS, insertLines),
    section("Tables", TABLES, insertLines),
    section("Functions", FUNCTIONS, (text) => insert(text)),
  );
}

/** Wire the help to the text area of the editor. */
export function wireHelp(textArea) {
  area = textArea;
  area.parentElement.append(list);
  area.setAttribute("aria-autocomplete", "list");
  area.setAttribute("aria-controls", "completions");
  area.addEventListener("keydown", keys);
  area.addEventListener("input", (event) => (event.inputType === "insertText" ? offer(false) : close()));
  area.addEventListener("blur", close);
  area.addEventListener("scroll", close);
  area.addEventListener("pointermove", hover);
  document.addEventListener("selectionchange", follow);
  byId("help-toggle").addEventListener("click", () => {
    const open = byId("help").hidden;
    if (open && !byId("help").childElementCount) fill();
    byId("help").hidden = !open;
    byId("help-toggle").setAttribute("aria-expanded", String(open));
  });
}
