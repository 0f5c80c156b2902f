// The state of the workbench in the browser: the view as it is in the address, and the best line for it.
//
// An ES module; `live.js` and `recorded.js` put lines into it, and what draws subscribes to it:
//
//   const store = createStore({ names, view: viewOf(location.search) });
//   const source = live(store, new URL("api/", origin).href);
//   store.subscribe((state) => draw(state));
//   store.move({ attr_del: "12" }, { dragging: true });   // a slider is dragged: the first move is one step of "back"
//   store.release();                                      // the hand has let go
//   bindAddress(store, window, root);             // address, "back", and telling Python
//
// A line is drawn as it is if `isOf(state.line, state.of)`; otherwise it is of another question and drawn faded, with
// the budgets it is `at`. `state.of` is null from a move until the first line of the new question has come. A chart is
// of the present view if `isOf(state.curve, state.ofs.curve)`; a source restores it when the chart is asked for again.

/**
 * @typedef {Record<string, string>} View Parameters of the view, as texts, by their names in links.
 * @typedef {Record<string, number | null>} Budgets
 * @typedef {{ kind: string, of: string, at: Budgets, ms?: number, certified?: number, final?: boolean,
 *   [more: string]: any }} Line One proven statement, as the server sends it.
 * @typedef {{ view: View, of: string | null, ofs: Record<string, string>, line: Line | null, attack: Line | null, lp: Line | null,
 *   model: Line | null, curve: Line | null, map: Line | null, frames: Line[], steps: Line[],
 *   busy: Record<string, boolean>, errors: Record<string, string>, hover: number | null }} State
 * @typedef {{ get(): State, set(part: Partial<State>): void, subscribe(hear: (state: State) => void): () => void,
 *   move(changes: Record<string, string | null>, how?: { dragging?: boolean }): void, release(): void,
 *   begin(what: string): void, receive(what: string, line: Line, current?: boolean): void, end(what: string): void,
 *   fail(what: string, sentence: string): void, query(): string, onMove: ((first: boolean) => void) | null,
 *   onRelease: (() => void) | null }} Store
 */

/** The parameters in the query of an address.
 * @param {string} search
 * @returns {View} */
export function viewOf(search) {
  return Object.fromEntries(new URLSearchParams(search));
}

/** The query of a view: in the order of names, so that equal views have equal queries. Without `names`, all of it.
 * @param {View} view
 * @param {string[]} [names]
 * @returns {string} */
export function queryOf(view, names) {
  const wanted = names ? names.filter((name) => name in view) : Object.keys(view).sort();
  return new URLSearchParams(wanted.map((name) => [name, view[name]])).toString();
}

/** Whether a line answers the question on show. Digests are compared as texts and never read.
 * @param {Line | null} line
 * @param {string | null} of */
export function isOf(line, of) {
  return line !== null && of !== null && line.of === of;
}

/** The better of two lines of one question: more certified, then what knows more. Of another question: the new one.
 * @param {Line | null} old
 * @param {Line} line
 * @returns {Line} */
export function better(old, line) {
  if (!isOf(old, line.of)) return line;
  const was = /** @type {Line} */ (old);
  if ((line.certified ?? 0) !== (was.certified ?? 0))
    return (line.certified ?? 0) > (was.certified ?? 0) ? line : was;
  return line.kind === "preview" && was.kind !== "preview" ? was : line;
}

const NUMBERS = new Set(["preview", "solved", "attack", "model", "improved"]);

/** What a line changes in the state. One of an earlier view never passes for one of the present view: it is shown until
 * that has a line of its own, and changes no chart.
 * @param {State} state
 * @param {string} what
 * @param {Line} line
 * @param {boolean} current Whether it answers what the present view asks.
 * @returns {Partial<State>} */
function taken(state, what, line, current) {
  if (!current && (what !== "certificate" || isOf(state.line, state.of))) return {};
  if (what === "certificate") {
    /** @type {Partial<State>} */
    const part = current ? { of: line.of } : {};
    // Where no attack on the model was tried there is no count in its line.
    if (NUMBERS.has(line.kind) && line.certified !== undefined)
      part.line = better(state.line, line);
    if (line.kind === "attack" || line.kind === "lp" || line.kind === "model")
      part[line.kind] = line;
    return part;
  }
  const ofs = { ...state.ofs, [what]: line.of };
  if (line.kind === "rows") return { ofs, curve: line };
  if (line.kind === "cells") return { ofs, map: line };
  const same = (/** @type {Line[]} */ lines) => lines.filter((one) => one.of === line.of);
  if (line.kind === "frame") return { ofs, frames: [...same(state.frames), line] };
  if (line.kind === "step") return { ofs, steps: [...same(state.steps), line] };
  return { ofs };
}

