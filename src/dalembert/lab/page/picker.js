// Choosing a system: the gallery with a search, the model files of the folder, a file of the reader's own.

import * as api from "./api.js";
import { byId, h, notice, setIcon } from "./dom.js";
import { attempt, fileName, openFile, openSystem, openText, STARTER } from "./models.js";
import { isEdited, state } from "./state.js";

const LARGEST = 256 * 1024;
let systems = null;
let active = 0;

const words = ({ name, title, source, summary = "", tags = [] }) => [name, title, source, summary, ...tags].join(" ").toLowerCase();

function found() {
  const wanted = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  return (systems ?? []).filter((entry) => wanted.every((word) => words(entry).includes(word)));
}

function facts(entry) {
  const told = [];
  if (entry.dimension) told.push(entry.dimension === 3 ? "3-D" : "2-D");
  if (entry.coordinates?.length) told.push(`${entry.coordinates.length} coordinate${entry.coordinates.length > 1 ? "s" : ""}`);
  if (entry.constraints) told.push(`${entry.constraints} constraint${entry.constraints > 1 ? "s" : ""}`);
  return told.join(" · ");
}

const isOpen = (entry) => state.origin.kind === "gallery" && state.origin.name === entry.name;

function showSystems() {
  const list = found();
  active = Math.min(active, Math.max(0, list.length - 1));
  const box = byId("systems");
  if (!systems) {
    box.replaceChildren(h("p", { class: "empty block" }, "Loading the gallery…"));
    return;
  }
  if (!list.length) {
    box.replaceChildren(h("p", { class: "empty block" }, "No system of the gallery answers to that."));
    return;
  }
  box.replaceChildren(
    ...list.map((entry, k) =>
      h("div", {
        role: "option",
        id: `system-${k}`,
        class: "system",
        "data-system": entry.name,
        "aria-selected": k === active,
        onclick: () => choose(() => openSystem(entry.name)),
      },
        h("span", { class: "system-title" }, entry.title, isOpen(entry) ? h("span", { class: "tag" }, "open") : null),
        h("span", { class: "system-facts" }, facts(entry)),
        entry.summary ? h("span", { class: "system-summary" }, entry.summary) : null,
        h("span", { class: "source" }, entry.source)),
    ),
  );
  byId("search").setAttribute("aria-activedescendant", `system-${active}`);
}

function move(by) {
  const count = found().length;
  if (!count) return;
  const options = byId("systems").querySelectorAll("[role=option]");
  options[active]?.setAttribute("aria-selected", "false");
  active = (active + by + count) % count;
  options[active].setAttribute("aria-selected", "true");
  options[active].scrollIntoView({ block: "nearest" });
  byId("search").setAttribute("aria-activedescendant", `system-${active}`);
}

function byKey(event) {
  if (event.key === "ArrowDown") move(1);
  else if (event.key === "ArrowUp") move(-1);
  else if (event.key === "Enter") byId(`system-${active}`)?.click();
  else return;
  event.preventDefault();
}

/** Open something else, unless unsaved text would be lost and the reader wants to keep it. */
async function choose(open) {
  const unsaved = isEdited() && state.text.trim();
  if (unsaved && !confirm("The model has changes that are not saved. Open another one and lose them?")) return;
  byId("picker").setAttribute("aria-busy", "true");
  await attempt(open);
  byId("picker").setAttribute("aria-busy", "false");
  byId("picker").close();
}

async function loadLists() {
  try {
    const asked = [systems ? { systems } : api.get("/api/gallery"), api.get("/api/files"), api.get("/api/about")];
    const [gallery, folder, about] = await Promise.all(asked);
    systems = gallery.systems;
    showFiles(folder.files, about.folder);
  } catch (failure) {
    byId("picker").close();
    notice(failure.error ?? { what: String(failure.message) });
  }
  showSystems();
}

function showFiles(files, folder) {
  byId("folder").textContent = folder ? `in ${folder}` : "";
  const entry = ({ name }) => h("button", { type: "button", class: "file", onclick: () => choose(() => openFile(name)) }, name);
  const nothing = h("p", { class: "note" }, "No model files in this folder yet.");
  byId("file-list").replaceChildren(...(files.length ? files.map(entry) : [nothing]));
}

function openPicker() {
  showSystems();
  byId("picker").showModal();
  byId("search").value = "";
  byId("search").focus();
  loadLists();
}

async function readFile(file) {
  if (file.size > LARGEST) {
    const seen = `${Math.round(file.size / 1024)} kB`;
    throw new api.Refusal({ what: `The file ${file.name} is too large`, seen, remedy: "a model file has at most 256 kB" }, 0);
  }
  const text = await file.text();
  return openText(text, { kind: "text", name: fileName(file.name, text) });
}

export function wirePicker(showModel) {
  setIcon(byId("picker-close"), "close");
  byId("pick").addEventListener("click", openPicker);
  byId("open").addEventListener("click", openPicker);
  byId("picker-close").addEventListener("click", () => byId("picker").close());
  byId("picker").addEventListener("click", (event) => event.target === byId("picker") && byId("picker").close());
  byId("search").addEventListener("input", () => {
    active = 0;
    showSystems();
  });
  byId("search").addEventListener("keydown", byKey);
  byId("new-model").addEventListener("click", () =>
    choose(async () => {
      showModel();
      return openText(STARTER);
    }),
  );
  byId("upload").addEventListener("change", () => {
    const file = byId("upload").files[0];
    byId("upload").value = "";
    if (file) choose(() => readFile(file));
  });
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    const file = event.dataTransfer?.files?.[0];
    if (file) choose(() => readFile(file));
  });
}
