// The workbench: one set of budgets for number, bar, graph, curve and contour. While a budget is dragged all of them follow
// from what is in the browser already; Python is told when it is let go.
//
// Sound while dragging: the number is that of this very budget or of the next larger solved one, the attack that of the
// last smaller one. What is known of neither is faded, and says whose it is.

const STATES_OF = {
  naive: [ALONE],
  collective: [UNDECIDED],
  open: [],
  lost: [LOST, PARTLY],
  none: [BEFORE],
  wrong: [NOT_A_TARGET],
};
// No number at all is no limit: more than any number.
const within = (one, other) => other === null || (one !== null && one <= other);

class Bench {
  constructor(root) {
    this.root = root;
    this.values = {};
    this.lit = null;
    this.ghost = null;
    this.made = new WeakMap();
    this.told = [];
    this.stage = new Stage(root, this);
    this.side = new Side(this);
    this.answer = new Answer(this);
    this.number = new LiveNumber(this);
    this.player = new Player(this);
    this.curve = new CurveChart(this);
    this.contour = new ContourChart(this);
    this.cards = root.querySelector(".cards");
    this.tools = root.querySelector(".tools");
    this.live = root.querySelector(".live");
    this.hear = (what) => {
      if (what.kind === "kept") this.fetch();
      else if (what.kind === "play") this.player.run(what.name);
      else if (
        what.kind === "move" &&
        what.from !== this &&
        this.data &&
        what.name in this.values
      ) {
        this.values[what.name] = what.value;
        this.dragged = what.done ? 0 : performance.now();
        if (what.done) this.wait();
        this.render();
      }
    };
    shelf().hearing.add(this.hear);
    this.arrived = (version) => {
      if (this.data?.version === version) {
        this.stage.update(this.data);
        this.fetch();
      }
    };
    shelf().waiting.add(this.arrived);
    this.observer = new ResizeObserver(() => {
      this.root.style.setProperty("--tools", `${this.tools.offsetHeight}px`);
      this.stage.resize();
      this.render();
    });
    for (const one of [
      this.answer.root,
      this.stage.stage,
      this.cards,
      this.curve.canvas,
      this.contour.canvas,
    ])
      this.observer.observe(one);
    // A change of theme changes inherited colours without any event of ours.
    this.timer = setInterval(() => {
      if (this.data && this.theme()) {
        this.stage.beside();
        this.stage.paint();
        this.render();
      }
    }, 700);
    this.listen();
    shelf().bench = () => this.read();
    shelf().benchView = this;
    shelf().map = () => this.stage.read();
    shelf().mapView = this.stage;
  }

  theme() {
    const style = getComputedStyle(this.root.getRootNode().host ?? document.body),
      text = style.getPropertyValue("--st-text-color") || style.color,
      font = style.getPropertyValue("--st-font") || style.fontFamily;
    const probe = element("canvas").getContext("2d");
    probe.fillStyle = text.trim();
    const dark = parseInt(String(probe.fillStyle).slice(1, 3), 16) > 128;
    if (this.tones && dark === this.dark) return false;
    this.dark = dark;
    this.root.classList.toggle("dark", dark);
    const own = getComputedStyle(this.root),
      names = [
        "paper",
        "surface",
        "line",
        "ink",
        "ink2",
        "ink3",
        "proven",
        "each",
        "together",
        "lost",
        "lost-text",
        "none",
        "changed",
        "area-proven",
        "area-naive",
        "area-none",
        "area-lost",
        "uncounted",
      ];
    this.tones = Object.fromEntries(
      names.map((name) => [name, own.getPropertyValue(`--${name}`).trim()]),
    );
    this.stage.recolour(this.tones, dark, font.trim() || "sans-serif");
    return true;
  }
  ramp(share) {
    const steps = this.data.ramp[this.dark ? "dark" : "light"],
      at = Math.max(0, Math.min(0.9999, share)) * (steps.length - 1),
      i = Math.floor(at);
    const part = (k) =>
      Math.round(
        parseInt(steps[i].slice(k, k + 2), 16) * (1 - at + i) +
          parseInt(steps[i + 1].slice(k, k + 2), 16) * (at - i),
      );
    return `rgb(${part(1)},${part(3)},${part(5)})`;
  }

