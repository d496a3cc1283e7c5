// A moving drawing on a canvas: shapes at the present time, painted from the far to the near, over a grid with shadows.

import { prepare, tickLabels, ticks } from "./axes.js";
import { camera, plane, spatial, steer } from "./camera.js";
import { clock, locate } from "./clock.js";
import { h, perFrame } from "./dom.js";
import { plain } from "./names.js";
import { colour, isDark, palette } from "./theme.js";

const POINT = 1.25; // CSS pixels to a point of the drawings

/** The scene of a result with its numbers unpacked, or the path of two quantities where the model has no drawing. */
export function readScene(result) {
  const given = result.scene;
  if (given) {
    const unpack = (data) => Float64Array.from(data, (value) => (value === null ? NaN : value));
    const shapes = given.shapes.map((shape) => ({ ...shape, size3: shape.points.shape, data: unpack(shape.points.data) }));
    return { ...given, shapes, drawn: true, limits: given.dimension === 3 ? extent(shapes, given) : given.limits };
  }
  const names = Object.keys(result.state);
  const [a, b] = [names[0], names[1] ?? names[0]];
  const count = result.t.length;
  const data = new Float64Array(2 * count);
  for (let k = 0; k < count; k += 1) {
    data[2 * k] = result.state[a][k] ?? NaN;
    data[2 * k + 1] = result.state[b][k] ?? NaN;
  }
  const range = (offset) => {
    let [low, high] = [Infinity, -Infinity];
    for (let k = offset; k < data.length; k += 2) {
      if (data[k] < low) low = data[k];
      if (data[k] > high) high = data[k];
    }
    if (!(high > low)) [low, high] = Number.isFinite(low) ? [low - 1, low + 1] : [-1, 1];
    return [low - 0.06 * (high - low), high + 0.06 * (high - low)];
  };
  const size3 = [count, 1, 2];
  return {
    dimension: 2,
    drawn: false,
    limits: [range(0), range(1)],
    labels: [plain(a), plain(b)],
    stretch: true,
    shapes: [
      { kind: "trace", color: "trace", width: 1.6, size3, data },
      { kind: "point", color: "body", size: 10, size3, data },
    ],
  };
}

/** The box of everything a spatial scene ever shows, down to its floor. */
function extent(shapes, given) {
  const box = [0, 1, 2].map(() => [Infinity, -Infinity]);
  for (const shape of shapes) {
    const reach = shape.kind === "ball" ? Math.max(...[shape.radius].flat()) : 0;
    shape.data.forEach((value, k) => {
      if (!Number.isFinite(value)) return;
      const side = box[k % 3];
      side[0] = Math.min(side[0], value - reach);
      side[1] = Math.max(side[1], value + reach);
    });
  }
  if (Number.isFinite(given.floor)) box[2][0] = Math.min(box[2][0], given.floor);
  return box.map(([low, high], axis) => (low <= high ? [low, high] : given.limits[axis]));
}

/** The smallest limits that hold several scenes. */
export function unite(scenes) {
  const ends = (axis, end) => scenes.map((one) => one.limits[axis][end]);
  return scenes[0].limits.map((_, axis) => [Math.min(...ends(axis, 0)), Math.max(...ends(axis, 1))]);
}

export class SceneView {
  constructor(tag, changed) {
    this.canvas = h("canvas", { class: "scene", tabindex: "0", role: "img" });
    this.tag = h("span", { class: "scene-tag" }, tag ?? "");
    this.hint = h("span", { class: "scene-hint" });
    this.element = h("div", { class: "scene-frame" }, this.canvas, this.tag, this.hint);
    this.tag.hidden = !tag;
    this.redraw = perFrame(() => this.draw());
    new ResizeObserver(this.redraw).observe(this.element);
    steer(this.canvas, () => this.scene?.dimension === 3, changed);
  }

