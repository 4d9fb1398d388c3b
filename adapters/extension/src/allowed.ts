// The requests that the engine may send to the EHR. All others are refused before they are sent.

import type { Ehr, EhrRequest } from "./protocol.js";

/** The violated rule. */
export class Refused extends Error {}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
const WITHOUT_BODY = ["GET", "HEAD"];
const LONGEST_PATH = 8_192;
const MOST_HEADERS = 64;
/** Headers of the session, the browser or the connection. */
const DENIED_HEADERS = /^(authorization|connection|content-length|cookie2?|expect|host|keep-alive|origin|referer|te|trailer|transfer-encoding|upgrade|via|proxy-.*|sec-.*|access-control-.*)$/;

/** Returns the address of a request. Throws `Refused`. */
export function address(ehr: Ehr, request: Pick<EhrRequest, "method" | "path" | "headers" | "body">): URL {
  if (!METHODS.includes(request.method)) {
    throw new Refused("method");
  }
  if (request.body !== null && WITHOUT_BODY.includes(request.method)) {
    throw new Refused("a body where there can be none");
  }
  const denied = request.headers.find(([name]) => DENIED_HEADERS.test(name.toLowerCase()));
  if (denied !== undefined || request.headers.length > MOST_HEADERS) {
    throw new Refused("header");
  }
  const path = withoutQuery(request.path);
  if (!ehr.paths.some((prefix) => covers(prefix, path))) {
    throw new Refused("path");
  }
  return below(ehr, request.path);
}

/**
 * Converts a path below the EHR's base path to an address. The browser must not normalise it, so that every server sees
 * the same path.
 */
export function below(ehr: Ehr, pathAndQuery: string): URL {
  const path = withoutQuery(pathAndQuery);
  // Printable ASCII without `\` and `#`, and nothing that a server might decode into a separator or a dot.
  const plain = /^\/[!-~]*$/.test(pathAndQuery) && !/[\\#]/.test(pathAndQuery);
  if (!plain || pathAndQuery.length > LONGEST_PATH || path.includes("//") || climbs(path)) {
    throw new Refused("path");
  }
  const base = basePath(ehr);
  const url = new URL(origin(ehr) + base + pathAndQuery);
  if (url.origin !== origin(ehr) || url.pathname !== base + path || url.username !== "") {
    throw new Refused("path");
  }
  return url;
}

/** The EHR's origin: HTTPS, or plain HTTP to this machine. Throws `Refused`. */
export function origin(ehr: Ehr): string {
  const url = parsed(ehr.origin);
  if (url === null || url.origin !== ehr.origin || !isSafe(url)) {
    throw new Refused("origin");
  }
  return url.origin;
}

/** Returns the pattern by which the browser grants access to the EHR's host. Patterns contain no ports. */
export function hostPattern(ehr: Ehr): string {
  return pattern(new URL(origin(ehr)));
}

export function pattern({ protocol, hostname }: URL): string {
  return `${protocol}//${hostname}/*`;
}

/** Returns true if a page belongs to the EHR. */
export function isOfEhr(ehr: Ehr, page: string): boolean {
  const url = parsed(page);
  return url !== null && url.origin === ehr.origin && covers(`${basePath(ehr)}/`, `${url.pathname}/`);
}

/** Returns true if secrets may be sent there: encrypted, or not leaving this machine. */
export function isSafe(url: URL): boolean {
  return url.protocol === "https:" || (url.protocol === "http:" && ["127.0.0.1", "localhost"].includes(url.hostname));
}

export function parsed(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

function basePath(ehr: Ehr): string {
  return ehr.base_path.replace(/\/+$/, "");
}

function withoutQuery(pathAndQuery: string): string {
  return pathAndQuery.split("?", 1)[0] ?? "";
}

/** Matches whole segments, unless the prefix ends in `/`. */
function covers(prefix: string, path: string): boolean {
  return prefix.startsWith("/") && path.startsWith(prefix) && (prefix.endsWith("/") || ["", "/"].includes(path.charAt(prefix.length)));
}

/** Returns true if a server that decodes before it splits reads the segment as `.` or `..`. */
function climbs(path: string): boolean {
  const decoded = path.replace(/%2e/gi, ".").replace(/%2f/gi, "/").replace(/%5c/gi, "/");
  return decoded.split("/").some((segment) => segment === "." || segment === "..");
}
