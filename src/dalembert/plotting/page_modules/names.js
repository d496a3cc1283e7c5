// Names and numbers for readers: theta_dot becomes a theta with a dot, 1.2e-9 a power of ten.

import { h } from "./dom.js";

const GREEK = {
  alpha: "α", beta: "β", gamma: "γ", delta: "δ", epsilon: "ϵ", zeta: "ζ", eta: "η", theta: "θ", iota: "ι", kappa: "κ",
  lambda: "λ", mu: "μ", nu: "ν", xi: "ξ", pi: "π", rho: "ρ", sigma: "σ", tau: "τ", upsilon: "υ", phi: "ϕ", chi: "χ",
  psi: "ψ", omega: "ω", Gamma: "Γ", Delta: "Δ", Theta: "Θ", Lambda: "Λ", Xi: "Ξ", Pi: "Π", Sigma: "Σ", Phi: "Φ",
  Psi: "Ψ", Omega: "Ω", varphi: "φ", vartheta: "ϑ", varepsilon: "ε", varrho: "ϱ", varsigma: "ς",
};

/** A part of an index: theta1 is a theta and a number. */
const index = (piece) => piece.replace(/^([A-Za-z]+)(\d*)$/, (_, word, digits) => (GREEK[word] ?? word) + digits);

/** A name as {base, sub, dots}: x1_dot is x with index 1 and a dot, p_theta is p with index theta. */
function parts(name) {
  let rest = name;
  let dots = 0;
  const ending = rest.match(/^(.+?)_(d{0,2}dot)$/);
  if (ending) {
    rest = ending[1];
    dots = ending[2] === "ddot" ? 2 : 1;
  }
  const pieces = rest.split("_").filter(Boolean);
  let base = pieces.shift() ?? name;
  const numbered = base.match(/^([A-Za-z]+?)(\d+)$/);
  if (numbered) {
    base = numbered[1];
    pieces.unshift(numbered[2]);
  }
  return { base: GREEK[base] ?? base, sub: pieces.map(index).join(","), dots };
}

const mark = (base, dots) => (dots ? base + (dots === 1 ? "\u0307" : "\u0308") : base);

const SPACE = "http://www.w3.org/1998/Math/MathML";

function math(tag, ...children) {
  const element = document.createElementNS(SPACE, tag);
  element.append(...children);
  return element;
}

/** A name as a formula, with the plain name as its title. */
export function symbol(name) {
  const { base, sub, dots } = parts(name);
  let formula = math("mi", base);
  if (dots) {
    const sign = math("mo", dots === 1 ? "\u02d9" : "\u00a8");
    sign.setAttribute("stretchy", "false");
    formula = math("mover", formula, sign);
    formula.setAttribute("accent", "true");
  }
  if (sub) formula = math("msub", formula, math(/^[\d,]+$/.test(sub) ? "mn" : sub.length > 1 ? "mtext" : "mi", sub));
  return h("span", { class: "sym", title: name }, math("math", formula));
}

const SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉";

/** A name as one line of text, for canvases and options. */
export function plain(name) {
  const { base, sub, dots } = parts(name);
  const small = /^\d+$/.test(sub) ? [...sub].map((digit) => SUBSCRIPTS[Number(digit)]).join("") : sub ? `_${sub}` : "";
  return mark(base, dots) + small;
}

const RAISED = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
export const raised = (number) => [...String(number)].map((sign) => RAISED[sign] ?? sign).join("");

/** A number with `digits` significant digits, with a true minus sign and powers of ten. */
export function number(value, digits = 5) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) {
    const [mantissa, exponent] = value.toExponential(Math.max(0, digits - 1)).split("e");
    const short = mantissa.includes(".") ? mantissa.replace(/0+$/, "").replace(/\.$/, "") : mantissa;
    return `${short} × 10${raised(Number(exponent))}`.replace("-", "−").replace(/^(−?)1 × /, "$1");
  }
  const text = value.toPrecision(digits);
  return (text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text).replace("-", "−");
}

/** A number as a field shows it, exact enough to be read back. */
export function fieldText(value, digits = 12) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "";
  return String(Number(value.toPrecision(digits)));
}

/** What a field says, as a number; null where it says nothing, NaN where it is not a number. */
export function readNumber(text) {
  const cleaned = text.trim().replace("−", "-").replace(",", ".");
  if (cleaned === "") return null;
  const scaled = cleaned.match(/^([-+]?[\d.]*)\s*\*?\s*pi(?:\s*\/\s*([\d.]+))?$/i);
  if (scaled) {
    const factor = scaled[1] === "" || scaled[1] === "+" ? 1 : scaled[1] === "-" ? -1 : Number(scaled[1]);
    return (factor * Math.PI) / (scaled[2] ? Number(scaled[2]) : 1);
  }
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(cleaned) ? Number(cleaned) : NaN;
}
