// The state for popup and badge: written by the service worker, read by the popup.

import type { PairingError } from "./pairing.js";
import type { LastWrite, Write } from "./protocol.js";

export interface View {
  /** Null before pairing. */
  pairing: { location: string; engine: string; name: string; origin: string; base: string } | null;
  /** The reason for the end of the pairing. */
  unpaired: "revoked" | "token" | null;
  /** The reason why pairing with the policy's code failed. */
  enrolment: PairingError | null;
  connection: "off" | "connecting" | "open" | "replaced";
  /** True if the browser permits access to the EHR. */
  granted: boolean;
  session: "in" | "out";
  paused: boolean;
  /** True if this workstation is active. */
  holds: boolean;
  awaiting: Write[];
  queue: { waiting: number; oldestSeconds: number | null; last: LastWrite[]; received: number } | null;
  /** Writes interrupted by the end of the browser or its service worker. */
  cutOff: number;
}

/** The overall status; `status_*` and `explain_*` in `_locales` contain its texts. */
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

/** Returns an age in its largest unit: number and unit (`age_*` in `_locales`). */
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
