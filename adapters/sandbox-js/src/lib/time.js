// Instants as text. Local times belong to the host's `clock`; the component has no clock of its own, and `Date` is used to calculate only.

const SHAPE =
  /^(\d{4}-\d\d-\d\d)(?:[Tt]| +)([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d|60)(?:[.,]\d*)?)? *(?:(Z|z|UTC|GMT)|([+-])(\d\d)(?::?([0-5]\d))?)?$/;

/** `2026-12-01T14:00:00Z`. @param {number} at seconds since 1970 */
export function instantText(at) {
  return `${new Date(at * 1_000).toISOString().slice(0, 19)}Z`;
}

/**
 * An instant with its zone, in any writing that has one meaning: `2026-12-01T09:00:00-05:00`, `2026-12-01 14:00+0000`. Fractions of a second
 * are cut off.
 * @param {string} text @returns {number | null} seconds since 1970; null where it is none
 */
export function instantOf(text) {
  const { shown, east } = read(text);
  return shown === null || east === null ? null : shown - east;
}

/** A time without its zone, as the host's `clock` takes it: `2026-12-01T09:00:00`. @param {string} text @returns {string | null} */
export function localOf(text) {
  const { shown, east } = read(text);
  return shown === null || east !== null ? null : instantText(shown).slice(0, 19);
}

/** The day of a date, or of a date with a time. @param {string} text @returns {string | null} */
export function dayOf(text) {
  const day = text.trim().slice(0, 10);
  const timed = text.trim().length === 10 ? `${day}T00:00:00Z` : text;
  return read(timed).shown === null ? null : day;
}

/** What a date and a time show, in seconds as if it were UTC, and seconds east of UTC; null for what is not there. */
function read(text) {
  const [, day, hour, minute, second, utc, sign, hours, minutes] = SHAPE.exec(text.trim()) ?? [];
  if (day === undefined) return { shown: null, east: null };
  const [year, month, date] = day.split("-").map(Number);
  const midnight = Date.UTC(year, month - 1, date) / 1_000;
  // `Date` makes March of the thirtieth of February.
  if (!instantText(midnight).startsWith(day)) return { shown: null, east: null };
  const offset = () => (sign === undefined ? null : Number(`${sign}1`) * (Number(hours) * 3_600 + Number(minutes ?? 0) * 60));
  return { shown: midnight + Number(hour) * 3_600 + Number(minute) * 60 + Number(second ?? 0), east: utc === undefined ? offset() : 0 };
}

/** The instant of an HTTP date: `Sat, 21 Nov 2026 00:41:39 GMT`. @param {string} text @returns {number | null} */
export function httpDate(text) {
  const [, day, month, year, clock] = /^\w{3}, (\d\d) (\w{3}) (\d{4}) ([\d:]{8}) GMT$/.exec(text) ?? [];
  const at = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"].indexOf(month);
  return at < 0 ? null : instantOf(`${year}-${String(at + 1).padStart(2, "0")}-${day}T${clock}Z`);
}
