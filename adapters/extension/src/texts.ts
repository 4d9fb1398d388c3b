// Texts for users, all from `_locales`.

import type { Write } from "./protocol.js";
import { age } from "./view.js";

export function text(name: string, ...values: (string | number)[]): string {
  return chrome.i18n.getMessage(name, values.map(String));
}

/** Fills the elements that contain the name of a text. */
export function fill(document: Document): void {
  document.documentElement.lang = text("language");
  for (const element of document.querySelectorAll<HTMLElement>("[data-text]")) {
    element.textContent = text(element.dataset["text"] ?? "");
  }
}

/** Returns the text for `create-appointment`. Kinds without a text are shown as words. */
export function kind({ kind }: Pick<Write, "kind">): string {
  return text(`kind_${kind.replace(/[^a-z0-9]/gi, "_")}`) || words(kind);
}

export function state(state: string): string {
  return text(`state_${state.replace(/[^a-z0-9]/gi, "_")}`) || words(state);
}

/** Formats the practice's local time as sent by the engine, without applying a zone. */
export function localTime(at: string | null): string {
  const parts = at === null ? null : /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})/.exec(at);
  if (!parts) {
    return at ?? "";
  }
  const [year, month, day, hour, minute] = parts.slice(1).map(Number) as [number, number, number, number, number];
  const format = new Intl.DateTimeFormat(text("language"), {
    weekday: "short",
    month: "short",
    day: "numeric",
    hour: "numeric",
    minute: "2-digit",
    timeZone: "UTC",
  });
  return format.format(Date.UTC(year, month - 1, day, hour, minute));
}

export function ageText(seconds: number): string {
  const { unit, count } = age(Math.max(0, seconds));
  return text(`age_${unit}`, count);
}

function words(name: string): string {
  const spaced = name.replace(/[-_]+/g, " ");
  return spaced.charAt(0).toUpperCase() + spaced.slice(1);
}
