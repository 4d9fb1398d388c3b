// The story of the guide with the TypeScript client, and its behaviour when calls fail. Prints the booking as JSON.
// Arguments: address, API key, subdomain, location.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout } from "node:timers/promises";
import { ApiError, ConnectionError, PracticeSync, WebhookError, verifyWebhook } from "practice-sync-client";
import type { ChangeBatch, ExportRecord, WebhookMessage } from "practice-sync-client";

const [baseUrl, apiKey, subdomain, firstLocation] = process.argv.slice(2) as [string, string, string, string];
const at = { subdomain, location_id: Number(firstLocation) };
const options = { baseUrl, apiKey, userAgent: "clients-test/1.0" };

// Faults between client and service. Each happens once.
const faults = new Set<string>();
const sent: { path: string; query: URLSearchParams; key: string | null; body: string; id: string | null }[] = [];
const faulty: typeof fetch = async (input, init) => {
  const { pathname: path, searchParams: query } = new URL(String(input));
  const headers = new Headers(init?.headers);
  const [key, id] = [headers.get("idempotency-key"), headers.get("x-request-id")];
  sent.push({ path, query, key, body: String(init?.body), id });
  if (path !== "/authenticates" && faults.delete("token invalid")) {
    headers.set("Authorization", `${headers.get("Authorization")?.slice(0, -8)}AAAAAAAA`);
  }
  if (path === "/changes" && faults.delete("cursor expired")) {
    const failure = { code: false, reason: "cursor_expired", description: null, error: ["expired"], data: null };
    return new Response(JSON.stringify(failure), { status: 400 });
  }
  if (path === "/me" && faults.delete("proxy refuses")) return Response.json({ error: "Forbidden" }, { status: 403 });
  const response = await fetch(input, { ...init, headers });
  if (path !== "/authenticates" && faults.delete("response lost")) throw new TypeError("the response was lost");
  if (path === "/export" && faults.delete("in one part")) return new Response(await response.text(), response);
  if (path === "/export" && faults.delete("stream broken")) {
    // Within the line after the first position.
    const text = await response.text();
    const part = text.slice(0, text.indexOf("\n", text.indexOf('{"type":"resume"')) + 20);
    const body = new ReadableStream({
      start: (stream) => stream.enqueue(new TextEncoder().encode(part)),
      pull: async (stream) => stream.error(await setTimeout(50, new TypeError("the connection broke"))),
    });
    return new Response(body, response);
  }
  return response;
};
const api = new PracticeSync({ ...options, fetch: faulty });
const signIns = () => sent.filter(({ path }) => path === "/authenticates").length;

async function until<T>(condition: () => Promise<T | undefined | false>): Promise<T> {
  for (let n = 0; n < 120; n++) {
    const found = await condition();
    if (found) return found;
    await setTimeout(500);
  }
  throw new Error(`not reached: ${condition}`);
}

async function refused(call: Promise<unknown>): Promise<ApiError> {
  const error = await call.then(() => assert.fail("the call was not refused"), (error: unknown) => error);
  assert(error instanceof ApiError, String(error));
  return error;
}

// Webhooks.
const messages: WebhookMessage[] = [];
const secrets = ["whsec_of_another_endpoint"];
const receiver = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  await assert.rejects(verifyWebhook("whsec_wrong", request.headers, body), WebhookError);
  const later = { now: Date.now() + 600_000 };
  await assert.rejects(verifyWebhook(secrets, request.headers, body, later), WebhookError);
  const { deliveryId, message } = await verifyWebhook(secrets, request.headers, body);
  assert(deliveryId);
  messages.push(message);
  response.writeHead(200).end();
});
await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
const target_url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
const { data: endpoint } = await api.post("/webhook_endpoints", { body: { target_url } });
secrets.push(endpoint.secret_key ?? assert.fail("a new endpoint has a secret"));
// A POST with a key is repeated with it.
faults.add("response lost");
await api.post("/webhook_endpoints/{id}/webhook_subscriptions", {
  path: { id: endpoint.id },
  query: { subdomain },
  body: { resource_type: "Appointment", event: "appointment_insertion" },
});
const [lostPost, repeated] = sent.slice(-2);
assert(lostPost?.key && lostPost.path.endsWith("/webhook_subscriptions"), JSON.stringify(sent));
assert.deepEqual([repeated?.key, repeated?.id], [lostPost.key, lostPost.id]);

