"use strict";
// Reads /openapi.json, shows every operation, and sends what is filled in. The token stays in this page's memory.

const byId = (id) => document.getElementById(id);
let token = "";
let spec = {};

/** An element; texts are set as texts, never as HTML. */
function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value == null) continue;
    element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

const resolve = (it) => (it && it.$ref ? it.$ref.slice(2).split("/").reduce((at, name) => at[name], spec) : it);
const pretty = (value) => JSON.stringify(value, null, 2);

async function load() {
  const asked = new URLSearchParams({ version: byId("version").value, for: byId("audience").value });
  const answer = await fetch(`/openapi.json?${asked}`);
  spec = await answer.json();
  byId("release").textContent = spec.info.version;
  const operations = Object.entries(spec.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })));
  const about = spec.info.description.split("\n\n").map((text) => el("p", {}, ...marked(text)));
  byId("operations").replaceChildren(...about);
  byId("contents").replaceChildren();
  for (const { name } of spec.tags) {
    const own = operations.filter(({ operation }) => operation.tags[0] === name);
    if (!own.length) continue;
    byId("operations").append(el("h2", {}, name), ...own.map(shown));
    byId("contents").append(el("li", {}, el("strong", {}, name), ...own.map(link)));
  }
  openNamed();
}

/** Text with `code` in it. */
const marked = (text) => text.split("`").map((part, at) => (at % 2 ? el("code", {}, part) : part));

function link({ path, method, operation }) {
  const entry = el("a", { href: `#${operation.operationId}` }, `${method.toUpperCase()} ${path}`);
  entry.dataset.words = `${method} ${path} ${operation.summary}`.toLowerCase();
  return entry;
}

function shown(entry) {
  const { path, method, operation } = entry;
  const title = el("summary", {}, el("span", { class: `method ${method}` }, method.toUpperCase()), el("code", {}, path),
    el("span", {}, operation.summary), versionFor(operation) === byId("version").value ? null : el("small", {}, `only ${versionsOf(operation)}`));
  const details = el("details", { id: operation.operationId }, title);
  // Filled when it is opened: there are many.
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) details.append(inside(entry));
  });
  return details;
}

function inside({ path, method, operation }) {
  const inputs = operation.parameters.map(resolve).filter((it) => it.name !== "Svc-Api-Version").map((it) => ({ it, input: field(it) }));
  const rows = inputs.map(({ it, input }) => el("tr", {},
    el("td", {}, el("code", { class: it.required ? "needed" : "" }, it.name), el("small", {}, `${it.in}, ${kind(it.schema)}`)),
    el("td", {}, input), el("td", {}, ...marked(it.description))));
  const media = operation.requestBody?.content["application/json"];
  const body = media && el("textarea", { spellcheck: "false", "aria-label": "Body" }, pretty(media.example));
  const sent = el("div", { role: "status" });
  const form = el("form", {}, rows.length ? el("table", {}, el("tbody", {}, ...rows)) : null,
    body && el("h3", {}, "Body"), body, el("p", { class: "send" }, el("button", {}, "Send"), method === "get" ? null : el("small", {}, " This is no dry run: what it writes is written.")), sent);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(path, method, operation, inputs, body, sent);
  });
  const answers = Object.entries(operation.responses).map(([status, it]) => answer(status, resolve(it)));
  return el("div", {}, el("p", {}, ...marked(operation.description)), form, el("h3", {}, "Answers"), ...answers,
    ...(media ? schemaOf("Body, in full", media.schema) : []));
}

function answer(status, { description, content }) {
  const media = content?.["application/json"];
  const inner = el("div", {});
  if (media?.example !== undefined) inner.append(el("pre", {}, pretty(media.example)));
  if (media) inner.append(...schemaOf("Schema", media.schema));
  return el("details", {}, el("summary", {}, el("code", { class: status < 300 ? "ok" : "bad" }, status), el("span", {}, description)), inner);
}

const schemaOf = (title, schema) =>
  [el("details", {}, el("summary", {}, el("span", {}, title)), el("div", {}, el("pre", {}, pretty(expanded(schema, 0)))))];

/** A schema with what it refers to, some levels deep. */
function expanded(schema, depth) {
  if (Array.isArray(schema)) return schema.map((one) => expanded(one, depth));
  if (schema === null || typeof schema !== "object") return schema;
  if (schema.$ref) return depth > 3 ? schema.$ref.split("/").pop() : expanded(resolve(schema), depth + 1);
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, expanded(value, depth)]));
}

function kind(schema) {
  const type = schema.type === "array" ? `list of ${kind(schema.items)}` : [schema.type].flat().join(" or ");
  const more = [schema.format, schema.minimum !== undefined && `${schema.minimum} to ${schema.maximum}`,
    schema.default !== undefined && `default ${schema.default}`].filter(Boolean);
  return [type, ...more].join(", ");
}

