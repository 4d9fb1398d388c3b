// The position of a pull: the last revision, and whether this pass lists every record.

import { rejected } from "./lib/fault.js";

/**
 * Parses a cursor; without one a whole pass begins. @param {string | null | undefined} text @returns {{ whole: boolean,
 * revision: number }}
 */
export function parse(text) {
  if (text === null || text === undefined) return { whole: true, revision: 0 };
  const [, kind, revision] = /^(whole|delta):(\d{1,15})$/.exec(text) ?? [];
  if (kind === undefined) throw rejected("not a cursor of this adapter");
  return { whole: kind === "whole", revision: Number(revision) };
}

/** Returns the cursor after a page that ends at `revision`: the pass continues, or the next one is a delta. */
export function next({ whole }, revision, more) {
  return `${whole && more ? "whole" : "delta"}:${revision}`;
}
