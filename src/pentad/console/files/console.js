// The search key, copy buttons, tabs in the address, and the line that says when a client has called. Every page works
// without it. Nothing here changes anything on the server.
"use strict";
const SECONDS = 3;
const LONGEST = 60 * 60 / SECONDS;

addEventListener("keydown", (event) => {
  const box = document.querySelector("[data-search]");
  const busy = event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, [contenteditable]");
  if (event.key !== "/" || !box || busy) return;
  event.preventDefault();
  box.focus();
  box.select();
});

// A hidden page is not fetched again.
document.addEventListener("htmx:before:request", (event) => {
  if (document.hidden && event.target.id === "main") event.preventDefault();
});

// Events of the server bring the page up to date. A hidden page does not listen. Whenever a page starts to listen it is
// fetched again, because something may have happened since it was made.
const main = document.getElementById("main");
const happened = () => { main.dispatchEvent(new Event("happened")); };
let listening = null;
const listen = async () => {
  const mine = listening = new AbortController();
  for (let again = false; !mine.signal.aborted && main.dataset.events; again = true) {
    try {
      if (again) await new Promise((done) => { setTimeout(done, 1000 * SECONDS); });
      const answer = await fetch(main.dataset.events, { cache: "no-store", headers: { Accept: "text/event-stream" }, signal: mine.signal });
      if (!answer.ok) return;
      happened();
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        document.body.dataset.listening = "yes";
        if (/^(id|data):/m.test(part.value)) happened();
      }
    } catch { /* the server is away for a moment, or the page is hidden */ }
  }
};
if (main?.dataset.events) {
  addEventListener("load", () => { if (!document.hidden && !listening) listen(); }); // htmx is ready by then
  document.addEventListener("visibilitychange", () => {
    listening?.abort();
    if (!document.hidden) listen();
  });
}

// The moment under the thumb of a slider.
document.addEventListener("input", (event) => {
  const told = event.target.type === "range" ? document.querySelector(`[data-time="${event.target.id}"]`) : null;
  if (told) told.textContent = `${new Date(1000 * event.target.value).toISOString().slice(0, 16).replace("T", " ")} UTC`;
});

const copy = async (button) => {
  const pre = button.parentElement.querySelector("pre");
  try {
    await navigator.clipboard.writeText(pre.textContent);
    button.textContent = "Copied";
  } catch { // no clipboard without https: select the text instead
    getSelection().selectAllChildren(pre);
    button.textContent = document.execCommand("copy") ? "Copied" : "Selected";
  }
  setTimeout(() => { button.textContent = "Copy"; }, 2000);
};
const showButtons = () => { for (const button of document.querySelectorAll(".copy")) button.hidden = false; };
document.addEventListener("click", (event) => {
  const button = event.target.closest(".copy");
  if (button) copy(button);
});
document.addEventListener("htmx:after:swap", showButtons);
showButtons();

// A tab is part of the address (#cursor), so that a link or a reload leads to it.
const tabs = [...document.querySelectorAll("[data-tab]")];
const choose = () => {
  const tab = tabs.find((one) => `#${one.dataset.tab}` === location.hash);
  if (tab) { tab.checked = true; tab.parentElement.scrollIntoView({ block: "nearest" }); }
};
for (const tab of tabs) tab.addEventListener("change", () => history.replaceState(null, "", `#${tab.dataset.tab}`));
addEventListener("hashchange", choose);
choose();

// A page that is fetched again keeps the marks of clients that have called.
const connected = new Set();
const markConnected = () => { for (const tab of tabs) tab.classList.toggle("connected", connected.has(tab.dataset.tab)); };
document.addEventListener("htmx:after:swap", markConnected);

const watch = (line, left) => setTimeout(async () => {
  if (!document.hidden) {
    try {
      const answer = await fetch(line.dataset.watch, { cache: "no-store", headers: { Accept: "application/json" } });
      const found = answer.ok ? await answer.json() : {};
      if (found.text) {
        line.textContent = found.text;
        line.classList.add("good");
        connected.add(found.name);
        markConnected();
        return;
      }
    } catch { /* the server is away for a moment */ }
  }
  if (left > 0) watch(line, left - 1);
}, 1000 * SECONDS);
for (const line of document.querySelectorAll("[data-watch]")) watch(line, LONGEST);