// One sign-in serves concurrent calls, and so does one renewal.
assert.equal(signIns(), 1);
faults.add("token invalid");
const [{ data: institutions }] = await Promise.all([
  api.get("/locations", { query: { subdomain } }),
  api.get("/me"),
  api.get("/locations/{id}/capabilities", { path: { id: at.location_id }, query: { subdomain } }),
]);
assert.equal(signIns(), 2);
const locations = institutions.flatMap((institution) => institution.locations.map(({ id }) => id));

// The copy begins here.
let cursor = "";
for await (const batch of api.changes({ query: at, every: null })) {
  assert(batch.reload && batch.changes.length === 0);
  cursor = batch.cursor;
}

// A booking whose response is lost is the same booking.
const search = await api.post("/intent/booking/search", { query: at, body: { days: 14, limit: 1 } });
const [slot] = search.slots;
assert(slot, search.message);
await api.post("/intent/booking/hold", { query: at, body: { slot_token: slot.slot_token } });
const patient = {
  first_name: "Tyra",
  last_name: "Script",
  date_of_birth: "1990-04-12",
  phone_number: "+1 555 010 1234",
  email: "tyra@mail.example",
};
faults.add("response lost");
sent.length = 0;
const booked = await api.post("/intent/booking/book", { query: at, body: { slot_token: slot.slot_token, patient } });
assert(booked.replay);
assert(sent.length === 2 && sent[0]?.id === sent[1]?.id, "the attempts have one id");
assert(sent[0]?.body.includes('"idempotency_key"') && sent[0].body === sent[1]?.body, "the attempts have one body");
const booking_ref = booked.booking?.booking_ref ?? assert.fail("a single booking has a reference");
const status = async () => (await api.get("/intent/booking/status", { query: { subdomain, booking_ref } })).booking;
const written = await until(async () => {
  const booking = await status();
  return booking.ehr_writeback !== "pending" && booking;
});
assert.equal(written.ehr_writeback, "confirmed");
const message = await until(async () => messages[0]);
assert(message.event_name === "appointment_insertion.complete", message.event_name);
assert.equal(message.data.appointment.id, written.appointment_id);

// The changes since then contain the appointment. After the loop they continue at the cursor.
const resumed = new PracticeSync({ ...options, fetch: faulty });
for await (const batch of resumed.changes({ query: { ...at, since: cursor }, every: 0.5 })) {
  cursor = batch.cursor;
  assert(!batch.reload);
  if (batch.changes.some(({ resource, id }) => resource === "appointments" && id === written.appointment_id)) break;
}
faults.add("cursor expired");
const batches: ChangeBatch[] = [];
for await (const batch of resumed.changes({ query: { ...at, since: cursor }, every: null })) batches.push(batch);
assert(batches[0]?.reload && batches.length === 1);
await assert.rejects(async () => {
  const signal = AbortSignal.timeout(1_000);
  for await (const _ of resumed.changes({ query: { ...at, since: batches[0]?.cursor ?? "" }, signal })) continue;
}, { name: "TimeoutError" });

// Change and cancel.
const later = await api.post("/intent/booking/search", { query: at, body: { days: 14, limit: 20 } });
const next = later.slots.at(-1);
assert(next, later.message);
await api.post("/intent/booking/reschedule", { query: { subdomain }, body: { booking_ref, slot_token: next.slot_token } });
const moved = await until(async () => {
  const booking = await status();
  return booking.reschedule?.status !== "pending" && booking;
});
assert.deepEqual([moved.reschedule?.status, moved.start_iso], ["confirmed", next.start_iso]);
// A POST without a key is not repeated. This one had its effect.
faults.add("response lost");
sent.length = 0;
const cancelling = api.post("/intent/booking/cancel", { query: { subdomain }, body: { booking_ref, reason: "is ill" } });
await assert.rejects(cancelling, ConnectionError);
assert.deepEqual([sent.length, sent[0]?.key], [1, null]);
await until(async () => (await status()).cancellation_writeback === "confirmed");

