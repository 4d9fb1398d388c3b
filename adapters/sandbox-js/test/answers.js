// A host for one test that responds to requests and records them.

/**
 * @param {(request: { method: string, path: string, json: unknown }) => object} answer `status`, `json` or `body`, and `headers`; or throws
 *   the host's error
 */
export function host(answer) {
  const requests = [];
  globalThis.host = {
    now: 1_795_212_942,
    // UTC-5, with a gap from two to three.
    toInstant: (local) => (local.includes("T02:") ? [] : [Date.parse(`${local}-05:00`) / 1_000]),
    config: { location: "main street" },
    lines: [],
    requests,
    send({ method, path, headers, body }) {
      const json = body === null ? undefined : JSON.parse(new TextDecoder().decode(body));
      const request = { method, path, headers, json };
      requests.push(request);
      const said = { status: 200, headers: [], ...answer(request) };
      said.body ??= new TextEncoder().encode(said.json === undefined ? "" : JSON.stringify(said.json));
      return said;
    },
  };
  return globalThis.host;
}

/** Returns the fault that a call throws. */
export function faultOf(call) {
  try {
    call();
  } catch (fault) {
    if (fault instanceof Error) throw fault;
    return fault;
  }
  throw new Error("it was no fault");
}
