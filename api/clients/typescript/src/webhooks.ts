import type { WebhookMessage } from "./types.js";

/** The message is not from the service, or too old. Respond with 401 and do not process it. */
export class WebhookError extends Error {
  override readonly name = "WebhookError";
}

type HeaderValues = { get(name: string): string | null } | Record<string, string | string[] | undefined>;

/**
 * Verifies and parses a message. `secrets` are the `secret_key`s of your endpoints, and `body` is the unparsed body.
 * `headers` are a `Headers` object, or an object with names in lower case as in Node.js. `tolerance` is in seconds.
 */
export async function verifyWebhook(
  secrets: string | string[],
  headers: HeaderValues,
  body: Uint8Array,
  { tolerance = 300, now = Date.now() } = {},
): Promise<{ deliveryId: string; message: WebhookMessage }> {
  const header = (name: string) =>
    String((typeof headers.get === "function" ? headers.get(name) : (headers as Record<string, unknown>)[name]) ?? "");
  const timestamp = header("timestamp");
  // An unreadable timestamp fails the comparison, too.
  if (!(Math.abs(now - Date.parse(timestamp)) <= tolerance * 1000)) {
    throw new WebhookError("The header `timestamp` is missing or outside the tolerance.");
  }
  const base64 = btoa(Array.from(body, (byte) => String.fromCharCode(byte)).join(""));
  const [encoder, hmac] = [new TextEncoder(), { name: "HMAC", hash: "SHA-256" }];
  for (const secret of [secrets].flat()) {
    const key = await crypto.subtle.importKey("raw", encoder.encode(secret), hmac, false, ["verify"]);
    for (const hex of [header("signature"), header("signature-next")]) {
      const signature = Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
      if (!(await crypto.subtle.verify(hmac, key, signature, encoder.encode(`${timestamp}.${base64}`)))) continue;
      return { deliveryId: header("delivery-id"), message: JSON.parse(new TextDecoder().decode(body)) };
    }
  }
  throw new WebhookError("No signature matches. Compare the secret with the `secret_key` of the endpoint.");
}
