// Exits with 0 when the library accepts the message: standard.mjs SECRET HEADERS.json BODY
import { readFileSync } from "node:fs";
import { Webhook } from "standardwebhooks";

const [secret, headers, body] = process.argv.slice(2);
try {
  new Webhook(secret).verify(readFileSync(body), JSON.parse(readFileSync(headers, "utf8")));
} catch (error) {
  console.log(`refused: ${error.message}`);
  process.exit(3);
}
