// The workstation: combines the events of engine, staff and browser.

import { hostPattern, isOfEhr } from "./allowed.js";
import { Approvals } from "./approvals.js";
import type { Command, Reply } from "./commands.js";
import { Connection, type Phase } from "./connection.js";
import * as pairing from "./pairing.js";
import { failed, perform, prepare, type Failed, type Outcome } from "./perform.js";
import type { Bye, Ehr, EhrRequest, FromEngine, Ping, Queue, ToEngine, Welcome, Write } from "./protocol.js";
import { Session } from "./session.js";
import * as store from "./store.js";
import { Timer } from "./timer.js";
import type { View } from "./view.js";

const MOST_UNDER_WAY = 16;
/** Delay that combines several loading steps of a page into one probe. */
const SETTLED_MS = 300;
const SHOWN_MS = 50;

/** A lease and its abort controller. */
interface Held {
  number: number;
  end: AbortController;
}

export class Workstation {
  readonly #show: (view: View) => void;
  readonly #connection: Connection;
  readonly #session = new Session(() => this.#changed());
  #approvals: Approvals;
  #kept: store.Kept;
  #performed: store.Running["performed"];
  #phase: Phase = "off";
  #replaced: boolean;
  #granted = false;
  #approval = false;
  #held: Held | null = null;
  #underWay = new Set<EhrRequest>();
  #queue: View["queue"] = null;
  #enrolment: pairing.PairingError | null = null;
  #enrolNotBefore = 0;
  #pairing: Promise<Reply> | null = null;
  /** The last state sent to the engine; null before the greeting. */
  #told: string | null = null;
  #telling = new Timer();
  #showing = new Timer();
  #settling = new Timer();

  static async start(show: (view: View) => void): Promise<Workstation> {
    const [kept, running] = await Promise.all([store.kept(), store.running()]);
    const workstation = new Workstation(kept, running, show);
    await workstation.#readGrant();
    await workstation.tick();
    return workstation;
  }

