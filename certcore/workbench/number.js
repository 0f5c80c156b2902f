// The number of budgets that the page has not answered yet, from the engine's API: while a slider is dragged and from the
// moment it is let go. Every line is proven and bears its budgets; it counts only where the server has read the very
// question of the page out of its parameters, which it tells as a digest.

class LiveNumber {
  constructor(bench) {
    this.bench = bench;
    this.known = new Map();
  }
  // Budgets as a text, whatever their order.
  textOf(values) {
    return JSON.stringify(Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1)));
  }
  queryOf(values) {
    const given = Object.entries(values).filter(([, value]) => value !== null);
    return Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
  }
  update({ api, at }) {
    const key = JSON.stringify(api ?? null);
    if (key === this.key) return;
    this.end();
    this.key = key;
    // Without the server the page answers by itself, when the slider is let go.
    if (api) this.begin(api, at, key).catch(() => {});
  }
  async begin(api, at, key) {
    const place = (name) => new URL(`${api.base}${name}`, location.origin).href,
      query = { ...api.query, ...this.queryOf(at) },
      words = `instances/${encodeURIComponent(api.name)}/words?${new URLSearchParams(query)}`;
    const [{ createStore }, { live }] = await Promise.all(
      ["store", "live"].map((name) => import(place(`static/${name}.js`))),
    );
    const told = await (await fetch(place(words))).json();
    if (key !== this.key || told.family !== api.family) return;
    this.store = createStore({ view: { ...query, instance: api.name } });
    this.source = live(this.store, place(""));
    this.family = api.family;
    this.leave = this.store.subscribe((state) => this.take(state));
    this.bench.render();
  }
  ask(values) {
    const text = this.textOf(values);
    if (!this.source || text === this.asked || this.of(values)?.kind === "solved") return;
    this.asked = text;
    this.store.move({ ...values }, { dragging: true });
    this.source.ask({ attack: "0" });
  }
  // What is known first is held back for a moment: where the answer follows at once, no smaller number flickers.
  take({ line, of, errors }) {
    clearTimeout(this.held);
    if (errors.certificate) this.known.clear(); // also where an attack has refuted it
    if (!line || line.of !== of) return;
    if (line.kind === "preview") this.held = setTimeout(() => this.keep(line), 80);
    else this.keep(line);
  }
  keep(line) {
    const { data } = this.bench,
      same = ["targets", "asked", "before"].every((name) => line[name] === data[name]);
    // The file may have been replaced since the page was drawn: every line tells what it is of, not the first alone.
    if (!same || line.family !== this.family) return;
    const text = this.textOf(line.at),
      old = this.known.get(text);
    if (old && old.certified >= line.certified && old.kind === "solved") return;
    if (this.known.size > 500) this.known.clear();
    this.known.set(text, line);
    this.bench.render();
  }
  of(values) {
    return this.known.get(this.textOf(values)) ?? null;
  }
  end() {
    // What ends tells the store so: nothing of it may be held back for the next question.
    this.leave?.();
    clearTimeout(this.held);
    this.source?.end();
    this.source = this.store = this.asked = this.leave = null;
    this.known.clear();
  }
}
