// The viewer in a notebook: a motion that was computed, or a model that runs; `time` is shared with Python.

import { clock, onTime, pause, seek } from "./clock.js";
import { startLive } from "./live.js";
import { useColoursOf } from "./theme.js";
import { Viewer } from "./viewer.js";

/** Draw the widget of a model (anywidget's contract) into an element; returns how to leave it. */
export function render({ model, el }) {
  const record = model.get("record");
  const box = document.createElement("div");
  box.className = "dalembert-view";
  el.append(box);
  if (record.code) startLive(box, record);
  else {
    useColoursOf(box);
    const viewer = new Viewer();
    box.append(viewer.stage, viewer.plotBox);
    viewer.show(record, false);
  }
  let isFollowing = false;
  const tell = () => {
    if (isFollowing || clock.playing || model.get("time") === clock.time) return; // a playing clock is told where it stops
    model.set("time", clock.time);
    model.save_changes();
  };
  const follow = () => {
    const wanted = model.get("time");
    if (wanted === clock.time) return;
    isFollowing = true;
    pause();
    seek(wanted);
    isFollowing = false;
  };
  onTime(tell);
  model.on("change:time", follow);
  return () => {
    pause();
    model.off("change:time", follow);
  };
}
