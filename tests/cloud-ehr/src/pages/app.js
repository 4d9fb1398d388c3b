'use strict';

// Paths of the fields that this script reads and sends, by release.
const RELEASES = {
  v3: {
    mark: 'mark', csrf: 'csrf', message: 'message', status: 'status', arrived: 'arrivedAt',
    patient: 'patientId', provider: 'providerId', chair: 'chairId', kind: 'typeId', start: 'start', end: 'end', note: 'note',
  },
  v4: {
    mark: 'page/mark', csrf: 'session/token', message: 'problem/text', status: 'state', arrived: 'arrival',
    patient: 'patient/key', provider: 'provider/key', chair: 'chair/key', kind: 'kind/key',
    start: 'period/from', end: 'period/to', note: 'comment',
  },
};
const markup = document.body.dataset.markup;
const names = RELEASES[markup] ?? new Proxy({}, { get: (_, name) => `x5/${{ arrived: 'arrivedAt', chair: 'operatory' }[name] ?? name}` });
const login = '/app/login';
const every = 3000;

function read(object, path) {
  return path.split('/').reduce((at, name) => at?.[name], object);
}

function written(fields) {
  const object = {};
  for (const [name, value] of Object.entries(fields)) {
    const path = names[name].split('/');
    const last = path.pop();
    path.reduce((at, part) => (at[part] ??= {}), object)[last] = value;
  }
  return object;
}

// Returns the JSON of a call. Without a session the answer is a page, and the browser goes to the login.
async function call(path, options = {}) {
  const answer = await fetch(`/app/api/${path}`, { ...options, headers: { accept: 'application/json', ...options.headers } });
  const json = answer.headers.get('content-type')?.startsWith('application/json') ? await answer.json() : null;
  if (!json || answer.status === 401) {
    location.assign(login);
    return new Promise(() => {});
  }
  return { ok: answer.ok, json };
}

async function change(method, path, fields) {
  const { json: session } = await call('session');
  const headers = {
    'content-type': 'application/json', 'x-csrf-token': read(session, names.csrf), 'x-markup': markup,
  };
  const { ok, json } = await call(path, { method, headers, body: JSON.stringify(written(fields)) });
  return ok ? null : read(json, names.message) ?? 'This did not work. Please reload the page.';
}

// Pages are rendered by the server: after a change, the page is fetched again and its parts are replaced.
async function refresh() {
  const answer = await fetch(location.href);
  if (answer.url.includes(login)) return location.assign(login);
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  for (const part of ['.day', '.toolbar .count', 'tbody']) {
    const [old, fresh] = [document.querySelector(part), page.querySelector(part)];
    if (old && fresh) old.replaceWith(fresh);
  }
}

let mark = null;
async function watch() {
  const { json } = await call('session');
  if (json.markup !== markup) return location.reload();
  const now = read(json, names.mark);
  if (mark !== null && now !== mark) await refresh();
  mark = now;
}

function open(dialog, when, fill) {
  dialog.querySelector('.problem').textContent = '';
  dialog.querySelector('.when').textContent = when;
  fill?.();
  dialog.showModal();
}

async function settle(dialog, problem) {
  dialog.querySelector('.problem').textContent = problem ?? '';
  if (problem) return;
  dialog.close();
  await refresh();
}

function schedule() {
  const fresh = document.querySelector('#new');
  const visit = document.querySelector('#visit');
  let place = {};
  let id = '';

  document.addEventListener('click', (event) => {
    const free = event.target.closest('.free');
    const entry = event.target.closest('.entry');
    if (free) {
      place = { chair: free.dataset.chair, start: free.dataset.at };
      open(fresh, free.getAttribute('aria-label'));
    } else if (entry) {
      id = entry.dataset.id;
      open(visit, entry.querySelector('span').textContent, () => {
        visit.querySelector('h2').textContent = entry.querySelector('b').textContent;
        visit.querySelector('.note').textContent = entry.dataset.note;
      });
    } else if (event.target.value === 'close') {
      event.target.closest('dialog').close();
    }
  });

  fresh.querySelector('[value=save]').addEventListener('click', async () => {
    const form = new FormData(fresh.querySelector('form'));
    const minutes = Number(fresh.querySelector('[name=kind]').selectedOptions[0].dataset.minutes);
    const end = new Date(Date.parse(place.start) + minutes * 60000).toISOString();
    await settle(fresh, await change('POST', 'appointments', { ...place, end, ...Object.fromEntries(form) }));
  });

  for (const button of visit.querySelectorAll('[data-to]')) {
    button.addEventListener('click', async () => {
      const status = button.dataset.to;
      const arrived = status === 'arrived' ? { arrived: new Date().toISOString() } : {};
      await settle(visit, await change('PATCH', `appointments/${id}`, { status, ...arrived }));
    });
  }
}

if (document.body.dataset.page !== 'login') {
  if (document.querySelector('.day')) schedule();
  watch().catch(() => {});
  setInterval(() => watch().catch(() => {}), every);
}
