// The path of a motion in the plane of two quantities, with the present state on it.

import { bounds, drawAxes, drawCurve, prepare, scale } from "./axes.js";
import { clock, pause, seek, valueAt } from "./clock.js";
import { plain } from "./names.js";
import { Plot } from "./plot.js";
import { palette } from "./theme.js";

/** A coordinate with its velocity or momentum, an angle first; else the first two names. */
export function phasePair(model, columns) {
  const names = columns ? Object.keys(columns) : (model?.state ?? []);
  const coordinates = (model?.coordinates ?? []).map((entry) => entry.name ?? entry);
  const partner = (name) => [`${name}_dot`, `p_${name}`].find((other) => names.includes(other));
  const pairs = coordinates.map((name) => [name, partner(name)]).filter((pair) => pair[1]);
  return pairs.find(([name]) => name.startsWith("theta")) ?? pairs[0] ?? [names[0] ?? null, names[1] ?? names[0] ?? null];
}

export class PhasePlot extends Plot {
  /** `curves` are [{t, x, y, dashed}]; the last one is the motion that the clock follows. */
  setCurves({ x, y, curves }) {
    this.names = [plain(x ?? ""), plain(y ?? "")];
    this.curves = curves;
    const label = `${this.names[1]} over ${this.names[0]}`;
    this.set({ title: "Phase", label, series: [], empty: curves.length ? "" : "This motion has no two quantities to compare." });
    this.element.classList.toggle("is-empty", curves.length === 0);
  }

  listen() {
    const follow = (event) => {
      const nearest = this.timeNear(event.offsetX, event.offsetY);
      if (nearest === null) return;
      pause();
      seek(nearest);
    };
    this.above.addEventListener("pointerdown", (event) => {
      this.above.setPointerCapture(event.pointerId);
      this.dragging = true;
      follow(event);
    });
    this.above.addEventListener("pointermove", (event) => this.dragging && follow(event));
    for (const ending of ["pointerup", "pointercancel"]) this.above.addEventListener(ending, () => (this.dragging = false));
  }

  timeNear(px, py) {
    const curve = this.curves?.at(-1);
    if (!curve || !this.mapX) return null;
    let [best, found] = [Infinity, null];
    curve.t.forEach((time, k) => {
      const away = Math.hypot(this.mapX(curve.x[k]) - px, this.mapY(curve.y[k]) - py);
      if (away < best) [best, found] = [away, time];
    });
    return found;
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.frame;
    if (width < 20 || height < 20) return;
    const pen = prepare(this.still, width, height);
    this.size = [width, height];
    this.box = { left: 48, top: 14, right: width - 28, bottom: height - 24 };
    this.mapX = null;
    if (this.curves?.length) {
      const [across, up] = ["x", "y"].map((axis) => bounds(this.curves.map((curve) => curve[axis])));
      this.mapX = scale(across, [this.box.left, this.box.right]);
      this.mapY = scale(up, [this.box.bottom, this.box.top]);
      drawAxes(pen, this.box, { range: across, map: this.mapX, label: this.names[0] }, { range: up, map: this.mapY, label: this.names[1] });
      pen.lineJoin = "round";
      for (const curve of this.curves) {
        pen.strokeStyle = palette().cycle[0];
        pen.lineWidth = 1.5;
        pen.setLineDash(curve.dashed ? [5, 4] : []);
        drawCurve(pen, curve.x, curve.y, this.mapX, this.mapY);
      }
      pen.setLineDash([]);
    }
    this.drawCursor();
  }

  drawCursor() {
    if (!this.size) return;
    const pen = prepare(this.above, ...this.size);
    if (!this.mapX || !clock.ready) return;
    for (const curve of this.curves) {
      const place = [this.mapX(valueAt(curve.t, curve.x, clock.time)), this.mapY(valueAt(curve.t, curve.y, clock.time))];
      if (!place.every(Number.isFinite)) continue;
      pen.beginPath();
      pen.arc(...place, 4, 0, 7);
      pen.fillStyle = palette().accent;
      pen.globalAlpha = curve.dashed ? 0.5 : 1;
      pen.fill();
      pen.globalAlpha = 1;
    }
  }
}
