// Paint first: the frame of the page is shown before its parts are fetched and wired.

let begun = false;

async function begin() {
  if (begun) return;
  begun = true;
  const { open } = await import("./lab.js");
  open();
}

requestAnimationFrame(() => requestAnimationFrame(begin));
setTimeout(begin, 300); // a tab in the background has no frames
