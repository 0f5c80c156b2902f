// The tab “Protect”: which nodes the attacker may not touch, and suggestions that arrive one by one, each solved and proven.

const SUGGESTED = 5;

// The lines of an answer of the server, as they arrive.
async function* linesFrom(answer) {
  const reader = answer.body.getReader(),
    decoder = new TextDecoder();
  for (let rest = ""; ;) {
    const { done, value } = await reader.read(),
      lines = (rest + decoder.decode(value, { stream: !done })).split("\n");
    rest = lines.pop();
    for (const line of lines) if (line) yield JSON.parse(line);
    if (done) return;
  }
}

class ProtectPanel {
  constructor(stage) {
    this.stage = stage;
    this.root = element("section", "side-part side-protect");
    this.root.setAttribute("aria-label", "Protect");
    for (const name of ["intro", "buttons", "steps", "said", "named"]) {
      this[name] = element("div", name);
      this.root.append(this[name]);
    }
    this.intro.append(
      "Nodes the attacker may not touch. Each step is solved and proven; gains hold ",
      element("b", "", "in this order"),
      ". A protected node may still lose its own certificate.",
    );
    const add = (name, text, act) => {
      const made = element("button", "plain-button", text);
      made.type = "button";
      made.onclick = act;
      this.buttons.append(made);
      this[name] = made;
    };
    add("suggestButton", "Suggest five", () => this.suggest());
    add("undoButton", "Undo", () => this.undo());
    add("allButton", "Protect all", () => this.protectFirst(this.rows.length));
    this.makeField();
    this.history = [];
    this.forget();
  }
  makeField() {
    const label = element("label", "", "Or name them yourself");
    this.field = element("input");
    this.field.type = "text";
    this.field.placeholder = "902, 703";
    this.field.setAttribute("aria-describedby", "wrong-node");
    this.wrong = element("p", "wrong");
    this.wrong.id = "wrong-node";
    this.wrong.setAttribute("role", "alert");
    label.append(this.field);
    this.named.append(label, this.wrong);
    this.field.oninput = () => this.check();
    this.field.onkeydown = (e) => {
      e.stopPropagation();
      if (e.key === "Enter") this.takeField();
    };
    this.field.onchange = () => this.takeField();
  }
  forget() {
    this.request?.abort();
    this.request = null;
    this.rows = [];
    this.first = null;
    this.error = "";
    this.ended = false;
  }

  // Those that are protected in the view on show.
  get protected() {
    return this.stage.bench.data.guards ?? [];
  }
  // The question without its protected nodes: suggestions hold for it alone.
  get question() {
    const query = new URLSearchParams(this.stage.bench.data.question ?? "");
    query.delete("protect");
    return query.toString();
  }
  // How many of the suggested nodes are protected; -1 if what is protected is not what they follow.
  get taken() {
    if (!this.first) return -1;
    const now = new Set(this.protected),
      base = this.first.filter((node) => now.has(node)).length === this.first.length,
      number = now.size - this.first.length;
    const follows =
      base &&
      number >= 0 &&
      number <= this.rows.length &&
      this.rows.slice(0, number).every((row) => now.has(row.node));
    return follows ? number : -1;
  }

  async suggest() {
    const { bench } = this.stage,
      { data } = bench;
    this.forget();
    const request = (this.request = new AbortController());
    this.first = this.protected;
    this.asked = this.question;
    this.draw(true);
    try {
      const query = new URLSearchParams(data.question),
        address = `${data.api.base}instances/${encodeURIComponent(data.api.name)}/defend`;
      query.delete("instance");
      query.set("number", SUGGESTED);
      const answer = await fetch(`${address}?${query}`, { signal: request.signal });
      if (!answer.ok) throw new Error((await answer.json()).error);
      for await (const line of linesFrom(answer)) {
        if (request.signal.aborted) return; // the question was left while its lines were read
        if (line.kind === "error") throw new Error(line.error);
        if (line.kind === "step") this.rows.push(line);
        if (line.kind === "end") this.ended = true;
        this.draw(true);
      }
    } catch (error) {
      if (request.signal.aborted) return;
      this.rows = [];
      this.first = null;
      this.error = error.message;
    }
    if (this.request === request) this.request = null;
    this.draw(true);
  }
  protect(nodes) {
    this.history.push(this.protected);
    this.stage.bench.tell({ guard: nodes });
  }
  protectFirst(number) {
    this.protect([...this.first, ...this.rows.slice(0, number).map((row) => row.node)]);
  }
  undo() {
    const before = this.history.pop();
    if (before) this.stage.bench.tell({ guard: before });
  }

