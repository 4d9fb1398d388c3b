// The four calls, with logging that the engine cannot add: location and reason of an error, and the wrong field of a
// result.

import log from "practice-sync:ehr/log@1.0.0";

import { wrong } from "./contract.js";

/**
 * Returns the object that `adapter.js` exports as `ehr`.
 * @param {import("../../types/contract.js").Ehr} calls
 * @returns {import("../../types/contract.js").Ehr}
 */
export function adapter({ describe, pull, push, find }) {
  return {
    describe: reported("describe", "description", describe),
    pull: reported("pull", "page", pull),
    push: reported("push", "receipt", push),
    find: reported("find", "receipt?", find),
  };
}

/** Runs a call and logs its errors before it ends. */
function reported(name, type, call) {
  return (...given) => {
    let answer;
    try {
      answer = call(...given);
    } catch (thrown) {
      throw thrown instanceof Error ? withTrace(name, thrown) : fault(name, thrown);
    }
    const problem = wrong(type, answer);
    if (problem !== null) throw broken(`${name}: what it returns is not of the contract: ${problem}`);
    return answer;
  };
}

/**
 * The host reports location and message as the reason of a failed call. The message of a syntax error quotes its input.
 */
function withTrace(name, error) {
  const message = error instanceof SyntaxError ? "" : `: ${error.message}`;
  const lines = (error.stack ?? "").split("\n").map((line) => line.trim().replace("(/", "("));
  const trace = lines.filter((line) => line.startsWith("at "));
  const place = trace[0]?.slice("at ".length) ?? name;
  log.write("error", `panicked at ${place}: ${error.name}${message}`);
  if (trace.length > 1) log.write("error", `called ${trace.slice(1).join(" ")}`);
  return error;
}

function fault(name, thrown) {
  const problem = wrong("fault", thrown);
  return problem === null ? thrown : broken(`${name}: what it throws is neither a fault nor an Error: ${problem}`);
}

function broken(text) {
  log.write("error", `panicked at ${text}`);
  return new TypeError(text);
}