  private constructor(kept: store.Kept, running: Pick<store.Running, "performed" | "replaced">, show: (view: View) => void) {
    this.#kept = kept;
    this.#performed = running.performed;
    this.#replaced = running.replaced;
    this.#show = show;
    this.#approvals = new Approvals(kept.decisions, Date.now());
    this.#connection = new Connection({
      open: (url, subprotocol) => new WebSocket(url, subprotocol),
      received: (message) => void this.#received(message),
      changed: (phase) => this.#phaseChanged(phase),
    });
  }

  /** Called every half minute and after events. Enrols if unpaired, keeps the connection open, and checks for a login. */
  async tick(): Promise<void> {
    const paired = this.#kept.pairing;
    if (paired === null) {
      await this.#enrol();
      return;
    }
    if (!this.#replaced) {
      const url = pairing.socketAddress(paired.engine);
      this.#connection.keep({ url, token: paired.token, extension: chrome.runtime.getManifest().version });
    }
    this.#lookForLogin();
    this.#changed();
  }

  async command(command: Command): Promise<Reply> {
    switch (command.do) {
      case "pair":
        return this.#pair(command);
      case "unpair":
        await this.#unpair(null);
        break;
      case "pause":
        await this.#keep({ paused: command.paused });
        break;
      case "decide":
        await this.#decide(command.writes, command.yes);
        break;
      case "return":
        await this.#setReplaced(false);
        await this.tick();
        break;
      case "look":
        await this.#readGrant();
        await this.tick();
        break;
    }
    this.#changed();
    return { error: null };
  }

  /** A page was loaded or changed its address, so the login state may have changed. */
  pageChanged(url: string): void {
    const ehr = this.#kept.pairing?.ehr;
    if (ehr !== undefined && isOfEhr(ehr, url)) {
      this.#settling.set(SETTLED_MS, () => void this.#session.probe());
    }
  }

  async permissionsChanged(): Promise<void> {
    await this.#readGrant();
    this.#lookForLogin();
    this.#changed();
  }

  async #readGrant(): Promise<void> {
    const ehr = this.#kept.pairing?.ehr ?? null;
    this.#granted = ehr !== null && (await isGranted(ehr));
    this.#session.of(this.#granted ? ehr : null);
  }

  /** Only while logged out, because a probe would keep a session alive. */
  #lookForLogin(): void {
    if (this.#granted && this.#phase === "open" && !this.#session.isIn) {
      void this.#session.probe();
    }
  }

  async #received(message: Exclude<FromEngine, Ping>): Promise<void> {
    switch (message.type) {
      case "welcome":
        return this.#welcomed(message);
      case "lease":
        return this.#leased(message.lease);
      case "request":
        return this.#requested(message);
      case "queue":
        return this.#queued(message);
      case "bye":
        return this.#dismissed(message);
    }
  }

  async #welcomed({ location, ehr, approval, workstation }: Welcome): Promise<void> {
    const paired = this.#kept.pairing;
    if (paired !== null) {
      this.#approval = approval;
      await this.#keep({ pairing: { ...paired, location, ehr, workstation } });
      await this.#readGrant();
      await this.#session.probe();
      this.#told = "";
      this.#changed();
    }
  }

  #leased(number: number | null): void {
    this.#held?.end.abort();
    this.#held = number === null ? null : { number, end: new AbortController() };
    this.#approvals.newLease();
    this.#changed();
  }

  async #requested(request: EhrRequest): Promise<void> {
    const held = this.#held;
    if (held === null || request.lease !== held.number) {
      this.#answer(request, failed("not_sent", "not under the lease"));
      return;
    }
    if (request.lease === this.#performed.lease && request.number <= this.#performed.number) {
      return;
    }
    this.#performed = { lease: request.lease, number: request.number };
    this.#underWay.add(request);
    const outcome = await this.#outcome(request, held);
    this.#underWay.delete(request);
    if (held === this.#held) {
      this.#answer(request, outcome);
      await this.#ended(request.write);
    }
    this.#changed();
  }

  async #outcome(request: EhrRequest, held: Held): Promise<Outcome> {
    const paired = this.#kept.pairing;
    if (paired === null || request.location !== paired.location.id || !this.#granted) {
      return failed("refused", this.#granted ? "location" : "the browser does not let the extension reach the EHR");
    }
    const prepared = prepare(request, paired.ehr);
    if ("kind" in prepared) {
      return prepared;
    }
    const reason = this.#whyNot(request);
    if (reason !== null) {
      if (reason.kind === "declined") {
        // A rejection is removed before it is returned, so that a retried write needs another decision.
        await this.#keep({ decisions: this.#approvals.stored });
      }
      return reason;
    }
    const signal = AbortSignal.any([held.end.signal, AbortSignal.timeout(request.deadline_ms)]);
    await store.run({ performed: this.#performed });
    if (request.write !== null) {
      await this.#keep({ begun: [...this.#othersBegun(request.write), request.write] });
    }
    return perform(prepared, this.#session, signal);
  }

  /** Returns the reason why an allowed request must not be sent to the EHR. */
  #whyNot({ write }: EhrRequest): Failed | null {
    if (this.#kept.paused || this.#underWay.size > MOST_UNDER_WAY) {
      return failed("not_sent", this.#kept.paused ? "paused" : "too many at once");
    }
    if (!this.#approval || write === null) {
      return null;
    }
    switch (this.#approvals.ask(write, Date.now())) {
      case "open":
        return failed("approval", "waits for the staff");
      case "declined":
        return failed("declined", "the staff said no");
      case "approved":
        return null;
    }
  }

  #answer({ lease, number, location }: EhrRequest, outcome: Outcome): void {
    const which = { lease, number, location };
    this.#connection.send("kind" in outcome ? { type: "failure", ...which, ...outcome } : { type: "answer", ...which, ...outcome });
  }

  async #ended(write: Write | null): Promise<void> {
    if (write !== null && this.#kept.begun.length > 0) {
      await this.#keep({ begun: this.#othersBegun(write) });
    }
  }

  #othersBegun(write: Write): Write[] {
    return this.#kept.begun.filter(({ id }) => id !== write.id);
  }

  async #queued({ waiting, oldest_seconds, last }: Queue): Promise<void> {
    this.#queue = { waiting, oldestSeconds: oldest_seconds, last, received: Date.now() };
    if (waiting === 0 && this.#underWay.size === 0 && this.#kept.begun.length > 0) {
      // All interrupted writes have been looked up.
      await this.#keep({ begun: [] });
    }
    this.#changed();
  }

  async #dismissed({ reason }: Bye): Promise<void> {
    if (reason === "token" || reason === "revoked") {
      await this.#unpair(reason);
    } else if (reason === "replaced") {
      await this.#setReplaced(true);
    }
    this.#changed();
  }

  async #decide(writes: Write[], yes: boolean): Promise<void> {
    const decided = this.#approvals.decide(writes, yes, Date.now());
    await this.#keep({ decisions: this.#approvals.stored });
    if (decided.length > 0) {
      this.#connection.send({ type: "approved", writes: decided });
    }
  }

  #phaseChanged(phase: Phase): void {
    this.#phase = phase;
    if (phase !== "open") {
      this.#told = null;
      this.#leased(null);
    }
    this.#changed();
  }

  /** One at a time, because a code is valid once. */
  async #pair(asked: Omit<pairing.Asked, "install">): Promise<Reply> {
    this.#pairing ??= this.#exchange(asked).finally(() => (this.#pairing = null));
    return this.#pairing;
  }

  async #exchange(asked: Omit<pairing.Asked, "install">): Promise<Reply> {
    const name = asked.name.trim() || `${chrome.i18n.getMessage("workstation_default_name")} ${this.#kept.install.slice(0, 4)}`;
    const outcome = await pairing.pair({ ...asked, name, install: this.#kept.install });
    if ("error" in outcome) {
      this.#enrolNotBefore = Date.now() + (outcome.retryAfterSeconds ?? 0) * 1_000;
      return { error: outcome.error };
    }
    const { engine, paired } = outcome;
    this.#connection.end();
    this.#enrolment = null;
    // Each engine numbers its leases independently.
    this.#performed = { lease: 0, number: 0 };
    await this.#setReplaced(false);
    this.#approvals = new Approvals({}, Date.now());
    await this.#keep({ pairing: { engine, name, ...paired }, unpaired: null, paused: false, begun: [], decisions: {} });
    await this.#readGrant();
    await this.tick();
    return { error: null };
  }

  /** Pairs with the policy's code, unless it was tried before. */
  async #enrol(): Promise<void> {
    const { engine, code, name } = await store.managed();
    if (engine && code && this.#pairing === null && Date.now() >= this.#enrolNotBefore) {
      const digest = await digestOf(`${engine} ${code}`);
      if (digest !== this.#kept.enrolled) {
        const { error } = await this.#pair({ engine, code, name: name ?? "" });
        this.#enrolment = error;
        if (error === null || error === "error_code" || error === "error_refused") {
          await this.#keep({ enrolled: digest });
        }
      }
    }
    this.#changed();
  }

  async #unpair(reason: store.Kept["unpaired"]): Promise<void> {
    this.#connection.end();
    this.#queue = null;
    this.#approvals = new Approvals({}, Date.now());
    await this.#keep({ pairing: null, unpaired: reason, decisions: {}, begun: [] });
    await this.#readGrant();
  }

  async #setReplaced(replaced: boolean): Promise<void> {
    this.#replaced = replaced;
    await store.run({ replaced });
  }

  async #keep(changes: Partial<store.Kept>): Promise<void> {
    this.#kept = { ...this.#kept, ...changes };
    await store.keep(changes);
  }

  /**
   * Reports the state to the engine and the staff after the current turn, so that a response precedes the state it
   * causes.
   */
  #changed(): void {
    this.#telling.set(0, () => this.#tell());
    if (!this.#showing.isSet) {
      this.#showing.set(SHOWN_MS, () => this.#show(this.#view()));
    }
  }

  #tell(): void {
    if (this.#told === null) {
      return;
    }
    const state: ToEngine = {
      type: "state",
      session: this.#session.isIn ? "in" : "out",
      // Requests in flight are finished first.
      paused: this.#kept.paused && this.#underWay.size === 0,
      awaiting: this.#approvals.open.length,
    };
    const said = JSON.stringify(state);
    if (said !== this.#told) {
      this.#told = said;
      this.#connection.send(state);
    }
  }

  #view(): View {
    const { pairing: paired, unpaired, paused, begun } = this.#kept;
    const underWay = new Set([...this.#underWay].map(({ write }) => write?.id));
    return {
      pairing: paired && {
        location: paired.location.name,
        engine: paired.engine,
        name: paired.name,
        origin: paired.ehr.origin,
        base: paired.ehr.base_path,
      },
      unpaired,
      enrolment: this.#enrolment,
      connection: this.#replaced ? "replaced" : this.#phase,
      granted: this.#granted,
      session: this.#session.isIn ? "in" : "out",
      paused,
      holds: this.#held !== null,
      awaiting: this.#approvals.open,
      queue: this.#queue,
      cutOff: begun.filter(({ id }) => !underWay.has(id)).length,
    };
  }
}

async function isGranted(ehr: Ehr): Promise<boolean> {
  try {
    return await chrome.permissions.contains({ origins: [hostPattern(ehr)] });
  } catch {
    // An address that no permission pattern can match.
    return false;
  }
}

async function digestOf(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