/** What is on show of one kind of question, which a failure takes off the screen.
 * @param {string} what
 * @returns {Partial<State>} */
function nothingOf(what) {
  if (what === "certificate") return { of: null, line: null, attack: null, lp: null, model: null };
  if (what === "curve") return { curve: null };
  if (what === "map") return { map: null };
  return what === "frames" ? { frames: [] } : { steps: [] };
}

/** @param {View} view
 * @returns {State} */
const begun = (view) => ({
  view,
  of: null,
  ofs: {},
  line: null,
  attack: null,
  lp: null,
  model: null,
  curve: null,
  map: null,
  frames: [],
  steps: [],
  busy: {},
  errors: {},
  hover: null,
});

/** @param {{ view: View, names?: string[] }} options `names`: those parameters that belong to the question.
 * @returns {Store} */
export function createStore({ view, names }) {
  let state = begun(view);
  const hearing = new Set();
  let dragging = false;
  const set = (/** @type {Partial<State>} */ part) => {
    if (part.view && queryOf(part.view, names) !== queryOf(state.view, names))
      part = { of: null, ofs: {}, ...part };
    state = { ...state, ...part };
    for (const hear of [...hearing]) hear(state);
  };
  /** @type {Store} */
  const store = {
    onMove: null,
    onRelease: null,
    get: () => state,
    set,
    query: () => queryOf(state.view, names),
    subscribe(hear) {
      hearing.add(hear);
      return () => hearing.delete(hear);
    },
    move(changes, how = {}) {
      const next = { ...state.view };
      for (const [name, value] of Object.entries(changes)) {
        if (value === null) delete next[name];
        else next[name] = String(value);
      }
      if (queryOf(next) === queryOf(state.view)) return;
      const first = !dragging;
      dragging = Boolean(how.dragging);
      set({ view: next });
      store.onMove?.(first);
      if (!dragging) store.onRelease?.();
    },
    release() {
      if (!dragging) return;
      dragging = false;
      store.onRelease?.();
    },
    begin: (what) =>
      set({ busy: { ...state.busy, [what]: true }, errors: { ...state.errors, [what]: "" } }),
    receive: (what, line, current = true) => set(taken(state, what, line, current)),
    end: (what) => set({ busy: { ...state.busy, [what]: false } }),
    fail: (what, sentence) =>
      set({
        ...nothingOf(what),
        busy: { ...state.busy, [what]: false },
        errors: { ...state.errors, [what]: sentence },
      }),
  };
  return store;
}

/** Milliseconds of quiet after which Python hears of the view: a run of the page beside a request slows the number. */
export const QUIET = 600;

/** Keep the address and the view the same. The first move of a drag is a new entry of the history, all others replace
 * it. Python reads the address when it hears `popstate`: after some quiet, or before another control is pressed.
 * @param {Store} store
 * @param {Window} own The window of the page.
 * @param {Element} root What belongs to the workbench; presses elsewhere are on other controls.
 * @returns {() => void} Ends it. */
export function bindAddress(store, own, root) {
  let untold = false,
    telling = false,
    timer = 0;
  const tell = () => {
    own.clearTimeout(timer);
    if (!untold) return;
    untold = false;
    telling = true;
    own.dispatchEvent(new PopStateEvent("popstate", { state: own.history.state }));
    telling = false;
  };
  const wait = () => {
    own.clearTimeout(timer);
    timer = own.setTimeout(() => (store.get().busy.certificate ? wait() : tell()), QUIET);
  };
  store.onMove = (first) => {
    const address = `${own.location.pathname}?${queryOf(store.get().view)}${own.location.hash}`;
    own.history[first ? "pushState" : "replaceState"](own.history.state, "", address);
    untold = true;
    own.clearTimeout(timer);
  };
  store.onRelease = wait;
  const back = () => {
    if (!telling) store.set({ view: viewOf(own.location.search) });
  };
  const pressed = (/** @type {Event} */ event) => {
    if (!event.composedPath().includes(root)) tell();
  };
  own.addEventListener("popstate", back);
  own.addEventListener("pointerdown", pressed, true);
  own.addEventListener("keydown", pressed, true);
  return () => {
    tell();
    own.removeEventListener("popstate", back);
    own.removeEventListener("pointerdown", pressed, true);
    own.removeEventListener("keydown", pressed, true);
    store.onMove = store.onRelease = null;
  };
}
