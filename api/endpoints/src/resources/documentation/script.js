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
    byId("operations").append(el("section", {}, el("h2", {}, name), ...own.map(shown)));
    byId("contents").append(el("li", {}, el("strong", {}, name), ...own.map(link)));
  }
  byId("operations").append(el("p", { id: "no-match", hidden: true }, "No endpoint matches the filter."));
  filter();
  openNamed();
}

/** Text with `code` in it. */
const marked = (text) => text.split("`").map((part, at) => (at % 2 ? el("code", {}, part) : part));

const words = ({ path, method, operation }) => `${method} ${path} ${operation.summary}`.toLowerCase();

function link(entry) {
  const { path, method, operation } = entry;
  return el("a", { href: `#${operation.operationId}`, "data-words": words(entry) }, `${method.toUpperCase()} ${path}`);
}

function shown(entry) {
  const { path, method, operation } = entry;
  const title = el("summary", {}, el("span", { class: `method ${method}` }, method.toUpperCase()), el("code", {}, path),
    el("span", {}, operation.summary), versionFor(operation) === byId("version").value ? null : el("small", {}, `only ${versionsOf(operation)}`));
  const details = el("details", { id: operation.operationId, "data-words": words(entry) }, title);
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
  const curl = el("button", { type: "button", class: "second" }, "Copy as curl");
  const writes = method !== "get" && !operation["x-reads-only"];
  const form = el("form", {}, rows.length ? el("table", {}, el("tbody", {}, ...rows)) : null,
    body && el("h3", {}, "Body"), body,
    el("p", { class: "send" }, el("button", {}, "Send"), " ", curl, writes ? el("small", {}, " This is no dry run: what it writes is written.") : null), sent);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(requested(path, method, operation, inputs, body), sent);
  });
  curl.addEventListener("click", () => copy(commandOf(requested(path, method, operation, inputs, body)), sent));
  const answers = Object.entries(operation.responses).map(([status, it]) => ({ status, it: resolve(it) }));
  const good = answers.filter(({ status }) => status < 400);
  const bad = answers.filter(({ status }) => status >= 400);
  return el("div", {}, el("p", {}, ...marked(operation.description)), form, el("h3", {}, "Answers"), ...good.map(answer),
    bad.length ? el("details", { class: "errors" }, el("summary", {}, "Errors: ", el("code", { class: "bad" }, bad.map(({ status }) => status).join(", "))),
      el("div", {}, ...bad.map(answer))) : null,
    ...(media ? schemaOf("Body, in full", media.schema) : []));
}

