// Runs commands in the browser: one JSON object per line on standard input, with one answer each on standard output:
// {"do": "click", "page": "popup", "selector": "#pause"} -> {"ok": null}, or {"error": "..."}. Ends with its input.
import { createInterface } from "node:readline";

import { Browser } from "./chromium.mjs";

const [chromium, extension, profile] = process.argv.slice(2);
const browser = await Browser.start({ chromium, extension, profile });
say({ ok: "started" });

const acts = {
  open: ({ page, url }) => browser.open(page, url).then(() => null),
  close_page: ({ page }) => browser.closePage(page),
  type: ({ page, selector, text }) => browser.type(page, selector, text),
  click: ({ page, selector, leads }) => browser.click(page, selector, { leads }),
  press: ({ page, selector }) => browser.press(page, selector),
  text: ({ page, selector }) => browser.text(page, selector),
  see: ({ page, selector, text }) => browser.see(page, selector, text),
  dress: ({ page, width, theme }) => browser.dress(page, width, theme),
  barriers: ({ page }) => browser.barriers(page),
  overflow: ({ page }) => browser.overflow(page),
  key: ({ page, key }) => browser.key(page, key),
  focused: ({ page }) => browser.focused(page),
  screenshot: ({ page, path }) => browser.screenshot(page, path),
  stop_worker: () => browser.stopWorker(),
  close: () => browser.close(),
  kill: () => browser.kill(),
};

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  try {
    say({ ok: (await acts[asked.do](asked)) ?? null });
  } catch (error) {
    say({ error: String(error?.message ?? error) });
  }
}
await browser.close().catch(() => undefined);
process.exit();

function say(answer) {
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
