// Chromium with the extension. Its profile outlives it.
import axe from "axe-core";
import puppeteer from "puppeteer-core";

const POPUP = { width: 350, height: 200, deviceScaleFactor: 2 };
const PAGE = { width: 1100, height: 760 };
/** Time limit of all waits. It only bounds a failing test, however slow the machine is. */
const PATIENCE_MS = 120_000;
const LOOK_EVERY_MS = 25;

export class Browser {
  #browser;
  #extension;
  #pages = new Map();

  /** `extension`: the folder of the built extension. */
  static async start({ chromium, extension, profile }) {
    const browser = await puppeteer.launch({
      executablePath: chromium,
      headless: true,
      pipe: true,
      enableExtensions: [extension],
      userDataDir: profile,
      protocolTimeout: PATIENCE_MS,
      // The sandbox requires user namespaces, which root and containers lack, and containers have little shared memory.
      // Only our own pages are opened.
      args: ["--no-sandbox", "--disable-dev-shm-usage", "--no-first-run", "--lang=en-US", "--disable-background-networking"],
    });
    const worker = await browser.waitForTarget(isWorker, { timeout: PATIENCE_MS });
    return new Browser(browser, `chrome-extension://${new URL(worker.url()).host}`);
  }

  constructor(browser, extension) {
    this.#browser = browser;
    this.#extension = extension;
  }

  get process() {
    return this.#browser.process();
  }

  /** Opens a page as `name`, or navigates the page of this name. `popup` is the extension's. */
  async open(name, url) {
    const isPopup = url === "popup";
    let page = this.#pages.get(name);
    if (page === undefined || page.isClosed()) {
      page = await this.#browser.newPage();
      page.setDefaultTimeout(PATIENCE_MS);
      await page.setViewport(isPopup ? POPUP : PAGE);
      this.#pages.set(name, page);
    }
    await page.goto(isPopup ? `${this.#extension}/popup.html` : url, { waitUntil: "load" });
    return page;
  }

  page(name) {
    const page = this.#pages.get(name);
    if (page === undefined) {
      throw new Error(`no page ${name} was opened`);
    }
    return page;
  }

  async closePage(name) {
    await this.page(name).close();
    this.#pages.delete(name);
  }

  /** Replaces the content of a field. */
  async type(name, selector, text) {
    const field = await this.#seen(name, selector);
    await field.evaluate((input) => (input.value = ""));
    await field.type(text);
  }

  /** Returns the element to type into or click on. Only the page in front renders frames, which both require. */
  async #seen(name, selector) {
    await this.page(name).bringToFront();
    return this.page(name).waitForSelector(selector, { visible: true });
  }

  /** Clicks, and waits for the next page if one is expected. */
  async click(name, selector, { leads = false } = {}) {
    const page = this.page(name);
    // A live page may be replacing the element.
    const clicked = async () => {
      const button = await this.#seen(name, selector);
      return button.click().then(() => true, (error) => {
        if (!error.message.includes("detached")) throw error;
        return false;
      });
    };
    const [, well] = await Promise.all([leads ? page.waitForNavigation({ waitUntil: "load" }) : undefined, until(clicked)]);
    if (!well) throw new Error(`${name}: ${selector} is always replaced before it is clicked`);
  }

  /** Clicks on the element if it exists, and returns whether it did. */
  async press(name, selector) {
    const button = await this.page(name).$(selector);
    return (await button?.isVisible()) ? button.evaluate((it) => it.isConnected && (it.click(), true)) : false;
  }

  /** Returns the visible text, or null if the element is missing or hidden. */
  async text(name, selector) {
    const found = await this.page(name).$(selector);
    return (await found?.isVisible()) ? found.evaluate((element) => element.innerText.trim()) : null;
  }

  /** Waits until the text contains `part`, and returns it. */
  async see(name, selector, part) {
    let last = null;
    const seen = await until(async () => (last = await this.text(name, selector))?.includes(part));
    if (!seen) {
      throw new Error(`${name}: ${selector} says ${JSON.stringify(last)}, not ${JSON.stringify(part)}`);
    }
    return last;
  }

  /** Sets the page's width and the preferred theme, `light` or `dark`. */
  async dress(name, width, theme) {
    const page = this.page(name);
    await page.setViewport({ width, height: PAGE.height });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
  }

  /** Returns the accessibility violations found by axe, one per line. */
  async barriers(name) {
    const page = this.page(name);
    await page.bringToFront();
    // Injected by the driver, independent of the page's content security policy, once for each page.
    if (!(await page.evaluate(() => "axe" in globalThis))) {
      await page.evaluate(axe.source);
    }
    const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
    const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
    return serious.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(" ")}`);
  }

  /** Returns the pixels by which the page is wider than its window. */
  async overflow(name) {
    return this.page(name).evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  }

  async key(name, key) {
    await this.page(name).bringToFront();
    await this.page(name).keyboard.press(key);
  }

  /** Returns the text or the label of the focused element. */
  async focused(name) {
    return this.page(name).evaluate(() => document.activeElement.getAttribute("aria-label") ?? document.activeElement.innerText);
  }

  async screenshot(name, path) {
    await this.page(name).bringToFront();
    await this.page(name).screenshot({ path, fullPage: true, optimizeForSpeed: true });
  }

  /** Stops the extension's service worker, as the browser does when memory is low. */
  async stopWorker() {
    const target = await this.#browser.waitForTarget(isWorker, { timeout: PATIENCE_MS });
    const worker = await target.worker();
    await worker.close();
  }

  async close() {
    await this.#browser.close();
  }

  /** Kills the browser, like a power failure. */
  async kill() {
    const process = this.process;
    const gone = new Promise((resolve) => process.once("exit", resolve));
    process.kill("SIGKILL");
    await gone;
  }
}

/** Waits for a condition and returns whether it became true in time. */
export async function until(look) {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))) {
    if (await look()) {
      return true;
    }
  }
  return false;
}

function isWorker(target) {
  return target.type() === "service_worker" && target.url().startsWith("chrome-extension://");
}
