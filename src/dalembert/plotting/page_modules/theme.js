// Light and dark: the system's wish unless the reader chose. Canvases ask here for the colours of the style sheet.

const wish = matchMedia("(prefers-color-scheme: dark)");
const still = matchMedia("(prefers-reduced-motion: reduce)");
const listeners = new Set();
let cached = null;
let root = document.documentElement;

/** Read colours from an element that has its own, where the page around it is not ours. */
export function useColoursOf(element) {
  root = element;
  wear();
}

function chosen() {
  try {
    return localStorage.getItem("dalembert-theme");
  } catch {
    return null;
  }
}

export const isDark = () => (chosen() ? chosen() === "dark" : wish.matches);
export const isStill = () => still.matches;
export const onTheme = (listener) => listeners.add(listener);

function wear() {
  root.dataset.theme = isDark() ? "dark" : "light";
  cached = null;
  for (const listener of listeners) listener();
}

export function toggleTheme() {
  const next = isDark() ? "light" : "dark";
  try {
    localStorage.setItem("dalembert-theme", next);
  } catch {
    /* a browser that keeps nothing still switches */
  }
  wear();
}

/** Colours by role for canvases, and the fonts they write in. */
export function palette() {
  if (cached) return cached;
  const style = getComputedStyle(root);
  const read = (name) => style.getPropertyValue(`--${name}`).trim();
  const roles = ["paper", "ink", "muted", "grid", "line", "body", "link", "trace", "ground", "accent", "brand"];
  cached = Object.fromEntries(roles.map((role) => [role, read(role)]));
  cached.cycle = [1, 2, 3, 4, 5, 6].map((k) => read(`curve-${k}`));
  cached.sans = read("sans");
  cached.serif = read("serif");
  return cached;
}

const ROLES = new Set(["body", "link", "trace", "ground", "accent", "ink", "muted", "grid"]);

/** The colour of a role, or the colour itself; "background" is the paper. */
export function colour(role) {
  if (role === "background") return palette().paper;
  return ROLES.has(role) ? palette()[role] : role || palette().body;
}

wish.addEventListener("change", wear);
wear();