  // A message and what it names (attack, curve, map) come one after the other, in any order: it is shown when all of it is
  // there, so that number, bar, dot and cross always belong to one message. What does not come is left out after a while.
  update(data, send) {
    this.next = data;
    this.send = send;
    this.heard(data.heard ?? 0);
    clearTimeout(this.patience);
    this.patience = setTimeout(() => this.fetch(true), 1500);
    this.fetch();
  }
  fetch(late = false) {
    const { next } = this,
      here = ([name, key]) => shelf().kept.get(name)?.key === key;
    if (next && (late || Object.entries(next.shelves).every(here))) this.adopt(next);
    if (!this.data && next) this.adopt({ ...next, shelves: {} }, true); // the graph is there before anything is known
    const { data } = this;
    if (!data) return;
    for (const [name, place] of [
      ["curve", "line"],
      ["map", "area"],
      ["attack", "present"],
    ]) {
      const found = shelf().kept.get(name),
        key = data.shelves[name];
      if (!key) this[place] = null;
      else if (found?.key === key) this[place] = found;
      else if (this[place]?.key !== key) this[place] = null;
    }
    this.frames = [...shelf().kept]
      .filter(
        ([name, found]) =>
          name.startsWith("frames") &&
          found.version === data.version &&
          found.family === data.family,
      )
      .flatMap(([, found]) => found.frames)
      .sort((a, b) => a.value - b.value);
    this.render();
  }
  adopt(data, waits = false) {
    this.data = data;
    this.theme();
    if (!waits) {
      this.next = null;
      clearTimeout(this.patience);
    }
    const asked = this.asked && performance.now() - this.asked.since < 15000 ? this.asked : null;
    if (!asked || this.same(asked.values, data.at)) {
      this.asked = null;
      if (!this.holding()) this.values = { ...data.at };
    }
    for (const name of Object.keys(data.at))
      if (!(name in this.values)) this.values[name] = data.at[name];
    this.number.update(data);
    this.root.classList.toggle("alone", !this.send);
    this.stage.update(data);
    this.root.style.setProperty("--tools", `${this.tools.offsetHeight}px`);
    this.answer.note(data.notes);
    if (data.said !== this.said) {
      this.said = data.said;
      if (data.fresh) this.live.textContent = data.said;
    }
  }
  holding() {
    return (
      (this.dragged && performance.now() - this.dragged < 8000) ||
      this.curve.down ||
      this.contour.down ||
      this.player.timer ||
      this.later
    );
  }
  same(one, other) {
    return Object.keys(other).every((name) => one[name] === other[name]);
  }
  // Held beyond the drawn range the axes grow, by the same steps as the page itself takes when it is let go.
  get axisEnd() {
    const { data, values } = this,
      now = values[data.axis];
    if (now === null || now === undefined || now <= data.end) return data.end;
    if ((data.unit ?? 1) !== 1) return now;
    const scale = 10 ** Math.floor(Math.log10(now)),
      round = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((one) => one * scale >= now) * scale;
    return Math.max(now, Math.min(Math.ceil(round), data.longest ?? round));
  }
  get moved() {
    return !this.same(this.values, this.data.at);
  }