  set(result, scene, limits) {
    this.result = result;
    this.scene = scene;
    this.limits = limits;
    const solid = scene.dimension === 3;
    this.canvas.classList.toggle("orbits", solid);
    const keys = solid ? "Arrow keys turn the view, plus and minus zoom." : "Plus and minus zoom.";
    this.canvas.setAttribute("aria-label", `Animation of ${result.model}. ${keys}`);
    this.hint.classList.toggle("above", !scene.drawn);
    this.hint.textContent = scene.drawn ? (solid ? "drag to turn" : "") : `no drawing: path of ${scene.labels.join(", ")}`;
    this.redraw();
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (!this.scene || width < 20 || height < 20) return;
    const pen = prepare(this.canvas, width, height);
    const at = locate(this.result.t, clock.time);
    const limits = (camera.follows && followed(this.scene, at)) || this.limits;
    if (this.scene.dimension === 3) drawSpace(pen, this.scene, limits, at, width, height);
    else this.view = drawPlane(pen, this.scene, limits, at, width, height);
  }
}

/** The drawn point nearest to a pixel of a plane scene, within reach: {shape, point}, or null. */
export function pointNear(view, px, py, reach = 22) {
  if (!view.scene?.drawn || view.scene.dimension !== 2 || !view.view) return null;
  let [best, found] = [reach, null];
  const at = locate(view.result.t, clock.time);
  view.scene.shapes.forEach((shape, index) => {
    if (shape.size3[0] < 2 || ["trace", "text", "spring", "arrow"].includes(shape.kind)) return;
    pointsAt(shape, at).forEach(([x, y], point) => {
      const [sx, sy] = view.view.project(x, y);
      const away = Math.hypot(sx - px, sy - py);
      if (away < best) [best, found] = [away, { shape: index, point }];
    });
  });
  return found;
}

/** Where a pixel of a plane scene lies in the plane. */
export function placeAt(view, px, py) {
  const [[left, right], [bottom, top]] = view.view.window;
  return [left + (px / view.element.clientWidth) * (right - left), top - (py / view.element.clientHeight) * (top - bottom)];
}

/** Shapes that move: what the camera follows. */
const moving = (scene) => scene.shapes.filter((shape) => shape.size3[0] > 1 && shape.kind !== "trace" && shape.color !== "ground");

/** The box around all moving points at a time, or null. */
function boxAt(shapes, at, axes) {
  const box = Array.from({ length: axes }, () => [Infinity, -Infinity]);
  for (const shape of shapes) {
    const reach = shape.kind === "ball" ? radiusAt(shape, at.index) : 0;
    for (const point of pointsAt(shape, at)) {
      point.forEach((value, axis) => {
        if (!Number.isFinite(value)) return;
        box[axis][0] = Math.min(box[axis][0], value - reach);
        box[axis][1] = Math.max(box[axis][1], value + reach);
      });
    }
  }
  return box.every(([low, high]) => low <= high) ? box : null;
}

/** Limits around what moves, as wide as it ever is and centred where it is now; null where nothing moves. */
function followed(scene, at) {
  const shapes = scene.drawn ? moving(scene) : [];
  if (!shapes.length) return null;
  if (scene.reach === undefined) {
    const boxes = [];
    const count = Math.max(...shapes.map((shape) => shape.size3[0]));
    for (let index = 0; index < count; index += Math.ceil(count / 120)) boxes.push(boxAt(shapes, { index, part: 0 }, scene.dimension));
    scene.reach = Math.max(0, ...boxes.filter(Boolean).map((box) => Math.max(...box.map(([low, high]) => high - low))));
  }
  const box = boxAt(shapes, at, scene.dimension);
  const half = 0.9 * (scene.reach || 1);
  const around = box?.map(([low, high]) => [(low + high) / 2 - half, (low + high) / 2 + half]) ?? null;
  if (around && scene.dimension === 3) around[2] = [Math.min(scene.floor ?? Infinity, box[2][0]), box[2][1]];
  return around;
}

/** The points of a shape at {index, part}: [[x, y(, z)], ...]. */
function pointsAt(shape, { index, part }) {
  const [count, k, d] = shape.size3;
  const here = Math.min(index, count - 1);
  const next = Math.min(here + 1, count - 1);
  const points = [];
  for (let p = 0; p < k; p += 1) {
    const point = [];
    for (let c = 0; c < d; c += 1) {
      const a = shape.data[(here * k + p) * d + c];
      const b = shape.data[(next * k + p) * d + c];
      point.push(part > 0 ? a + part * (b - a) : a);
    }
    points.push(point);
  }
  return points;
}

