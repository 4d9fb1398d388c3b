// Runs scenarios of @modelcontextprotocol/conformance against a server: `node conformance.mjs URL KEY`.
import { spawn } from "node:child_process";
import { createServer, request } from "node:http";

const [url, key] = process.argv.slice(2);

// The scenarios for servers with tools only and without sessions, by protocol version. The others need resources,
// prompts, completion, sampling or elicitation, or call a tool of a reference server.
const SCENARIOS = {
  "2025-11-25": [
    "server-initialize",
    "server-session-lifecycle",
    "ping",
    "tools-list",
    "dns-rebinding-protection",
  ],
  "2026-07-28": [
    "server-stateless",
    "tools-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
    "caching",
    "http-header-validation",
  ],
};

// The tool sends no key: a proxy adds it.
const proxy = createServer((incoming, outgoing) => {
  const headers = { ...incoming.headers, authorization: `Bearer ${key}` };
  const forwarded = request(url, { method: incoming.method, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode, answer.headers);
    answer.pipe(outgoing);
  });
  forwarded.on("error", () => outgoing.destroy());
  outgoing.on("close", () => forwarded.destroy());
  incoming.pipe(forwarded);
});
await new Promise((listening) => proxy.listen(0, "127.0.0.1", listening));

function run(version, scenario) {
  const tool = ["node_modules/@modelcontextprotocol/conformance/dist/index.js", "server"];
  const at = ["--url", `http://127.0.0.1:${proxy.address().port}/mcp`, "--spec-version", version];
  const options = ["--scenario", scenario, "--expected-failures", "expected-failures.yaml"];
  return new Promise((ended) => {
    const child = spawn(process.execPath, [...tool, ...at, ...options], { stdio: ["ignore", "pipe", "pipe"] });
    const output = [];
    child.stdout.on("data", (part) => output.push(part));
    child.stderr.on("data", (part) => output.push(part));
    child.on("close", (code) => ended({ code, output: Buffer.concat(output).toString() }));
  });
}

let failures = 0;
for (const [version, scenarios] of Object.entries(SCENARIOS)) {
  for (const scenario of scenarios) {
    const { code, output } = await run(version, scenario);
    // A scenario that does not run for this version exits with 0 as well.
    const checked = /Passed: \d+/.test(output);
    console.log(`${version} ${scenario}: ${code === 0 && checked ? "passed" : "FAILED"}`);
    if (code !== 0 || !checked) {
      console.log(output);
      failures += 1;
    }
  }
}
process.exit(failures === 0 ? 0 : 1);
