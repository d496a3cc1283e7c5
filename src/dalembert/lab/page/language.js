// Which language the page has: the one chosen, or the first of the browser's that there is.

const KNOWN = { en: "English", de: "Deutsch", fr: "Français", es: "Español", zh: "中文" };
const KEY = "dalembert-language";

function stored() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

export function language() {
  const wanted = [stored(), ...(navigator.languages ?? []).map((one) => one.slice(0, 2))];
  return wanted.find((one) => one && one in KNOWN) ?? "en";
}

/** Fill the list of languages; a choice is kept and the page opened again, with its state in the address. */
export function wireLanguage(select, keepState) {
  select.replaceChildren(...Object.entries(KNOWN).map(([code, name]) => {
    const option = document.createElement("option");
    Object.assign(option, { value: code, textContent: name, lang: code });
    return option;
  }));
  select.value = language();
  select.addEventListener("change", async () => {
    try {
      localStorage.setItem(KEY, select.value);
    } catch {
      /* a browser that keeps nothing stays with its own language */
    }
    await keepState();
    location.reload();
  });
}
