// Validation of results against the contract. A record without a required field would end the call without an
// explanation; this module names the field.

import { TYPES } from "./types.js";

const RANGES = {
  u8: [0, 2 ** 8 - 1],
  u16: [0, 2 ** 16 - 1],
  u32: [0, 2 ** 32 - 1],
  u64: [0, Number.MAX_SAFE_INTEGER],
  s32: [-(2 ** 31), 2 ** 31 - 1],
  s64: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
};

/** @typedef {(value: any) => string | null} Check the path of the error and the expected type */

/** @type {Map<string, Check>} */
const CHECKS = new Map();

/**
 * Returns null, or an error without any value: `records[0] (patient).lastName is missing: a text is due`.
 * @param {string} type a name in `types.js`, such as `page` or `receipt?`
 */
export function wrong(type, value) {
  const problem = check(type)(value);
  return problem === null ? null : problem.replace(/^\./, "").replace(/^ /, "it ");
}

/** Cached by type. @returns {Check} */
function check(type) {
  const known = CHECKS.get(type) ?? make(type);
  CHECKS.set(type, known);
  return known;
}

/** @returns {Check} */
function make(type) {
  if (type.endsWith("?")) {
    const inner = check(type.slice(0, -1));
    return (value) => (value === null || value === undefined ? null : inner(value));
  }
  if (type.endsWith("[]")) return list(check(type.slice(0, -2)));
  if (type === "string") {
    return (value) => (typeof value === "string" && value.isWellFormed() ? null : due("a text", value));
  }
  if (type === "bool") return (value) => (typeof value === "boolean" ? null : due("true or false", value));
  if (Object.hasOwn(RANGES, type)) {
    const [least, most] = RANGES[type];
    const right = (value) => Number.isInteger(value) && value >= least && value <= most;
    return (value) => (right(value) ? null : due(`a whole number from ${least} to ${most}`, value));
  }
  const { record: fields, words, cases } = TYPES[type];
  if (fields !== undefined) return record(Object.entries(fields).map(([name, of]) => [name, check(of)]));
  if (words !== undefined) return (value) => (words.includes(value) ? null : due(`one of ${words.join(", ")}`, value));
  return variant(new Map(Object.entries(cases).map(([tag, of]) => [tag, of === null ? null : check(of)])));
}

/** @param {Check} item @returns {Check} */
function list(item) {
  return (value) => {
    if (!Array.isArray(value)) return due("a list", value);
    for (let n = 0; n < value.length; n++) {
      const problem = item(value[n]);
      if (problem !== null) return `[${n}]${problem}`;
    }
    return null;
  };
}

/** @param {[string, Check][]} fields @returns {Check} */
function record(fields) {
  return (value) => {
    if (typeof value !== "object" || value === null) return due("an object", value);
    for (const [name, field] of fields) {
      const problem = field(value[name]);
      if (problem !== null) return `.${name}${problem}`;
    }
    return null;
  };
}

/** @param {Map<string, Check | null>} cases @returns {Check} */
function variant(cases) {
  return (value) => {
    const inner = cases.get(value?.tag);
    if (inner === undefined) return `.tag${due(`one of ${[...cases.keys()].join(", ")}`, value?.tag)}`;
    const problem = inner === null ? null : inner(value.val);
    return problem === null ? null : ` (${value.tag})${problem}`;
  };
}

/** Describes the expected and the actual type, never the value itself, which may be a patient's. */
function due(what, value) {
  const kind = typeof value === "object" ? "an object" : `a ${typeof value}`;
  const found = value === undefined ? "missing" : value === null ? "null" : Array.isArray(value) ? "a list" : kind;
  return ` is ${found}: ${what} is due`;
}