function field({ name, schema, example, required }) {
  const shared = byId(name);
  if (shared && shared.closest("#sign-in")) return el("input", { value: shared.value, placeholder: example, "data-shared": name });
  const choices = schema.enum ?? (schema.type === "boolean" ? [true, false] : null);
  if (choices) {
    const empty = required ? [] : [el("option", { value: "" }, "")];
    return el("select", {}, ...empty, ...choices.map((choice) => el("option", {}, String(choice))));
  }
  const several = schema.type === "array";
  const shape = several ? "one, two" : Array.isArray(example) ? example[0] : example;
  return el("input", { placeholder: shape ?? "", value: required && !several ? example : "", autocomplete: "off", spellcheck: "false" });
}

/** Those an operation is there in. */
const versionsOf = (operation) =>
  resolve(operation.parameters.map(resolve).find((it) => it.name === "Svc-Api-Version")?.schema)?.enum ?? [];

/** The chosen version, where the operation is there in it. */
function versionFor(operation) {
  const [chosen, known] = [byId("version").value, versionsOf(operation)];
  return known.length && !known.includes(chosen) ? known[0] : chosen;
}

async function send(path, method, operation, inputs, body, sent) {
  const headers = { "Svc-Api-Version": versionFor(operation) };
  const query = new URLSearchParams();
  for (const { it, input } of inputs) {
    const value = input.value.trim();
    if (!value) continue;
    if (it.in === "path") path = path.replace(`{${it.name}}`, encodeURIComponent(value));
    else if (it.in === "header") headers[it.name] = value;
    else if (it.schema.type === "array") value.split(",").forEach((one) => query.append(it.name, one.trim()));
    else query.append(it.name, value);
  }
  const keyed = operation.security.some((one) => one.api_key);
  headers.Authorization = keyed ? byId("key").value.trim() : `Bearer ${token}`;
  const request = { method: method.toUpperCase(), headers };
  if (body?.value.trim()) {
    headers["Content-Type"] = "application/json";
    request.body = body.value;
  }
  const url = query.size ? `${path}?${query}` : path;
  const started = performance.now();
  try {
    const reply = await fetch(url, request);
    const text = await reply.text();
    if (keyed && reply.ok) signedIn(JSON.parse(text));
    const took = `${Math.round(performance.now() - started)} ms`;
    const about = ["x-request-id", "retry-after", "idempotent-replay"].filter((name) => reply.headers.has(name))
      .map((name) => `${name}: ${reply.headers.get(name)}`);
    sent.replaceChildren(el("h3", {}, el("span", { class: reply.ok ? "ok" : "bad" }, `${reply.status} ${reply.statusText}`), ` in ${took}`),
      el("pre", {}, [`${request.method} ${url}`, `svc-api-version: ${headers["Svc-Api-Version"]}`, ...about, "", readable(text)].join("\n")));
  } catch (problem) {
    sent.replaceChildren(el("p", { class: "bad" }, `No answer: ${problem.message}`));
  }
}

function readable(text) {
  try {
    return pretty(JSON.parse(text));
  } catch {
    return text;
  }
}

function signedIn(answer) {
  token = answer.data.token;
  byId("signed-in").className = "ok";
  byId("signed-in").textContent = "Token received";
}

byId("sign-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  const headers = { Authorization: byId("key").value.trim(), "Svc-Api-Version": byId("version").value };
  try {
    const reply = await fetch("/authenticates", { method: "POST", headers });
    const answer = await reply.json();
    if (reply.ok) return signedIn(answer);
    token = "";
    byId("signed-in").className = "bad";
    byId("signed-in").textContent = answer.error.join(" ");
  } catch (problem) {
    byId("signed-in").className = "bad";
    byId("signed-in").textContent = `No answer: ${problem.message}`;
  }
});

for (const name of ["subdomain", "location_id"]) {
  byId(name).addEventListener("input", () => {
    document.querySelectorAll(`[data-shared="${name}"]`).forEach((input) => { input.value = byId(name).value; });
  });
}

byId("filter").addEventListener("input", () => {
  const wanted = byId("filter").value.trim().toLowerCase();
  document.querySelectorAll("#contents a").forEach((entry) => { entry.hidden = !entry.dataset.words.includes(wanted); });
});

function openNamed() {
  const named = location.hash.length > 1 && byId(decodeURIComponent(location.hash.slice(1)));
  if (named instanceof HTMLDetailsElement) {
    named.open = true;
    named.scrollIntoView();
  }
}

const start = () => load().catch((problem) => {
  byId("operations").replaceChildren(el("p", { class: "bad" }, `/openapi.json could not be read: ${problem.message}`));
});
addEventListener("hashchange", openNamed);
for (const name of ["version", "audience"]) byId(name).addEventListener("change", start);
start();