  // Numbers, or names of nodes, separated by commas or spaces.
  read() {
    const { n, names } = this.stage.graph,
      parts = names ? this.field.value.split(",") : this.field.value.split(/[\s,]+/),
      nodes = new Set();
    for (const part of parts.map((text) => text.trim()).filter(Boolean)) {
      const named = names ? names.indexOf(part) : -1,
        node = named >= 0 ? named : /^\d+$/.test(part) ? Number(part) : -1;
      if (node < 0 || node >= n) return { bad: part };
      nodes.add(node);
    }
    return { nodes: [...nodes] };
  }
  check() {
    const { bad } = this.read(),
      last = thousands(this.stage.graph.n - 1);
    this.wrong.textContent =
      bad === undefined
        ? ""
        : `There is no node ${bad.slice(0, 40)}: nodes are 0 to ${last}. Nothing was changed.`;
    this.field.setAttribute("aria-invalid", String(bad !== undefined));
    return bad === undefined;
  }
  takeField() {
    if (!this.check()) return;
    const { nodes } = this.read(),
      now = this.protected;
    if (nodes.length !== now.length || nodes.some((node) => !now.includes(node)))
      this.protect(nodes);
  }

  draw(always = false) {
    const { bench, graph } = this.stage;
    if (!bench.data || !graph) return;
    if (this.first && (this.asked !== this.question || this.taken < 0)) this.forget();
    const key = JSON.stringify([this.rows.length, this.taken, this.protected, this.question]);
    if (key === this.key && !always) return;
    this.key = key;
    this.drawSteps();
    this.suggestButton.disabled = Boolean(this.request) || bench.moved || !bench.data.api;
    this.undoButton.disabled = !this.history.length;
    this.allButton.disabled = !this.rows.length || this.taken === this.rows.length;
    this.said.textContent = this.state();
    if (this.stage.held() !== this.field) {
      const { names } = graph;
      this.field.value = this.protected.map((node) => (names ? names[node] : node)).join(", ");
      this.wrong.textContent = "";
    }
  }
  state() {
    if (this.error) return this.error;
    if (this.request) return `solving step ${this.rows.length + 1} …`;
    if (this.ended && this.rows.length < SUGGESTED)
      return "No further node was found that raises the number.";
    return "";
  }
  drawSteps() {
    const most = Math.max(1, ...this.rows.map((row) => row.gain)),
      { taken } = this;
    this.steps.replaceChildren(
      ...Array.from({ length: SUGGESTED }, (_, k) => {
        const row = this.rows[k],
          made = element("div", k < taken ? "step-row done" : "step-row");
        made.append(element("span", "rank", String(k + 1)));
        if (!row) return made;
        const bar = element("span", "gain-bar"),
          length = element("i");
        length.style.width = `${(100 * row.gain) / most}%`;
        bar.append(length);
        made.append(
          choiceButton(this.stage, { node: row.node }, this.stage.nodeName(row.node), "name"),
          bar,
          element("b", "gain", `+${thousands(row.gain)}`),
          element("span", "", thousands(row.certified)),
          k < taken ? element("span", "kept", "✓ protected") : this.stepButton(k, taken),
        );
        return made;
      }),
    );
  }
  // Gains hold in this order only: a later node brings those before it along.
  stepButton(k, taken) {
    const made = element(
      "button",
      "plain-button",
      k === taken ? "Protect" : `Protect ${taken + 1}–${k + 1}`,
    );
    made.type = "button";
    made.onclick = () => this.protectFirst(k + 1);
    return made;
  }
  end() {
    this.request?.abort();
    this.root.remove();
  }
}
