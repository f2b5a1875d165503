// Looks again at a page whose figures move, and puts its new content in the place of the old. Without scripts the browser
// reloads the page instead. It waits while the page is hidden, while something is typed, and while text is selected.
"use strict";
const again = () => {
  const main = document.getElementById("main");
  setTimeout(look, 1000 * Number(main.dataset.refresh));
};
const look = async () => {
  const main = document.getElementById("main");
  const busy = document.hidden || document.activeElement.matches("input") || !getSelection().isCollapsed;
  if (!busy) {
    try {
      const answer = await fetch(location.href, { cache: "no-store" });
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("main");
      if (answer.ok && fresh && fresh.dataset.refresh) {
        const open = [...main.querySelectorAll("details")].map((one) => one.open);
        [...fresh.querySelectorAll("details")].forEach((one, n) => { one.open = open[n] ?? one.open; });
        main.replaceWith(document.adoptNode(fresh));
      }
    } catch { /* the server is away for a moment: the next look finds it again */ }
  }
  again();
};
again();
