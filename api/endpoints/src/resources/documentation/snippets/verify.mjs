// Node.js. `headers` with lower-case names, `body` as it came in, before it is parsed.
import { createHmac, timingSafeEqual } from "node:crypto";

const TOLERANCE_MS = 5 * 60 * 1000;

export function verify(secretKey, headers, body) {
  const timestamp = headers["timestamp"] ?? "";
  // Written so that a timestamp that cannot be read is refused too.
  if (!(Math.abs(Date.now() - Date.parse(timestamp)) <= TOLERANCE_MS)) return false;
  const signedPayload = `${timestamp}.${Buffer.from(body).toString("base64")}`;
  const expected = createHmac("sha256", secretKey).update(signedPayload).digest();
  return ["signature", "signature-next"].some((name) => {
    const given = Buffer.from(headers[name] ?? "", "hex");
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}
