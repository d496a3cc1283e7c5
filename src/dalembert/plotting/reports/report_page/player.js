"use strict";
// Plays the scene of a report on its canvas, and moves the cursors of its plots.
(() => {
  const element = document.getElementById("scene");
  if (!element) return;
  const scene = JSON.parse(element.textContent);
  const [canvas, play, slider, clock, pace] = ["canvas", "play", "slider", "clock", "pace"].map((id) => document.getElementById(id));
  const paper = canvas.getContext("2d");
  const cursors = [...document.querySelectorAll(".cursor")];
  const count = scene.times.length;
  const FAR = -32768;
  const POINT = 96 / 72;

  const decode = (text) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return new Int16Array(bytes.buffer);
  };
  for (const part of [...scene.parts, ...scene.traces, ...scene.texts]) {
    part.data = decode(part.points);
    if (part.shadow) part.fallen = decode(part.shadow);
  }

  let now = 0;
  let playing = false;
  let before = 0;
  let style = getComputedStyle(document.documentElement);
  const roles = new Set(["body", "link", "trace", "ground", "accent", "ink", "muted", "grid", "background"]);
  const colour = (name) => (roles.has(name) ? style.getPropertyValue(`--${name}`).trim() : name);

  let width = 0;
  let height = 0;
  const resize = () => {
    const ratio = window.devicePixelRatio || 1;
    width = canvas.clientWidth;
    height = Math.min(Math.max(width / scene.aspect, 160), 0.75 * window.innerHeight);
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    paper.setTransform(ratio, 0, 0, ratio, 0, 0);
    paint();
  };
  // Numbers run from -30000 to 30000 over the longer side of the window, which is in the middle of the canvas.
  const scale = () => Math.min(width / scene.extent[0], height / scene.extent[1]) / 2;
  const across = (x) => width / 2 + x * scale();
  const upward = (y) => height / 2 - y * scale();

  const path = (data, frame, size) => {
    paper.beginPath();
    let open = false;
    for (let k = 0; k < size; k += 1) {
      const x = data[2 * (frame * size + k)];
      const y = data[2 * (frame * size + k) + 1];
      if (x === FAR || y === FAR) {
        open = false;
        continue;
      }
      if (open) paper.lineTo(across(x), upward(y));
      else paper.moveTo(across(x), upward(y));
      open = true;
    }
  };
  const place = (part, frame) => {
    const at = 2 * (part.still ? 0 : frame) * part.size;
    return part.data[at] === FAR ? null : [across(part.data[at]), upward(part.data[at + 1])];
  };

  const paintPart = (part, frame) => {
    paper.strokeStyle = paper.fillStyle = colour(part.color);
    paper.lineJoin = paper.lineCap = "round";
    if (part.kind === "dot") {
      const at = place(part, frame);
      if (!at) return;
      paper.beginPath();
      paper.arc(at[0], at[1], (part.width * POINT) / 2, 0, 2 * Math.PI);
      paper.fill();
      return;
    }
    path(part.data, part.still ? 0 : frame, part.size);
    if (part.kind === "area") {
      paper.globalAlpha = part.fill;
      paper.fill();
      paper.globalAlpha = 1;
    }
    paper.lineWidth = part.width * POINT;
    paper.stroke();
  };
  const paintShadow = (part, frame) => {
    if (!part.fallen) return;
    paper.strokeStyle = paper.fillStyle = style.getPropertyValue("--shade").trim();
    paper.lineWidth = part.width * POINT;
    path(part.fallen, part.still ? 0 : frame, part.size);
    if (part.kind === "area") paper.fill();
    else if (part.kind === "dot") {
      const at = 2 * (part.still ? 0 : frame);
      paper.beginPath();
      paper.arc(across(part.fallen[at]), upward(part.fallen[at + 1]), (part.width * POINT) / 2, 0, 2 * Math.PI);
      paper.fill();
    } else paper.stroke();
  };
  const paintTrace = (trace, last) => {
    const first = Math.max(last - Math.ceil(0.16 * trace.data.length / 2), 0);
    paper.strokeStyle = colour(trace.color);
    for (const [from, alpha, wide] of [[0, 0.4, 1.3], [first, 0.95, 1.9]]) {
      paper.globalAlpha = alpha;
      paper.lineWidth = wide * POINT;
      path(trace.data.subarray(2 * from, 2 * (last + 1)), 0, last + 1 - from);
      paper.stroke();
    }
    paper.globalAlpha = 1;
  };
  const paintFloor = () => {
    paper.strokeStyle = colour("grid");
    paper.lineWidth = 1;
    for (const [a, b, c, d] of scene.floor) {
      paper.beginPath();
      paper.moveTo(across(a), upward(b));
      paper.lineTo(across(c), upward(d));
      paper.stroke();
    }
  };

  const paint = () => {
    const frame = Math.round(now);
    paper.clearRect(0, 0, width, height);
    paintFloor();
    const order = scene.parts
      .map((part, k) => [part.depth ? part.depth[part.still ? 0 : frame] : 0, k, part])
      .sort((a, b) => a[0] - b[0] || a[1] - b[1])
      .map((entry) => entry[2]);
    for (const part of order) if (part.ground) paintPart(part, frame);
    for (const part of order) paintShadow(part, frame);
    for (const trace of scene.traces) paintTrace(trace, frame * scene.finer);
    for (const part of order) if (!part.ground) paintPart(part, frame);
    for (const text of scene.texts) {
      const at = place(text, frame);
      if (!at) continue;
      paper.fillStyle = colour(text.color);
      paper.font = `${text.width * POINT}px system-ui, sans-serif`;
      paper.fillText(text.text, at[0] + 6, at[1] - 6);
    }
    const time = scene.times[frame];
    slider.value = String(frame);
    clock.textContent = `t = ${time.toFixed(scene.decimals)}`;
    slider.setAttribute("aria-valuetext", clock.textContent);
    for (const cursor of cursors) {
      const [left, right, from, to] = cursor.dataset.axis.split(" ").map(Number);
      cursor.style.left = `${left + ((right - left) * (time - from)) / (to - from)}%`;
    }
  };

  const step = (at) => {
    if (!playing) return;
    now += ((at - before) / 1000) * Number(pace.value) * scene.rate;
    before = at;
    if (now > count - 1) now %= count - 1;
    paint();
    requestAnimationFrame(step);
  };
  const toggle = () => {
    playing = !playing;
    play.textContent = playing ? "Pause" : "Play";
    document.body.classList.add("playing");
    before = performance.now();
    if (playing) requestAnimationFrame(step);
  };
  play.addEventListener("click", toggle);
  canvas.addEventListener("click", toggle);
  slider.addEventListener("input", () => {
    now = Number(slider.value);
    document.body.classList.add("playing");
    paint();
  });
  window.addEventListener("resize", resize);
  window.addEventListener("beforeprint", resize);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    style = getComputedStyle(document.documentElement);
    paint();
  });
  slider.max = String(count - 1);
  now = Math.floor((count - 1) * scene.opening);
  resize();
})();
