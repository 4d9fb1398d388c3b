// What the popup and the badge show: written by the service worker, read by the popup, made of nothing else.

import type { PairingError } from "./pairing.js";
import type { LastWrite, Write } from "./protocol.js";

export interface View {
  /** Null: to be paired. */
  pairing: { location: string; engine: string; name: string; origin: string; base: string } | null;
  /** Why it is not paired any more. */
  unpaired: "revoked" | "token" | null;
  /** Why the policy's code did not pair it. */
  enrolment: PairingError | null;
  connection: "off" | "connecting" | "open" | "replaced";
  /** Whether the browser lets the extension reach the EHR. */
  granted: boolean;
  session: "in" | "out";
  paused: boolean;
  /** Whether this workstation does the work now. */
  holds: boolean;
  awaiting: Write[];
  queue: { waiting: number; oldestSeconds: number | null; last: LastWrite[]; received: number } | null;
  /** Writes that were cut off with the browser or its service worker. */
  cutOff: number;
}

/** The one word for where things stand; `status_*` and `explain_*` in `_locales` say it to people. */
export type Status =
  | "unpaired"
  | "replaced"
  | "offline"
  | "ungranted"
  | "paused"
  | "logged_out"
  | "approval"
  | "working"
  | "standby";

export function status(view: View): Status {
  if (view.pairing === null) {
    return "unpaired";
  }
  if (view.connection === "replaced") {
    return "replaced";
  }
  if (!view.granted) {
    return "ungranted";
  }
  if (view.paused) {
    return "paused";
  }
  if (view.connection !== "open") {
    return "offline";
  }
  if (view.session === "out") {
    return "logged_out";
  }
  if (view.awaiting.length > 0) {
    return "approval";
  }
  return view.holds ? "working" : "standby";
}

export type Tone = "good" | "calm" | "warn" | "bad";

export const TONES: Record<Status, Tone> = {
  unpaired: "calm",
  replaced: "bad",
  offline: "bad",
  ungranted: "warn",
  paused: "warn",
  logged_out: "warn",
  approval: "warn",
  working: "good",
  standby: "calm",
};

/** An age in its largest unit: how many, and of what (`age_*` in `_locales`). */
export function age(seconds: number): { unit: "seconds" | "minutes" | "hours" | "days"; count: number } {
  if (seconds < 60) {
    return { unit: "seconds", count: Math.floor(seconds) };
  }
  if (seconds < 3_600) {
    return { unit: "minutes", count: Math.floor(seconds / 60) };
  }
  return seconds < 172_800
    ? { unit: "hours", count: Math.floor(seconds / 3_600) }
    : { unit: "days", count: Math.floor(seconds / 86_400) };
}
