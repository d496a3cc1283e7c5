// The page in the reader's language: texts of the one table are replaced where they enter the document. English needs nothing of this.

import { LANGUAGES, TEXTS } from "./texts.js";

const ATTRIBUTES = ["title", "aria-label", "placeholder"];
/** Names of models and files, formulas and what the reader writes stay as they are. */
const KEPT = "[translate=no], math, textarea, pre, code, output, .sym, .system, .file, .equation";

const exact = new Map();
const patterns = [];

function learn(language) {
  const column = 1 + LANGUAGES.indexOf(language);
  for (const row of TEXTS) {
    if (!row[0].includes("{}")) {
      exact.set(row[0], row[column]);
      continue;
    }
    const escaped = row[0].replace(/[.*+?^$()|[\]\\]/g, "\\$&").replaceAll("{}", "(.+?)");
    patterns.push([new RegExp(`^${escaped}$`), row[column]]);
  }
}

function sentence(text) {
  const known = exact.get(text);
  if (known) return known;
  for (const [pattern, translated] of patterns) {
    const found = pattern.exec(text);
    if (!found) continue;
    let place = 0;
    return translated.replaceAll("{}", () => found[(place += 1)]);
  }
  return null;
}

/** A text in the language; facts between dots one by one. */
function translated(text) {
  const bare = text.trim();
  if (!/[A-Za-z]/.test(bare)) return null;
  const whole = sentence(bare);
  const pieces = whole ?? bare.split(" · ").map((piece) => sentence(piece) ?? piece).join(" · ");
  return pieces === bare ? null : text.replace(bare, () => pieces);
}

function ofText(node) {
  if (node.parentElement?.closest(KEPT)) return;
  const found = translated(node.data);
  if (found !== null) node.data = found;
}

function ofAttributes(element) {
  if (element.closest("[translate=no]")) return;
  for (const name of ATTRIBUTES) {
    const found = element.hasAttribute(name) ? translated(element.getAttribute(name)) : null;
    if (found !== null) element.setAttribute(name, found);
  }
}

function all(root) {
  if (root.nodeType === Node.TEXT_NODE) return ofText(root);
  if (root.nodeType !== Node.ELEMENT_NODE) return undefined;
  ofAttributes(root);
  for (const element of root.querySelectorAll(ATTRIBUTES.map((name) => `[${name}]`).join())) ofAttributes(element);
  const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) ofText(walk.currentNode);
  return undefined;
}

/** Translate what is there and what comes. */
export function translate(language) {
  if (!LANGUAGES.includes(language)) return;
  learn(language);
  document.documentElement.lang = language;
  all(document.body);
  new MutationObserver((changes) => {
    for (const change of changes) {
      if (change.type === "childList") change.addedNodes.forEach(all);
      else if (change.type === "characterData") ofText(change.target);
      else ofAttributes(change.target);
    }
  }).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true, attributeFilter: ATTRIBUTES });
}
