// Which plots there are and what they show: coordinates, phase, energy and reactions; one click away the energy balance, residuals, and A minus B.

import { onTime, valueAt } from "./clock.js";
import { byId, h } from "./dom.js";
import { number, symbol } from "./names.js";
import { PhasePlot, phasePair } from "./phase.js";
import { Plot } from "./plot.js";
import { isComparing, on, state } from "./state.js";
import { onTheme, palette } from "./theme.js";

export const chosen = { plots: new Set(["coordinates", "phase", "energy", "reactions"]), names: null };

const KINDS = [
  ["coordinates", "Coordinates"],
  ["phase", "Phase"],
  ["energy", "Energy"],
  ["reactions", "Reactions"],
  ["balance", "Energy balance"],
  ["residuals", "Residuals"],
  ["difference", "|A − B|"],
];

const plots = new Map();

/** Every quantity of a result by name, in reading order. */
export function quantities(result) {
  return { ...result.state, ...(result.outputs ?? {}), ...(result.conserved ?? {}) };
}

function defaultNames() {
  const coordinates = state.model?.coordinates.map((entry) => entry.name ?? entry) ?? Object.keys(state.result?.state ?? {});
  return coordinates.slice(0, 3);
}

/** The names to draw: those chosen which the result has. */
function namesShown() {
  const known = quantities(state.result);
  const wanted = (chosen.names ?? defaultNames()).filter((name) => name in known);
  return wanted.length ? wanted : Object.keys(known).slice(0, 2);
}

/** One series per name and case; A is dashed. */
function series(names, read) {
  const cases = isComparing() ? [[state.kept, true, "A"], [state.result, false, "B"]] : [[state.result, false, null]];
  const made = [];
  names.forEach((name, k) => {
    for (const [result, dashed, tag] of cases) {
      const values = read(result, name);
      if (values) made.push({ name, t: result.t, values, dashed, tag, colour: palette().cycle[k % 6] });
    }
  });
  return made;
}

const drift = (column) => {
  const first = column?.find((value) => value !== null);
  return column?.map((value) => (value === null ? null : value - first)) ?? null;
};

function content(kind) {
  const result = state.result;
  if (kind === "coordinates") return { series: series(namesShown(), (one, name) => quantities(one)[name]) };
  if (kind === "energy") {
    const read = (one, name) => (name === "energy" ? one.energy : one.outputs?.[name]);
    const made = series(["energy", "kinetic", "potential"], read).map((one) => ({ ...one, words: one.name }));
    return { series: made, empty: made.length ? "" : "This system has no energy to follow." };
  }
  if (kind === "balance") return balance(result);
  if (kind === "residuals") {
    const names = ["position", "velocity"].filter((name) => result.residual?.[name]?.some((value) => value > 0));
    const made = series(names, (one, name) => one.residual?.[name]).map((one) => ({ ...one, words: one.name }));
    const nothing = state.model?.constraints.length ? "Every residual is exactly zero." : "No constraints, no residuals.";
    return { series: made, log: true, empty: made.length ? "" : nothing };
  }
  if (kind === "reactions") {
    const names = Object.keys(result.reactions ?? {});
    const named = (one) => ({ ...one, words: one.name.replaceAll("_", " ") });
    const made = series(names, (one, name) => one.reactions?.[name]).map(named);
    return { series: made, empty: made.length ? "" : "This form of the equations has no reactions to show." };
  }
  const made = differences().map(({ name, t, values, worst }, k) => ({ name, t, values, worst, colour: palette().cycle[k % 6] }));
  const differ = made.some((one) => one.worst > 0);
  return { series: differ ? made : [], log: true, empty: differ ? "" : "A and B agree to the last digit in these quantities." };
}

/** What supplied the energy and took it, where something does; otherwise what the run itself changed. */
function balance(result) {
  if (result.balance) {
    const { open, ...parts } = result.balance;
    const read = (one, name) => one.balance?.[name];
    const made = series(Object.keys(parts), read).map((one) => ({ ...one, words: one.name }));
    const worst = Math.max(...open.map((value) => Math.abs(value ?? 0)));
    return { title: `Energy balance, open ≤ ${number(worst, 2)}`, series: made };
  }
  const title = result.energy_changes ? `E − E(0), changed by ${result.energy_changes}` : "E − E(0)";
  const made = series(["energy"], (one) => drift(one.energy)).map((one) => ({ ...one, words: "E − E(0)" }));
  return { title, series: made, empty: made.length ? "" : "This system has no energy to follow." };
}

/** The curves of the phase plane, A dashed. */
function phase() {
  const [x, y] = phasePair(state.model, state.result.state);
  const cases = isComparing() ? [[state.kept, true], [state.result, false]] : [[state.result, false]];
  const curves = cases
    .map(([{ t, state: columns }, dashed]) => ({ t, x: columns[x], y: columns[y], dashed }))
    .filter((curve) => curve.x && curve.y);
  return { x, y, curves };
}