function answer({ status, it: { description, content } }) {
  const media = content?.["application/json"];
  const inner = el("div", {});
  if (media?.example !== undefined) inner.append(el("pre", {}, pretty(media.example)));
  if (media) inner.append(...schemaOf("Schema", media.schema));
  return el("details", {}, el("summary", {}, el("code", { class: status < 400 ? "ok" : "bad" }, status), el("span", {}, ...marked(description))), inner);
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

/** What is filled in, as a request. */
function requested(path, method, operation, inputs, body) {
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
  const text = body?.value.trim() ? body.value : undefined;
  if (text) headers["Content-Type"] = "application/json";
  const keyed = operation.security.some((one) => one.api_key);
  const open = !operation.security.length;
  return { method: method.toUpperCase(), url: query.size ? `${path}?${query}` : path, headers, text, keyed, open };
}

async function send({ method, url, headers, text, keyed, open }, sent) {
  const operator = byId("audience").value === "operators";
  const secret = keyed || operator ? byId("key").value.trim() : token;
  if (!secret && !open) {
    const missing = operator ? "Enter your operator's token in the field of the API key." : "Enter your API key above and press Get token.";
    sent.replaceChildren(el("p", { class: "bad" }, missing));
    byId("key").focus();
    return;
  }
  const authorization = open ? {} : { Authorization: keyed ? secret : `Bearer ${secret}` };
  const started = performance.now();
  try {
    const reply = await fetch(url, { method, headers: { ...headers, ...authorization }, body: text });
    const answer = await reply.text();
    if (keyed && reply.ok) await signedIn(JSON.parse(answer));
    const took = `${Math.round(performance.now() - started)} ms`;
    sent.replaceChildren(el("h3", {}, el("span", { class: reply.ok ? "ok" : "bad" }, `${reply.status} ${reply.statusText}`), ` in ${took}`),
      el("pre", {}, readable(answer) || "(no body)"),
      el("details", {}, el("summary", {}, "Request and headers of the answer"), el("div", {}, el("pre", {},
        [`${method} ${url}`, ...lines(Object.entries(headers)), "", ...lines([...reply.headers])].join("\n")))));
  } catch (problem) {
    sent.replaceChildren(el("p", { class: "bad" }, `No answer: ${problem.message}`));
  }
}

const lines = (headers) => headers.map(([name, value]) => `${name.toLowerCase()}: ${value}`);

/** A command for a POSIX shell. Secrets stay out of it. */
function commandOf({ method, url, headers, text, keyed, open }) {
  const quoted = (part) => `'${part.replaceAll("'", "'\\''")}'`;
  const all = Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`);
  const authorization = keyed ? '-H "Authorization: $KEY"' : '-H "Authorization: Bearer $TOKEN"';
  return [`curl -sS -g -X ${method} ${quoted(location.origin + url)}`, "-A 'my-app/1.0'", ...all, ...(open ? [] : [authorization]),
    ...(text ? [`--data-raw ${quoted(text)}`] : [])].join(" \\\n  ");
}

async function copy(command, sent) {
  let done = "Copied.";
  try {
    await navigator.clipboard.writeText(command);
  } catch {
    // Browsers give the clipboard to https and to this machine alone.
    done = "Copy it from here:";
  }
  sent.replaceChildren(el("p", {}, done), el("pre", { class: "curl" }, command));
}

function readable(text) {
  try {
    return pretty(JSON.parse(text));
  } catch {
    return text;
  }
}

async function signedIn(answer) {
  token = answer.data.token;
  report("ok", "Token received");
  const headers = { Authorization: `Bearer ${token}`, "Svc-Api-Version": byId("version").value };
  const reply = await fetch("/me", { headers });
  if (reply.ok) offer((await reply.json()).data.institutions);
}

const report = (kind, text) => {
  byId("signed-in").className = kind;
  byId("signed-in").textContent = text;
};

let institutions = [];

/** Offers what the key reaches, and fills in the first of it where nothing of it is chosen. */
function offer(reached) {
  institutions = reached;
  choices("subdomain", institutions.map(({ subdomain, name }) => ({ value: subdomain, label: name })));
  offerLocations();
}

function offerLocations() {
  const chosen = institutions.find(({ subdomain }) => subdomain === byId("subdomain").value);
  const open = (chosen?.locations ?? []).filter(({ inactive }) => !inactive);
  if (chosen) choices("location_id", open.map(({ id, name }) => ({ value: String(id), label: name })));
}

function choices(name, all) {
  byId(`${name}-choices`).replaceChildren(...all.map(({ value, label }) => el("option", { value }, label)));
  if (all.length && !all.some(({ value }) => value === byId(name).value)) {
    byId(name).value = all[0].value;
    share(name);
  }
}

byId("sign-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  const key = byId("key").value.trim();
  if (!key) {
    report("bad", "Enter your API key");
    byId("key").focus();
    return;
  }
  try {
    const reply = await fetch("/authenticates", { method: "POST", headers: { Authorization: key, "Svc-Api-Version": byId("version").value } });
    const answer = await reply.json();
    if (reply.ok) {
      await signedIn(answer);
      return;
    }
    token = "";
    report("bad", answer.error.join(" "));
  } catch (problem) {
    report("bad", `No answer: ${problem.message}`);
  }
});

const share = (name) => document.querySelectorAll(`[data-shared="${name}"]`).forEach((input) => { input.value = byId(name).value; });

for (const name of ["subdomain", "location_id"]) {
  byId(name).addEventListener("input", () => {
    if (name === "subdomain") offerLocations();
    share(name);
  });
}

function filter() {
  const wanted = byId("filter").value.trim().toLowerCase();
  const entries = document.querySelectorAll("[data-words]");
  entries.forEach((entry) => { entry.hidden = !entry.dataset.words.includes(wanted); });
  const groups = document.querySelectorAll("#contents > li, #operations > section");
  groups.forEach((group) => { group.hidden = !group.querySelector("[data-words]:not([hidden])"); });
  byId("no-match").hidden = [...entries].some((entry) => !entry.hidden);
}

byId("filter").addEventListener("input", filter);

/** The menu of narrow screens. */
function menu(open) {
  byId("endpoints").classList.toggle("open", open);
  byId("menu").setAttribute("aria-expanded", String(open));
}

byId("menu").addEventListener("click", () => menu(!byId("endpoints").classList.contains("open")));
byId("contents").addEventListener("click", () => menu(false));

// What is scrolled to must not be under the header, which has as many lines as it needs.
const header = document.querySelector("header");
new ResizeObserver(() => document.documentElement.style.setProperty("--header", `${header.offsetHeight}px`)).observe(header);

function openNamed() {
  const named = location.hash.length > 1 && byId(decodeURIComponent(location.hash.slice(1)));
  if (named instanceof HTMLDetailsElement) {
    if (named.hidden) {
      byId("filter").value = "";
      filter();
    }
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
