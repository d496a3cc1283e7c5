// One run at a time: asked for, followed, cancelled, shown.

import * as api from "./api.js";
import { byId, debounce } from "./dom.js";
import { checkNow } from "./models.js";
import { setFailure } from "./motion.js";
import { number } from "./names.js";
import { isStale, on, presentCase, state, tell } from "./state.js";

const [FRAMES, QUICK_FRAMES] = [900, 300];
const QUICK = 400; // milliseconds: a run as short as this follows every move of a slider
let running = null; // {id, cancelled}
let lasted = 0; // the last quick run, in milliseconds

function show(progress) {
  const button = byId("run");
  button.textContent = running ? "Cancel" : "Run";
  button.classList.toggle("cancel", Boolean(running));
  button.disabled = !running && (!state.model || Boolean(state.error));
  const bar = byId("progress");
  bar.hidden = !running;
  const fraction = Math.min(1, Math.max(0, progress?.fraction ?? 0));
  bar.setAttribute("aria-valuenow", String(Math.round(100 * fraction)));
  bar.firstElementChild.style.width = `${Math.max(2, 100 * fraction)}%`;
  bar.classList.toggle("unknown", Boolean(running) && !(fraction > 0));
  if (!running) return;
  const place = Number.isFinite(progress?.t) ? `t = ${number(progress.t, 3)}` : "preparing";
  byId("run-state").textContent = fraction > 0 ? `${place} · ${Math.round(100 * fraction)} %` : `${place}…`;
}

/** Run a case to its end; the result, or null where there is none. A quick run has fewer frames, no action and no integrals. */
export async function compute(request, onProgress = () => {}, quick = false) {
  const wanted = quick ? { frames: QUICK_FRAMES, wait: true, integrals: false, packed: true } : { frames: FRAMES };
  const answer = await api.post("/api/runs", { ...request, ...wanted });
  if (answer.t) return { ...api.unpack(answer), request, fresh: true, quick };
  const { id } = answer;
  if (running) running.id = id;
  if (running?.cancelled) await api.remove(`/api/runs/${id}`);
  const ending = await api.follow(id, onProgress);
  if (ending.status === "cancelled") return null;
  if (ending.status === "failed") throw new api.Refusal(ending.error ?? { what: "The run failed" }, 0);
  const result = await api.get(`/api/runs/${id}/result`);
  return { ...api.unpack(result), request, fresh: true, quick };
}

export async function run(quick = false) {
  if (running) return;
  const began = performance.now();
  const mine = (running = { id: null, cancelled: false });
  state.running = true;
  setFailure(null);
  show();
  let told = "";
  try {
    if (!state.model || state.error) await checkNow();
    if (state.error) throw new api.Refusal(state.error, 0);
    const result = await compute(presentCase(), show, quick);
    if (result && !mine.cancelled) {
      state.result = result;
      setFailure(null);
      if (quick) lasted = performance.now() - began;
    } else told = "Cancelled";
  } catch (failure) {
    told = mine.cancelled ? "Cancelled" : "Failed";
    if (!mine.cancelled) setFailure(failure.error ?? { what: String(failure.message ?? failure) });
  }
  if (running === mine) running = null;
  state.running = false;
  byId("run-state").textContent = told;
  show();
  tell("result");
  if (document.activeElement === byId("run") && state.result && !told) byId("play").focus();
  if (!byId("live").checked || told) return;
  if (isStale()) runSoon();
  else if (quick) completeLater();
}

async function cancel() {
  if (!running) return;
  running.cancelled = true;
  byId("run-state").textContent = "cancelling…";
  try {
    if (running.id) await api.remove(`/api/runs/${running.id}`);
  } catch {
    /* it has ended meanwhile; its stream says so */
  }
}

const runLater = debounce(() => run(true), 250);
/** What a quick run left out comes when the values have been still for a moment. */
const completeLater = debounce(() => state.result?.quick && run(), 500);

/** Follow a changed value: at once where runs are short, after a pause where they are not. */
function runSoon() {
  completeLater.cancel();
  if (lasted > QUICK) runLater();
  else if (!running) run(true);
}

/** A run that the reader asked for is shown when it is there. */
async function runAndShow(showMotion) {
  const before = state.result;
  await run();
  const view = document.querySelector(".lab").dataset.view;
  if (state.result !== before && view !== "motion" && view !== "portrait") showMotion();
}

export function wireRunning(showMotion) {
  byId("run").addEventListener("click", () => (running ? cancel() : runAndShow(showMotion)));
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter") {
      event.preventDefault();
      runAndShow(showMotion);
    } else if (event.key === "Escape" && running && !document.querySelector("dialog[open]")) cancel();
  });
  on("case", () => byId("live").checked && runSoon());
  on("open", () => {
    lasted = 0;
    cancel();
  });
  on("model", () => {
    if (!running) show();
    if (!state.result) setFailure(null);
  });
}
