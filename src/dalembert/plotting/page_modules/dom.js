// Small helpers for the document: elements, waiting, copying. Text enters the page as text nodes only, never as markup.

export const byId = (id) => document.getElementById(id);

/** Make an element: attributes, properties (`.value`), listeners (`onclick`), then children. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || (value === false && !key.startsWith("aria-"))) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key.startsWith(".")) element[key.slice(1)] = value;
    else element.setAttribute(key, value === true && !key.startsWith("aria-") ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** Call `action` once `wait` milliseconds have passed without another call. */
export function debounce(action, wait) {
  let timer = 0;
  const later = (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...given), wait);
  };
  later.cancel = () => clearTimeout(timer);
  return later;
}

/** Call `action` at most once per frame. */
export function perFrame(action) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      action();
    });
  };
}

let toastTimer = 0;

/** Say something small that goes away by itself. */
export function toast(sentence) {
  const box = byId("toast");
  box.textContent = sentence;
  box.hidden = false;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => (box.hidden = true), 2600);
}

/** A sentence as nodes, with names between backticks as code. */
export const rich = (text) => text.split("`").map((piece, k) => (k % 2 ? h("code", {}, piece) : piece));

/** The three parts of an error as nodes: what is wrong, the value seen, what to do. */
export function errorNodes(error) {
  const end = (text) => (/[.!?:]$/.test(text) ? text : `${text}.`);
  const nodes = [h("strong", {}, ...rich(end(String(error.what || "Something went wrong"))))];
  if (error.seen) nodes.push(h("span", { class: "seen" }, " Seen: ", h("code", {}, String(error.seen))));
  if (error.remedy) nodes.push(h("span", { class: "remedy" }, ...rich(` What to do: ${end(String(error.remedy))}`)));
  if (Array.isArray(error.faults) && error.faults.length) {
    const line = (fault) => (fault.line ? `Line ${fault.line}: ` : null);
    nodes.push(h("ul", { class: "faults" }, ...error.faults.map((fault) => h("li", {}, line(fault), ...rich(String(fault.text ?? fault))))));
  }
  return nodes;
}

/** Show an error above the page until it is closed or replaced; null takes it away. */
export function notice(error) {
  const box = byId("notice");
  box.hidden = !error;
  box.replaceChildren();
  if (!error) return;
  const close = h("button", { type: "button", class: "quiet icon-button", "aria-label": "Close", onclick: () => notice(null) });
  close.append(icon("close"));
  box.append(h("p", {}, ...errorNodes(error)), close);
}

export async function copyText(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = h("textarea", { class: "visually-hidden", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  toast(`${what} copied`);
}

/** Hand a blob to the browser as a download. */
export function saveBlob(blob, name) {
  const address = URL.createObjectURL(blob);
  const anchor = h("a", { href: address, download: name });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(address), 4000);
}

const PATHS = {
  download: "M11 4h2v8.200l3-3 1.400 1.400L12 16l-5.400-5.400L8 9.200l3 3zM5 18h14v2H5z",
  link: "M10.600 13.400a1 1 0 0 1 0-1.400l1.400-1.400a1 1 0 0 1 1.400 1.400L12 13.400a1 1 0 0 1-1.400 0zM8.500 20A4.500 4.500 0 0 1 5.300 12.300l3-3 1.400 1.400-3 3a2.500 2.500 0 0 0 3.600 3.600l3-3 1.400 1.400-3 3A4.500 4.500 0 0 1 8.500 20zm7.200-5.300-1.400-1.400 3-3a2.500 2.500 0 0 0-3.600-3.600l-3 3-1.400-1.400 3-3a4.500 4.500 0 0 1 6.400 6.400z",
  play: "M7 4.5v15l12-7.5z",
  pause: "M7 5h3.5v14H7zM13.5 5H17v14h-3.5z",
  back: "M17 5.5v13L8.5 12zM6 5.5h2v13H6z",
  forth: "M7 5.5v13l8.5-6.5zM16 5.5h2v13h-2z",
  grab: "M12 2l3.200 3.600h-2.200V11h5.400V8.800L22 12l-3.600 3.200V13H13v5.400h2.200L12 22l-3.200-3.600H11V13H5.600v2.200L2 12l3.600-3.200V11H11V5.600H8.800z",
  follow: "M11 2h2v3.100a7 7 0 0 1 5.900 5.900H22v2h-3.100a7 7 0 0 1-5.900 5.900V22h-2v-3.100A7 7 0 0 1 5.100 13H2v-2h3.100A7 7 0 0 1 11 5.100zM12 7a5 5 0 1 0 0 10 5 5 0 0 0 0-10zm0 3a2 2 0 1 1 0 4 2 2 0 0 1 0-4z",
  undo: "M9 5 4 10l5 5v-3.500h4.500a3.500 3.500 0 0 1 0 7H8v2h5.500a5.500 5.500 0 0 0 0-11H9z",
  redo: "M15 5l5 5-5 5v-3.500h-4.500a3.500 3.500 0 0 0 0 7H16v2h-5.500a5.500 5.500 0 0 1 0-11H15z",
  loop: "M12 5a7 7 0 0 1 6.6 4.7l-1.9.7A5 5 0 1 0 16.6 14H14l3.8-4.4L21.600 14H18.600A7 7 0 1 1 12 5z",
  close: "M6.4 5 12 10.600 17.600 5 19 6.400 13.400 12 19 17.600 17.600 19 12 13.400 6.400 19 5 17.600 10.600 12 5 6.400z",
  sun: "M12 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8zM11 2h2v3h-2zM11 19h2v3h-2zM2 11h3v2H2zM19 11h3v2h-3zM4.200 5.600l1.400-1.400 2.100 2.100-1.400 1.400zM16.300 17.700l1.400-1.400 2.100 2.100-1.400 1.400zM4.200 18.400l2.100-2.100 1.400 1.400-2.100 2.100zM16.300 6.300l2.100-2.100 1.400 1.400-2.100 2.100z",
  moon: "M20 14.500A8.500 8.500 0 0 1 9.500 4a8.500 8.500 0 1 0 10.500 10.500z",
};

function icon(name) {
  const space = "http://www.w3.org/2000/svg";
  const picture = document.createElementNS(space, "svg");
  picture.setAttribute("viewBox", "0 0 24 24");
  picture.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", PATHS[name]);
  picture.append(path);
  return picture;
}

export const setIcon = (button, name) => button.replaceChildren(icon(name));
