// Simulates the host: the contract's interfaces as modules. `node --import` loads this file before the tests.

import { register } from "node:module";

const interfaces = {
  http: "send: (request) => globalThis.host.send(request)",
  clock: "now: () => globalThis.host.now, toInstant: (local) => globalThis.host.toInstant(local)",
  config: "get: (name) => globalThis.host.config[name] ?? null",
  log: "write: (level, message) => globalThis.host.lines.push(`${level} ${message}`)",
};

const hooks = `
  const interfaces = ${JSON.stringify(interfaces)};
  export function resolve(specifier, context, next) {
    const [, name] = /^practice-sync:ehr\\/(\\w+)@1\\.0\\.0$/.exec(specifier) ?? [];
    if (name === undefined) return next(specifier, context);
    const source = "export default { " + interfaces[name] + " };";
    return { url: "data:text/javascript," + encodeURIComponent(source), shortCircuit: true };
  }`;

register(`data:text/javascript,${encodeURIComponent(hooks)}`);
