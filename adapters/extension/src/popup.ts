// The popup: displays the view of the service worker, and sends it the staff's commands.

import { pattern } from "./allowed.js";
import { ask, type Command } from "./commands.js";
import { engineAddress } from "./pairing.js";
import type { LastWrite, Write } from "./protocol.js";
import * as store from "./store.js";
import * as texts from "./texts.js";
import { status, TONES, type View } from "./view.js";

const { text } = texts;
/** Ages advance locally between two messages of the engine. */
const AGE_EVERY_MS = 1_000;
/** Period in which a second click on "forget" counts. */
const CONFIRM_MS = 5_000;

let view: View | null = null;
/** Set while a second click forgets the pairing. */
let disarming: ReturnType<typeof setTimeout> | null = null;

texts.fill(document);
element("detail-version").textContent = chrome.runtime.getManifest().version;
disarm();

chrome.storage.session.onChanged.addListener((changes) => {
  if (changes["view"] !== undefined) {
    show(changes["view"].newValue as View);
  }
});
on("pair", "submit", () => void pair());
on("grant", "click", () => void grant());
on("return", "click", () => void ask({ do: "return" }));
on("pause", "click", () => void ask({ do: "pause", paused: view?.paused !== true }));
on("approve-all", "click", () => void decide(view?.awaiting ?? [], true));
on("unpair", "click", unpair);
setInterval(() => view && showQueue(view), AGE_EVERY_MS);

await ask({ do: "look" });
const { view: known } = await chrome.storage.session.get<Partial<store.Running>>("view");
if (known !== undefined) {
  show(known);
}
await suggest();

function show(now: View): void {
  view = now;
  showStatus(now);
  showApprovals(now);
  showQueue(now);
  const paired = now.pairing;
  element("location").textContent = paired?.location ?? text("location_none");
  toggle("pair", paired === null);
  toggle("footer", paired !== null);
  const pause = element("pause");
  pause.textContent = text(now.paused ? "button_resume" : "button_pause");
  pause.setAttribute("aria-pressed", String(now.paused));
  element("detail-name").textContent = paired?.name ?? "";
  element("detail-ehr").textContent = paired === null ? "" : paired.origin + paired.base;
  element("detail-engine").textContent = paired?.engine ?? "";
}

function showStatus(now: View): void {
  const where = status(now);
  element("status").dataset["tone"] = TONES[where];
  setText("status-title", text(`status_${where}`));
  setText("status-text", explanation(now));
  toggle("grant", where === "ungranted");
  toggle("return", where === "replaced");
  toggle("cut-off", now.cutOff > 0);
  setText("cut-off", text(now.cutOff === 1 ? "cut_off_one" : "cut_off_many", now.cutOff));
}

function explanation(now: View): string {
  const where = status(now);
  if (where === "unpaired" && now.enrolment !== null) {
    return text(now.enrolment);
  }
  if (where === "unpaired" && now.unpaired !== null) {
    return text(`explain_${now.unpaired}`);
  }
  const host = now.pairing === null ? "" : new URL(now.pairing.origin).host;
  return text(`explain_${where}`, where === "offline" ? (now.pairing?.engine ?? "") : host);
}

function showApprovals({ awaiting }: View): void {
  toggle("approvals", awaiting.length > 0);
  setText("approvals-title", text("title_approvals", awaiting.length));
  const shown = JSON.stringify(awaiting);
  const list = element("approvals-list");
  // Not rebuilt while unchanged, because it may contain the keyboard focus.
  if (list.dataset["shown"] !== shown) {
    list.dataset["shown"] = shown;
    list.replaceChildren(...awaiting.map(approval));
  }
}

function approval(write: Write): HTMLElement {
  const buttons = document.createElement("div");
  for (const yes of [true, false]) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = yes ? "small main" : "small";
    button.textContent = text(yes ? "button_approve" : "button_decline");
    button.setAttribute("aria-label", `${button.textContent}: ${texts.kind(write)} ${texts.localTime(write.at)}`);
    button.addEventListener("click", () => void decide([write], yes));
    buttons.append(button);
  }
  return row(write, buttons);
}

function showQueue({ queue, connection, awaiting }: View): void {
  toggle("queue", queue !== null && connection === "open");
  if (queue === null) {
    return;
  }
  // Pending decisions are displayed, whatever the engine reported two seconds ago.
  toggle("waiting", queue.waiting > 0 || awaiting.length === 0);
  const since = (Date.now() - queue.received) / 1_000;
  const oldest = texts.ageText((queue.oldestSeconds ?? 0) + since);
  setText("waiting", queue.waiting === 0 ? text("waiting_none") : text(queue.waiting === 1 ? "waiting_one" : "waiting_many", queue.waiting, oldest));
  const list = element("last");
  const shown = JSON.stringify(queue.last);
  if (list.dataset["shown"] !== shown) {
    list.dataset["shown"] = shown;
    list.replaceChildren(...queue.last.map(lastWrite));
  }
}

