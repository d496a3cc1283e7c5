// The one time of the page: play, pause, step, scrub. Animation and plots listen.

import { isStill } from "./theme.js";

const listeners = new Set();

export const clock = { time: 0, low: 0, high: 0, frames: [], speed: 1, playing: false, loop: false, ready: false };

export const onTime = (listener) => listeners.add(listener);
const tellTime = () => listeners.forEach((listener) => listener());

export const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 5, 10, 20];

/** Take over the times of a result; the present time is kept where it lies within them. */
export function setTimes(times, keep = false) {
  const [first, last] = [times[0], times[times.length - 1]];
  clock.low = Math.min(first, last);
  clock.high = Math.max(first, last);
  clock.frames = times;
  clock.ready = times.length > 1;
  clock.time = keep ? clamp(clock.time) : first;
  tellTime();
}

export function forget() {
  pause();
  Object.assign(clock, { ready: false, frames: [], low: 0, high: 0, time: 0 });
  tellTime();
}

const clamp = (time) => Math.min(clock.high, Math.max(clock.low, time));

/** The speed at which the whole span takes about ten seconds. */
export function fittingSpeed() {
  const wanted = (clock.high - clock.low) / 10;
  const off = (speed) => Math.abs(Math.log(speed / wanted));
  return SPEEDS.reduce((best, speed) => (off(speed) < off(best) ? speed : best), 1);
}

export function seek(time) {
  if (!clock.ready) return;
  clock.time = clamp(time);
  tellTime();
}

/** Move by whole frames. */
export function step(count) {
  if (!clock.ready) return;
  pause();
  const backwards = clock.frames[0] > clock.frames[clock.frames.length - 1];
  const at = locate(clock.frames, clock.time);
  const nearest = Math.round(at.index + at.part);
  const next = Math.min(clock.frames.length - 1, Math.max(0, nearest + (backwards ? -count : count)));
  seek(clock.frames[next]);
}

let last = 0;

function tick(now) {
  if (!clock.playing) return;
  const passed = Math.min(0.1, (now - last) / 1000);
  last = now;
  let next = clock.time + passed * clock.speed;
  if (next >= clock.high) {
    if (clock.loop) next = clock.low;
    else clock.playing = false;
  }
  clock.time = clamp(next);
  tellTime();
  if (clock.playing) requestAnimationFrame(tick);
}

function play() {
  if (!clock.ready || clock.playing) return;
  if (clock.time >= clock.high) clock.time = clock.low;
  clock.playing = true;
  last = performance.now();
  requestAnimationFrame(tick);
  tellTime();
}

export function pause() {
  clock.playing = false;
  tellTime();
}

export const toggle = () => (clock.playing ? pause() : play());
export const playFirst = () => (isStill() ? undefined : play());

/** Where a time lies among frames that rise or fall: {index, part} with part in [0, 1). */
export function locate(times, time) {
  const count = times.length;
  if (count < 2) return { index: 0, part: 0 };
  const sign = times[count - 1] >= times[0] ? 1 : -1;
  let low = 0;
  let high = count - 1;
  if (sign * (time - times[low]) <= 0) return { index: 0, part: 0 };
  if (sign * (time - times[high]) >= 0) return { index: count - 1, part: 0 };
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (sign * (time - times[middle]) >= 0) low = middle;
    else high = middle;
  }
  const width = times[high] - times[low];
  return { index: low, part: width === 0 ? 0 : (time - times[low]) / width };
}

/** A column at a time, linearly between its samples. */
export function valueAt(times, column, time) {
  const { index, part } = locate(times, time);
  const a = column[index];
  if (part === 0 || index + 1 >= column.length) return a;
  const b = column[index + 1];
  return a === null || b === null ? null : a + part * (b - a);
}
