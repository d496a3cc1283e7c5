// The whole page: its parts are wired, then the state of the link, a file, or the snakeboard, is opened.

import * as api from "./api.js";
import { byId, setIcon } from "./dom.js";
import { wireEditor } from "./editor.js";
import { showEquations, wireEquations } from "./equations.js";
import { wireLanguage } from "./language.js";
import { openFile, openSystem, orNotice } from "./models.js";
import { wireMotion } from "./motion.js";
import { wirePanels } from "./panels.js";
import { wirePicker } from "./picker.js";
import { showPortrait, wirePortrait } from "./portrait.js";
import { run, wireRunning } from "./running.js";
import { wireSetup } from "./setup.js";
import { keepState, restore, wireSharing } from "./sharing.js";
import { isEdited, state } from "./state.js";
import { showStudy, wireStudy } from "./study.js";
import { isDark, onTheme, toggleTheme } from "./theme.js";
import { wireUndo } from "./undo.js";

const VIEWS = ["setup", "motion", "equations", "portrait", "study", "model"];
const narrow = matchMedia("(max-width: 960px)");

function show(view) {
  const wanted = VIEWS.includes(view) && (view !== "setup" || narrow.matches) ? view : "motion";
  document.querySelector(".lab").dataset.view = wanted;
  for (const name of VIEWS) {
    const tab = byId(`tab-${name}`);
    tab.setAttribute("aria-selected", String(name === wanted));
    tab.tabIndex = name === wanted ? 0 : -1;
    if (name !== "setup") byId(name).hidden = name !== wanted;
  }
  if (wanted === "equations") showEquations();
  if (wanted === "portrait") showPortrait();
  if (wanted === "study") showStudy();
}

function wireTabs() {
  const tabs = VIEWS.map((name) => byId(`tab-${name}`));
  for (const tab of tabs) {
    tab.addEventListener("click", () => show(tab.dataset.view));
    tab.addEventListener("keydown", (event) => {
      const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!move) return;
      event.preventDefault();
      const visible = tabs.filter((one) => one.offsetParent !== null);
      const next = visible[(visible.indexOf(tab) + move + visible.length) % visible.length];
      show(next.dataset.view);
      next.focus();
    });
  }
  narrow.addEventListener("change", () => show(document.querySelector(".lab").dataset.view));
}

function wireTheme() {
  const wear = () => setIcon(byId("theme"), isDark() ? "sun" : "moon");
  byId("theme").addEventListener("click", toggleTheme);
  onTheme(wear);
  wear();
}

/** The file that the lab was started with, or the snakeboard. */
async function openFirst() {
  const { opened } = await api.get("/api/about");
  return opened ? openFile(opened) : openSystem("snakeboard");
}

export async function open() {
  wireTabs();
  wireTheme();
  wireLanguage(byId("language"), keepState);
  wireSetup();
  wireEditor();
  wireEquations();
  wireMotion();
  wirePanels();
  wirePortrait();
  wireStudy();
  wireRunning(() => show("motion"));
  wireSharing();
  wireUndo();
  wirePicker(() => show("model"));
  show("motion");
  addEventListener("hashchange", () => restore(show));
  addEventListener("beforeunload", (event) => {
    if (isEdited() && state.text.trim()) event.preventDefault();
  });
  if (await restore(show)) return;
  const opened = await orNotice(openFirst);
  if (opened !== undefined) await run();
}
