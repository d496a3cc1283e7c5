// Paint first: the frame of the page is shown before its parts are fetched and wired.

import { language } from "./language.js";

let begun = false;

async function begin() {
  if (begun) return;
  begun = true;
  if (language() !== "en") (await import("./translation.js")).translate(language());
  const { open } = await import("./lab.js");
  open();
}

requestAnimationFrame(() => requestAnimationFrame(begin));
setTimeout(begin, 300); // a tab in the background has no frames
