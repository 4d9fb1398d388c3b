import assert from "node:assert/strict";
import { test } from "node:test";

import { host, faultOf } from "./answers.js";
import { adapter } from "../src/lib/adapter.js";
import { wrong } from "../src/lib/contract.js";
import { rejected } from "../src/lib/fault.js";
import { faultOfStatus, json, retryAfter, send } from "../src/lib/http.js";
import { dayOf, httpDate, instantOf, instantText, localOf } from "../src/lib/time.js";
import { decode, encode } from "../src/lib/utf8.js";

test("text goes there and back as UTF-8", () => {
  for (const text of ["", "plain", "Zoë Łopata 山田 🦷", "\u0000\u007f\u0080\u07ff\u0800\uffff\u{10ffff}", "é🦷".repeat(9_001)]) {
    assert.deepEqual(encode(text), new TextEncoder().encode(text));
    assert.equal(decode(encode(text)), text);
  }
});

test("what is not UTF-8 is no text", () => {
  for (const bytes of [[0xff], [0xc3], [0x41, 0xe2, 0x82], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80]]) {
    assert.throws(() => decode(Uint8Array.from(bytes)), URIError, String(bytes));
  }
});

test("instants of every writing", () => {
  for (const [text, at] of [
    ["2026-11-20T22:15:42Z", 1_795_212_942],
    ["2026-11-20T22:15:42.999Z", 1_795_212_942],
    ["2026-11-20T17:15:42-05:00", 1_795_212_942],
    ["2026-11-21T03:45:42.1+05:30", 1_795_212_942],
    ["1969-12-31T23:59:59Z", -1],
    ["2026-11-20 22:15:42Z", 1_795_212_942],
    ["2026-11-20t22:15:42z", 1_795_212_942],
    [" 2026-11-20T22:15Z ", 1_795_212_900],
    ["2026-11-20 17:15:42 -0500", 1_795_212_942],
    ["2026-11-20T23:15:42,5+01", 1_795_212_942],
  ]) {
    assert.equal(instantOf(text), at, text);
  }
  for (const at of [0, 951_782_399, 951_782_400, 1_795_212_942, -1]) assert.equal(instantOf(instantText(at)), at);
  for (const bad of ["", "2026-11-20", "2026-11-20T22:15:42", "2026-02-30T00:00:00Z", "2026-13-01T00:00:00Z",
    "2026-11-20T24:00:01Z", "2026-11-20T22:15:42+5", "2026-11-20T22Z", "11/20/2026 22:15:42Z"]) {
    assert.equal(instantOf(bad), null, bad);
  }
  assert.equal(localOf("2026-11-20 17:15"), "2026-11-20T17:15:00");
  for (const bad of ["2026-11-20T17:15:42Z", "2026-11-20", "2026-02-30T10:00:00", ""]) assert.equal(localOf(bad), null, bad);
  for (const day of ["2001-11-30", "2001-11-30T00:00:00", "2001-11-30 00:00:00.000+0000"]) assert.equal(dayOf(day), "2001-11-30", day);
  for (const bad of ["", "2001-11-31", "2001-11-30x", "11/30/2001"]) assert.equal(dayOf(bad), null, bad);
  assert.equal(httpDate("Fri, 20 Nov 2026 22:15:42 GMT"), 1_795_212_942);
  for (const bad of ["", "Fri, 20 nov 2026 22:15:42 GMT", "Fri, 20 Nov 2026 22:15:42 CET"]) assert.equal(httpDate(bad), null);
});

test("a missing answer says what may have happened", () => {
  for (const [tag, read, write] of [
    ["not-sent", "retry-later", "retry-later"],
    ["no-answer", "retry-later", "unknown"],
    ["refused", "rejected", "rejected"],
  ]) {
    host(() => {
      throw { tag, val: "why" };
    });
    assert.equal(faultOf(() => send("get", "/")).tag, read);
    assert.equal(faultOf(() => send("post", "/", {})).tag, write);
  }
});

test("every status has its fault", () => {
  const tag = (status, reads, headers = []) => faultOfStatus({ status, headers, body: [] }, reads).tag;
  for (const [status, read, write] of [
    [302, "retry-later", "unknown"], [401, "unauthorized", "unauthorized"], [403, "unauthorized", "unauthorized"],
    [408, "retry-later", "retry-later"], [418, "rejected", "rejected"], [425, "retry-later", "retry-later"],
    [429, "retry-later", "retry-later"], [500, "retry-later", "unknown"], [501, "unsupported", "unsupported"],
    [503, "retry-later", "unknown"],
  ]) {
    assert.deepEqual([tag(status, true), tag(status, false)], [read, write], String(status));
  }
  assert.equal(tag(503, false, [{ name: "Retry-After", value: "7" }]), "retry-later");
});

