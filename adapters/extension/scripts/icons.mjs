// Draws the icons: a calendar sheet with a tick, on a rounded square. `node scripts/icons.mjs` writes static/icons.
import { writeFileSync } from "node:fs";
import { crc32, deflateSync } from "node:zlib";

const SIZES = [16, 32, 48, 128];
/** Samples per pixel in each direction. */
const FINE = 8;
const CLEAR = [0, 0, 0, 0];
const TEAL = [11, 92, 107, 255];
const WHITE = [255, 255, 255, 255];
const PALE = [178, 216, 223, 255];

for (const size of SIZES) {
  writeFileSync(new URL(`../static/icons/${size}.png`, import.meta.url), png(size));
}

/** Returns the colour at a point of the unit square. */
function colour(x, y) {
  if (!inRounded(x, y, 0, 0, 1, 1, 0.2)) return CLEAR;
  if (onLine(x, y, 0.35, 0.62, 0.46, 0.73, 0.052) || onLine(x, y, 0.46, 0.73, 0.66, 0.5, 0.052)) return TEAL;
  if (inRounded(x, y, 0.3, 0.12, 0.38, 0.28, 0.04) || inRounded(x, y, 0.62, 0.12, 0.7, 0.28, 0.04)) return WHITE;
  if (inRounded(x, y, 0.18, 0.2, 0.82, 0.84, 0.09)) return y < 0.37 ? PALE : WHITE;
  return TEAL;
}

function inRounded(x, y, left, top, right, bottom, radius) {
  const outside = (value, from, to) => Math.max(from + radius - value, 0, value - (to - radius));
  const inside = x >= left && x <= right && y >= top && y <= bottom;
  return inside && Math.hypot(outside(x, left, right), outside(y, top, bottom)) <= radius;
}

function onLine(x, y, x1, y1, x2, y2, half) {
  const [dx, dy] = [x2 - x1, y2 - y1];
  const along = Math.min(1, Math.max(0, ((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy)));
  return Math.hypot(x - x1 - along * dx, y - y1 - along * dy) <= half;
}

function pixel(column, row, size) {
  const sum = [0, 0, 0, 0];
  for (let i = 0; i < FINE * FINE; i++) {
    const x = (column + ((i % FINE) + 0.5) / FINE) / size;
    const y = (row + (Math.floor(i / FINE) + 0.5) / FINE) / size;
    const [r, g, b, a] = colour(x, y);
    [r * a, g * a, b * a, a].forEach((value, at) => (sum[at] += value));
  }
  const alpha = sum[3];
  return alpha === 0 ? CLEAR : [sum[0] / alpha, sum[1] / alpha, sum[2] / alpha, alpha / FINE / FINE].map(Math.round);
}

function png(size) {
  const rows = Array.from({ length: size }, (_, row) => [0, ...Array.from({ length: size }, (_, column) => pixel(column, row, size)).flat()]);
  const head = Buffer.alloc(13);
  head.writeUInt32BE(size, 0);
  head.writeUInt32BE(size, 4);
  // Eight bits per channel: red, green, blue, alpha.
  head.set([8, 6, 0, 0, 0], 8);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, chunk("IHDR", head), chunk("IDAT", deflateSync(Buffer.from(rows.flat()), { level: 9 })), chunk("IEND", Buffer.alloc(0))]);
}

function chunk(name, data) {
  const body = Buffer.concat([Buffer.from(name, "latin1"), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}