/** |A − B| of the shown names on B's times, where both are defined. */
function differences() {
  if (!isComparing()) return [];
  const [a, b] = [state.kept, state.result];
  const close = (time, k) => Math.abs(time - b.t[k]) <= 1e-12 * Math.max(1, Math.abs(time));
  const equal = a.t.length === b.t.length && a.t.every(close);
  const low = Math.max(Math.min(a.t[0], a.t.at(-1)), Math.min(b.t[0], b.t.at(-1)));
  const high = Math.min(Math.max(a.t[0], a.t.at(-1)), Math.max(b.t[0], b.t.at(-1)));
  const [left, right] = [quantities(a), quantities(b)];
  return namesShown()
    .filter((name) => name in left && name in right)
    .map((name) => {
      const values = b.t.map((time, k) => {
        if (time < low || time > high) return null;
        const other = equal ? left[name][k] : valueAt(a.t, left[name], time);
        return other === null || right[name][k] === null ? null : Math.abs(other - right[name][k]);
      });
      return { name, t: b.t, values, equal, worst: Math.max(0, ...values.filter((value) => value !== null)) };
    });
}

function available() {
  return KINDS.filter(([kind]) => kind !== "difference" || isComparing());
}

function showChoice() {
  byId("plot-choice").replaceChildren(
    ...available().map(([kind, title]) =>
      h("button", {
        type: "button",
        class: "chip",
        "aria-pressed": chosen.plots.has(kind),
        onclick: () => {
          if (!chosen.plots.delete(kind)) chosen.plots.add(kind);
          showPlots();
        },
      }, title),
    ),
  );
}

/** Names by what they are, for the list to choose from. */
function groups(known) {
  const model = state.model ?? { coordinates: [], state: [] };
  const coordinates = new Set(model.coordinates.map((entry) => entry.name ?? entry));
  const kind = (name) => {
    if (coordinates.has(name)) return "Coordinates";
    if (name.endsWith("_ddot")) return "Accelerations";
    if (name.endsWith("_dot")) return "Velocities";
    return name.startsWith("p_") && coordinates.has(name.slice(2)) ? "Momenta" : "Others";
  };
  const found = new Map();
  for (const name of known) found.set(kind(name), [...(found.get(kind(name)) ?? []), name]);
  return found;
}

let chooserOpen = false;

function chooser() {
  const known = Object.keys(quantities(state.result));
  const body = h("div", { class: "popover" });
  for (const [title, names] of groups(known)) body.append(h("h4", {}, title), nameChips(known, names));
  const box = h("details", { class: "chooser", open: chooserOpen }, h("summary", {}, "choose"), body);
  box.addEventListener("toggle", () => (chooserOpen = box.open));
  return box;
}

function nameChips(known, names) {
  const shown = new Set(namesShown());
  const box = h("div", { class: "chips names", role: "group", "aria-label": "Quantities shown" });
  for (const name of names) {
    const flip = () => {
      const next = new Set(namesShown());
      if (!next.delete(name)) next.add(name);
      if (!next.size) return;
      chosen.names = known.filter((one) => next.has(one));
      showPlots();
      const again = [...document.querySelectorAll("[data-quantity]")].find((one) => one.dataset.quantity === name);
      again?.focus();
    };
    const told = { "data-quantity": name, "aria-pressed": shown.has(name), "aria-label": name };
    box.append(h("button", { type: "button", class: "chip small", ...told, onclick: flip }, symbol(name)));
  }
  return box;
}

function summary() {
  const rows = differences();
  if (!rows.length) return [];
  const told = rows.map((row, k) => {
    const key = h("span", { class: "key" });
    key.style.setProperty("--key", palette().cycle[k % 6]);
    return h("span", { class: "entry" }, key, h("span", {}, "|Δ", symbol(row.name), "| ≤ "), h("b", {}, number(row.worst, 3)));
  });
  if (!rows[0].equal) told.push(h("span", { class: "note" }, "times differ: A is interpolated"));
  return told;
}

let compared = false;

function showPlots() {
  if (isComparing() && !compared) chosen.plots.add("difference");
  compared = isComparing();
  showChoice();
  const box = byId("plots");
  if (!state.result) {
    box.replaceChildren(h("p", { class: "empty block" }, "Curves appear here after a run."));
    return;
  }
  const wanted = available().filter(([kind]) => chosen.plots.has(kind));
  for (const [kind, title] of wanted) {
    if (!plots.has(kind)) plots.set(kind, kind === "phase" ? new PhasePlot(title) : new Plot(title));
    const plot = plots.get(kind);
    plot.element.dataset.kind = kind;
    if (kind === "phase") plot.setCurves(phase());
    else plot.set({ title, ...content(kind) });
    if (kind === "coordinates") plot.tools.replaceChildren(chooser());
    if (kind === "difference") plot.tools.replaceChildren(h("div", { class: "legend" }, ...summary()));
  }
  const elements = wanted.map(([kind]) => plots.get(kind).element);
  const present = [...box.children];
  if (present.length !== elements.length || present.some((one, k) => one !== elements[k])) box.replaceChildren(...elements);
}

export function wirePanels() {
  on("result", showPlots);
  onTheme(showPlots);
  document.addEventListener("pointerdown", (event) => {
    const open = document.querySelector(".chooser[open]");
    if (open && !event.target.closest(".chooser")) open.open = false;
  });
  document.addEventListener("keydown", (event) => {
    const open = event.key === "Escape" && document.querySelector(".chooser[open]");
    if (!open) return;
    open.open = false;
    open.firstElementChild.focus();
  });
  onTime(() => plots.forEach((plot) => plot.follow()));
  showPlots();
}
