// The words of model files with their meaning: one table for the help beside the editor, completion and hover.

/** [word, meaning, text to insert]; a test compares the words with those that the reader knows. */
export const KEYS = [
  ["name", "what the system is called", 'name = "Pendulum"'],
  ["source", "where the model comes from", 'source = "Goldstein, chapter 1"'],
  ["summary", "one sentence about the model", 'summary = "A pendulum on a cart."'],
  ["coordinates", "generalised coordinates; q_dot is the velocity of q, p_q its momentum", 'coordinates = ["x", "theta"]'],
  ["kinetic", "kinetic energy, of coordinates, velocities, parameters and t", 'kinetic = "m*x_dot**2/2"'],
  ["potential", "potential energy, beside kinetic", 'potential = "k*x**2/2"'],
  ["lagrangian", "the Lagrangian, instead of kinetic and potential", 'lagrangian = "m*x_dot**2/2 - k*x**2/2"'],
  ["hamiltonian", "the Hamiltonian, of coordinates and momenta, instead of energies", 'hamiltonian = "p_x**2/(2*m) + k*x**2/2"'],
  ["constraints", "equations of coordinates, velocities or momenta; <= and >= for contacts", 'constraints = ["x_dot*sin(theta) - y_dot*cos(theta) = 0"]'],
  ["dissipation", "Rayleigh's dissipation function, of velocities", 'dissipation = "c*x_dot**2/2"'],
];

export const TABLES = [
  ["parameters", "constants by name, with their values", "[parameters]\nm = 1.0\n"],
  ["start", "start values; what is left out is completed from the constraints", "[start]\nx = 1.0\n"],
  ["simulate", "options of the run: t, rtol, form, method, step", "[simulate]\nt = [0, 10]\n"],
  ["forces", "generalised forces by coordinate", '[forces]\nx = "-c*x_dot"\n'],
  ["inputs", "inputs by name, as expressions of t and the state", '[inputs]\nu = "sin(t)"\n'],
  ["outputs", "further quantities that a run reports", '[outputs]\nheight = "-l*cos(theta)"\n'],
  ["definitions", "names for parts of expressions", '[definitions]\nr = "sqrt(x**2 + y**2)"\n'],
  ["drawing", "shapes in drawing order: body, link, point, wheel, spring, ground, path, ...", '[[drawing]]\nlink = [[0, 0], ["l*sin(theta)", "-l*cos(theta)"]]\n'],
  ["image", "velocities as expressions of speeds, instead of constraints", '[image]\nspeeds = ["u1"]\nx = "u1*cos(theta)"\n'],
  ["quasi_velocities", "free quasi-velocities by name", '[quasi_velocities]\nv = "x_dot*cos(theta) + y_dot*sin(theta)"\n'],
  ["bundle", "fibre velocities, for a Lagrangian written in them", '[bundle]\nv = "x_dot"\n'],
  ["home", "values at which a mechanism is assembled", "[home]\ntheta = 0.5\n"],
  ["rates", "first-order flow: the rate of each coordinate", '[rates]\nx = "y"\n'],
  ["integrals", "what a flow conserves, by name", '[integrals]\nenergy = "x**2 + y**2"\n'],
  ["matrices", "matrices of a flow", "[matrices]\n"],
  ["actions", "groups that move the matrices of a flow", "[actions]\n"],
  ["bodies", "rigid bodies of a mechanism", "[bodies]\n"],
  ["joints", "joints between bodies", "[joints]\n"],
  ["gravity", "acceleration of gravity of a mechanism", "gravity = [0, 0, -9.81]\n"],
];

export const FUNCTIONS = [
  ["sin", "sine"], ["cos", "cosine"], ["tan", "tangent"],
  ["asin", "arc sine"], ["acos", "arc cosine"], ["atan", "arc tangent"],
  ["atan2", "angle of a point: atan2(y, x)"],
  ["sinh", "hyperbolic sine"], ["cosh", "hyperbolic cosine"], ["tanh", "hyperbolic tangent"],
  ["asinh", "inverse hyperbolic sine"], ["acosh", "inverse hyperbolic cosine"], ["atanh", "inverse hyperbolic tangent"],
  ["exp", "exponential function"], ["log", "natural logarithm"], ["sqrt", "square root"],
  ["abs", "absolute value, also Abs"], ["sign", "sign"],
  ["min", "least of several, also Min"], ["max", "largest of several, also Max"],
  ["where", "where(condition, value, otherwise)"],
];

export const EXAMPLES = [
  ["Spring", '[[drawing]]\nspring = [[0, 0], ["x", 0]]\n'],
  ["Rolling without slipping", 'constraints = [{ expression = "x_dot = R*phi_dot", name = "no slip" }]'],
  ["Rod of fixed length", 'constraints = [{ expression = "x**2 + y**2 = l**2", name = "rod" }]'],
  ["Floor", 'constraints = [{ expression = "y >= 0", name = "floor", restitution = 0.8 }]'],
  ["Friction", '[forces]\nx = "-c*x_dot"\n'],
];

/** The meaning of a word in a model, or null; names of the model itself are explained by what they are. */
export function meaning(word, model) {
  const known = [...KEYS, ...TABLES, ...FUNCTIONS].find(([name]) => name === word);
  if (known) return known[1];
  if (word === "t") return "time";
  if (word === "pi") return "3.14159…";
  const coordinates = (model?.coordinates ?? []).map((entry) => entry.name ?? entry);
  const parameter = (model?.parameters ?? []).find((entry) => entry.name === word);
  if (parameter) return `parameter, ${parameter.value}`;
  if (coordinates.includes(word)) return "coordinate";
  if (coordinates.includes(word.replace(/_dot$/, ""))) return `velocity of ${word.replace(/_dot$/, "")}`;
  if (word.startsWith("p_") && coordinates.includes(word.slice(2))) return `momentum of ${word.slice(2)}`;
  return null;
}

/** Words that begin so, those of the model first: [word, meaning]. */
export function completions(begin, model, insideText) {
  const coordinates = (model?.coordinates ?? []).map((entry) => entry.name ?? entry);
  const own = [...coordinates, ...coordinates.map((name) => `${name}_dot`), ...(model?.parameters ?? []).map((entry) => entry.name)];
  const words = insideText ? [...own, ...FUNCTIONS.map(([name]) => name), "pi"] : [...KEYS, ...TABLES].map(([name]) => name);
  return [...new Set(words)].filter((word) => word.startsWith(begin) && word !== begin).slice(0, 8).map((word) => [word, meaning(word, model) ?? ""]);
}