  // --- what is known at which budgets ---
  known(values) {
    const { data } = this,
      off = Object.keys(data.at).filter((name) => values[name] !== data.at[name]);
    if (!off.length && data.fresh && data.parts) {
      const { parts } = data;
      return { parts, proven: parts.naive + parts.collective, asked: data.asked };
    }
    const told = this.number.of(values),
      drawn = off.length ? this.drawnAt(values, off) : null;
    if (told && told.certified >= (drawn?.proven ?? 0))
      return this.parted(told.certified, told.naive, this.taken(values));
    return drawn;
  }
  // The same read off the curve or the map, whose counts hold up to their budgets.
  drawnAt(values, off) {
    const { data, line, area } = this;
    const found = this.taken(values);
    if (line && !data.stale.curve && off.every((name) => name === line.axis)) {
      const k = values[line.axis] === null ? -1 : atLeast(line.values, values[line.axis]);
      if (k >= 0) return this.parted(line.certified[k], line.naive[k], found);
    }
    if (
      area &&
      !data.stale.map &&
      off.every((name) => name === area.x || name === area.y) &&
      values[area.x] !== null &&
      values[area.y] !== null
    ) {
      const i = atLeast(area.xs, values[area.x]),
        j = atLeast(area.ys, values[area.y]);
      if (i >= 0 && j >= 0)
        return this.parted(
          area.certified[i * area.ys.length + j],
          area.naive[i * area.ys.length + j],
          found,
        );
    }
    return null;
  }
  // How many targets an attack within these budgets leaves uncertified: that of the last smaller budget.
  taken(values) {
    const { data, line } = this;
    if (
      !line ||
      data.stale.curve ||
      !Object.keys(data.at).every(
        (name) => name === line.axis || within(data.at[name], values[name]),
      )
    )
      return data.before;
    const k = atMost(line.values, values[line.axis] ?? Infinity);
    return Math.max(data.before, (k >= 0 && line.left[k]) || 0);
  }
  // What an attack on the model changes that is within these budgets, in the form of the message.
  modelAt(values) {
    const { data, line } = this,
      { words } = data;
    if (!this.moved) return data.model;
    const inside = Object.keys(data.at).every(
      (name) => name === line?.axis || within(data.at[name], values[name]),
    );
    if (data.model.how && !line?.changed) return data.model;
    if (!line?.changed || data.stale.curve || !inside)
      return { changed: null, head: filled(words.changes, { n: "…" }), sub: "", told: "" };
    const k = atMost(line.values, values[line.axis] ?? Infinity),
      changed = k >= 0 ? line.changed[k] : null;
    if (changed === null) return words.untried;
    const spent = line.values[line.changed.indexOf(changed)],
      attacker = some(spent, data.axisOne, data.axisName);
    return {
      changed,
      head: filled(words.changes, { n: thousands(changed) }),
      sub: words.changes_within.replace("{attacker}", attacker),
      told: "",
    };
  }
  parted(proven, naive, found) {
    const { data } = this,
      alone = Math.min(naive, proven),
      lost = Math.max(0, found - data.before);
    const parts = {
      naive: alone,
      collective: proven - alone,
      open: Math.max(0, data.targets - proven - data.before - lost),
      lost,
      none: data.before,
      wrong: data.asked - data.targets,
    };
    return { parts, proven, asked: data.asked };
  }
  proven() {
    return this.seen ? this.seen.proven : null;
  }
  attacker(values) {
    const { kinds, limits, sigma } = this.data.words,
      parts = Object.entries(kinds)
        .filter(([name]) => values[name])
        .map(([name, [one, many]]) => some(values[name], one, many));
    const told =
      parts.length > 1
        ? `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`
        : (parts[0] ?? "no flips at all");
    return [
      told,
      ...limits,
      ...(values.sigma === null || values.sigma === undefined
        ? []
        : [
            values.sigma
              ? `control of at most ${some(values.sigma, ...sigma)}`
              : "control of no node",
          ]),
    ].join(", ");
  }
  // The words of the engine with the numbers of these budgets.
  worded(values, seen) {
    const { words } = this.data,
      of = {
        n: thousands(seen.proven),
        of: thousands(seen.asked),
        share: shareDown(seen.proven, seen.asked),
        attacker: this.attacker(values),
      };
    const nothing = values.sigma === 0 || !Object.keys(words.kinds).some((name) => values[name]),
      which = nothing ? "clean" : seen.proven ? "stays" : "nothing";
    return [filled(words.stays, of), filled(words[`${which}_sub`], of)];
  }
  openText() {
    return this.moved ? "" : this.data.open;
  }
  alikeText(parts) {
    return parts.collective + parts.open
      ? this.data.words.alike
          .replace("{n}", thousands(parts.collective))
          .replace("{of}", thousands(parts.collective + parts.open))
      : "";
  }

