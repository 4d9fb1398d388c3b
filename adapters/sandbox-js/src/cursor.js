// Where a pull goes on: the revision seen last, and whether this pass shows every record.

import { rejected } from "./lib/fault.js";

/** No cursor starts a whole pass. @param {string | null | undefined} text @returns {{ whole: boolean, revision: number }} */
export function parse(text) {
  if (text === null || text === undefined) return { whole: true, revision: 0 };
  const [, kind, revision] = /^(whole|delta):(\d{1,15})$/.exec(text) ?? [];
  if (kind === undefined) throw rejected("not a cursor of this adapter");
  return { whole: kind === "whole", revision: Number(revision) };
}

/** After a page that ends at `revision`: this pass goes on, or the next one is a delta. */
export function next({ whole }, revision, more) {
  return `${whole && more ? "whole" : "delta"}:${revision}`;
}
