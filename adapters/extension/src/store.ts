// What the extension keeps: in the browser's profile for ever, and for as long as the browser runs.

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

/** `storage.local`: the profile's. */
export interface Kept {
  /** Made once; the engine knows this installation by it. */
  install: string;
  pairing: Pairing | null;
  paused: boolean;
  decisions: Decisions;
  /** Digest of the enrolment code of the policy that was tried last: it is not tried again. */
  enrolled: string | null;
  /** Why there is no pairing any more. */
  unpaired: "revoked" | "token" | null;
  /** Writes that were begun, and of which the engine has not been told how they ended. */
  begun: Write[];
}

/** `storage.session`: outlives the service worker, not the browser. */
export interface Running {
  /** The last request that was performed. */
  performed: { lease: number; number: number };
  /** Another browser works under this installation's name: this one stays away until somebody says otherwise. */
  replaced: boolean;
  view: View;
  /** What was typed to pair: a browser's own question may close the popup. */
  draft: Draft;
}

export interface Draft {
  engine: string;
  code: string;
  name: string;
}

/** What an administrator's policy sets. */
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
