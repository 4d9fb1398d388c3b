// The four calls, with what the engine would not learn otherwise: where an error was thrown and why, and which field of an answer is wrong.

import log from "practice-sync:ehr/log@1.0.0";

import { wrong } from "./contract.js";

/**
 * What `adapter.js` exports as `ehr`.
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

/** A call whose mistakes are in the log before it ends. */
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

/** The host names the place, and the message with it, as the reason of the call's end. Errors of syntax quote what they were given. */
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
