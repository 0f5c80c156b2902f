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
    this.zoom = 1;
    this.panX = 0;
    this.panY = 0;
    this.hover = null;
    this.chosen = null;
    this.mode = "move";
    this.edgeStrength = 1;
    this.version = "";
    this.touched = 0;
    this.sort = "flips";
    this.given = "null";
    this.buttons();
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
    this.forget();
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
      this.listen(panel);
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
  // What cards and the legend leave of a picture: the graph is fitted into that.
  free(width, height) {
    const several = this.attacks.length > 1,
      narrow = this.root.clientWidth < 712,
      cards = this.bench.cards;
    // Cards stand upon the picture, or below it where there is no room.
    const upon =
        cards.offsetWidth &&
        cards.getBoundingClientRect().top < this.whole.getBoundingClientRect().bottom - 20,
      beside = !several && upon ? cards.offsetWidth + 12 : 0;
    const left = !several && !narrow && (this.chosen || !this.list.hidden) ? 300 : 0,
      margin = narrow ? 12 : 24,
      tools = this.bench.tools.offsetHeight;
    return {
      left: left + margin,
      top: narrow ? 50 : several ? 44 + tools : 20 + tools,
      right: width - beside - margin,
      bottom: height - (narrow ? 36 : 22 + this.legend.offsetHeight),
    };
  }

  beside() {
    if (!this.attacks.length || !this.graph) return;
    // What is drawn anew are other buttons: whoever stood on one by keyboard stands on its successor.
    const held = this.held(),
      part = [this.list, this.detail].find((box) => box.contains(held));
    const at = part ? [...part.querySelectorAll("button, select")].indexOf(held) : -1;
    drawList(this);
    markList(this);
    drawDetail(this);
    drawLegend(this);
    drawActs(this);
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

  // How the nodes look: by what happens to them, by class, by further flips or by whether their label is right.
  looks(attack) {
    this.lookCache ||= new Map();
    if (this.lookCache.has(attack)) return this.lookCache.get(attack);
    const { graph, colour, tones } = this,
      names = attack.relaxed ? this.counted : this.states,
      looks = [],
      of = new Uint8Array(graph.n);
    const add = (label, colourOf, shapeName, scale, alpha, state = -1, edge = "") =>
      looks.push({
        label,
        colour: colourOf,
        shape: shapeName,
        scale,
        alpha,
        state,
        edge,
        count: 0,
      }) - 1;
    const hidden = add("", tones.uncounted, "circle", 0.8, 0.5),
      outside = add(names[NOT_A_TARGET], tones.uncounted, "circle", 0.7, 0.9, NOT_A_TARGET),
      before = add(names[BEFORE], tones.none, "x", 1.15, 1, BEFORE);
    if (colour === "class" && graph.label) {
      const first = looks.length,
        edge = `color-mix(in srgb, ${tones.ink} 40%, transparent)`;
      graph.groups.forEach((group) =>
        add(group.label, this.dark ? group.dark : group.light, "circle", 1.05, 1, -1, edge),
      );
      for (let i = 0; i < graph.n; i++)
        of[i] = first + Math.min(graph.label[i], graph.groups.length - 1);
    } else if (colour === "correct" && graph.right) {
      const [wrong, right, silent] = [
        add("label is wrong", tones["ink2"], "triangle-up", 1.15, 0.9),
        add("label is right", tones.together, "circle", 1, 0.8),
        add("abstains (counts as wrong)", tones.none, "x", 1.15, 1),
      ];
      for (let i = 0; i < graph.n; i++) of[i] = [wrong, right, silent][graph.right[i]];
    } else if (colour === "margin") this.closeness(attack, looks, of, add, outside, before);
    else {
      const together = add(names[UNDECIDED], tones.together, "circle", 1, 1, UNDECIDED),
        each = add(names[ALONE], tones.each, "diamond", 1.05, 1, ALONE);
      for (let i = 0; i < graph.n; i++) {
        const state = attack.state[i];
        of[i] =
          state === NOT_A_TARGET
            ? outside
            : state === BEFORE
              ? before
              : state === ALONE
                ? each
                : together;
      }
    }
    const shown = this.lighted ?? this.only;
    if (shown.length)
      for (let i = 0; i < graph.n; i++) if (!shown.includes(attack.state[i])) of[i] = hidden;
    const counted = (i) =>
      attack.state[i] !== LOST && !(attack.relaxed && attack.state[i] === PARTLY);
    for (let i = 0; i < graph.n; i++)
      if (counted(i) || colour === "class" || colour === "correct") looks[of[i]].count++;
    looks[hidden].count = 0;
    looks.of = of;
    // Nodes of each look, once: drawing asks for them again and again.
    const size = new Uint32Array(looks.length),
      at = new Uint32Array(looks.length);
    for (let i = 0; i < graph.n; i++) size[of[i]]++;
    looks.members = Array.from(size, (number) => new Uint32Array(number));
    for (let i = 0; i < graph.n; i++) looks.members[of[i]][at[of[i]]++] = i;
    looks.colourOf = (node) => looks[of[node]].colour;
    this.lookCache.set(attack, looks);
    return looks;
  }
  // How many further flips can leave each target uncertified, in at most eleven tones.
  closeness(attack, looks, of, add, outside, before) {
    const { n } = this.graph;
    let most = 1;
    for (let i = 0; i < n; i++) most = Math.max(most, attack.margin[i]);
    most = Math.min(most, 40);
    const first = looks.length,
      steps = Math.min(most, 11);
    const edge = `color-mix(in srgb, ${this.tones.ink} 30%, transparent)`;
    for (let k = 0; k < steps; k++)
      add(
        "",
        mix(this.marginScale(), steps > 1 ? k / (steps - 1) : 0),
        "circle",
        1.15,
        1,
        -1,
        edge,
      );
    const never = add("no number of these flips", this.tones.uncounted, "diamond", 1, 0.9);
    const text = (steps) => (attack.step ? length(steps * attack.step) : String(steps));
    looks.bar = { low: text(1), high: text(most) + (most === 40 ? " or more" : ""), next: 0 };
    for (let i = 0; i < n; i++) {
      const m = attack.margin[i],
        state = attack.state[i];
      if (m === 1 && state !== NOT_A_TARGET && state !== BEFORE && state !== LOST) looks.bar.next++;
      of[i] =
        state === NOT_A_TARGET
          ? outside
          : state === BEFORE
            ? before
            : m < 0
              ? never
              : first +
                Math.min(
                  steps - 1,
                  Math.floor(
                    ((Math.max(1, Math.min(m, most)) - 1) / Math.max(1, most - 1)) * (steps - 1) +
                      0.5,
                  ),
                );
    }
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
  zoomToAttack() {
    // Where it is spent and what it breaks, without the few that lie far out.
    const hit = this.attacks.flatMap((attack) => [...attack.ends]).filter((i) => i < this.graph.n),
      lost = this.attacks[0].lost,
      xy = this.graph.xy;
    if (!hit.length) return;
    const inner = (axis) => {
      const v = lost.map((i) => xy[2 * i + axis]).sort((a, b) => a - b);
      return [v[Math.floor(v.length * 0.05)] ?? -1, v[Math.floor(v.length * 0.95)] ?? 1e9];
    };
    const [lx, hx] = inner(0),
      [ly, hy] = inner(1);
    this.frame(
      [
        ...hit,
        ...lost.filter(
          (i) => xy[2 * i] >= lx && xy[2 * i] <= hx && xy[2 * i + 1] >= ly && xy[2 * i + 1] <= hy,
        ),
      ],
      1,
      12,
    );
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
        : this.describe(attack, at);
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
  describe(attack, at) {
    const s = this.siteIn(attack, at);
    if (s >= 0) {
      const lines = [
        this.siteName(attack, s),
        `hit: ${attack.spent(s)}`,
        `${attack.story(s)}${s < attack.listed ? "" : " (which ones is not shown for this many)"}`,
      ];
      if (at.node !== undefined) lines.push(`its own label: ${this.stateName(attack, at.node)}`);
      return lines.join("\n");
    }
    if (at.node === undefined) return `${at.edge}: not changed in this attack`;
    const lines = [this.nodeName(at.node), this.stateName(attack, at.node)],
      share = attack.shareOf(at.node),
      margin = attack.margin[at.node];
    if (attack.relaxed && attack.broken[at.node] > 0 && attack.state[at.node] !== BEFORE)
      lines.push(`counted by the fraction ${attack.broken[at.node].toPrecision(4)}`);
    if (share && attack.state[at.node] !== BEFORE) lines.push(share);
    if (margin > 0) lines.push(`${attack.further(margin)} can leave it uncertified`);
    if (this.graph.label && this.graph.classes)
      lines.push(
        `predicted: ${this.graph.classes[this.graph.label[at.node]] ?? this.graph.label[at.node]}`,
      );
    const control = attack.controlled.indexOf(at.node);
    if (control >= 0)
      lines.push(
        attack.share[control] < 1
          ? `controlled by the attacker (share ${attack.share[control].toPrecision(3)}); spends nothing here`
          : "controlled by the attacker; spends nothing here",
      );
    if (attack.protected.includes(at.node)) lines.push("protected");
    return lines.join("\n");
  }
  showTip(panel, at, x, y) {
    for (const other of this.panels) if (other !== panel || !at) other.tell(null);
    if (at) panel.tell(this.describe(panel.attack, at), x, y);
  }
  select(nodes) {
    this.selection = nodes;
    this.point(null);
    this.showTip(null, null);
    drawLegend(this);
    drawActs(this);
    this.paint();
    this.live.textContent = `${some(nodes.length, "node", "nodes")} selected`;
    this.bench.tell({ selected: nodes });
  }
  setMode(mode) {
    this.mode = mode;
    for (const button of this.root.querySelectorAll("[data-mode]"))
      button.setAttribute("aria-pressed", String(button.dataset.mode === mode));
    this.root.classList.toggle("drawing", mode !== "move");
  }

  buttons() {
    const on = (name, act) => {
      this.root.querySelector(name).onclick = act;
    };
    on(".attack", () => this.zoomToAttack());
    on(".whole", () => {
      this.fit();
      this.paint();
    });
    on(".larger", () => this.zoomAt(1.5));
    on(".smaller", () => this.zoomAt(1 / 1.5));
    on(".full", () =>
      document.fullscreenElement || this.root.getRootNode().fullscreenElement
        ? document.exitFullscreen()
        : this.whole.requestFullscreen?.(),
    );
    for (const button of this.root.querySelectorAll("[data-mode]"))
      button.onclick = () => this.setMode(button.dataset.mode);
    this.root.querySelector(".left").onkeydown = (e) => {
      if (e.key === "Escape" && this.chosen) {
        this.choose(null);
        e.stopPropagation();
      }
    };
    const edges = this.root.querySelector(".edges"),
      colour = this.root.querySelector(".colour");
    edges.onchange = () => {
      this.edgeStrength = Number(edges.value);
      this.paint();
    };
    colour.onchange = () => {
      this.colour = colour.value;
      this.forget();
      this.beside();
      this.bench.tell({ colour: colour.value });
    };
    const sites = this.root.querySelector(".sites-button");
    sites.onclick = () => {
      this.list.hidden = !this.list.hidden;
      sites.setAttribute("aria-expanded", String(!this.list.hidden));
      this.resize();
    };
    on(".find", () => this.openFind());
    this.sought.onkeydown = (e) => {
      if (e.key === "Enter") this.find(this.sought.value);
      if (e.key === "Escape") {
        this.sought.hidden = true;
        this.panels[0].canvas.focus();
      }
      e.stopPropagation();
    };
    this.legend.addEventListener("click", () => this.legend.classList.toggle("open"));
  }
  openFind() {
    this.sought.hidden = false;
    this.sought.focus();
  }
  // By number, or by name: those that begin so first.
  find(text) {
    const wanted = text.trim().toLowerCase(),
      { names, n } = this.graph,
      number = /^(node)?\s*\d+$/.test(wanted) ? Number(wanted.replace("node", "")) : -1;
    let node = names && !/^\d+$/.test(wanted) ? -1 : number;
    if (names && node < 0 && wanted) {
      node = names.findIndex((name) => name.toLowerCase().startsWith(wanted));
      if (node < 0) node = names.findIndex((name) => name.toLowerCase().includes(wanted));
    }
    this.sought.setCustomValidity(node >= 0 && node < n ? "" : "No node has this name or number.");
    this.sought.reportValidity();
    if (node >= 0 && node < n) this.choose({ node }, true);
  }

  listen(panel) {
    const c = panel.canvas,
      at = (e) => {
        const box = c.getBoundingClientRect();
        return [e.clientX - box.left, e.clientY - box.top];
      };
    c.addEventListener("pointerdown", (e) => {
      c.focus({ preventScroll: true });
      c.setPointerCapture(e.pointerId);
      const [x, y] = at(e);
      this.pointers.set(e.pointerId, [x, y]);
      this.travel = 0;
      this.pinch = null;
      if (this.mode !== "move" && this.pointers.size === 1) {
        this.hand = new Hand(panel, this.mode, x, y);
        this.point(null);
        this.showTip(panel, null);
      }
    });
    c.addEventListener("pointermove", (e) => {
      const [x, y] = at(e),
        old = this.pointers.get(e.pointerId);
      this.touched = performance.now();
      if (!old) {
        const found = panel.at(x, y, false);
        c.classList.toggle("over", Boolean(found));
        this.point(found);
        this.showTip(panel, found, x, y);
        return;
      }
      this.pointers.set(e.pointerId, [x, y]);
      if (this.hand) {
        this.hand.move(x, y);
        this.travel = 99;
        this.paint();
        return;
      }
      const points = [...this.pointers.values()];
      if (points.length === 2) {
        const distance = Math.hypot(points[0][0] - points[1][0], points[0][1] - points[1][1]);
        if (this.pinch)
          this.zoomAt(
            distance / this.pinch,
            (points[0][0] + points[1][0]) / 2,
            (points[0][1] + points[1][1]) / 2,
          );
        this.pinch = distance;
        this.travel = 99;
        return;
      }
      this.travel += Math.abs(x - old[0]) + Math.abs(y - old[1]);
      if (this.travel > 4) {
        c.classList.add("moving");
        this.panX += (x - old[0]) / panel.width;
        this.panY += (y - old[1]) / panel.width;
        this.hover = null;
        this.showTip(panel, null);
        this.paint();
      }
    });
    const up = (e) => {
      const [x, y] = at(e),
        known = this.pointers.delete(e.pointerId);
      c.classList.remove("moving");
      if (!known || e.type !== "pointerup") {
        this.hand = null;
        return;
      }
      if (this.hand && this.travel > 4) {
        const nodes = this.hand.nodes();
        this.hand = null;
        this.select(nodes);
        return;
      }
      this.hand = null;
      if (this.travel <= 4) this.choose(panel.at(x, y, e.pointerType === "touch"));
    };
    c.addEventListener("pointerup", up);
    c.addEventListener("pointercancel", up);
    c.addEventListener("pointerleave", () => {
      this.point(null);
      this.showTip(panel, null);
    });
    c.addEventListener("dblclick", () => {
      const node = this.chosen?.node;
      if (node !== undefined) this.bench.tell({ open: node });
    });
    c.addEventListener(
      "wheel",
      (e) => {
        // Scrolling the page must stay possible: the wheel zooms only when the picture has the focus, or is the page.
        if (!e.ctrlKey && this.held() !== c && !document.fullscreenElement) {
          this.hint.hidden = false;
          clearTimeout(this.hinting);
          this.hinting = setTimeout(() => {
            this.hint.hidden = true;
          }, 1200);
          return;
        }
        e.preventDefault();
        this.zoomAt(Math.exp(-e.deltaY * 0.0015), ...at(e));
      },
      { passive: false },
    );
    c.addEventListener("keydown", (e) => {
      const pan = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[
        e.key
      ];
      if (pan && e.shiftKey) {
        this.panX += pan[0] * 0.06;
        this.panY += pan[1] * 0.06;
        this.paint();
      } else if (pan) this.step(pan[0] + pan[1] < 0 ? 1 : -1);
      else if (e.key === "+" || e.key === "=") this.zoomAt(1.4);
      else if (e.key === "-") this.zoomAt(1 / 1.4);
      else if (e.key === "0") {
        this.fit();
        this.paint();
      } else if (e.key === "a") this.zoomToAttack();
      else if (e.key === "Enter" && this.chosen)
        this.bench.tell({ open: this.chosen.node ?? Number(this.chosen.edge.split("-")[0]) });
      else if (e.key === "Escape" && this.chosen) this.choose(null);
      else return;
      e.preventDefault();
      e.stopPropagation();
    });
  }

  // What is on the screen, for tests: read from what was drawn last, not from what was sent.
  read() {
    return {
      version: this.version,
      zoom: this.zoom,
      pan: [this.panX, this.panY],
      chosen: this.chosen,
      colour: this.colour,
      selection: this.selection,
      legend: [...this.legend.querySelectorAll("li")].map((item) => item.textContent),
      panels: this.panels.map((panel) => ({
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
    clearTimeout(this.telling);
    clearTimeout(this.counting);
    clearTimeout(this.resting);
    clearTimeout(this.hinting);
    this.panels.forEach((panel) => panel.end());
  }
}
