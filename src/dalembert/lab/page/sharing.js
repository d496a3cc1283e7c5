// What leaves the page: files of the run, and a link that brings the whole state back.

import * as api from "./api.js";
import { clock, pause, seek } from "./clock.js";
import { byId, copyText, h, notice, saveBlob, setIcon, toast } from "./dom.js";
import { chooseForm, chosenForm } from "./equations.js";
import { decode, encode } from "./link.js";
import { attempt, openCase } from "./models.js";
import { chosen } from "./panels.js";
import { portrait } from "./portrait.js";
import { compute, run } from "./running.js";
import { presentCase, state, tell } from "./state.js";

const FORMATS = [
  ["csv", "CSV", "table of the motion"],
  ["nc", "netCDF", "the motion with its attributes"],
  ["json", "JSON", "everything on this page"],
  ["svg", "SVG", "plot for print"],
  ["png", "PNG", "plot as a picture"],
  ["gif", "GIF", "animation of the drawing"],
  ["video", "Video", "recorded by this browser while it plays"],
  ["html", "Web page", "one file in which the model runs"],
  ["ipynb", "Notebook", "for Jupyter, VS Code or Colab"],
  ["toml", "Model file", "with these values"],
  ["py", "Python", "script that repeats the run"],
];

const VIDEOS = [["video/mp4", "mp4"], ["video/webm", "webm"]];

/** Play the motion once from its start and save what the canvas shows: MP4 where the browser writes it, else WebM. */
async function recordVideo() {
  const kind = VIDEOS.find(([type]) => globalThis.MediaRecorder?.isTypeSupported(type));
  const canvas = document.querySelector("canvas.scene");
  if (!kind || !canvas?.captureStream) {
    throw new api.Refusal({ what: "This browser does not record videos", remedy: "download a GIF, or write `motion.animate(\"motion.mp4\")` in Python" }, 0);
  }
  const recorder = new MediaRecorder(canvas.captureStream(30), { mimeType: kind[0] });
  const chunks = [];
  recorder.addEventListener("dataavailable", (event) => chunks.push(event.data));
  const ended = new Promise((resolve) => recorder.addEventListener("stop", resolve));
  toast("Recording while the motion plays once");
  pause();
  clock.loop = false;
  byId("loop").setAttribute("aria-pressed", "false");
  seek(clock.low);
  recorder.start();
  byId("play").click();
  await new Promise((resolve) => {
    const look = setInterval(() => {
      if (clock.playing) return;
      clearInterval(look);
      resolve();
    }, 50);
  });
  recorder.stop();
  await ended;
  saveBlob(new Blob(chunks, { type: kind[0] }), `motion.${kind[1]}`);
}

async function download(format) {
  const id = state.result?.id;
  if (!id) return;
  if (format === "video") return recordVideo();
  const { blob, name } = await api.getBlob(`/api/runs/${id}/download?format=${format}`);
  saveBlob(blob, name ?? `motion.${format}`);
}

function showMenu(open) {
  const menu = byId("download-menu");
  menu.hidden = !open;
  byId("download").setAttribute("aria-expanded", String(open));
  if (!open) return;
  const ready = Boolean(state.result);
  menu.replaceChildren(
    ...FORMATS.map(([format, title, about]) =>
      h("button", { type: "button", role: "menuitem", "data-format": format, disabled: !ready, onclick: () => {
        showMenu(false);
        byId("download").focus();
        attempt(() => download(format));
      } }, h("b", {}, title), h("span", {}, about)),
    ),
    ...(ready ? [] : [h("p", { class: "note" }, "Files are ready after a run.")]),
  );
  menu.querySelector("button:not(:disabled)")?.focus();
}

function menuKeys(event) {
  const items = [...byId("download-menu").querySelectorAll("button:not(:disabled)")];
  const at = items.indexOf(document.activeElement);
  if (event.key === "Escape") {
    showMenu(false);
    byId("download").focus();
  } else if (event.key === "ArrowDown") items[(at + 1) % items.length]?.focus();
  else if (event.key === "ArrowUp") items[(at - 1 + items.length) % items.length]?.focus();
  else return;
  event.preventDefault();
  event.stopPropagation();
}

/** The state of the page as data: cases, what is shown, and whether there were results. */
function pageState() {
  return {
    v: 1,
    case: presentCase(),
    kept: state.kept?.request ?? null,
    ran: Boolean(state.result),
    view: document.querySelector(".lab").dataset.view,
    time: clock.ready ? clock.time : null,
    plots: [...chosen.plots],
    names: chosen.names,
    equations: chosenForm(),
    portrait: { x: portrait.x, y: portrait.y, points: portrait.points },
  };
}

/** Put the state of the page into its address. */
export const keepState = async () => history.replaceState(null, "", await encode(pageState()));

async function copyLink() {
  await keepState();
  await copyText(location.href, "Link");
}

const UNREADABLE = { what: "This link cannot be read", remedy: "copy it again in full; the snakeboard is open instead" };
const names = (value) => (Array.isArray(value) ? value.filter((one) => typeof one === "string") : null);

/** Bring back the state of the address; false where there is none. */
export async function restore(show) {
  let saved;
  try {
    saved = await decode(location.hash);
  } catch {
    notice(UNREADABLE);
    return false;
  }
  if (!saved) return false;
  if (names(saved.plots)) chosen.plots = new Set(names(saved.plots));
  chosen.names = names(saved.names);
  if (typeof saved.equations === "string") chooseForm(saved.equations);
  if (saved.portrait && Array.isArray(saved.portrait.points)) {
    const points = saved.portrait.points.filter((point) => Array.isArray(point) && point.length === 2 && point.every(Number.isFinite));
    Object.assign(portrait, { x: String(saved.portrait.x ?? ""), y: String(saved.portrait.y ?? ""), points: points.slice(0, 24) });
  }
  if (typeof saved.view === "string") show(saved.view);
  return (await attempt(() => bringBack(saved))) ?? true;
}

async function bringBack(saved) {
  await openCase(saved.case);
  if (saved.kept) {
    state.kept = await compute(saved.kept);
    state.result = state.kept;
    tell("result");
  }
  if (saved.ran && !state.error) await run();
  if (Number.isFinite(saved.time)) {
    pause();
    seek(saved.time);
  }
  return true;
}

export function wireSharing() {
  setIcon(byId("download").querySelector(".slim"), "download");
  setIcon(byId("copy-link").querySelector(".slim"), "link");
  byId("download").addEventListener("click", () => showMenu(byId("download-menu").hidden));
  byId("download-menu").addEventListener("keydown", menuKeys);
  document.addEventListener("pointerdown", (event) => {
    if (!event.target.closest(".menu")) showMenu(false);
  });
  byId("copy-link").addEventListener("click", () => attempt(copyLink));
}