/** The path of a trace up to now. */
function pathAt(shape, at) {
  const d = shape.size3[2];
  const points = [];
  for (let k = 0; k <= Math.min(at.index, shape.size3[0] - 1); k += 1) points.push(Array.from(shape.data.subarray(k * d, k * d + d)));
  if (at.part > 0) points.push(...pointsAt({ ...shape, size3: [shape.size3[0], 1, d] }, at));
  return points;
}

function trace(pen, pixels, closed = false) {
  pen.beginPath();
  let open = false;
  for (const [x, y] of pixels) {
    if (!Number.isFinite(x) || !Number.isFinite(y)) {
      open = false;
      continue;
    }
    if (open) pen.lineTo(x, y);
    else pen.moveTo(x, y);
    open = true;
  }
  if (closed) pen.closePath();
}

const isArea = (shape) => shape.fill > 0 || shape.closed || shape.kind === "circle";

/** Paint one shape at pixel positions; `swell` enlarges what is near. */
function paint(pen, shape, pixels, swell = 1, unit = 1, index = 0) {
  const ink = colour(shape.color);
  if (shape.kind === "text") {
    pen.font = `italic ${(shape.size ?? 11) * POINT}px ${palette().serif}`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.fillStyle = ink;
    if (Number.isFinite(pixels[0][0])) pen.fillText(shape.text, pixels[0][0], pixels[0][1]);
    return;
  }
  if (shape.kind === "ball") {
    paintBall(pen, shape, pixels[0], radiusAt(shape, index) * unit * swell, ink);
    return;
  }
  if (shape.kind === "point") {
    const [x, y] = pixels[0];
    if (!Number.isFinite(x + y)) return;
    pen.beginPath();
    pen.arc(x, y, Math.max(1.5, ((shape.size ?? 8) / 2) * POINT * swell), 0, 7);
    pen.fillStyle = ink;
    pen.fill();
    pen.strokeStyle = palette().paper;
    pen.lineWidth = 1.2;
    pen.stroke();
    return;
  }
  trace(pen, pixels, Boolean(shape.closed || shape.kind === "circle"));
  if (isArea(shape) && shape.fill !== 0) {
    pen.globalAlpha = shape.fill ?? 0.14;
    pen.fillStyle = ink;
    pen.fill();
    pen.globalAlpha = 1;
  }
  pen.strokeStyle = ink;
  pen.lineWidth = Math.max(0.8, (shape.width ?? 2) * POINT * swell);
  pen.stroke();
  if (shape.kind === "arrow") arrowHead(pen, pixels, ink);
}

function radiusAt(shape, index) {
  const all = [shape.radius].flat();
  return all[Math.min(index, all.length - 1)];
}

function paintBall(pen, shape, [x, y], radius, ink) {
  if (!Number.isFinite(x + y + radius)) return;
  const light = pen.createRadialGradient(x - 0.35 * radius, y - 0.4 * radius, 0.1 * radius, x, y, radius);
  light.addColorStop(0, palette().paper);
  light.addColorStop(1, ink);
  pen.beginPath();
  pen.arc(x, y, radius, 0, 7);
  pen.globalAlpha = shape.fill ?? 0.5;
  pen.fillStyle = light;
  pen.fill();
  pen.globalAlpha = 1;
  pen.strokeStyle = ink;
  pen.lineWidth = 1.4;
  pen.stroke();
}

function arrowHead(pen, pixels, ink) {
  const [tip, tail] = [pixels.at(-1), pixels[0]];
  const angle = Math.atan2(tip[1] - tail[1], tip[0] - tail[0]);
  const corner = (turn) => [tip[0] + 9 * Math.cos(angle + turn), tip[1] + 9 * Math.sin(angle + turn)];
  trace(pen, [tip, corner(2.6), corner(-2.6)], true);
  pen.fillStyle = ink;
  pen.fill();
}

function drawPlane(pen, scene, limits, at, width, height) {
  let view = plane(limits, width, height);
  if (scene.stretch) view = stretched(limits, width, height);
  planeGrid(pen, scene, view, width, height);
  pen.lineCap = pen.lineJoin = "round";
  const traces = scene.shapes.filter((shape) => shape.kind === "trace");
  for (const shape of scene.shapes.filter((one) => one.color === "ground" && isArea(one))) {
    paint(pen, shape, pointsAt(shape, at).map(([x, y]) => view.project(x, y)));
  }
  for (const shape of traces) {
    trace(pen, pathAt(shape, at).map(([x, y]) => view.project(x, y)));
    pen.strokeStyle = colour(shape.color);
    pen.lineWidth = (shape.width ?? 1.6) * POINT;
    pen.stroke();
  }
  for (const shape of scene.shapes) {
    if (shape.kind === "trace" || (shape.color === "ground" && isArea(shape))) continue;
    paint(pen, shape, pointsAt(shape, at).map(([x, y]) => view.project(x, y)));
  }
  return view;
}

