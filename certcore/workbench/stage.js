// The graph on the stage: one camera and one choice for all pictures, by pointer, touch and keyboard.

class Stage {
  constructor(root, bench) {
    this.root = root;
    this.bench = bench;
    for (const name of ["list", "detail", "legend", "live", "acts", "hint", "sought"])
      this[name] = root.querySelector(`.${name}`);
    this.whole = root.querySelector(".stage");
    this.stage = root.querySelector(".pictures");
    this.whose = root.querySelector(".stage .whose");
    this.panels = [];
    this.attacks = [];
    this.selection = [];
    this.pointers = new Map();
    this.sent = [];
    this.only = [];
    this.group = "";
    this.classOnly = null;
    this.own = new Own(this);
    this.chips = element("div", "chips");
    this.whole.append(this.chips);
    this.zoom = 1;
    this.panX = 0;
    this.panY = 0;
    this.hover = null;
    this.chosen = null;
    this.mode = "move";
    this.version = "";
    this.touched = 0;
    this.sort = "flips";
    this.given = "null";
    wireTools(this);
  }

  recolour(tones, dark, font) {
    Object.assign(this, {
      tones,
      dark,
      font,
      ink: tones.ink,
      paper: tones.paper,
      lostColour: tones.lost,
      protectedColour: tones.proven,
      lookCache: null,
    });
  }

  update(data) {
    this.data = data;
    const graph = shelf().graphs.get(data.version);
    this.graph = graph ?? null;
    if (!graph) return;
    const fresh = this.version !== data.version;
    this.version = data.version;
    Object.assign(this, {
      colour: data.colour,
      marginTones: data.tones.margin,
      shareScale: data.tones.share,
      states: data.words.states,
      counted: data.words.counted,
    });
    this.lookCache = null;
    this.setOnly(data.only);
    if (fresh) {
      this.fit();
      this.selection = [];
      this.hover = null;
      this.group = "";
      this.classOnly = null;
    }
    if (data.selection) this.selection = data.selection;
    const options = JSON.stringify(data.colours),
      select = this.root.querySelector(".colour");
    if (select.dataset.options !== options) {
      select.dataset.options = options;
      select.replaceChildren(
        ...data.colours.map(([value, text]) => {
          const made = element("option", "", text);
          made.value = value;
          return made;
        }),
      );
    }
    select.value = data.colour;
    drawSwitch(this);
    const given = JSON.stringify(data.chosen ?? null);
    if (given !== this.given && !this.sent.includes(given)) {
      this.chosen = data.chosen;
      this.toGo = data.chosen;
    }
    this.given = given;
    this.dirty = true;
  }
  // Nodes in other states are faded: while a part of the bar is pointed at, or as long as one is chosen.
  setOnly(states) {
    if (JSON.stringify(states) === JSON.stringify(this.only)) return;
    this.only = states;
    if (states.length) this.group = "";
    this.forget();
    if (this.attacks.length && this.graph) drawChips(this);
  }
  lightStates(states) {
    this.lighted = states;
    this.forget();
  }
  forget() {
    this.lookCache = null;
    this.panels.forEach((panel) => {
      panel.drawn = null;
    });
    this.paint();
  }

  // Put these attacks on show, one picture each; before the first one the graph alone.
  show(attacks, stale) {
    this.whole.classList.toggle("stale", Boolean(stale));
    this.whose.hidden = !stale;
    this.whose.textContent = stale ?? "";
    if (!attacks.length) attacks = [(this.bare ||= new Attack(NOBODY, this.graph))];
    if (
      !this.dirty &&
      attacks.length === this.attacks.length &&
      attacks.every((one, i) => one === this.attacks[i])
    )
      return;
    this.dirty = false;
    this.attacks = attacks;
    this.root.classList.toggle("several", attacks.length > 1);
    while (this.panels.length < attacks.length) {
      const panel = new Panel(this);
      this.panels.push(panel);
      this.stage.append(panel.figure);
      listenTo(this, panel);
    }
    while (this.panels.length > attacks.length) {
      const gone = this.panels.pop();
      gone.end();
      gone.figure.remove();
    }
    this.panels.forEach((panel, i) => {
      panel.show(attacks[i]);
      panel.resize();
    });
    if (this.toGo && this.attacks[0].count) {
      const to = this.toGo;
      this.toGo = null;
      this.goTo(to);
    }
    this.beside();
    this.paint();
  }
  resize() {
    this.panels.forEach((panel) => panel.resize());
    this.paint();
  }
  // What card, tools and legend leave of a picture: the graph is fitted into that.
  free(width, height) {
    const several = this.attacks.length > 1,
      narrow = this.root.clientWidth < 712,
      left = !several && !narrow && (this.chosen || !this.list.hidden) ? 300 : 0,
      margin = narrow ? 12 : 24,
      tools = this.bench.tools.offsetHeight;
    return {
      left: left + margin,
      top: narrow ? 50 : several ? 44 + tools : 20 + tools,
      right: width - margin,
      bottom: height - (narrow ? 36 : 22 + this.legend.offsetHeight),
    };
  }

