// Instants as text. Local times belong to the host's `clock`; the component has no clock of its own, and `Date` is used to calculate only.

const SHAPE = /^(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(?:\.\d+)?(?:Z|([+-])(\d\d):(\d\d))$/;

/** `2026-12-01T14:00:00Z`. @param {number} at seconds since 1970 */
export function instantText(at) {
  return `${new Date(at * 1_000).toISOString().slice(0, 19)}Z`;
}

/**
 * An instant with its zone: `2026-12-01T09:00:00-05:00`, `...T14:00:00.123Z`. Fractions of a second are cut off.
 * @param {string} text @returns {number | null} seconds since 1970; null where it is none
 */
export function instantOf(text) {
  const [, day, hour, minute, second, sign, hours, minutes] = SHAPE.exec(text) ?? [];
  if (day === undefined) return null;
  const [year, month, date] = day.split("-").map(Number);
  const midnight = Date.UTC(year, month - 1, date) / 1_000;
  // `Date` makes March of the thirtieth of February.
  if (!instantText(midnight).startsWith(day)) return null;
  const east = sign === undefined ? 0 : Number(`${sign}1`) * (Number(hours) * 3_600 + Number(minutes) * 60);
  return midnight + Number(hour) * 3_600 + Number(minute) * 60 + Number(second) - east;
}

/** The instant of an HTTP date: `Sat, 21 Nov 2026 00:41:39 GMT`. @param {string} text @returns {number | null} */
export function httpDate(text) {
  const [, day, month, year, clock] = /^\w{3}, (\d\d) (\w{3}) (\d{4}) ([\d:]{8}) GMT$/.exec(text) ?? [];
  const at = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"].indexOf(month);
  return at < 0 ? null : instantOf(`${year}-${String(at + 1).padStart(2, "0")}-${day}T${clock}Z`);
}
