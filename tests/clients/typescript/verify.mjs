// Exits with 0 when the client accepts the message: verify.mjs SECRET HEADERS.json BODY
import { readFileSync } from "node:fs";
import { WebhookError, verifyWebhook } from "practice-sync-client";

const [secret, headers, body] = process.argv.slice(2);
try {
  await verifyWebhook(secret, JSON.parse(readFileSync(headers, "utf8")), readFileSync(body));
} catch (error) {
  if (!(error instanceof WebhookError)) throw error;
  process.exit(3);
}
