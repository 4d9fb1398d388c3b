"use strict";

// Refreshes the changed parts of the page and updates ages. Without this script the page stays as rendered.

const note = document.getElementById("live");

function say(text) {
  if (note) note.textContent = text;
}

const held = (part) => {
  const active = document.activeElement;
  if (!active || !part.contains(active)) return null;
  const href = active.getAttribute("href");
  return active.id ? "#" + CSS.escape(active.id) : href && `[href="${CSS.escape(href)}"]`;
};

async function refresh() {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!answer.ok || answer.redirected) {
    location.reload();
    return;
  }
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of document.querySelectorAll("[data-part]")) {
    const next = page.querySelector(`[data-part="${CSS.escape(part.dataset.part)}"]`);
    if (!next) continue;
    const focus = held(part);
    for (const open of part.querySelectorAll("details[open][id]")) {
      next.querySelector("#" + CSS.escape(open.id))?.setAttribute("open", "");
    }
    part.replaceWith(document.adoptNode(next));
    if (focus) next.querySelector(focus)?.focus();
  }
}

const source = document.body.dataset.live;
if (source) {
  const events = new EventSource(source);
  events.addEventListener("open", () => say("Live"));
  // The audit trail records each refresh, so a hidden page is not refreshed.
  let stale = false;
  const renew = () => {
    stale = document.hidden;
    if (!stale) refresh().catch(() => say("Not live: reload the page"));
  };
  events.addEventListener("changed", renew);
  document.addEventListener("visibilitychange", () => { if (stale) renew(); });
  events.addEventListener("error", () => {
    say(events.readyState === EventSource.CLOSED ? "Not live: reload the page" : "Reconnecting");
  });
}

const units = [[2 * 60, 1, "s"], [2 * 3600, 60, "min"], [2 * 86400, 3600, "h"], [Infinity, 86400, "d"]];

setInterval(() => {
  for (const time of document.querySelectorAll("time[data-age]")) {
    const seconds = Math.trunc((Date.now() - Date.parse(time.dateTime)) / 1000);
    const length = Math.abs(seconds);
    const [, size, unit] = units.find(([below]) => length < below);
    const text = `${Math.trunc(length / size)} ${unit}`;
    time.textContent = seconds >= 0 ? `${text} ago` : `in ${text}`;
  }
}, 10_000);
