// The server's answers, and its refusals as errors that carry what, seen and remedy.

export class Refusal extends Error {
  constructor(error, status) {
    super(error.what);
    this.error = error;
    this.status = status;
  }
}

const LOST = { what: "The lab's server does not answer", remedy: "start it again with `dalembert lab`, then reload this page" };

async function refuse(response) {
  let error = { what: `The server answered with status ${response.status}` };
  try {
    error = (await response.json()).error ?? error;
  } catch {
    /* an answer without JSON keeps the plain sentence */
  }
  throw new Refusal(error, response.status);
}

async function ask(path, options) {
  let response;
  try {
    response = await fetch(path, { cache: "no-store", ...options });
  } catch (failure) {
    if (failure.name === "AbortError") throw failure;
    throw new Refusal(LOST, 0);
  }
  if (!response.ok) await refuse(response);
  return response;
}

const withBody = (method, body, signal) => ({
  method,
  signal,
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(body ?? {}),
});

export const get = async (path, signal) => (await ask(path, { signal })).json();
export const post = async (path, body, signal) => (await ask(path, withBody("POST", body, signal))).json();
export const put = async (path, body) => (await ask(path, withBody("PUT", body))).json();
export const remove = async (path) => (await ask(path, withBody("DELETE"))).json();
export const getBlob = async (path) => {
  const response = await ask(path);
  return { blob: await response.blob(), name: fileName(response.headers.get("Content-Disposition")) };
};

const NUMBERS = { f4: Float32Array, f8: Float64Array };

/** An answer with its packed columns, {f8: base64}, as lists of numbers; null where one is not finite. */
export function unpack(value) {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.length && typeof value[0] === "object" ? value.map(unpack) : value;
  const [kind, ...others] = Object.keys(value);
  if (NUMBERS[kind] && !others.length && typeof value[kind] === "string") {
    const bytes = Uint8Array.from(atob(value[kind]), (letter) => letter.charCodeAt(0));
    return Array.from(new NUMBERS[kind](bytes.buffer), (one) => (Number.isFinite(one) ? one : null));
  }
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, unpack(one)]));
}

function fileName(disposition) {
  const found = /filename="?([^";]+)"?/.exec(disposition ?? "");
  return found ? found[1] : null;
}

/** Latest wins: each call aborts the one before; an aborted call resolves to undefined. */
export function latest(request) {
  let controller = null;
  return async (...given) => {
    controller?.abort();
    const mine = (controller = new AbortController());
    try {
      const answer = await request(mine.signal, ...given);
      return mine.signal.aborted ? undefined : answer;
    } catch (failure) {
      if (mine.signal.aborted || failure.name === "AbortError") return undefined;
      throw failure;
    }
  };
}

/** Follow a run by server-sent events; resolves to {status, error}. Falls back to asking where the stream breaks. */
export function follow(id, onProgress) {
  return new Promise((resolve) => {
    const stream = new EventSource(`/api/runs/${id}/events`);
    const finish = (answer) => {
      stream.close();
      resolve(answer);
    };
    const read = (event) => {
      try {
        return JSON.parse(event.data);
      } catch {
        return {};
      }
    };
    stream.addEventListener("progress", (event) => onProgress(read(event)));
    stream.addEventListener("done", () => finish({ status: "done" }));
    stream.addEventListener("failed", (event) => finish({ status: "failed", error: read(event).error }));
    stream.addEventListener("cancelled", () => finish({ status: "cancelled" }));
    stream.onerror = () => {
      stream.close();
      poll(id, onProgress).then(finish);
    };
  });
}

async function poll(id, onProgress) {
  for (;;) {
    try {
      const answer = await get(`/api/runs/${id}`);
      if (["done", "failed", "cancelled"].includes(answer.status)) return answer;
      onProgress({ fraction: answer.fraction });
    } catch (failure) {
      return { status: "failed", error: failure.error ?? LOST };
    }
    await new Promise((later) => setTimeout(later, 300));
  }
}
