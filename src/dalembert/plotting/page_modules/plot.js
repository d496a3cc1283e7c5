// One plot over time: a still layer with axes and curves, and a layer above it with the time cursor and the crosshair.

import { bounds, drawAxes, drawCurve, prepare, scale } from "./axes.js";
import { clock, pause, seek, valueAt } from "./clock.js";
import { h, perFrame } from "./dom.js";
import { number, symbol } from "./names.js";
import { palette } from "./theme.js";

const MARGIN = { left: 48, right: 24, top: 16, bottom: 24 };

/**
 * A plot has `series`: [{name, t, values, colour, dashed, tag}], a `title`, `log` for a logarithmic scale and a sentence
 * `empty` that is shown where there is nothing to draw.
 */
export class Plot {
  constructor(title) {
    this.series = [];
    this.log = false;
    this.hover = null;
    this.title = h("h3", {}, title);
    this.legend = h("div", { class: "legend" });
    this.tools = h("div", { class: "plot-tools" });
    this.still = h("canvas", { "aria-hidden": "true" });
    this.above = h("canvas", { tabindex: "0", role: "img", "aria-label": `${title} over time` });
    this.message = h("p", { class: "empty" });
    this.frame = h("div", { class: "plot-frame" }, this.still, this.above, this.message);
    this.element = h("figure", { class: "plot" }, h("figcaption", {}, this.title, this.legend, this.tools), this.frame);
    this.redraw = perFrame(() => this.draw());
    this.follow = perFrame(() => this.drawCursor());
    this.observer = new ResizeObserver(this.redraw);
    this.observer.observe(this.frame);
    this.listen();
  }

  set({ title, series, log = false, empty = "", label = null, flat = 1e-12 }) {
    if (title) {
      this.title.textContent = title;
      this.above.setAttribute("aria-label", label ?? `${title} over time`);
    }
    this.series = series;
    this.log = log;
    this.flat = flat;
    this.message.textContent = empty;
    this.message.hidden = series.length > 0 || !empty;
    this.element.classList.toggle("is-empty", series.length === 0);
    this.fillLegend();
    this.redraw();
  }

  /** One entry a name, with the value of each of its curves. */
  fillLegend() {
    const names = new Map();
    this.entries = this.series.map((one) => {
      if (!names.has(one.name)) {
        const key = h("span", { class: "key" });
        key.style.setProperty("--key", one.colour);
        names.set(one.name, h("span", { class: "entry" }, key, one.words ? h("span", {}, one.words) : symbol(one.name)));
      }
      const value = h("output", {});
      names.get(one.name).append(...(one.tag ? [h("b", {}, one.tag)] : []), value);
      return { one, value };
    });
    this.legend.replaceChildren(...names.values());
  }

  listen() {
    const timeAt = (event) => this.mapX?.invert(event.clientX - this.above.getBoundingClientRect().left);
    this.above.addEventListener("pointerdown", (event) => {
      if (!this.mapX || event.button > 0) return;
      this.above.setPointerCapture(event.pointerId);
      this.dragging = true;
      pause();
      seek(timeAt(event));
    });
    this.above.addEventListener("pointermove", (event) => {
      if (!this.mapX) return;
      this.hover = { time: timeAt(event), y: event.offsetY };
      if (this.dragging) seek(this.hover.time);
      this.follow();
    });
    const release = () => (this.dragging = false);
    this.above.addEventListener("pointerup", release);
    this.above.addEventListener("pointercancel", release);
    this.above.addEventListener("pointerleave", () => {
      this.hover = null;
      this.follow();
    });
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.frame;
    if (width < 20 || height < 20) return;
    const pen = prepare(this.still, width, height);
    this.size = [width, height];
    this.box = { left: MARGIN.left, top: MARGIN.top, right: width - MARGIN.right, bottom: height - MARGIN.bottom };
    this.mapX = null;
    if (this.series.length) {
      const times = [clock.low, clock.high];
      const range = bounds(this.series.map((one) => one.values), this.log, 0.07, this.flat);
      this.mapX = scale(times, [this.box.left, this.box.right]);
      this.mapY = scale(range, [this.box.bottom, this.box.top], this.log);
      drawAxes(pen, this.box, { range: times, map: this.mapX, label: "t" }, { range, map: this.mapY, log: this.log });
      this.drawCurves(pen);
    }
    this.drawCursor();
  }