  beside() {
    if (!this.attacks.length || !this.graph) return;
    // What is drawn anew are other buttons: whoever stood on one by keyboard stands on its successor.
    const held = this.held(),
      part = [this.list, this.detail, this.legend].find((box) => box.contains(held));
    const at = part ? [...part.querySelectorAll("button, select")].indexOf(held) : -1;
    drawList(this);
    markList(this);
    drawDetail(this);
    drawLegend(this);
    drawActs(this);
    drawChips(this);
    if (at >= 0) part.querySelectorAll("button, select")[at]?.focus({ preventScroll: true });
  }
  held() {
    return this.root.getRootNode().activeElement;
  }
  // The label that a choice or the pointer is at, or -1.
  labelOf() {
    const at = this.hover ?? this.chosen,
      attack = this.attacks[0];
    return at &&
      at.node !== undefined &&
      attack &&
      (at.as === "target" || this.siteIn(attack, at) < 0) &&
      attack.slot[at.node] >= 0
      ? at.node
      : -1;
  }

  // --- names and looks ---
  nodeName(node) {
    return node >= this.graph.n
      ? `new node ${node - this.graph.n + 1}`
      : this.graph.names
        ? this.graph.names[node]
        : `node ${node}`;
  }
  siteName(attack, s) {
    const a = attack.ends[2 * s],
      b = attack.ends[2 * s + 1];
    return a === b
      ? this.nodeName(a)
      : this.graph.names
        ? `${this.graph.names[a]} – ${this.graph.names[b]}`
        : `${a} – ${b}`;
  }
  stateName(attack, node) {
    return attack.changed.has(node)
      ? "its label is changed by this attack"
      : (attack.relaxed ? this.counted : this.states)[attack.state[node]];
  }
  marginScale() {
    return this.marginTones[this.dark ? "dark" : "light"];
  }
  siteIn(attack, at) {
    if (at.edge) {
      for (let s = 0; s < attack.count; s++)
        if (attack.isEdge(s) && `${attack.ends[2 * s]}-${attack.ends[2 * s + 1]}` === at.edge)
          return s;
      return -1;
    }
    return at.as === "target" ? -1 : (attack.siteOf.get(at.node) ?? -1);
  }
  asChoice(attack, s) {
    const a = attack.ends[2 * s],
      b = attack.ends[2 * s + 1];
    return a === b ? { node: a } : { edge: `${a}-${b}` };
  }

  // --- camera ---
  fit() {
    this.zoom = 1;
    this.panX = 0;
    this.panY = 0;
  }
  paint() {
    if (this.queued || !this.graph) return;
    this.queued = true;
    requestAnimationFrame(() => {
      this.queued = false;
      if (!this.graph) return;
      this.panels.forEach((panel) => panel.draw());
    });
  }
  zoomAt(factor, x, y) {
    const panel = this.panels[0],
      { width } = panel,
      [mx, my] = panel.middle(),
      cx = x ?? mx,
      cy = y ?? my;
    const next = Math.max(0.5, Math.min(60, this.zoom * factor)),
      ratio = next / this.zoom;
    this.panX = (cx - mx - (cx - mx - this.panX * width) * ratio) / width;
    this.panY = (cy - my - (cy - my - this.panY * width) * ratio) / width;
    this.zoom = next;
    this.paint();
  }
  // Bring places of the graph into view, as large as they fit.
  frame(nodes, least, most) {
    const panel = this.panels[0];
    if (!nodes.length || !panel.width) return;
    const xs = nodes.map((i) => this.graph.xy[2 * i]).sort((a, b) => a - b),
      ys = nodes.map((i) => this.graph.xy[2 * i + 1]).sort((a, b) => a - b);
    const span = (v) => [v[0], v[v.length - 1]],
      [lx, hx] = span(xs),
      [ly, hy] = span(ys);
    this.fit();
    const sx = panel.scaleX(),
      sy = panel.scaleY(),
      room = this.free(panel.width, panel.height);
    this.zoom = Math.max(
      least,
      Math.min(
        most,
        (room.right - room.left - 50) / Math.max(1, (hx - lx) * sx),
        (room.bottom - room.top - 40) / Math.max(1, (hy - ly) * sy),
      ),
    );
    this.panX = (-((lx + hx) / 2 - 32767.5) * sx * this.zoom) / panel.width;
    this.panY = (-((ly + hy) / 2 - 32767.5) * sy * this.zoom) / panel.width;
    this.paint();
  }
  goTo(at) {
    const attack = this.attacks[0];
    if (!attack) return;
    const nodes = at.edge ? at.edge.split("-").map(Number) : [at.node],
      s = this.siteIn(attack, at);
    if (nodes.some((i) => !(i >= 0 && i < this.graph.n))) return;
    this.frame([...nodes, ...(s >= 0 ? attack.brokenBy(s).slice(0, 400) : [])], 1, 5);
  }

