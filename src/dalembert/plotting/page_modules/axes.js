// Ticks, scales and the frame of a plot: everything about a plot but its curves.

import { raised } from "./names.js";
import { palette } from "./theme.js";

/** Round steps of 1, 2 or 5 times a power of ten, about `wanted` of them between low and high. */
export function ticks(low, high, wanted) {
  const span = high - low;
  if (!(span > 0) || !Number.isFinite(span)) return [low];
  const rough = span / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const off = (factor) => Math.abs(Math.log((factor * power) / rough));
  const step = power * [1, 2, 5, 10].reduce((best, factor) => (off(factor) < off(best) ? factor : best));
  const marks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * span; k += 1) marks.push(Number((k * step).toPrecision(12)));
  return marks;
}

/** Decades between two positive numbers, thinned out to about `wanted`. */
function decades(low, high, wanted) {
  const first = Math.ceil(Math.log10(low) - 1e-9);
  const last = Math.floor(Math.log10(high) + 1e-9);
  const every = Math.max(1, Math.ceil((last - first + 1) / Math.max(1, wanted)));
  const marks = [];
  for (let k = first; k <= last; k += 1) if ((k - first) % every === 0) marks.push(10 ** k);
  return marks;
}

/** Labels of linear ticks with one common power of ten: {labels, power}. */
export function tickLabels(marks) {
  const largest = Math.max(...marks.map(Math.abs));
  const step = marks.length > 1 ? Math.abs(marks[1] - marks[0]) : largest || 1;
  let power = 0;
  if (largest > 0 && (largest >= 1e4 || largest < 1e-2)) power = Math.floor(Math.log10(largest) + 1e-9);
  const digits = Math.max(0, Math.min(8, -Math.floor(Math.log10(step / 10 ** power) + 1e-9)));
  const labels = marks.map((mark) => (mark / 10 ** power).toFixed(digits).replace(/^-(0(\.0*)?)$/, "$1").replace("-", "−"));
  return { labels, power };
}