  drawCurves(pen) {
    const { left, top, right, bottom } = this.box;
    pen.save();
    pen.beginPath();
    pen.rect(left, top - 4, right - left, bottom - top + 8);
    pen.clip();
    pen.lineJoin = "round";
    for (const one of this.series) {
      pen.strokeStyle = one.colour;
      pen.lineWidth = this.log ? 1.1 : one.dashed ? 1.4 : 1.7;
      pen.globalAlpha = one.dashed ? 0.85 : 1;
      pen.setLineDash(one.dashed ? [5, 4] : []);
      drawCurve(pen, one.t, one.values, this.mapX, this.mapY);
    }
    pen.restore();
  }

  drawCursor() {
    if (!this.size) return;
    const pen = prepare(this.above, ...this.size);
    const colours = palette();
    const shown = this.hover && !this.dragging ? this.hover.time : clock.time;
    this.legend.classList.toggle("hovering", Boolean(this.hover && !this.dragging));
    for (const { one, value } of this.entries ?? []) value.textContent = number(valueAt(one.t, one.values, shown), this.log ? 2 : 4);
    if (!this.mapX || !clock.ready) return;
    const { top, bottom, left, right } = this.box;
    const x = this.mapX(clock.time);
    pen.strokeStyle = colours.accent;
    pen.lineWidth = 1.2;
    pen.beginPath();
    pen.moveTo(x, top - 6);
    pen.lineTo(x, bottom);
    pen.stroke();
    this.dots(pen, clock.time, colours);
    if (!this.hover || this.dragging || this.hover.time < clock.low || this.hover.time > clock.high) return;
    const hx = this.mapX(this.hover.time);
    pen.strokeStyle = colours.muted;
    pen.lineWidth = 0.8;
    pen.setLineDash([3, 3]);
    pen.beginPath();
    pen.moveTo(hx, top);
    pen.lineTo(hx, bottom);
    if (this.hover.y > top && this.hover.y < bottom) {
      pen.moveTo(left, this.hover.y);
      pen.lineTo(right, this.hover.y);
    }
    pen.stroke();
    pen.setLineDash([]);
    this.dots(pen, this.hover.time, colours);
    this.hoverLabel(pen, hx, colours);
  }

  dots(pen, time, colours) {
    for (const one of this.series) {
      const y = this.mapY(valueAt(one.t, one.values, time));
      if (!Number.isFinite(y) || y < this.box.top - 4 || y > this.box.bottom + 4) continue;
      pen.beginPath();
      pen.arc(this.mapX(time), y, 3.2, 0, 7);
      pen.fillStyle = one.colour;
      pen.fill();
      pen.lineWidth = 1.2;
      pen.strokeStyle = colours.paper;
      pen.stroke();
    }
  }

  hoverLabel(pen, x, colours) {
    const text = `t = ${number(this.hover.time, 4)}`;
    pen.font = `11px ${colours.sans}`;
    const width = pen.measureText(text).width + 10;
    const at = Math.min(this.box.right - width, Math.max(this.box.left, x - width / 2));
    pen.fillStyle = colours.ink;
    pen.globalAlpha = 0.92;
    pen.beginPath();
    pen.roundRect(at, this.box.bottom + 3, width, 17, 4);
    pen.fill();
    pen.globalAlpha = 1;
    pen.fillStyle = colours.paper;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.fillText(text, at + width / 2, this.box.bottom + 12);
  }
}
