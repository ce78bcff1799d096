// Shows what a search finds as it is typed, and a contact beside the list it was chosen from. Without this script the
// same pages come one after another.
"use strict";
{
const search = document.querySelector("form[role=search]");
const field = search?.querySelector("input");
const wide = matchMedia("(min-width: 48rem)");
let asked;

// A page of this site, of which a part takes the place of the same part here.
async function take(address, parts) {
  asked?.abort();
  asked = new AbortController();
  const answer = await fetch(address, { signal: asked.signal }).catch(() => null);
  if (!answer) return false;
  if (!answer.ok || answer.redirected) return location.assign(address);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of parts) document.querySelector(part).replaceWith(page.querySelector(part));
  document.title = page.title;
  return true;
}

async function find() {
  const address = new URL(search.action);
  if (field.value.trim()) address.searchParams.set("q", field.value);
  if (await take(address, ["#list"])) history.replaceState(null, "", address);
}

field?.addEventListener("input", find);
search?.addEventListener("submit", event => {
  event.preventDefault();
  find();
});

document.addEventListener("click", async event => {
  const link = event.target.closest("#list li a");
  if (!link || !wide.matches || event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
  event.preventDefault();
  for (const other of document.querySelectorAll("#list [aria-current]")) other.removeAttribute("aria-current");
  link.setAttribute("aria-current", "true");
  if (await take(link.href, ["#card"])) {
    history.pushState(null, "", link.href);
    document.querySelector(".book").classList.add("chosen");
  }
});
addEventListener("popstate", () => location.reload());

// Moves through the list with the arrow keys.
search?.closest("section").addEventListener("keydown", event => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  const links = [...document.querySelectorAll("#list li a")];
  const to = links.indexOf(document.activeElement) + step;
  event.preventDefault();
  (to < 0 ? field : links[to])?.focus();
});

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = "Copied";
  });
}
}
