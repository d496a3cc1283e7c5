// MathML from the server, let in by element and attribute name; anything else is left out.

const SPACE = "http://www.w3.org/1998/Math/MathML";
const ELEMENTS = new Set(
  ("math mrow mi mn mo mtext mspace mfrac msqrt mroot msub msup msubsup mover munder munderover mtable mtr mtd " +
    "mstyle mpadded mphantom semantics").split(" "),
);
const ATTRIBUTES = new Set(
  ("display mathvariant stretchy accent accentunder fence separator form lspace rspace linethickness columnalign rowspacing " +
    "columnspacing width height depth displaystyle scriptlevel movablelimits minsize maxsize symmetric largeop").split(" "),
);

function copy(node) {
  if (node.nodeType === Node.TEXT_NODE) return document.createTextNode(node.data);
  if (node.nodeType !== Node.ELEMENT_NODE || !ELEMENTS.has(node.localName)) return null;
  const made = document.createElementNS(SPACE, node.localName);
  for (const { name, value } of node.attributes) if (ATTRIBUTES.has(name)) made.setAttribute(name, value);
  for (const child of node.childNodes) {
    const kept = copy(child);
    if (kept) made.append(kept);
  }
  if (node.localName === "mover" && /^[\u02d9\u00a8]$/.test(made.lastElementChild?.textContent ?? "")) {
    made.setAttribute("accent", "true");
    made.lastElementChild.setAttribute("stretchy", "false");
  }
  return made;
}

/** An element for a MathML text; its plain characters where it is not well formed. */
export function typeset(text, display = true) {
  const wrapped = text.trim().startsWith("<math") ? text : `<math xmlns="${SPACE}">${text}</math>`;
  const parsed = new DOMParser().parseFromString(wrapped.replaceAll("&nbsp;", "&#160;"), "application/xml");
  const made = parsed.querySelector("parsererror") ? null : copy(parsed.documentElement);
  if (!made) {
    const plain = document.createElement("code");
    plain.textContent = text.replace(/<[^>]*>/g, "");
    return plain;
  }
  if (display) made.setAttribute("display", "block");
  return made;
}
