import assert from "node:assert/strict";
import { test } from "node:test";

import { host, faultOf } from "./answers.js";
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
    [302, "rejected", "rejected"], [401, "unauthorized", "unauthorized"], [403, "unauthorized", "unauthorized"],
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