  // --- attacks ---
  attackOf(frame) {
    if (frame instanceof Attack) return frame;
    if (!this.made.has(frame)) this.made.set(frame, new Attack(frame, this.stage.graph));
    return this.made.get(frame);
  }
  frameFor(values) {
    const { data, present } = this,
      others = Object.keys(data.at).every(
        (name) => name === data.axis || within(data.at[name], values[name]),
      );
    let best = null;
    if (others)
      for (const frame of this.frames)
        if (within(frame.value, values[data.axis]) && (!best || frame.value > best.value))
          best = frame;
    if (
      present?.at &&
      Object.keys(present.at).every((name) => within(present.at[name], values[name] ?? null)) &&
      (!best || (present.at[data.axis] ?? Infinity) >= best.value)
    )
      return { value: present.at[data.axis], attack: present.pictures[0] };
    return best;
  }
  frameValues() {
    return [
      ...new Set([
        ...this.frames.map((frame) => frame.value),
        ...(this.present?.at && this.present.at[this.data.axis] !== null
          ? [this.present.at[this.data.axis]]
          : []),
      ]),
    ].sort((a, b) => a - b);
  }
  attackValue() {
    return this.shownValue ?? null;
  }
  pictures() {
    const { own } = this.stage;
    if (own.active) return { attacks: own.attack ? [own.attack] : [], stale: "" };
    return this.found();
  }
  found() {
    const { present, data } = this,
      values = this.rested ?? this.values;
    if (!this.moved && !this.rested && !(data.stale.graph && this.frameFor(values))) {
      this.shownValue = present?.at?.[data.axis] ?? null;
      return { attacks: present ? present.pictures : [], stale: data.stale.graph };
    }
    const frame = this.frameFor(values);
    if (frame) this.shownValue = frame.value;
    return frame
      ? { attacks: [frame.attack], stale: "" }
      : {
          attacks: present ? present.pictures : [],
          stale: "no attack is known for these budgets yet",
        };
  }

  // --- drawing ---
  render() {
    if (this.queued || !this.data || !this.tones) return;
    this.queued = true;
    requestAnimationFrame(() => {
      this.queued = false;
      if (this.data) this.drawAll();
    });
  }
  // Of work that a message waits for, news arrive by themselves.
  get progress() {
    const news = shelf().kept.get("progress");
    return news && news.waits === this.data.waits ? news.shares : this.data.progress;
  }
  drawAll() {
    const { data, values, moved } = this;
    for (const [name, share] of Object.entries(this.progress))
      this.root.querySelector(`.${name} > .progress`).style.transform = `scaleX(${share ?? 0})`;
    this.narrow = this.root.clientWidth < 712;
    if (this.stage.graph) {
      const { attacks, stale } = this.pictures();
      this.stage.show(
        attacks.map((one) => this.attackOf(one)),
        stale,
      );
    }
    if (moved || !data.fresh) this.number.ask(values);
    this.seen = this.known(values);
    const model = this.modelAt(values);
    if (this.seen && (moved || !data.fresh))
      this.answer.draw(...this.worded(values, this.seen), this.seen.parts, "", model);
    else if (!moved) this.answer.draw(data.head, data.sub, data.parts, data.partsOf, model);
    else {
      const of = `for ${this.attacker(data.at)}`;
      this.answer.draw(data.head, [{ text: of, kind: "own" }], data.parts, of, model);
    }
    this.answer.root.classList.toggle("other", moved && !this.seen);
    const others = (name) =>
      Object.keys(data.at).some((one) => !name.includes(one) && values[one] !== data.at[one]);
    const curve =
        data.stale.curve ||
        (others([data.axis]) && this.line ? `for ${this.attacker(data.at)}` : ""),
      map =
        data.stale.map ||
        (this.area && others([this.area.x, this.area.y]) ? `for ${this.attacker(data.at)}` : "");
    for (const [chart, stale] of [
      [this.curve, curve],
      [this.contour, map],
    ]) {
      chart.root.classList.toggle("stale", Boolean(stale));
      chart.draw();
      chart.sayWhose(stale);
    }
    this.stage.own.open();
    this.player.draw();
    this.side.draw();
  }