// Lists.
const ids: Record<number, number[]> = { 25: [], 1000: [] };
for (const [per_page, seen] of Object.entries(ids)) {
  const query = { ...at, per_page: Number(per_page) };
  for await (const { id } of api.records("/patients", { query })) seen.push(id);
}
assert((ids[25]?.length ?? 0) > 50);
assert.deepEqual(ids[25], ids[1000]);

// @ts-expect-error A stream of lines is not one document: its end could be missing.
export const lines = () => api.get("/export", { query: at });

// An export continues after a broken connection, has each record once, and ends with the position of its changes.
faults.add("stream broken");
sent.length = 0;
const exported: ExportRecord[] = [];
const positions: string[] = [];
for await (const { records, cursor, isLast } of api.export({ query: at })) {
  exported.push(...records);
  positions.push(isLast ? `${cursor} is last` : cursor);
}
const exports = sent.filter(({ path }) => path === "/export").map(({ query }) => query.get("cursor"));
assert.deepEqual(exports, [null, positions[0]]);
assert.equal(new Set(exported.map(({ resource, id }) => `${resource} ${id}`)).size, exported.length);
const copied = new Set(exported.flatMap((it) => (it.resource === "patients" ? [it.data.id] : [])));
assert(ids[1000]?.every((id) => copied.has(id)));
const since = positions.at(-1)?.match(/^(.+) is last$/)?.[1] ?? assert.fail("the last batch is marked");
for await (const batch of api.changes({ query: { ...at, since }, every: null })) assert(!batch.reload);

// An aborted export ends after the current batch, although the rest has arrived.
faults.add("in one part");
const stop = new AbortController();
const stopped = async () => {
  for await (const { isLast } of api.export({ query: at, signal: stop.signal })) {
    assert(!isLast, "the export continued");
    stop.abort(new Error("no longer needed"));
  }
};
await assert.rejects(stopped, /no longer needed/);

// Refusals, limits and lost connections.
const unknown = await refused(api.get("/operatories", { query: { subdomain, location_id: 999_999 } }));
assert.deepEqual([unknown.status, unknown.reason], [404, "location_not_found"]);
assert(unknown.requestId && unknown.message.includes("999999"));
faults.add("proxy refuses");
sent.length = 0;
const forbidden = await refused(api.get("/me"));
assert.deepEqual([forbidden.status, forbidden.reason, forbidden.message, sent.length], [403, undefined, "Forbidden", 1]);
const altered = { slot_token: "slt_altered", patient };
const notFound = await refused(api.post("/intent/booking/book", { query: at, body: altered, idempotencyKey: "mine" }));
assert.deepEqual([notFound.status, notFound.reason, notFound.body.ok], [404, "slot_not_found", false]);
assert(sent.at(-1)?.body.includes('"idempotency_key":"mine"'));
const today = { ...at, start: `${search.today}T00:00:00Z`, end: `${search.today}T23:59:59Z` };
const many = (client: PracticeSync) =>
  Promise.allSettled(Array.from({ length: 14 }, () => client.get("/appointments", { query: today })));
const impatient = await many(new PracticeSync({ ...options, retries: 0 }));
const limited = impatient.filter((it) => it.status === "rejected").map((it) => it.reason as ApiError);
assert(limited.length > 0 && limited.every((it) => it.status === 429 && (it.retryAfter ?? 0) >= 1), String(limited));
assert((await many(api)).every((it) => it.status === "fulfilled"), "the client waits for `Retry-After`");
const slow = new PracticeSync({ ...options, retries: 1, timeout: 50, baseUrl: `${target_url}unanswered` });
receiver.removeAllListeners("request");
const lost: unknown = await slow.get("/me").catch((error: unknown) => error);
assert(lost instanceof ConnectionError && lost.timedOut);
receiver.closeAllConnections();
receiver.close();

console.log(JSON.stringify({ locations, booking: booking_ref, appointment: written.appointment_id, start: moved.start_iso }));
