// The extension's storage: permanent in the browser's profile, and temporary while the browser runs.

import type { Decisions } from "./approvals.js";
import type { Ehr, Place, Write } from "./protocol.js";
import type { View } from "./view.js";

export interface Pairing {
  engine: string;
  token: string;
  workstation: string;
  name: string;
  location: Place;
  ehr: Ehr;
}

/** `storage.local`: in the profile. */
export interface Kept {
  /** Created once; the engine identifies this installation by it. */
  install: string;
  pairing: Pairing | null;
  paused: boolean;
  decisions: Decisions;
  /** Digest of the last tried enrolment code of the policy, which is not tried again. */
  enrolled: string | null;
  /** The reason for the end of the pairing. */
  unpaired: "revoked" | "token" | null;
  /** Writes that were started, and whose outcome has not been reported to the engine. */
  begun: Write[];
}

/** `storage.session`: outlives the service worker, not the browser. */
export interface Running {
  /** The last executed request. */
  performed: { lease: number; number: number };
  /** Another browser uses this installation's name; this one stays disconnected until the user takes over. */
  replaced: boolean;
  view: View;
  /** Values typed for pairing, because a browser prompt may close the popup. */
  draft: Draft;
}

export interface Draft {
  engine: string;
  code: string;
  name: string;
}

/** The values of an administrator's policy. */
export interface Managed {
  engine?: string;
  code?: string;
  name?: string;
}

const NOTHING_KEPT: Omit<Kept, "install"> = {
  pairing: null,
  paused: false,
  decisions: {},
  enrolled: null,
  unpaired: null,
  begun: [],
};

export async function kept(): Promise<Kept> {
  const stored = await chrome.storage.local.get<Kept>({ ...NOTHING_KEPT, install: "" });
  if (stored.install === "") {
    stored.install = crypto.randomUUID();
    await keep({ install: stored.install });
  }
  return stored;
}

export async function keep(changes: Partial<Kept>): Promise<void> {
  await chrome.storage.local.set(changes);
}

export async function running(): Promise<Pick<Running, "performed" | "replaced">> {
  const nothing: Pick<Running, "performed" | "replaced"> = { performed: { lease: 0, number: 0 }, replaced: false };
  return chrome.storage.session.get(nothing);
}

export async function run(changes: Partial<Running>): Promise<void> {
  await chrome.storage.session.set(changes);
}

export async function managed(): Promise<Managed> {
  try {
    return await chrome.storage.managed.get<Managed>();
  } catch {
    // A browser without policies.
    return {};
  }
}