test("seconds to wait are a number or a date", () => {
  host(() => ({}));
  const after = (value) => retryAfter({ status: 429, headers: [{ name: "retry-after", value }], body: [] });
  assert.equal(after(" 17 "), 17);
  assert.equal(after("99999999999"), 2 ** 32 - 1);
  assert.equal(after("Fri, 20 Nov 2026 22:15:50 GMT"), 8);
  assert.equal(after("Fri, 20 Nov 2026 22:15:30 GMT"), 0);
  assert.equal(after("soon"), null);
});

test("what is no JSON is undefined", () => {
  for (const body of [Uint8Array.of(), Uint8Array.of(0xff), encode("<html>"), encode('{"a":')]) assert.equal(json({ body }), undefined);
  assert.deepEqual(json({ body: encode('{"a":"ë"}') }), { a: "ë" });
});

const ROOM = { id: "O-1", name: "Room 1", displayName: null, active: true, bookableOnline: true, appointmentTypes: [], extra: [] };
const PAGE = { records: [{ tag: "operatory", val: ROOM }], skipped: [], deleted: [], cursor: "1", last: true, whole: true, estimate: null };
const page = (changes) => ({ ...PAGE, records: [PAGE.records[0], { tag: "operatory", val: { ...ROOM, ...changes } }] });

test("an answer that breaks the contract is named by its field, and never by its value", () => {
  assert.equal(wrong("page", page({})), null);
  assert.equal(wrong("receipt?", null), null);
  for (const [answer, problem] of [
    [page({ name: undefined }), "records[1] (operatory).name is missing: a text is due"],
    [page({ name: null }), "records[1] (operatory).name is null: a text is due"],
    [page({ name: "\ud83e" }), "records[1] (operatory).name is a string: a text is due"],
    [page({ active: "yes" }), "records[1] (operatory).active is a string: true or false is due"],
    [page({ appointmentTypes: [7] }), "records[1] (operatory).appointmentTypes[0] is a number: a text is due"],
    [page({ extra: [{ name: "a" }] }), "records[1] (operatory).extra[0].value is missing: a text is due"],
    [{ ...PAGE, estimate: 1.5 }, `estimate is a number: a whole number from 0 to ${Number.MAX_SAFE_INTEGER} is due`],
    [{ ...PAGE, records: {} }, "records is an object: a list is due"],
    [undefined, "it is missing: an object is due"],
  ]) {
    assert.equal(wrong("page", answer), problem);
  }
  assert.match(wrong("page", { ...PAGE, records: [{ tag: "room", val: ROOM }] }), /^records\[0\]\.tag is a string: one of patient, provider, /);
  assert.match(wrong("description", {}), /^name is missing: a text is due$/);
});

test("a mistake is in the log with its message and its place, and a fault is not", () => {
  const { lines } = host(() => ({}));
  const calls = (pull) => adapter({ describe: pull, pull, push: pull, find: pull });
  const lacking = (row) => row.name.first;
  assert.throws(() => calls(() => lacking({})).pull("patients", null, 1), TypeError);
  assert.match(lines[0], /^error panicked at lacking \(.*lib\.test\.js:\d+:\d+\): TypeError: .*first/);
  assert.match(lines[1], /^error called .*lib\.test\.js/);
  lines.length = 0;
  // The message of a syntax error quotes its input.
  assert.throws(() => calls(() => JSON.parse("Zoe")).describe(), SyntaxError);
  assert.match(lines[0], /^error panicked at JSON\.parse .*: SyntaxError$/);
  lines.length = 0;
  assert.deepEqual(faultOf(() => calls(() => { throw rejected("no"); }).find("ps-1", null)), rejected("no"));
  assert.deepEqual(lines, []);
  assert.throws(() => calls(() => ({ id: "1" })).pull("patients", null, 1));
  assert.throws(() => calls(() => { throw "no"; }).push("ps-1", null), TypeError);
  assert.deepEqual(lines, [
    "error panicked at pull: what it returns is not of the contract: records is missing: a list is due",
    "error panicked at push: what it throws is neither a fault nor an Error: tag is missing: one of rejected, retry-later, unknown, " +
      "unauthorized, unsupported, gate-closed is due",
  ]);
});