function lastWrite(write: LastWrite): HTMLElement {
  const state = document.createElement("div");
  state.className = "state";
  state.dataset["tone"] = ["written", "done"].includes(write.state) ? "good" : ["failed", "rejected", "declined"].includes(write.state) ? "bad" : "calm";
  state.textContent = texts.state(write.state);
  const when = write.when === null ? NaN : Date.parse(write.when);
  state.title = Number.isNaN(when) ? "" : new Date(when).toLocaleString(text("language"));
  return row(write, state);
}

/** Creates a row with a write and an element to its right. */
function row(write: Pick<Write, "kind" | "at">, right: HTMLElement): HTMLElement {
  const item = document.createElement("li");
  const what = document.createElement("div");
  const at = document.createElement("p");
  at.className = "when";
  at.textContent = texts.localTime(write.at);
  what.append(texts.kind(write), at);
  item.append(what, right);
  return item;
}

async function pair(): Promise<void> {
  const draft: store.Draft = { engine: field("engine").value.trim(), code: field("code").value.trim(), name: field("name").value.trim() };
  if (draft.engine === "" || draft.code === "") {
    refuse("error_missing", draft.engine === "" ? "engine" : "code");
    return;
  }
  const engine = engineAddress(draft.engine);
  if (engine === null) {
    refuse("error_engine", "engine");
    return;
  }
  setText("pair-error", "");
  void store.run({ draft });
  const access = pattern(new URL(engine));
  if (!(await mayReach(access))) {
    refuse("error_not_allowed", "pair-button");
    return;
  }
  const button = element<HTMLButtonElement>("pair-button");
  button.disabled = true;
  const { error } = await ask({ do: "pair", ...draft });
  button.disabled = false;
  if (error !== null) {
    refuse(error, "code");
    return;
  }
  element<HTMLFormElement>("pair").reset();
  await store.run({ draft: { engine: "", code: "", name: "" } });
  await giveBack(access);
}

function refuse(why: string, field: string): void {
  setText("pair-error", text(why));
  element(field).focus();
}

/**
 * A browser asks its user only within a click, so nothing may be awaited before. An existing permission is granted at
 * once.
 */
async function mayReach(access: string): Promise<boolean> {
  try {
    return await chrome.permissions.request({ origins: [access] });
  } catch {
    // Neither granted nor grantable: the manifest does not list such addresses.
    return false;
  }
}

/** Removes the access to the engine that pairing needed, unless it is also the EHR's. The manifest's permissions stay. */
async function giveBack(access: string): Promise<void> {
  const { pairing } = await store.kept();
  const isEhrs = pairing !== null && pattern(new URL(pairing.ehr.origin)) === access;
  if (!isEhrs) {
    await chrome.permissions.remove({ origins: [access] }).catch(() => undefined);
  }
}

async function grant(): Promise<void> {
  if (view?.pairing) {
    const ehr = new URL(view.pairing.origin);
    if (await mayReach(pattern(ehr))) {
      await ask({ do: "look" });
    } else {
      setText("status-text", text("error_grant", ehr.hostname));
    }
  }
}

async function decide(writes: Write[], yes: boolean): Promise<void> {
  await ask({ do: "decide", writes, yes });
  if (element("approvals").hidden) {
    element("pause").focus();
  }
}

/** Forgets the pairing on the second click. */
function unpair(): void {
  if (disarming === null) {
    setText("unpair", text("button_unpair_sure"));
    disarming = setTimeout(disarm, CONFIRM_MS);
  } else {
    disarm();
    void ask({ do: "unpair" } satisfies Command);
  }
}

function disarm(): void {
  clearTimeout(disarming ?? undefined);
  disarming = null;
  setText("unpair", text("button_unpair"));
}

/** Restores values typed before the browser's prompt closed the popup, or sets the policy's values. */
async function suggest(): Promise<void> {
  const { draft } = await chrome.storage.session.get<Partial<store.Running>>("draft");
  const managed = await store.managed();
  for (const name of ["engine", "code", "name"] as const) {
    field(name).value ||= draft?.[name] || managed[name] || "";
  }
}

function field(name: keyof store.Draft): HTMLInputElement {
  return element<HTMLInputElement>(name);
}

function setText(id: string, value: string): void {
  const found = element(id);
  // Screen readers repeat a live region whenever it is set.
  if (found.textContent !== value) {
    found.textContent = value;
  }
}

function toggle(id: string, shown: boolean): void {
  element(id).hidden = !shown;
}

function on(id: string, event: "click" | "submit", act: () => void): void {
  element(id).addEventListener(event, (happened) => {
    happened.preventDefault();
    act();
  });
}

function element<E extends HTMLElement>(id: string): E {
  const found = document.getElementById(id);
  if (found === null) {
    throw new Error(`popup.html has no ${id}`);
  }
  return found as E;
}
