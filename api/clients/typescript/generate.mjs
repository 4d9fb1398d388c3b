// Writes the generated modules from the OpenAPI document: `schema.ts` with the types, and `posts.ts` with the POSTs
// that can be repeated, because they take an idempotency key or have no effect.
import { readFileSync, writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";

const document = JSON.parse(readFileSync("../../openapi/clients.json", "utf8"));
const found = (it, kind) => (it?.$ref ? document.components[kind][it.$ref.split("/").at(-1)] : it);
const posts = {};
for (const [path, { post }] of Object.entries(document.paths)) {
  const body = found(post?.requestBody?.content["application/json"].schema, "schemas");
  if (post?.parameters.some((it) => found(it, "parameters").name === "Idempotency-Key")) posts[path] = "header";
  else if (body?.properties?.idempotency_key) posts[path] = "body";
  else if (post?.["x-reads-only"]) posts[path] = "reads";
  // The client makes the key if the caller gives none.
  if (posts[path] === "body") body.required = body.required.filter((name) => name !== "idempotency_key");
}
const type = 'Record<string, "header" | "body" | "reads">';
writeFileSync("src/posts.ts", `export const REPEATABLE: ${type} = ${JSON.stringify(posts, null, 2)};\n`);
writeFileSync("src/schema.ts", astToString(await openapiTS(document)));
