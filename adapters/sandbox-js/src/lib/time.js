// Instants as text. The host's `clock` handles local times. The component has no clock; `Date` is used for calculations
// only.

const SHAPE =
  /^(\d{4}-\d\d-\d\d)(?:[Tt]| +)([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d|60)(?:[.,]\d*)?)? *(?:(Z|z|UTC|GMT)|([+-])(\d\d)(?::?([0-5]\d))?)?$/;

/** `2026-12-01T14:00:00Z`. @param {number} at seconds since 1970 */
export function instantText(at) {
  return `${new Date(at * 1_000).toISOString().slice(0, 19)}Z`;
}

/**
 * Parses an instant with a zone in any unambiguous format: `2026-12-01T09:00:00-05:00`, `2026-12-01 14:00+0000`.
 * Fractions of a second are truncated.
 * @param {string} text @returns {number | null} seconds since 1970, or null
 */
export function instantOf(text) {
  const { shown, east } = read(text);
  return shown === null || east === null ? null : shown - east;
}

/**
 * Returns a time without a zone in the format of the host's `clock`: `2026-12-01T09:00:00`. @param {string} text
 * @returns {string | null}
 */
export function localOf(text) {
  const { shown, east } = read(text);
  return shown === null || east !== null ? null : instantText(shown).slice(0, 19);
}

/** Returns the day of a date, or of a date with a time. @param {string} text @returns {string | null} */
export function dayOf(text) {
  const day = text.trim().slice(0, 10);
  const timed = text.trim().length === 10 ? `${day}T00:00:00Z` : text;
  return read(timed).shown === null ? null : day;
}

/** Parses date and time as UTC seconds, and the zone as seconds east of UTC; null if absent. */
function read(text) {
  const [, day, hour, minute, second, utc, sign, hours, minutes] = SHAPE.exec(text.trim()) ?? [];
  if (day === undefined) return { shown: null, east: null };
  const [year, month, date] = day.split("-").map(Number);
  const midnight = Date.UTC(year, month - 1, date) / 1_000;
  // `Date` converts February 30 to March.
  if (!instantText(midnight).startsWith(day)) return { shown: null, east: null };
  const offset = () => (sign === undefined ? null : Number(`${sign}1`) * (Number(hours) * 3_600 + Number(minutes ?? 0) * 60));
  return { shown: midnight + Number(hour) * 3_600 + Number(minute) * 60 + Number(second ?? 0), east: utc === undefined ? offset() : 0 };
}

/** Parses an HTTP date: `Sat, 21 Nov 2026 00:41:39 GMT`. @param {string} text @returns {number | null} */
export function httpDate(text) {
  const [, day, month, year, clock] = /^\w{3}, (\d\d) (\w{3}) (\d{4}) ([\d:]{8}) GMT$/.exec(text) ?? [];
  const at = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"].indexOf(month);
  return at < 0 ? null : instantOf(`${year}-${String(at + 1).padStart(2, "0")}-${day}T${clock}Z`);
}