/** The bounds of finite values, widened a little; logarithmic where asked. Changes below `flat`, relative, are none. */
export function bounds(columns, log = false, pad = 0.07, flat = 1e-12) {
  let low = Infinity;
  let high = -Infinity;
  for (const column of columns) {
    for (const value of column) {
      if (value === null || !Number.isFinite(value) || (log && value <= 0)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  if (low > high) return log ? [1e-16, 1] : [-1, 1];
  if (log) {
    const lowest = Math.max(low, high * 1e-12);
    return [10 ** Math.floor(Math.log10(lowest) - 0.05), 10 ** Math.ceil(Math.log10(high) + 0.05)];
  }
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (high - low < flat * size || high === low) {
    const half = size > 0 ? 0.1 * size : 1;
    return [low - half, high + half];
  }
  const margin = pad * (high - low);
  return [low - margin, high + margin];
}

/** A map from values to pixels. */
export function scale(from, to, log = false) {
  const [low, high] = log ? from.map(Math.log10) : from;
  const slope = (to[1] - to[0]) / (high - low);
  const read = log ? (value) => (value > 0 ? Math.log10(value) : NaN) : (value) => value;
  const map = (value) => (value === null ? NaN : to[0] + slope * (read(value) - low));
  map.invert = (pixel) => {
    const value = low + (pixel - to[0]) / slope;
    return log ? 10 ** value : value;
  };
  return map;
}

/** Make a canvas as sharp as the screen; returns its context in CSS pixels. */
export function prepare(canvas, width, height) {
  const ratio = Math.min(3, window.devicePixelRatio || 1);
  const [wide, tall] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  if (canvas.width !== wide || canvas.height !== tall) {
    canvas.width = wide;
    canvas.height = tall;
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}

/**
 * Draw grid, axes and labels into `box` {left, top, right, bottom} (pixels).
 * `x` and `y` are {range, map, log, label}; a label of an axis is written at its end.
 */
export function drawAxes(pen, box, x, y) {
  const colours = palette();
  pen.font = `11px ${colours.sans}`;
  pen.lineWidth = 1;
  const crisp = (value) => Math.round(value) + 0.5;
  const marksX = x.log ? decades(...x.range, (box.right - box.left) / 70) : ticks(...x.range, (box.right - box.left) / 80);
  const height = box.bottom - box.top;
  const marksY = y.log ? decades(...y.range, height / 26) : ticks(...y.range, Math.max(3, Math.min(11, height / 34)));
  pen.strokeStyle = colours.grid;
  pen.beginPath();
  for (const mark of marksX) line(pen, crisp(x.map(mark)), box.top, crisp(x.map(mark)), box.bottom);
  for (const mark of marksY) line(pen, box.left, crisp(y.map(mark)), box.right, crisp(y.map(mark)));
  pen.stroke();
  pen.strokeStyle = colours.line;
  pen.beginPath();
  line(pen, box.left, crisp(box.bottom), box.right, crisp(box.bottom));
  pen.stroke();
  pen.fillStyle = colours.muted;
  pen.textAlign = "center";
  pen.textBaseline = "top";
  writeTicks(pen, marksX, x, (text, mark) => pen.fillText(text, x.map(mark), box.bottom + 6));
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  const power = writeTicks(pen, marksY, y, (text, mark) => pen.fillText(text, box.left - 7, y.map(mark)));
  if (power) {
    pen.textAlign = "left";
    pen.textBaseline = "bottom";
    pen.fillText(`×10${raised(power)}`, box.left - 34, box.top - 3);
  }
  writeLabels(pen, box, x, y, colours);
}

function line(pen, x1, y1, x2, y2) {
  pen.moveTo(x1, y1);
  pen.lineTo(x2, y2);
}

function writeTicks(pen, marks, axis, write) {
  if (axis.log) {
    for (const mark of marks) write(`10${raised(Math.round(Math.log10(mark)))}`, mark);
    return 0;
  }
  const { labels, power } = tickLabels(marks);
  labels.forEach((label, k) => write(label, marks[k]));
  return power;
}

function writeLabels(pen, box, x, y, colours) {
  pen.fillStyle = colours.ink;
  pen.font = `italic 13px ${colours.serif}`;
  if (x.label) {
    pen.textAlign = "left";
    pen.textBaseline = "middle";
    // beside the axis, or above its end where the name is too long for the margin
    const width = pen.measureText(x.label).width;
    const fits = box.right + 9 + width <= (pen.canvas?.clientWidth || Infinity);
    writeName(pen, x.label, fits ? box.right + 7 : box.right - width - 2, box.bottom - (fits ? 0 : 10), 8.5);
  }
  if (y.label) {
    pen.textAlign = "left";
    pen.textBaseline = "top";
    writeName(pen, y.label, box.left + 6, box.top + 5, 2.5);
  }
}

/** A name with its dots drawn over its first letter, because few fonts have dotted Greek; `rise` above y they sit. */
function writeName(pen, name, x, y, rise) {
  const bare = name.replace(/[\u0307\u0308]/g, "");
  pen.fillText(bare, x, y);
  const dots = name.includes("\u0308") ? 2 : name.includes("\u0307") ? 1 : 0;
  const middle = x + pen.measureText(bare[0] ?? "").width / 2 + 1;
  for (let k = 0; k < dots; k += 1) {
    pen.beginPath();
    pen.arc(middle + (k - (dots - 1) / 2) * 4, y - rise, 1.1, 0, 7);
    pen.fill();
  }
}

/** A polyline through (xs, ys) with gaps where a value is missing; a zero or two, which have no logarithm, are passed over. */
export function drawCurve(pen, xs, ys, mapX, mapY) {
  pen.beginPath();
  let open = false;
  let zeros = 0;
  for (let k = 0; k < xs.length; k += 1) {
    const px = mapX(xs[k]);
    const py = mapY(ys[k]);
    if (!Number.isFinite(px) || !Number.isFinite(py)) {
      zeros += 1;
      if (ys[k] !== 0 || zeros > 2) open = false;
      continue;
    }
    zeros = 0;
    if (open) pen.lineTo(px, py);
    else pen.moveTo(px, py);
    open = true;
  }
  pen.stroke();
}