  // --- doing ---
  move(changes, done) {
    Object.assign(this.values, changes);
    this.dragged = done ? 0 : performance.now();
    for (const [name, value] of Object.entries(changes))
      say({ kind: "move", name, value, done, from: this });
    this.render();
    if (!done) return;
    clearTimeout(this.later);
    this.later = setTimeout(() => {
      this.later = null;
      this.wait();
      const { data, values } = this;
      if (this.moved)
        this.tell({
          move: Object.fromEntries(
            Object.keys(data.at)
              .filter((name) => values[name] !== data.at[name])
              .map((name) => [name, values[name]]),
          ),
        });
    }, 120);
  }
  wait() {
    this.asked = { values: { ...this.values }, since: performance.now() };
  }
  // A run of the page that a newer one overtakes takes what it was told with it, and of two events in a row Streamlit hands
  // on the last: so every event is told again until a message says that it was heard.
  tell(event) {
    if (!this.send) return;
    this.told = this.told.filter((one) => !Object.keys(event).every((name) => name in one));
    this.counted = Math.max(Date.now(), (this.counted ?? 0) + 1);
    this.told.push({ ...event, at: this.counted });
    this.tellAgain(8000);
  }
  tellAgain(patience) {
    clearTimeout(this.telling);
    this.send("event", { events: this.told });
    this.telling = setTimeout(() => this.tellAgain(2 * patience), patience);
  }
  heard(last) {
    this.told = this.told.filter((one) => one.at > last);
    clearTimeout(this.telling);
    if (this.told.length) this.telling = setTimeout(() => this.tellAgain(8000), 600);
  }
  drawer(name) {
    this.tell({ drawer: name });
  }
  say(text) {
    this.live.textContent = text;
  }
  // Where the pointer is over a chart: what would be there, in all views; the picture follows when it rests.
  haunt(at) {
    this.ghost = at;
    this.rested = null;
    clearTimeout(this.resting);
    if (!at) {
      this.curve.say("");
      this.contour.say("");
      this.answer.haunt(null);
      this.render();
      return;
    }
    const seen = this.known({ ...this.values, ...at });
    this.answer.haunt(seen ? seen.proven : null);
    if (at)
      this.resting = setTimeout(() => {
        if (this.frameFor({ ...this.values, ...at })) {
          this.rested = { ...this.values, ...at };
          this.render();
        }
      }, 120);
    this.render();
  }
  light(part) {
    if (this.lit === part) return;
    this.lit = part;
    this.stage.lightStates(part && STATES_OF[part].length ? STATES_OF[part] : null);
    this.render();
  }
  // What is open is a number and no particular nodes.
  showOnly(part) {
    if (!STATES_OF[part].length) return;
    const off = this.data.part === part;
    this.data = {
      ...this.data,
      part: off ? "" : part,
      only: off ? [] : STATES_OF[part].slice(0, 1),
    };
    this.stage.lightStates(null);
    this.stage.setOnly(this.data.only);
    this.tell({ only: this.data.only });
    this.render();
  }
  // What a chosen site helps to break, for the bar.
  helps() {
    const { chosen, attacks, own } = this.stage,
      mine = own.active && own.attack ? own.attack.lost.length : 0;
    if (own.active) return mine ? { text: `you take ${thousands(mine)}`, number: mine } : null;
    const s = chosen && attacks[0] ? this.stage.siteIn(attacks[0], chosen) : -1;
    return s >= 0 && !attacks[0].relaxed && this.data.adversary !== "model" && attacks[0].breaks[s]
      ? { name: this.stage.siteName(attacks[0], s), number: attacks[0].breaks[s] }
      : null;
  }
  // Where a chosen label is no longer proven on its own, and from where on the attacks found take it: from the frames.
  ticks() {
    const node = this.stage.labelOf();
    if (node < 0 || this.frames.length < 2) return [];
    const alone = this.frames.findLast(
        (frame) => this.attackOf(frame.attack).state[node] === ALONE,
      ),
      lost = this.frames.find((frame) => this.attackOf(frame.attack).state[node] === LOST);
    return [...(alone ? [[alone.value, [2, 2]]] : []), ...(lost ? [[lost.value, []]] : [])];
  }

