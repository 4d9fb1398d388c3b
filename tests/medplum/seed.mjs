// Creates a small practice over plain FHIR and prints the assigned ids as one line of JSON.
//
//   node seed.mjs BASE_URL FIRST_DAY OFFSET [DAYS]      for example   node seed.mjs http://127.0.0.1:8103/fhir/R4 2026-12-01 -05:00 14
//   TOKEN as for the server
//
// One site with three rooms, three practitioners, one schedule per practitioner and room with slots of 30 minutes from 09:00 to 12:00
// and 13:00 to 17:00 local time (OFFSET) on every day, six patients, and on the first day two booked appointments (09:00 in the
// first two rooms, their slots busy), a cancelled and a missed one and an hour without patient.

const [base, firstDay, offset, days = '14'] = process.argv.slice(2);
if (!base || !/^\d{4}-\d\d-\d\d$/.test(firstDay ?? '') || !/^[+-]\d\d:\d\d$/.test(offset ?? '')) {
  console.error('usage: node seed.mjs BASE_URL FIRST_DAY OFFSET [DAYS]');
  process.exit(2);
}
const headers = { 'content-type': 'application/fhir+json' };
if (process.env.TOKEN) headers.authorization = `Bearer ${process.env.TOKEN}`;

async function create(resourceType, fields) {
  const body = JSON.stringify({ resourceType, ...fields });
  const response = await fetch(`${base}/${resourceType}`, { method: 'POST', headers, body });
  const text = await response.text();
  if (response.status !== 201) throw new Error(`${resourceType}: ${response.status} ${text}`);
  return `${resourceType}/${JSON.parse(text).id}`;
}

const day = (n) => new Date(Date.parse(`${firstDay}T00:00:00Z`) + n * 86_400_000).toISOString().slice(0, 10);
const at = (n, minute) => {
  const two = (x) => String(x).padStart(2, '0');
  return `${day(n)}T${two(Math.floor(minute / 60))}:${two(minute % 60)}:00${offset}`;
};
const actor = (reference, status = 'accepted') => ({ actor: { reference }, status });

const site = await create('Location', { name: 'Harbour Dental', status: 'active' });
const rooms = [];
for (const name of ['Room 1', 'Room 2', 'Zimmer 3 – Prophylaxe']) {
  rooms.push(await create('Location', { name, status: 'active', partOf: { reference: site } }));
}
// A room of another site, which must not be read.
const elsewhere = await create('Location', { name: 'Other site, Room 1', status: 'active' });

const practitioners = [];
for (const [given, family, npi] of [['Åsa', 'Lindqvist', '1234567893'], ['Tomasz', 'Żółkowski', '1245319599'], ['Mai', 'Nguyễn', '1003000126']]) {
  practitioners.push(
    await create('Practitioner', {
      active: true,
      name: [{ use: 'official', given: [given], family, prefix: ['Dr.'] }],
      identifier: [{ system: 'http://hl7.org/fhir/sid/us-npi', value: npi }],
      telecom: [{ system: 'email', value: `${npi}@practice.example` }],
    })
  );
}

const patients = [];
for (const [given, family, gender, birthDate] of [
  [['Zoë', 'Ann'], 'Łopata-O’Brien', 'female', '1990-02-28'],
  [['محمد'], 'حسين', 'male', '1984-12-31'],
  [['秀英'], '王', 'female', '2001-07-09'],
  [['Jean-Luc'], "D'Angelo", 'other', '1975-05-05'],
  [['Þóra'], 'Jónsdóttir', 'female', '2016-01-01'],
  [['Ольга'], 'Петрова', 'unknown', '1969-10'],
]) {
  const n = patients.length;
  patients.push(
    await create('Patient', {
      active: n !== 5,
      name: [
        { use: 'nickname', given: ['Nick'] },
        { use: 'official', given, family },
      ],
      gender,
      birthDate,
      identifier: [{ type: { coding: [{ code: 'MR' }] }, system: 'urn:practice:chart', value: `C-${n}` }],
      telecom: [
        { system: 'phone', use: 'mobile', value: `+1 312 555 010${n}` },
        { system: 'phone', use: 'home', value: `+1 312 556 010${n}` },
        { system: 'email', value: `patient${n}@mail.example` },
      ],
      address: [{ use: 'home', line: ['1 Rue de l’Été', 'Apt 2'], city: 'Québec', state: 'QC', postalCode: 'G1R 2B5', country: 'CA' }],
      communication: [{ language: { coding: [{ system: 'urn:ietf:bcp:47', code: 'fr-CA' }] }, preferred: true }],
      generalPractitioner: [{ reference: practitioners[n % 3] }],
    })
  );
}

const schedules = [];
const firstSlots = [];
for (let n = 0; n < 3; n++) {
  const schedule = await create('Schedule', {
    active: true,
    actor: [{ reference: practitioners[n] }, { reference: rooms[n] }],
  });
  schedules.push(schedule);
  for (let d = 0; d < Number(days); d++) {
    for (let minute = 540; minute < 1020; minute += 30) {
      if (minute >= 720 && minute < 780) continue;
      const first = d === 0 && minute === 540;
      const slot = await create('Slot', {
        schedule: { reference: schedule },
        status: first && n < 2 ? 'busy' : 'free',
        start: at(d, minute),
        end: at(d, minute + 30),
      });
      if (first) firstSlots.push(slot);
    }
  }
}

const appointments = {};
const book = async (name, fields) => (appointments[name] = await create('Appointment', fields));
await book('booked', {
  status: 'booked',
  start: at(0, 540),
  end: at(0, 570),
  description: 'Check-up – läuft',
  slot: [{ reference: firstSlots[0] }],
  participant: [actor(patients[0]), actor(practitioners[0]), actor(rooms[0])],
});
await book('pending', {
  status: 'pending',
  start: at(0, 540),
  end: at(0, 570),
  slot: [{ reference: firstSlots[1] }],
  participant: [actor(patients[1], 'needs-action'), actor(practitioners[1]), actor(rooms[1])],
});
await book('cancelled', {
  status: 'cancelled',
  start: at(0, 600),
  end: at(0, 630),
  participant: [actor(patients[2], 'declined'), actor(practitioners[0]), actor(rooms[0])],
});
await book('missed', {
  status: 'noshow',
  start: at(0, 630),
  end: at(0, 660),
  participant: [actor(patients[3]), actor(practitioners[0]), actor(rooms[0])],
});
await book('blocked', {
  status: 'booked',
  start: at(0, 840),
  end: at(0, 900),
  description: 'Staff meeting',
  participant: [actor(practitioners[2]), actor(rooms[2])],
});
await book('elsewhere', {
  status: 'booked',
  start: at(0, 540),
  end: at(0, 570),
  participant: [actor(patients[4]), actor(practitioners[2]), actor(elsewhere)],
});

const ids = (list) => list.map((reference) => reference.split('/')[1]);
console.log(
  JSON.stringify({
    site: ids([site])[0],
    rooms: ids(rooms),
    practitioners: ids(practitioners),
    patients: ids(patients),
    schedules: ids(schedules),
    appointments: Object.fromEntries(Object.entries(appointments).map(([name, ref]) => [name, ids([ref])[0]])),
  })
);