/** Axes with scales of their own, for quantities that are not lengths. */
function stretched(limits, width, height) {
  const [[left, right], [bottom, top]] = limits;
  const [ux, uy] = [((width - 40) / (right - left)) * camera.zoom, ((height - 40) / (top - bottom)) * camera.zoom];
  const [cx, cy] = [width / 2 + camera.shift[0], height / 2 + camera.shift[1]];
  const [mx, my] = [(left + right) / 2, (bottom + top) / 2];
  return {
    project: (x, y) => [cx + ux * (x - mx), cy - uy * (y - my)],
    window: [[mx - cx / ux, mx + (width - cx) / ux], [my - (height - cy) / uy, my + cy / uy]],
  };
}

function planeGrid(pen, scene, view, width, height) {
  const colours = palette();
  const marksX = ticks(...view.window[0], width / 90);
  const marksY = ticks(...view.window[1], height / 70);
  pen.strokeStyle = colours.grid;
  pen.lineWidth = 1;
  pen.beginPath();
  for (const mark of marksX) {
    const x = Math.round(view.project(mark, 0)[0]) + 0.5;
    pen.moveTo(x, 0);
    pen.lineTo(x, height);
  }
  for (const mark of marksY) {
    const y = Math.round(view.project(0, mark)[1]) + 0.5;
    pen.moveTo(0, y);
    pen.lineTo(width, y);
  }
  pen.stroke();
  const [across, up] = [scene.labels?.[0] ?? "x", scene.labels?.[1] ?? "y"];
  pen.font = `italic 14px ${colours.serif}`;
  const room = pen.measureText(across).width + 18;
  pen.font = `10.5px ${colours.sans}`;
  pen.fillStyle = colours.muted;
  pen.textAlign = "center";
  pen.textBaseline = "bottom";
  tickLabels(marksX).labels.forEach((label, k) => {
    const x = view.project(marksX[k], 0)[0];
    if (x > 40 && x < width - room) pen.fillText(label, x, height - 5);
  });
  pen.textAlign = "left";
  pen.textBaseline = "middle";
  tickLabels(marksY).labels.forEach((label, k) => {
    const y = view.project(0, marksY[k])[1];
    if (y > 26 && y < height - 26) pen.fillText(label, 7, y);
  });
  pen.font = `italic 14px ${colours.serif}`;
  pen.fillStyle = colours.ink;
  pen.textAlign = "right";
  pen.textBaseline = "bottom";
  pen.fillText(across, width - 9, height - 4);
  pen.textAlign = "left";
  pen.textBaseline = "top";
  pen.fillText(up, 8, 6);
}

function drawSpace(pen, scene, limits, at, width, height) {
  const floor = scene.floor ?? limits[2][0];
  const tiles = floorTiles(limits);
  const view = spatial([tiles.x, tiles.y, limits[2]], width, height);
  drawFloor(pen, scene, tiles, floor, view);
  pen.lineCap = pen.lineJoin = "round";
  const items = [];
  const shadows = [];
  for (const shape of scene.shapes) {
    const isTrace = shape.kind === "trace";
    const points = isTrace ? pathAt(shape, at) : pointsAt(shape, at);
    if (!points.length) continue;
    const seen = points.map((point) => view.project(...point));
    const ground = shape.color === "ground" && isArea(shape);
    if (!isTrace && !ground && shape.kind !== "text") shadows.push([shape, points.map(([x, y]) => view.project(x, y, floor))]);
    if (ground) paint(pen, shape, seen);
    else if (isTrace || (!isArea(shape) && seen.length > 3)) items.push(...pieces(shape, seen));
    else items.push({ shape, seen, depth: mean(seen, 2), swell: mean(seen, 3) });
  }
  paintShadows(pen, shadows, view, at.index);
  items.sort((a, b) => a.depth - b.depth);
  for (const { shape, seen, swell } of items) paint(pen, shape, seen, swell, view.unit, at.index);
}

