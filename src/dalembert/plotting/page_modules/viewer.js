// A motion to look at: its drawing, the transport of its time, and plots whose cursors follow.

import { clock, fittingSpeed, onTime, pause, playFirst, seek, setTimes, SPEEDS, step, toggle } from "./clock.js";
import { h } from "./dom.js";
import { Plot } from "./plot.js";
import { readScene, SceneView } from "./scene.js";
import { onTheme, palette } from "./theme.js";

/** A result is {model, t, state, scene, panels: [{title, series: {name: values}}]}. */
export class Viewer {
  constructor() {
    this.view = new SceneView(null, () => this.view.redraw());
    this.play = h("button", { type: "button", onclick: toggle }, "Play");
    this.slider = h("input", { type: "range", step: "any", class: "time", "aria-label": "Time" });
    this.slider.addEventListener("input", () => {
      const wanted = Number(this.slider.value);
      pause();
      seek(wanted);
    });
    this.slider.addEventListener("keydown", (event) => {
      const moves = { ArrowLeft: -1, ArrowRight: 1, PageDown: -10, PageUp: 10 };
      if (!moves[event.key]) return;
      event.preventDefault();
      step(moves[event.key]);
    });
    this.speed = h("select", { "aria-label": "Speed" }, ...SPEEDS.map((one) => h("option", { value: one }, `${one} ×`)));
    this.speed.addEventListener("change", () => (clock.speed = Number(this.speed.value)));
    this.told = h("output", {});
    const transport = h("div", { class: "controls" }, this.play, this.slider, this.speed, this.told);
    this.stage = h("div", { class: "stage" }, this.view.element, transport);
    this.plots = [];
    this.plotBox = h("div", { class: "viewer-plots" });
    onTime(() => {
      this.view.redraw();
      this.showTime();
      for (const plot of this.plots) plot.follow();
    });
    onTheme(() => this.result && this.show(this.result, true));
  }

  showTime() {
    this.slider.min = clock.low;
    this.slider.max = clock.high;
    this.slider.value = clock.time;
    const digits = Math.max(0, Math.min(6, 3 - Math.floor(Math.log10(clock.high - clock.low || 1))));
    this.told.textContent = `t = ${clock.time.toFixed(digits)}`.replace("-", "−");
    this.slider.setAttribute("aria-valuetext", this.told.textContent);
    this.play.textContent = clock.playing ? "Pause" : "Play";
  }

  /** Show a result; the first one plays, unless the reader wants stillness. */
  show(result, keepTime, limits = null) {
    const isFirst = !this.result;
    this.result = result;
    const scene = readScene(result);
    this.view.set(result, scene, limits ?? scene.limits);
    setTimes(result.t, keepTime);
    result.panels.forEach(({ title, series }, k) => {
      this.plots[k] ??= new Plot(title);
      const colours = palette().cycle;
      const curves = Object.entries(series).map(([name, values], j) => ({ name, t: result.t, values, colour: colours[j % 6] }));
      this.plots[k].set({ title, series: curves, flat: 1e-6 });
    });
    this.plots.length = result.panels.length;
    this.plotBox.replaceChildren(...this.plots.map((plot) => plot.element));
    if (isFirst) {
      clock.speed = fittingSpeed();
      clock.loop = true;
      this.speed.value = String(clock.speed);
      playFirst();
    }
    this.showTime();
  }
}
