// The service worker: its events, and the badge.

import type { Command, Reply } from "./commands.js";
import * as store from "./store.js";
import { status, TONES, type View } from "./view.js";
import { Workstation } from "./workstation.js";

const ALARM = "keep";
/** The minimum period that browsers permit; if the worker is suspended, it wakes up soon. */
const ALARM_MINUTES = 0.5;

const COLOURS = { good: "#1a7f4b", calm: "#5b6472", warn: "#b25e09", bad: "#b3261e" } as const;

// One instance per worker, and so one connection; every event waits for it.
const workstation = Workstation.start(show);

chrome.alarms.onAlarm.addListener(() => void workstation.then((it) => it.tick()));
void chrome.alarms.create(ALARM, { periodInMinutes: ALARM_MINUTES });

// These listeners only start the worker, with the browser and after an update.
chrome.runtime.onStartup.addListener(() => undefined);
chrome.runtime.onInstalled.addListener(() => undefined);

// Without the permission `tabs` the address is available only for pages of granted hosts.
chrome.tabs.onUpdated.addListener((_, change, tab) => {
  if (tab.url !== undefined && (change.status === "complete" || change.url !== undefined)) {
    const { url } = tab;
    void workstation.then((it) => it.pageChanged(url));
  }
});

chrome.permissions.onAdded.addListener(() => void workstation.then((it) => it.permissionsChanged()));
chrome.permissions.onRemoved.addListener(() => void workstation.then((it) => it.permissionsChanged()));

// A policy may be applied after the installation of the extension.
chrome.storage.onChanged.addListener((_, area) => {
  if (area === "managed") {
    void workstation.then((it) => it.tick());
  }
});

chrome.runtime.onMessage.addListener((command: Command, sender, reply: (reply: Reply) => void) => {
  if (sender.id !== chrome.runtime.id) {
    return false;
  }
  void workstation.then((it) => it.command(command)).then(reply);
  return true;
});

function show(view: View): void {
  const now = status(view);
  const text = now === "approval" ? String(Math.min(view.awaiting.length, 999)) : chrome.i18n.getMessage(`badge_${now}`);
  void store.run({ view });
  void chrome.action.setBadgeText({ text });
  void chrome.action.setBadgeTextColor({ color: "#ffffff" });
  void chrome.action.setBadgeBackgroundColor({ color: COLOURS[TONES[now]] });
  void chrome.action.setTitle({ title: `${chrome.i18n.getMessage("extension_name")}: ${chrome.i18n.getMessage(`status_${now}`)}` });
}