const mean = (rows, column) => rows.reduce((sum, row) => sum + row[column], 0) / rows.length;

/** A long line in short pieces, each with its own depth. */
function pieces(shape, seen) {
  const length = Math.max(6, Math.ceil(seen.length / 40));
  const made = [];
  for (let k = 0; k < seen.length - 1; k += length) {
    const part = seen.slice(k, k + length + 1);
    const behind = shape.kind === "trace" ? 1e-6 : 0;
    made.push({ shape: { ...shape, closed: false }, seen: part, depth: mean(part, 2) - behind, swell: mean(part, 3) });
  }
  return made;
}

function paintShadows(pen, shadows, view, index) {
  pen.save();
  if ("filter" in pen) pen.filter = "blur(3px)";
  pen.fillStyle = pen.strokeStyle = isDark() ? "rgb(0 0 0 / 0.5)" : "rgb(31 41 51 / 0.16)";
  for (const [shape, pixels] of shadows) {
    trace(pen, pixels, isArea(shape));
    if (shape.kind === "point" || shape.kind === "ball") {
      const reach = shape.kind === "ball" ? radiusAt(shape, index) * view.unit : ((shape.size ?? 8) / 2) * POINT * 1.1;
      if (!Number.isFinite(pixels[0][0] + pixels[0][1] + reach)) continue;
      pen.beginPath();
      pen.ellipse(pixels[0][0], pixels[0][1], reach, reach * Math.max(0.12, Math.sin((camera.elevation * Math.PI) / 180)), 0, 0, 7);
      pen.fill();
    } else if (isArea(shape)) pen.fill();
    else {
      pen.lineWidth = Math.max(2, (shape.width ?? 2) * POINT);
      pen.stroke();
    }
  }
  pen.restore();
}

/** Whole squares under the scene: {x, y, unit}. */
function floorTiles(limits) {
  const spread = Math.max(limits[0][1] - limits[0][0], limits[1][1] - limits[1][0]);
  const marks = ticks(0, spread || 1, 5);
  const unit = marks.length > 1 ? marks[1] - marks[0] : spread || 1;
  const edge = ([low, high]) => [Math.floor(low / unit - 0.05) * unit, Math.ceil(high / unit + 0.05) * unit];
  return { x: edge(limits[0]), y: edge(limits[1]), unit };
}

function drawFloor(pen, scene, { x: [left, right], y: [near, far], unit }, floor, view) {
  const colours = palette();
  const at = (x, y) => view.project(x, y, floor);
  trace(pen, [at(left, near), at(right, near), at(right, far), at(left, far)], true);
  pen.fillStyle = colours.ground;
  pen.globalAlpha = 0.06;
  pen.fill();
  pen.globalAlpha = 1;
  pen.lineWidth = 1;
  pen.strokeStyle = colours.line;
  pen.globalAlpha = 0.55;
  pen.beginPath();
  for (let x = left; x <= right + unit / 2; x += unit) segment(pen, at(x, near), at(x, far));
  for (let y = near; y <= far + unit / 2; y += unit) segment(pen, at(left, y), at(right, y));
  pen.stroke();
  pen.globalAlpha = 1;
  triad(pen, scene, [left, near, floor], unit, view, colours);
}

function segment(pen, a, b) {
  pen.moveTo(a[0], a[1]);
  pen.lineTo(b[0], b[1]);
}

/** Three arrows at a corner of the floor, one square long. */
function triad(pen, scene, corner, unit, view, colours) {
  const origin = view.project(...corner);
  pen.font = `italic 14px ${colours.serif}`;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  for (let axis = 0; axis < 3; axis += 1) {
    const end = [...corner];
    end[axis] += unit;
    const tip = view.project(...end);
    pen.strokeStyle = pen.fillStyle = colours.muted;
    pen.lineWidth = 1.4;
    pen.beginPath();
    segment(pen, origin, tip);
    pen.stroke();
    end[axis] += 0.3 * unit;
    const [x, y] = view.project(...end);
    pen.fillStyle = colours.ink;
    pen.fillText(scene.labels?.[axis] ?? "xyz"[axis], x, y);
  }
}
