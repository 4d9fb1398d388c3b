// One EHR behind the adapter contract (`wit/`). Every call gets a fresh copy of what is here at build time: nothing is remembered
// between calls. A fault is thrown; `lib` has what turns requests into records and failures into faults:
//
//   import * as http from "./lib/http.js";
//   const patients = http.json(http.send("get", "/patients"));

import { unsupported } from "./lib/fault.js";

function describe() {
  return {
    name: "ADAPTER",
    version: "0.1.0",
    hosting: "cloud",
    // Name here what `pull` and `push` can do.
    pulls: [],
    writes: [],
    requiredPatientFields: [],
    unkeptPatientFields: [],
    maxLengths: [],
    newPatients: false,
    operatories: false,
    requestsPerMinute: null,
    gated: false,
    extra: [],
  };
}

function pull(resource, _cursor, _limit) {
  throw unsupported(`${resource} cannot be pulled yet`);
}

function push(_writeKey, _write) {
  throw unsupported("nothing can be written yet");
}

function find(_writeKey, _write) {
  // `push` never sends anything, so nothing was ever written.
  return null;
}

export const ehr = { describe, pull, push, find };
