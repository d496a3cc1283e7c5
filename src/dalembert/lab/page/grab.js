// The start is changed by dragging points of a plane drawing; the motion follows.

import * as api from "./api.js";
import { clock, pause, seek } from "./clock.js";
import { byId, setIcon, toast } from "./dom.js";
import { caseChanged } from "./models.js";
import { run } from "./running.js";
import { placeAt, pointNear } from "./scene.js";
import { refreshSetup } from "./setup.js";
import { presentCase, state } from "./state.js";

const ask = api.latest((signal, body) => api.post("/api/place", body, signal));
let held = null; // {shape, point, view}
let wanted = null; // where the pointer is, while an answer is awaited

const isOn = () => byId("grab").getAttribute("aria-pressed") === "true";

async function move() {
  if (wanted === null || move.busy) return;
  move.busy = true;
  while (held && wanted) {
    const to = wanted;
    wanted = null;
    try {
      const answer = await ask({ ...presentCase(), shape: held.shape, point: held.point, to });
      if (answer === undefined) break;
      Object.assign(state.start, answer.start);
      refreshSetup();
      caseChanged();
      if (!byId("live").checked) await run(true);
    } catch (failure) {
      toast(failure.error?.what ?? String(failure.message));
      held = null;
    }
  }
  move.busy = false;
}

/** Let the points of a scene be dragged while the button is pressed. */
export function grabIn(view) {
  const inside = (event) => {
    const box = view.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  view.canvas.addEventListener("pointerdown", (event) => {
    if (!isOn()) return;
    const found = pointNear(view, ...inside(event));
    if (!found) return;
    event.stopImmediatePropagation();
    view.canvas.setPointerCapture(event.pointerId);
    held = { ...found, view };
  }, { capture: true });
  view.canvas.addEventListener("pointermove", (event) => {
    if (held?.view !== view) return;
    event.stopImmediatePropagation();
    wanted = placeAt(view, ...inside(event));
    move();
  }, { capture: true });
  for (const ending of ["pointerup", "pointercancel"]) {
    view.canvas.addEventListener(ending, () => {
      if (held?.view === view && !wanted) held = null;
      else if (held) setTimeout(() => (held = null), 400); // the last place is still asked for
    });
  }
}

export function wireGrab() {
  setIcon(byId("grab"), "grab");
  byId("grab").addEventListener("click", () => {
    const on = !isOn();
    byId("grab").setAttribute("aria-pressed", String(on));
    if (!on) return;
    pause();
    seek(clock.low);
    toast("Drag a point of the drawing: the start follows");
  });
}