  // --- choosing ---
  point(at) {
    const old = this.hover;
    if (
      at === old ||
      (at && old && at.node === old.node && at.edge === old.edge && at.as === old.as)
    )
      return;
    this.hover = at;
    // A pointer on its way passes over many targets: what reaches one is lit when it rests there.
    this.rests = false;
    clearTimeout(this.resting);
    if (at)
      this.resting = setTimeout(() => {
        this.rests = true;
        this.paint();
        this.bench.render();
      }, 90);
    this.paint();
  }
  choose(at, move = false) {
    const before = Boolean(this.chosen);
    this.chosen = at;
    this.hover = null;
    const inside = this.detail.contains(this.held());
    markList(this);
    drawDetail(this);
    drawLegend(this);
    if (inside)
      (this.detail.querySelector("button") ?? this.panels[0].canvas).focus({ preventScroll: true });
    if (before !== Boolean(at)) this.panels.forEach((panel) => panel.resize());
    if (at && move) this.goTo(at);
    const attack = this.attacks[0],
      s = at ? this.siteIn(attack, at) : -1;
    this.live.textContent = !at
      ? "Nothing chosen"
      : s >= 0
        ? `${this.siteName(attack, s)}: ${attack.spent(s)}; ${attack.story(s)}`
        : describe(this, attack, at);
    this.paint();
    this.bench.render();
    // The page hears of it when the hand rests: the address follows, and what protecting it would be worth.
    clearTimeout(this.telling);
    this.telling = setTimeout(() => {
      const said = JSON.stringify(at);
      this.sent = [...this.sent.slice(-5), said];
      this.bench.tell({ chosen: at });
    }, 450);
  }
  step(by) {
    const attack = this.attacks[0];
    if (!attack.count) return;
    const order = this.order(attack),
      at = this.chosen ? order.indexOf(this.siteIn(attack, this.chosen)) : -1;
    const next = at < 0 ? (by > 0 ? 0 : attack.count - 1) : (at + by + attack.count) % attack.count;
    this.choose(this.asChoice(attack, order[next]), true);
  }
  // Sites as they are listed and walked through: they arrive with most flips first.
  order(attack) {
    const all = [...Array(attack.count).keys()];
    return this.sort === "breaks" && !attack.relaxed
      ? all.sort((a, b) => attack.breaks[b] - attack.breaks[a])
      : all;
  }
  showTip(panel, at, x, y) {
    for (const other of this.panels) if (other !== panel || !at) other.tell(null);
    if (at) panel.tell(describe(this, panel.attack, at), x, y);
  }
  select(nodes) {
    this.selection = nodes;
    this.point(null);
    this.showTip(null, null);
    drawLegend(this);
    drawActs(this);
    this.paint();
    this.bench.render();
    this.live.textContent = `${some(nodes.length, "node", "nodes")} selected`;
    this.bench.tell({ selected: nodes });
  }
  setMode(mode) {
    this.mode = mode;
    this.root.querySelector(".boxing").setAttribute("aria-pressed", String(mode === "box"));
    this.root.classList.toggle("drawing", mode === "box");
  }

  openFind() {
    this.sought.hidden = false;
    this.sought.focus();
  }

  // What is on the screen, for tests: read from what was drawn last, not from what was sent.
  read() {
    const { panX, panY, panels, legend } = this;
    return {
      version: this.version,
      zoom: this.zoom,
      pan: [panX, panY],
      chosen: this.chosen,
      colour: this.colour,
      selection: this.selection,
      legend: [...legend.querySelectorAll("li")].map((item) => item.textContent),
      panels: panels.map((panel) => ({
        ...panel.readBack,
        title: panel.attack.title,
        relaxed: panel.attack.relaxed,
        size: [panel.width, panel.height],
        lostNodes: panel.attack.lost.slice(),
        broken: panel.attack.broken ? Array.from(panel.attack.broken) : null,
        margin: Array.from(panel.attack.margin),
      })),
    };
  }
  place(node, panel = 0) {
    const box = this.panels[panel].canvas.getBoundingClientRect(),
      [x, y] = this.panels[panel].place(node);
    return [box.left + x, box.top + y];
  }

  end() {
    this.chips.remove();
    window.removeEventListener("keydown", this.escape);
    clearTimeout(this.telling);
    clearTimeout(this.counting);
    clearTimeout(this.resting);
    clearTimeout(this.hinting);
    this.panels.forEach((panel) => panel.end());
  }
}
