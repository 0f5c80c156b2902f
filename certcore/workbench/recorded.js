// Answers from a tape: the very lines that the server would have sent, for pages without a server (`show`, exports).
//
//   const source = recorded(store, tape);   // the same door as `live.js`
//
// A tape has answers along one axis, and finished charts:
//   { axis: "attr_del", answers: [{ value: 3, lines: [...] }, …], charts: { curve: [...], map: [...] } }
// Between recorded budgets the next larger one is told: its count holds for smaller budgets too, but it is a line of
// another question, so it is drawn faded and with its own budgets.

/** @typedef {import("./store.js").Store} Store
 * @typedef {import("./store.js").Line} Line
 * @typedef {import("./live.js").Source} Source
 * @typedef {{ axis: string, answers: { value: number, lines: Line[] }[], charts?: Record<string, Line[]> }} Tape */

/** The recorded answer at a budget, or else at the next larger one; null beyond the last.
 * @param {Tape} tape
 * @param {number} value */
export function nearest(tape, value) {
  const known = tape.answers.filter((one) => one.value >= value);
  return known.length ? known.reduce((a, b) => (b.value < a.value ? b : a)) : null;
}

/** Whether the view has the other budgets of the tape too; where it has none, there are no flips and no σ.
 * @param {import("./store.js").View} view
 * @param {Tape} tape
 * @param {{ lines: Line[] }} answer */
const besides = (view, tape, { lines }) =>
  Object.entries(lines[0]?.at ?? {}).every(
    ([name, told]) =>
      name === tape.axis ||
      (name in view
        ? told !== null && Number(view[name]) === told
        : told === (name === "sigma" ? null : 0)),
  );

/** Answers from a tape.
 * @param {Store} store
 * @param {Tape} tape
 * @returns {Source} */
export function recorded(store, tape) {
  const told = (/** @type {string} */ what, /** @type {Line[]} */ lines, current = true) => {
    store.begin(what);
    for (const line of lines) store.receive(what, line, current);
    store.end(what);
  };
  return {
    ask() {
      const value = Number(store.get().view[tape.axis] ?? 0);
      const found = nearest(tape, value);
      if (!found) {
        store.fail("certificate", "Nothing is recorded for budgets as large as this.");
        return;
      }
      told(
        "certificate",
        found.lines,
        found.value === value && besides(store.get().view, tape, found),
      );
    },
    chart(what) {
      const lines = tape.charts?.[what] ?? [];
      if (lines.length && store.get().ofs[what] !== lines[0].of) told(what, lines);
    },
    stop() {},
    end() {},
  };
}