  listen() {
    for (const button of this.root.querySelectorAll("[data-drawer]"))
      button.onclick = () => this.drawer(button.dataset.drawer);
    for (const button of this.root.querySelectorAll("[data-page]"))
      button.onclick = () => this.tell({ page: button.dataset.page });
    this.root.querySelector(".fold").onclick = () => this.fold(true);
    this.unfold = this.root.querySelector(".unfold");
    this.unfold.onclick = () => this.fold(false);
    const list = this.root.querySelector(".list"),
      home = list.parentElement;
    this.cards.dataset.tab = "curve";
    for (const tab of this.root.querySelectorAll("[data-tab]"))
      if (tab !== this.cards)
        tab.onclick = () => {
          this.cards.dataset.tab = tab.dataset.tab;
          for (const one of this.root.querySelectorAll(".tabs button"))
            one.setAttribute("aria-selected", String(one === tab));
          // On a narrow screen the list of sites is a tab below the picture.
          (tab.dataset.tab === "sites" ? this.cards : home).append(list);
          list.hidden = tab.dataset.tab !== "sites";
          this.render();
        };
    this.keys = this.root.querySelector(".keys");
    this.root.addEventListener("keydown", (e) => {
      const at = e.composedPath()[0];
      if (
        e.ctrlKey ||
        e.metaKey ||
        e.altKey ||
        (at.matches?.("input, select, textarea") && at.type !== "range")
      )
        return;
      if (this.press(e.key)) e.preventDefault();
    });
  }
  fold(on) {
    this.root.classList.toggle("folded", on);
    this.unfold.hidden = !on;
    this.stage.resize();
    this.render();
  }
  press(key) {
    const { data, area } = this,
      step = (name, by, end) => {
        if (name && name in this.values)
          this.move({ [name]: Math.max(0, Math.min(end, (this.values[name] ?? end) + by)) }, true);
      };
    if (key === " ") this.player.button.click();
    else if (key === "[" || key === "]") step(data.axis, key === "]" ? 1 : -1, 1e6);
    else if (key === "{" || key === "}") step(area?.y, key === "}" ? 1 : -1, area?.ys.at(-1));
    else if (key === "c") this.fold(!this.root.classList.contains("folded"));
    else if (key === "/") this.stage.openFind();
    else if (key === "e") this.drawer("export_graph");
    else if (key === "m") document.querySelector('[data-testid="stExpandSidebarButton"]')?.click();
    else if (key === "?") {
      this.keys.hidden = !this.keys.hidden;
      this.keys.textContent = data.words.keys;
    } else if (key === "Escape" && !this.keys.hidden) this.keys.hidden = true;
    else if (key === "Escape" && !this.answer.float.hidden) this.answer.explain(false);
    else return false;
    return true;
  }
  // What is on the screen, for tests: read from what was drawn last, not from what was sent.
  read() {
    const { answer, data } = this;
    return {
      values: this.values,
      at: data.at,
      fresh: data.fresh,
      moved: this.moved,
      head: answer.big.textContent,
      sub: answer.sentence.textContent,
      proven: this.proven(),
      asked: data.asked,
      parts: answer.shown ?? null,
      widths: Object.fromEntries(
        [...answer.segments]
          .filter(([, one]) => !one.hidden)
          .map(([name, one]) => [name, one.getBoundingClientRect().width]),
      ),
      dot: this.curve.dot ?? null,
      cross: this.contour.cross ?? null,
      frames: this.frames.map((frame) => frame.value),
      attack: this.attackValue(),
      stale: { ...data.stale },
      line: this.line
        ? { axis: this.line.axis, values: this.line.values, certified: this.line.certified }
        : null,
      dimmed: [...this.root.querySelectorAll(".stale")].map((one) =>
        one.className.replace(" stale", ""),
      ),
      progress: this.progress,
      map: this.area
        ? { y: this.area.y, xs: this.area.xs, ys: this.area.ys, told: this.area.told }
        : null,
    };
  }
  end() {
    this.observer.disconnect();
    clearInterval(this.timer);
    clearTimeout(this.later);
    clearTimeout(this.resting);
    clearTimeout(this.patience);
    clearTimeout(this.telling);
    this.number.end();
    this.player.end();
    this.side.end();
    this.stage.end();
    this.answer.end();
    this.stage.stage.replaceChildren();
    shelf().hearing.delete(this.hear);
    shelf().waiting.delete(this.arrived);
    if (shelf().benchView === this)
      for (const name of ["bench", "benchView", "map", "mapView"]) shelf()[name] = undefined;
  }
}
