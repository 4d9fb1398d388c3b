// Exits with 0 when the snippet of the documentation accepts the message: snippet.mjs SECRET HEADERS.json BODY
import { readFileSync } from "node:fs";
import { verify } from "./verify.mjs";

const [secret, headers, body] = process.argv.slice(2);
process.exit(verify(secret, JSON.parse(readFileSync(headers, "utf8")), readFileSync(body)) ? 0 : 3);
