// Questions to the server, whose lines go into the store. `recorded.js` has the same door without a server.
//
//   const source = live(store, new URL("api/", origin).href);
//   source.ask({ attack: "1", picture: "1" });         // the number of the view: at every move
//   source.chart("curve", { vary: "attr_del", to: "60" });   // also "map", "frames", "defend"
//   source.end();
//
// Of the number one question is under way and the newest waits. What is under way may still tell its number for a
// moment, so that a drag shows numbers; a search for an attack nobody waits for is given up at once.

import { queryOf } from "./store.js";

/** @typedef {import("./store.js").Store} Store
 * @typedef {import("./store.js").Line} Line
 * @typedef {{ ask(more?: Record<string, string>): void, chart(what: string, more?: Record<string, string>): void,
 *   stop(what: string): void, end(): void }} Source
 * @typedef {{ key: string, url: string, more: Record<string, string> }} Question `key`: equal keys, equal lines.
 * @typedef {Question & { control: AbortController, solved: boolean, began: number }} Running */

/** Milliseconds for which a question that is not wanted any more may finish its number. */
export const PATIENCE = 150;
const NO_ANSWER = "The server does not answer; what is shown may be of another view. Try again.";

/** The lines of an answer, as they arrive.
 * @param {ReadableStream<Uint8Array>} body
 * @returns {AsyncGenerator<Line>} */
export async function* linesOf(body) {
  const reader = body.getReader(),
    decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += decoder.decode(value, { stream: !done });
      const lines = rest.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line) yield JSON.parse(line);
      if (done) return;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** @param {Response} answer */
async function sentenceOf(answer) {
  try {
    return String((await answer.json()).error);
  } catch {
    return `The server answered with the status ${answer.status}.`;
  }
}

/** The questions of a kind: at most one under way, and the newest that waits. */
class Channel {
  /** @param {Store} store
   * @param {string} what
   * @param {typeof fetch} get
   * @param {(mine: Question) => boolean} current Whether a question is still that of the view. */
  constructor(store, what, get, current) {
    this.store = store;
    this.what = what;
    this.get = get;
    this.current = current;
    /** @type {Running | null} */
    this.running = null;
    /** @type {Question | null} */
    this.next = null;
    /** @type {{ key: string, of: string } | null} What was answered to its end. */
    this.whole = null;
    /** @type {any} */
    this.timer = 0;
  }

  /** @param {Question} question
   * @param {number} [patience] */
  ask(question, patience = 0) {
    const { store, what, running, whole } = this;
    clearTimeout(this.timer);
    if (running) {
      this.next = running.key === question.key ? null : question;
      if (!this.next) return;
      const left = patience - (Date.now() - running.began);
      if (running.solved || left <= 0) this.leave();
      else this.timer = setTimeout(() => this.leave(), left);
    } else if (what !== "certificate" && whole?.key === question.key) {
      const { ofs } = store.get();
      if (ofs[what] !== whole.of) store.set({ ofs: { ...ofs, [what]: whole.of } });
    } else this.start(question);
  }

  /** Give up what is under way, and go on with what waits. */
  leave() {
    const { running, next } = this;
    clearTimeout(this.timer);
    this.running = this.next = null;
    running?.control.abort();
    if (next) this.start(next);
    else if (running) this.store.end(this.what);
  }

  stop() {
    this.next = null;
    this.leave();
  }

  /** @param {Question} question */
  async start(question) {
    const mine = { ...question, control: new AbortController(), solved: false, began: Date.now() };
    this.running = mine;
    this.whole = null; // its lines are about to be replaced
    this.store.begin(this.what);
    let again = 0;
    try {
      again = await this.read(mine);
    } catch {
      if (this.running === mine) this.store.fail(this.what, NO_ANSWER);
    }
    if (this.running !== mine) return;
    const next = this.next;
    clearTimeout(this.timer);
    this.running = this.next = null;
    if (next) this.start(next);
    else if (again) this.timer = setTimeout(() => this.ask(question), 1000 * again);
    else this.store.end(this.what);
  }

  /** @param {Running} mine
   * @returns {Promise<number>} After how many seconds to ask again; 0: not at all. */
  async read(mine) {
    const answer = await this.get(mine.url, { signal: mine.control.signal });
    if (this.running !== mine) return 0;
    if (answer.status === 429) return Number(answer.headers.get("retry-after") ?? 3);
    if (!answer.ok || !answer.body) {
      const sentence = await sentenceOf(answer);
      if (this.running === mine && !this.next) this.store.fail(this.what, sentence);
      return 0;
    }
    for await (const line of linesOf(answer.body)) {
      if (this.running !== mine) return 0;
      if (line.kind === "error") {
        this.whole = null;
        this.store.fail(this.what, line.error);
        return 0;
      }
      this.store.receive(this.what, line, this.current(mine));
      if (line.kind === "end") this.whole = { key: mine.key, of: line.of };
      if (line.kind === "solved") {
        mine.solved = true;
        if (this.next) this.leave();
      }
    }
    return 0;
  }
}

/** Answers from the server.
 * @param {Store} store
 * @param {string} base The address of the API, with a slash at its end.
 * @param {typeof fetch} [get]
 * @returns {Source} */
export function live(store, base, get = (...words) => fetch(...words)) {
  /** @type {Map<string, Channel>} */
  const channels = new Map();
  /** @param {string} what
   * @param {Record<string, string>} more
   * @returns {Question} */
  const question = (what, more) => {
    const given = new URLSearchParams([store.query(), queryOf(more)].filter(Boolean).join("&"));
    given.delete("instance");
    const name = encodeURIComponent(store.get().view.instance ?? "");
    const place = `${base}instances/${name}/${what}?`,
      url = `${place}${given}`;
    // A chart stays the same while the budgets move that it varies.
    if (what !== "certificate" && what !== "defend")
      for (const axis of ["vary", "x", "y"]) if (more[axis]) given.delete(more[axis]);
    return { key: `${place}${given}`, url, more };
  };
  const of = (/** @type {string} */ what) => {
    const current = (/** @type {Question} */ mine) => question(what, mine.more).key === mine.key;
    if (!channels.has(what)) channels.set(what, new Channel(store, what, get, current));
    return /** @type {Channel} */ (channels.get(what));
  };
  return {
    ask: (more = {}) => of("certificate").ask(question("certificate", more), PATIENCE),
    chart: (what, more = {}) => of(what).ask(question(what, more)),
    stop: (what) => of(what).stop(),
    end: () => channels.forEach((one) => one.stop()),
  };
}
