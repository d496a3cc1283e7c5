// The view of a scene: a window that fits a plane drawing, or a camera that orbits a spatial one.

const RADIANS = Math.PI / 180;

/** One camera for both scenes of a comparison. */
export const camera = { azimuth: -57, elevation: 22, zoom: 1, shift: [0, 0], follows: false };

export const resetCamera = () => Object.assign(camera, { azimuth: -57, elevation: 22, zoom: 1, shift: [0, 0] });

function orbit(right, up) {
  camera.azimuth = ((camera.azimuth - right + 540) % 360) - 180;
  camera.elevation = Math.min(89, Math.max(-15, camera.elevation + up));
}

function zoomBy(factor) {
  camera.zoom = Math.min(20, Math.max(0.2, camera.zoom * factor));
}

/** Rows to the right, up and towards the viewer; the same frame as the library's own pictures. */
function frame() {
  const [a, e] = [camera.azimuth * RADIANS, camera.elevation * RADIANS];
  const right = [-Math.sin(a), Math.cos(a), 0];
  const towards = [Math.cos(e) * Math.cos(a), Math.cos(e) * Math.sin(a), Math.sin(e)];
  const up = [
    towards[1] * right[2] - towards[2] * right[1],
    towards[2] * right[0] - towards[0] * right[2],
    towards[0] * right[1] - towards[1] * right[0],
  ];
  return [right, up, towards];
}

const dot = (row, x, y, z) => row[0] * x + row[1] * y + row[2] * z;

/**
 * A projection of space onto width x height pixels: (x, y, z) -> [px, py, depth, size], with a mild perspective.
 * The scene's box fits from every azimuth, so that turning about the vertical does not change the scale.
 */
export function spatial(limits, width, height) {
  const middle = limits.map(([low, high]) => (low + high) / 2);
  const [a, b, c] = limits.map(([low, high]) => (high - low) / 2);
  const radius = Math.hypot(a, b, c) || 1;
  const [right, up, towards] = frame();
  const far = 6 * radius;
  const flat = Math.hypot(a, b) || radius;
  const tall = flat * Math.abs(towards[2]) + c * Math.abs(up[2]) || radius;
  const unit = 0.44 * Math.min(width / flat, height / tall) * camera.zoom;
  const seen = (x, y, z) => {
    const place = [x - middle[0], y - middle[1], z - middle[2]];
    const depth = dot(towards, ...place);
    const size = far / (far - depth);
    return [unit * size * dot(right, ...place), -unit * size * dot(up, ...place), depth, size];
  };
  const heights = [0, 1, 2, 3, 4, 5, 6, 7].map((k) => seen(limits[0][k & 1], limits[1][(k >> 1) & 1], limits[2][k >> 2])[1]);
  const drop = (Math.min(...heights) + Math.max(...heights)) / 2;
  const [cx, cy] = [width / 2 + camera.shift[0], height / 2 - drop + camera.shift[1]];
  const project = (x, y, z) => {
    const [px, py, depth, size] = seen(x, y, z);
    return [cx + px, cy + py, depth, size];
  };
  return { project, unit, radius };
}

/** A projection of the plane that keeps its proportions: (x, y) -> [px, py]. */
export function plane(limits, width, height, margin = 18) {
  const [[left, right], [bottom, top]] = limits;
  const unit = Math.min((width - 2 * margin) / (right - left || 1), (height - 2 * margin) / (top - bottom || 1)) * camera.zoom;
  const [mx, my] = [(left + right) / 2, (bottom + top) / 2];
  const [cx, cy] = [width / 2 + camera.shift[0], height / 2 + camera.shift[1]];
  return {
    unit,
    project: (x, y) => [cx + unit * (x - mx), cy - unit * (y - my)],
    window: [
      [mx - cx / unit, mx + (width - cx) / unit],
      [my - (height - cy) / unit, my + cy / unit],
    ],
  };
}

/** Let pointer, wheel, fingers and keys move the camera. */
export function steer(canvas, isSpatial, changed) {
  const fingers = new Map();
  let spread = 0;
  const distance = () => {
    const [a, b] = [...fingers.values()];
    return Math.hypot(a.x - b.x, a.y - b.y);
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (fingers.size === 2) spread = distance();
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    const [dx, dy] = [event.clientX - before.x, event.clientY - before.y];
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (fingers.size === 2) {
      zoomBy(distance() / (spread || 1));
      spread = distance();
    } else if (isSpatial() && !event.shiftKey) orbit(dx * 0.45, dy * 0.35);
    else camera.shift = [camera.shift[0] + dx, camera.shift[1] + dy];
    changed();
  });
  for (const ending of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(ending, (event) => fingers.delete(event.pointerId));
  }
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoomBy(Math.exp(-event.deltaY * 0.0012));
    changed();
  }, { passive: false });
  canvas.addEventListener("dblclick", () => {
    resetCamera();
    changed();
  });
  canvas.addEventListener("keydown", (event) => {
    const turns = { ArrowLeft: [-6, 0], ArrowRight: [6, 0], ArrowUp: [0, 5], ArrowDown: [0, -5] };
    if (isSpatial() && turns[event.key]) orbit(...turns[event.key]);
    else if (event.key === "+" || event.key === "=") zoomBy(1.15);
    else if (event.key === "-") zoomBy(1 / 1.15);
    else if (event.key === "0") resetCamera();
    else return;
    event.preventDefault();
    event.stopPropagation();
    changed();
  });
}
