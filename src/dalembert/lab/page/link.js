// The whole state of the page in the fragment of its address: #s= base64url(deflate(JSON)). It never leaves the browser.

const LONGEST = 400000;

async function through(bytes, transform) {
  const stream = new Blob([bytes]).stream().pipeThrough(transform);
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export async function encode(value) {
  const packed = await through(new TextEncoder().encode(JSON.stringify(value)), new CompressionStream("deflate-raw"));
  let binary = "";
  for (const byte of packed) binary += String.fromCharCode(byte);
  return `#s=${btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

/** The value of a fragment, null where there is none; throws where it cannot be read. */
export async function decode(fragment) {
  if (!fragment.startsWith("#s=")) return null;
  if (fragment.length > LONGEST) throw new Error("too long");
  const binary = atob(fragment.slice(3).replaceAll("-", "+").replaceAll("_", "/"));
  const packed = Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
  const text = await boundedText(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw")));
  return checked(JSON.parse(text));
}

/** Read a stream up to a bound, so that a small link cannot unfold without end. */
async function boundedText(stream) {
  const reader = stream.getReader();
  const chunks = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > 4 * LONGEST) throw new Error("unfolds too far");
    chunks.push(value);
  }
  return new TextDecoder("utf-8", { fatal: true }).decode(await new Blob(chunks).arrayBuffer());
}

const isRecord = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const isNumberOrNothing = (value) => value === null || value === undefined || Number.isFinite(value);
const isNameOrNothing = (value) => value === null || value === undefined || (typeof value === "string" && value.length < 200);
const isTable = (value) => value === undefined || (isRecord(value) && Object.values(value).every(isNumberOrNothing));

function isCase(value) {
  return (
    isRecord(value) &&
    isTable(value.parameters) &&
    isTable(value.start) &&
    (value.span === null || value.span === undefined || (value.span.length === 2 && value.span.every(Number.isFinite))) &&
    isNameOrNothing(value.form) &&
    isNameOrNothing(value.method) &&
    isNumberOrNothing(value.rtol) &&
    isNumberOrNothing(value.step) &&
    isNameOrNothing(value.system) &&
    (value.text === undefined || typeof value.text === "string") &&
    (typeof value.text === "string" || typeof value.system === "string")
  );
}

function checked(value) {
  if (!isRecord(value) || value.v !== 1 || !isCase(value.case)) throw new Error("not a state of the lab");
  if (value.kept && !isCase(value.kept)) throw new Error("not a state of the lab");
  return value;
}
