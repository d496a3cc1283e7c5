// A compiled model in the page: the programs and loops of a native run as WebAssembly, with its context in their memory.

const bytesOf = (text) => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));

/** The next double after x in the direction of y. */
function nextAfter(x, y) {
  if (Number.isNaN(x) || Number.isNaN(y)) return NaN;
  if (x === y) return y;
  if (x === 0) return y > 0 ? Number.MIN_VALUE : -Number.MIN_VALUE;
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, x);
  view.setBigInt64(0, view.getBigInt64(0) + (y > x === x > 0 ? 1n : -1n));
  return view.getFloat64(0);
}

/** The functions of mathematics that compiled code calls by their names in C. */
function mathematics() {
  const own = ["sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"];
  own.push("exp", "log", "log1p", "expm1", "hypot");
  const found = Object.fromEntries(own.map((name) => [name, Math[name]]));
  // C defines 1**nan as 1, and roots of negative numbers as JavaScript does.
  found.pow = (x, y) => (x === 1 || y === 0 ? 1 : Math.abs(x) === 1 && !Number.isFinite(y) && !Number.isNaN(y) ? 1 : x ** y);
  found.fmod = (x, y) => x % y;
  // The smaller and the larger of two numbers, one of which may be missing.
  found.fmin = (x, y) => (x < y || Number.isNaN(y) ? x : y);
  found.fmax = (x, y) => (x > y || Number.isNaN(y) ? x : y);
  found.copysign = (x, y) => (y < 0 || Object.is(y, -0) ? -Math.abs(x) : Math.abs(x));
  found.nextafter = nextAfter;
  return found;
}

export class Model {
  /** Make a model of its record; a promise, because browsers compile beside the page. */
  static async make(record) {
    const memory = new WebAssembly.Memory({ initial: record.size / 65536 });
    const table = new WebAssembly.Table({ initial: record.programs.length + 64, element: "anyfunc" });
    const stack = new WebAssembly.Global({ value: "i32", mutable: true }, record.arrays.stack);
    let top = record.size;
    const malloc = (size) => {
      const from = top;
      top += Number((size + 15n) & ~15n);
      const missing = top - memory.buffer.byteLength;
      if (missing > 0) memory.grow(Math.ceil(missing / 65536));
      return from;
    };
    const free = (place) => (top = place); // what was taken last is given back first
    const bytes = () => new Uint8Array(memory.buffer);
    const memset = (place, value, count) => (bytes().fill(value, place, place + count), place);
    const memcpy = (place, from, count) => (bytes().copyWithin(place, from, from + count), place);
    const env = { ...mathematics(), malloc, free, memset, memcpy, memmove: memcpy };
    Object.assign(env, { __linear_memory: memory, __indirect_function_table: table, __stack_pointer: stack });
    const { instance } = await WebAssembly.instantiate(bytesOf(record.code), { env });
    return new Model(record, memory, instance.exports);
  }

  constructor(record, memory, functions) {
    Object.assign(this, { record, memory, functions });
    this.context = record.arrays.context;
    for (const [address, value] of record.words) this.integers()[address / 8] = BigInt(value);
    record.programs.forEach((name, k) => this.setField(name, functions.program_index(BigInt(k))));
    this.setClock("rtol", record.rtol);
    this.setClock("max_step", Infinity);
    this.setReals("atol", record.atol);
    this.setReals("parameters", record.values);
  }

  integers() {
    return new BigInt64Array(this.memory.buffer);
  }

  /** Some doubles of an array of the context. */
  reals(name, count, first = 0) {
    return new Float64Array(this.memory.buffer, this.record.arrays[name] + 8 * first, count);
  }

  setReals(name, values) {
    this.reals(name, values.length).set(values);
  }

  setField(name, value) {
    this.integers()[this.context / 8 + this.record.fields[name]] = BigInt(value);
  }

  setClock(name, value) {
    this.reals("clock", 1, this.record.clock[name])[0] = value;
  }

  count(name) {
    return Number(this.integers()[this.record.arrays.counts / 8 + this.record.counts[name]]);
  }

  /** The nearest state on the constraints in the kinetic metric; null where none is found. */
  project(time, state) {
    this.setReals("given", state);
    if (!this.record.constrained) return Float64Array.from(state);
    this.integers()[this.record.arrays.active_rows / 8] = 0n;
    const most = BigInt(this.record.projections);
    const status = this.functions.project(this.context, time, this.record.arrays.given, 0n, 1n, most);
    return Number(status) === 0 ? this.reals("given", state.length).slice() : null;
  }

  /** States (count, n) at times that rise or fall, up to where the run ends: {states, filled, status, message, steps}. */
  run(start, times) {
    const count = times.length;
    this.setClock("h", 0);
    this.setReals("y", start);
    this.setReals("at", times);
    this.setField("n_at", count);
    this.setField("exact_at", count <= this.record.exact ? 1 : 0);
    let status = Number(this.functions.begin(this.context, times[0], times[count - 1]));
    if (status === 0) status = Number(this.functions.follow(this.context, BigInt(this.record.attempts)));
    const filled = this.count("next_at");
    const states = this.reals("at_states", filled * start.length).slice();
    const message = this.record.messages[status] ?? "An unknown status.";
    return { states, filled, status, message, steps: this.count("accepted") };
  }

  /** Everything observed at one state, or null where it is not determined. */
  observe(time, state) {
    this.setReals("given", state);
    this.integers()[this.record.arrays.active_rows / 8] = 0n;
    const { given, reached } = this.record.arrays;
    const status = Number(this.functions.observe_state(this.context, time, given, reached));
    const size = Object.values(this.record.observed).reduce((sum, [, count]) => sum + count, 0);
    return status > 1 ? null : this.reals("reached", size).slice();
  }
}
