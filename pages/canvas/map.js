// The attack map: one camera and one choice for all pictures, by pointer, touch and keyboard.

class AttackMap {
  constructor(root) {
    this.root = root;
    for (const name of ["sentence", "further", "stage", "list", "detail", "legend", "live"]) this[name] = root.querySelector(`.${name}`);
    this.panels = []; this.attacks = []; this.selection = []; this.pointers = new Map(); this.sent = [];
    this.zoom = 1; this.panX = 0; this.panY = 0; this.hover = null; this.chosen = null; this.mode = "move"; this.edgeStrength = 1; this.version = ""; this.touched = 0; this.sort = "flips"; this.given = "null";
    this.player = new Player(this);
    this.buttons();
    this.observer = new ResizeObserver(() => { this.panels.forEach((panel) => panel.resize()); countBelow(this); this.paint(); });
    this.observer.observe(this.stage); this.observer.observe(this.list);
    // A change of theme changes inherited colours without any event of ours.
    this.timer = setInterval(() => { if (this.data && this.theme()) { this.beside(); this.paint(); } }, 700);
    this.arrived = (version) => { if (this.data && version === this.data.version && !this.graph) this.update(this.data, this.send); };
    shelf().waiting.add(this.arrived);
    shelf().map = () => this.read();
    shelf().mapView = this;
  }

  theme() {
    const style = getComputedStyle(this.root), ink = style.color, paper = style.getPropertyValue("--st-background-color").trim() || "#fff";
    if (ink === this.ink && paper === this.paper) return false;
    this.ink = ink; this.paper = paper; this.font = style.fontFamily || "sans-serif";
    const bright = (ink.match(/\d+(\.\d+)?/g) || [0]).slice(0, 3).reduce((sum, v) => sum + Number(v), 0) > 380;
    this.grey = bright ? "#69727E" : "#B3BAC4"; this.darkGrey = bright ? "#97A1AD" : "#838C98"; this.dark = bright;
    this.lookCache = null;
    return true;
  }

  update(data, send) {
    this.send = send; this.data = data;
    const graph = shelf().graphs.get(data.version);
    if (!graph) { this.graph = null; return; }
    const fresh = this.version !== data.version;
    this.graph = graph; this.version = data.version; this.lookCache = null;
    Object.assign(this, { colour: data.colour, lostColour: data.colours.lost, protectedColour: data.colours.protected, typeColours: data.colours.types, marginTones: data.colours.margin, shareScale: data.colours.share, closeSteps: data.colours.close, states: data.states, counted: data.counted, only: data.only });
    this.root.style.setProperty("--map-height", `${data.height}px`);
    this.root.classList.toggle("several", data.attacks.length > 1);
    if (fresh) { this.fit(); this.selection = []; this.hover = null; }
    if (data.selection) this.selection = data.selection;
    this.theme();
    this.ready = data.attacks.map((one) => new Attack(one, graph));
    this.player.update(data.player || null);
    if (!this.player.active) this.showAttacks(this.ready);
    else this.showAttacks([this.player.attackAt(this.player.at)]);
    const given = JSON.stringify(data.chosen ?? null);
    if (given !== this.given && !this.sent.includes(given)) { this.chosen = data.chosen; if (data.chosen) this.goTo(data.chosen); this.beside(); }
    this.given = given;
    this.paint();
  }

  // Put these attacks on show, one picture each.
  showAttacks(attacks) {
    this.attacks = attacks;
    while (this.panels.length < attacks.length) { const panel = new Panel(this); this.panels.push(panel); this.stage.append(panel.figure); this.listen(panel); }
    while (this.panels.length > attacks.length) { const gone = this.panels.pop(); gone.end(); gone.figure.remove(); }
    this.panels.forEach((panel, i) => { panel.show(attacks[i]); panel.resize(); });
    this.beside();
    this.paint();
  }

  beside() {
    if (!this.attacks.length) return;
    // What is drawn anew are other buttons: whoever stood on one by keyboard stands on its successor.
    const held = this.held(), part = [this.sentence, this.further, this.list, this.detail].find((box) => box.contains(held));
    const at = part ? [...part.querySelectorAll("button, select")].indexOf(held) : -1;
    drawSentence(this); drawList(this); markList(this); drawDetail(this); drawLegend(this);
    if (at >= 0) part.querySelectorAll("button, select")[at]?.focus({ preventScroll: true });
  }
  held() { return this.root.getRootNode().activeElement; }

  // --- names and looks ---
  nodeName(node) { return this.graph.names ? this.graph.names[node] : `node ${node}`; }
  siteName(attack, s) {
    const a = attack.ends[2 * s], b = attack.ends[2 * s + 1];
    return a === b ? this.nodeName(a) : this.graph.names ? `${this.graph.names[a]} – ${this.graph.names[b]}` : `${a} – ${b}`;
  }
  stateName(attack, node) { return (attack.relaxed ? this.counted : this.states)[attack.state[node]]; }
  marginScale() { return this.marginTones[this.dark ? "dark" : "light"]; }
  colourOf(type) { return this.typeColours[type]; }
  siteIn(attack, at) {
    if (at.edge) { for (let s = 0; s < attack.count; s++) if (attack.isEdge(s) && `${attack.ends[2 * s]}-${attack.ends[2 * s + 1]}` === at.edge) return s; return -1; }
    return at.as === "target" ? -1 : attack.siteOf.get(at.node) ?? -1;
  }
  asChoice(attack, s) { const a = attack.ends[2 * s], b = attack.ends[2 * s + 1]; return a === b ? { node: a } : { edge: `${a}-${b}` }; }

  // How the nodes that nothing happens to look: quiet, by state, class, margin or correctness.
  looks(attack) {
    this.lookCache ||= new Map();
    const key = attack;
    if (this.lookCache.has(key)) return this.lookCache.get(key);
    const { graph, colour } = this, names = attack.relaxed ? this.counted : this.states, looks = [], of = new Uint8Array(graph.n);
    const add = (label, colourOf, shapeName, scale, alpha) => looks.push({ label, colour: colourOf, shape: shapeName, scale, alpha, count: 0 }) - 1;
    const counted = (i) => attack.state[i] !== LOST && !(attack.relaxed && attack.state[i] === PARTLY);
    const hidden = add("", this.grey, "circle", 0.8, 0.25), outside = add(names[NOT_A_TARGET], this.grey, "cross", 0.75, 0.6), before = add(names[BEFORE], this.darkGrey, "x", 1.15, 0.85);
    if (colour === "class" && graph.label) {
      const first = looks.length;
      graph.groups.forEach((group) => add(group.label, group.colour === "ink" ? this.ink : group.colour, group.shape, 1.05, 0.75));
      for (let i = 0; i < graph.n; i++) of[i] = first + graph.label[i];
    } else if (colour === "correct" && graph.right) {
      const [wrong, right, silent] = [add("label is wrong", "#E69F00", "triangle-up", 1.15, 0.9), add("label is right", "#56B4E9", "circle", 1, 0.7), add("abstains (counts as wrong)", this.darkGrey, "x", 1.15, 0.85)];
      for (let i = 0; i < graph.n; i++) of[i] = [wrong, right, silent][graph.right[i]];
    } else if (colour === "margin") {
      let most = 1;
      for (let i = 0; i < graph.n; i++) most = Math.max(most, attack.margin[i]);
      most = Math.min(most, 40);
      const first = looks.length, steps = Math.min(most, 11);
      for (let k = 0; k < steps; k++) add("", mix(this.marginScale(), steps > 1 ? k / (steps - 1) : 0), "circle", 1.15, 1);
      const never = add("no number of these flips", this.grey, "diamond", 1, 0.6);
      looks.bar = { low: "1", high: most === 40 ? "40 or more" : String(most) };
      for (let i = 0; i < graph.n; i++) {
        const m = attack.margin[i], state = attack.state[i];
        of[i] = state === NOT_A_TARGET ? outside : state === BEFORE ? before : m < 0 ? never : first + Math.min(steps - 1, Math.floor(((Math.max(1, Math.min(m, most)) - 1) / Math.max(1, most - 1)) * (steps - 1) + 0.5));
      }
    } else {
      // How close the rest is, in a few quiet steps, the closest on top; the shape says by whose word it is certified.
      const far = this.closeSteps.at(-1), steps = [...this.closeSteps, { ...far, label: "never" }], last = steps.length - 1, first = looks.length;
      // The step of every margin; the last entry stands for all that are larger.
      const stepOf = Array.from({ length: (steps.at(-3)?.most ?? 0) + 2 }, (_, margin) => steps.findIndex((one) => one.most === null || margin <= one.most));
      for (const step of [...steps].reverse()) { const tone = this.dark ? step.dark : step.light; add("", tone, "circle", 1, 1); add("", tone, "diamond", 1.1, 1); }
      for (let i = 0; i < graph.n; i++) {
        const state = attack.state[i], margin = attack.margin[i];
        if (state === NOT_A_TARGET || state === BEFORE) { of[i] = state === BEFORE ? before : outside; continue; }
        const step = margin < 0 ? last : stepOf[Math.min(margin, stepOf.length - 1)];
        of[i] = first + 2 * (last - step) + (state === ALONE ? 1 : 0);
      }
      looks.sum = () => {
        looks.farthest = attack.margin.reduce((most, margin, i) => (counted(i) && attack.state[i] !== BEFORE ? Math.max(most, margin) : most), 0);
        looks.close = steps.map((step, k) => ({ label: step.label, most: step.most, colour: looks[first + 2 * (last - k)].colour, count: looks[first + 2 * (last - k)].count + looks[first + 2 * (last - k) + 1].count }));
        const total = (odd) => steps.reduce((sum, _, k) => sum + looks[first + 2 * k + odd].count, 0), together = total(0), alone = total(1);
        looks[add(names[UNDECIDED], this.grey, "circle", 1, 1)].count = together;
        looks[add(names[ALONE], this.grey, "diamond", 1, 1)].count = alone;
      };
    }
    if (this.only.length) for (let i = 0; i < graph.n; i++) if (!this.only.includes(attack.state[i])) of[i] = hidden;
    for (let i = 0; i < graph.n; i++) if (counted(i) || colour === "class" || colour === "correct") looks[of[i]].count++;
    looks[hidden].count = 0;
    looks.sum?.();
    looks.of = of;
    // Nodes of each look, once: drawing asks for them again and again.
    const size = new Uint32Array(looks.length), filled = new Uint32Array(looks.length);
    for (let i = 0; i < graph.n; i++) size[of[i]]++;
    looks.members = Array.from(size, (number) => new Uint32Array(number));
    for (let i = 0; i < graph.n; i++) looks.members[of[i]][filled[of[i]]++] = i;
    looks.colourOf = (node) => looks[of[node]].colour;
    this.lookCache.set(key, looks);
    return looks;
  }

  // --- camera ---
  fit() { this.zoom = 1; this.panX = 0; this.panY = 0; }
  paint() {
    if (this.queued || !this.graph) return;
    this.queued = true;
    requestAnimationFrame(() => { this.queued = false; if (!this.graph) return; this.panels.forEach((panel) => panel.draw()); noteShapes(this); });
  }
  zoomAt(factor, x, y) {
    const { width, height } = this.panels[0], cx = x ?? width / 2, cy = y ?? height / 2;
    const next = Math.max(0.5, Math.min(60, this.zoom * factor)), ratio = next / this.zoom;
    this.panX = (cx - width / 2 - (cx - width / 2 - this.panX * width) * ratio) / width;
    this.panY = (cy - height / 2 - (cy - height / 2 - this.panY * width) * ratio) / width;
    this.zoom = next;
    this.paint();
  }
  // Bring places of the graph into view, as large as they fit.
  frame(nodes, least, most) {
    const panel = this.panels[0];
    if (!nodes.length || !panel.width) return;
    const xs = nodes.map((i) => this.graph.xy[2 * i]).sort((a, b) => a - b), ys = nodes.map((i) => this.graph.xy[2 * i + 1]).sort((a, b) => a - b);
    const span = (v) => [v[0], v[v.length - 1]], [lx, hx] = span(xs), [ly, hy] = span(ys);
    this.fit();
    const sx = panel.scaleX(), sy = panel.scaleY();
    this.zoom = Math.max(least, Math.min(most, (panel.width - 110) / Math.max(1, (hx - lx) * sx), (panel.height - 110) / Math.max(1, (hy - ly) * sy)));
    this.panX = (-((lx + hx) / 2 - 32767.5) * sx * this.zoom) / panel.width;
    this.panY = (-((ly + hy) / 2 - 32767.5) * sy * this.zoom) / panel.width;
    this.paint();
  }
  zoomToAttack() {
    // Where it is spent and what it breaks, without the few that lie far out.
    const hit = this.attacks.flatMap((attack) => [...attack.ends]), lost = this.attacks[0].lost, xy = this.graph.xy;
    if (!hit.length) return;
    const inner = (axis) => { const v = lost.map((i) => xy[2 * i + axis]).sort((a, b) => a - b); return [v[Math.floor(v.length * 0.05)] ?? -1, v[Math.floor(v.length * 0.95)] ?? 1e9]; };
    const [lx, hx] = inner(0), [ly, hy] = inner(1);
    this.frame([...hit, ...lost.filter((i) => xy[2 * i] >= lx && xy[2 * i] <= hx && xy[2 * i + 1] >= ly && xy[2 * i + 1] <= hy)], 1, 12);
  }
  goTo(at) {
    const attack = this.attacks[0];
    if (!attack) return;
    const nodes = at.edge ? at.edge.split("-").map(Number) : [at.node], s = this.siteIn(attack, at);
    if (nodes.some((i) => !(i >= 0 && i < this.graph.n))) return;
    this.frame([...nodes, ...(s >= 0 ? attack.brokenBy(s).slice(0, 400) : [])], 1, 5);
  }

  // --- choosing ---
  point(at) {
    const old = this.hover;
    if (at === old || (at && old && at.node === old.node && at.edge === old.edge && at.as === old.as)) return;
    this.hover = at;
    // A pointer on its way passes over many targets: what reaches one is lit when it rests there.
    this.rests = false;
    clearTimeout(this.resting);
    if (at) this.resting = setTimeout(() => { this.rests = true; this.paint(); }, 90);
    this.paint();
  }
  choose(at, move = false) {
    this.chosen = at;
    this.hover = null;
    const inside = this.detail.contains(this.held());
    markList(this); drawDetail(this);
    if (inside) (this.detail.querySelector("button") ?? this.panels[0].canvas).focus({ preventScroll: true });
    if (at && move) this.goTo(at);
    const attack = this.attacks[0], s = at ? this.siteIn(attack, at) : -1;
    this.live.textContent = !at ? "Nothing chosen" : s >= 0 ? `${this.siteName(attack, s)}: ${attack.spent(s)}; ${attack.story(s)}` : this.describe(attack, at);
    this.paint();
    if (!this.send) return;
    // The page hears of it when the hand rests: its tables follow, and the address.
    clearTimeout(this.telling);
    this.telling = setTimeout(() => { const said = JSON.stringify(at); this.sent = [...this.sent.slice(-5), said]; this.send("event", { chosen: at, at: Date.now() }); }, 450);
  }
  step(by) {
    const attack = this.attacks[0];
    if (!attack.count) return;
    const order = this.order(attack), at = this.chosen ? order.indexOf(this.siteIn(attack, this.chosen)) : -1;
    const next = at < 0 ? (by > 0 ? 0 : attack.count - 1) : (at + by + attack.count) % attack.count;
    this.choose(this.asChoice(attack, order[next]), true);
  }
  // Sites as they are listed and walked through: they arrive with most flips first.
  order(attack) {
    const all = [...Array(attack.count).keys()];
    return this.sort === "breaks" && !attack.relaxed ? all.sort((a, b) => attack.breaks[b] - attack.breaks[a]) : all;
  }
  describe(attack, at) {
    const s = this.siteIn(attack, at);
    if (s >= 0) {
      const lines = [this.siteName(attack, s), `hit: ${attack.spent(s)}`, `${attack.story(s)}${s < attack.listed ? "" : " (which ones is not shown for this many)"}`];
      if (at.node !== undefined) lines.push(`its own label: ${this.stateName(attack, at.node)}`);
      return lines.join("\n");
    }
    if (at.node === undefined) return `${at.edge}: not changed in this attack`;
    const lines = [this.nodeName(at.node), this.stateName(attack, at.node)], share = attack.shareOf(at.node), margin = attack.margin[at.node];
    if (attack.relaxed && attack.broken[at.node] > 0 && attack.state[at.node] !== BEFORE) lines.push(`counted by the fraction ${attack.broken[at.node].toPrecision(4)}`);
    if (share && attack.state[at.node] !== BEFORE) lines.push(`received ${share} needed${attack.surplus(at.node) ? `: ${some(attack.surplus(at.node), "flip", "flips")} more than it takes` : ""}`);
    if (margin > 0) lines.push(`${some(margin, "further flip", "further flips")} can leave it uncertified`);
    if (this.graph.label && this.graph.classes) lines.push(`predicted: ${this.graph.classes[this.graph.label[at.node]] ?? this.graph.label[at.node]}`);
    const control = attack.controlled.indexOf(at.node);
    if (control >= 0) lines.push(attack.share[control] < 1 ? `controlled by the attacker (share ${attack.share[control].toPrecision(3)}); spends nothing here` : "controlled by the attacker; spends no attribute flips here");
    if (attack.protected.includes(at.node)) lines.push("protected");
    return lines.join("\n");
  }
  showTip(panel, at, x, y) {
    for (const other of this.panels) if (other !== panel || !at) other.tell(null);
    if (at) panel.tell(this.describe(panel.attack, at), x, y);
  }
  select(nodes) {
    this.selection = nodes;
    this.point(null); this.showTip(null, null);
    drawLegend(this);
    this.paint();
    this.live.textContent = `${some(nodes.length, "node", "nodes")} selected`;
    if (this.send) this.send("event", { selected: nodes, at: Date.now() });
  }
  setMode(mode) {
    this.mode = mode;
    for (const button of this.root.querySelectorAll("[data-mode]")) button.setAttribute("aria-pressed", String(button.dataset.mode === mode));
    this.root.classList.toggle("drawing", mode !== "move");
  }

  buttons() {
    const on = (name, act) => { this.root.querySelector(name).onclick = act; };
    on(".previous", () => this.step(-1)); on(".next", () => this.step(1)); on(".attack", () => this.zoomToAttack());
    on(".whole", () => { this.fit(); this.paint(); }); on(".larger", () => this.zoomAt(1.5)); on(".smaller", () => this.zoomAt(1 / 1.5));
    for (const button of this.root.querySelectorAll("[data-mode]")) button.onclick = () => this.setMode(button.dataset.mode);
    this.root.querySelector(".side").onkeydown = (e) => { if (e.key === "Escape" && this.chosen) { this.choose(null); e.stopPropagation(); } };
    const edges = this.root.querySelector(".edges");
    edges.onchange = () => { this.edgeStrength = Number(edges.value); this.paint(); };
  }

  listen(panel) {
    const c = panel.canvas, at = (e) => { const box = c.getBoundingClientRect(); return [e.clientX - box.left, e.clientY - box.top]; };
    c.addEventListener("pointerdown", (e) => {
      c.focus({ preventScroll: true }); c.setPointerCapture(e.pointerId);
      const [x, y] = at(e);
      this.pointers.set(e.pointerId, [x, y]); this.travel = 0; this.pinch = null;
      if (this.mode !== "move" && this.pointers.size === 1) { this.hand = new Hand(panel, this.mode, x, y); this.point(null); this.showTip(panel, null); }
    });
    c.addEventListener("pointermove", (e) => {
      const [x, y] = at(e), old = this.pointers.get(e.pointerId);
      this.touched = performance.now();
      if (!old) {
        const found = panel.at(x, y, false);
        c.classList.toggle("over", Boolean(found));
        this.point(found);
        this.showTip(panel, found, x, y);
        return;
      }
      this.pointers.set(e.pointerId, [x, y]);
      if (this.hand) { this.hand.move(x, y); this.travel = 99; this.paint(); return; }
      const points = [...this.pointers.values()];
      if (points.length === 2) {
        const distance = Math.hypot(points[0][0] - points[1][0], points[0][1] - points[1][1]);
        if (this.pinch) this.zoomAt(distance / this.pinch, (points[0][0] + points[1][0]) / 2, (points[0][1] + points[1][1]) / 2);
        this.pinch = distance; this.travel = 99;
        return;
      }
      this.travel += Math.abs(x - old[0]) + Math.abs(y - old[1]);
      if (this.travel > 4) { c.classList.add("moving"); this.panX += (x - old[0]) / panel.width; this.panY += (y - old[1]) / panel.width; this.hover = null; this.showTip(panel, null); this.paint(); }
    });
    const up = (e) => {
      const [x, y] = at(e), known = this.pointers.delete(e.pointerId);
      c.classList.remove("moving");
      if (!known || e.type !== "pointerup") { this.hand = null; return; }
      if (this.hand && this.travel > 4) { const nodes = this.hand.nodes(); this.hand = null; this.select(nodes); return; }
      this.hand = null;
      if (this.travel <= 4) this.choose(panel.at(x, y, e.pointerType === "touch"));
    };
    c.addEventListener("pointerup", up);
    c.addEventListener("pointercancel", up);
    c.addEventListener("pointerleave", () => { this.point(null); this.showTip(panel, null); });
    c.addEventListener("dblclick", () => { const node = this.chosen?.node; if (node !== undefined && this.send) this.send("event", { open: node, at: Date.now() }); });
    c.addEventListener("wheel", (e) => {
      // Scrolling the page must stay possible: the wheel zooms only when the picture has the focus.
      if (!e.ctrlKey && this.held() !== c) return;
      e.preventDefault();
      this.zoomAt(Math.exp(-e.deltaY * 0.0015), ...at(e));
    }, { passive: false });
    c.addEventListener("keydown", (e) => {
      const pan = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[e.key];
      if (pan && e.shiftKey) { this.panX += pan[0] * 0.06; this.panY += pan[1] * 0.06; this.paint(); }
      else if (pan) this.step(pan[0] + pan[1] < 0 ? 1 : -1);
      else if (e.key === "+" || e.key === "=") this.zoomAt(1.4);
      else if (e.key === "-") this.zoomAt(1 / 1.4);
      else if (e.key === "0") { this.fit(); this.paint(); }
      else if (e.key === "a") this.zoomToAttack();
      else if (e.key === "Enter" && this.chosen && this.send) this.send("event", { open: this.chosen.node ?? Number(this.chosen.edge.split("-")[0]), at: Date.now() });
      else if (e.key === "Escape") this.choose(null);
      else return;
      e.preventDefault(); e.stopPropagation();
    });
  }

  // What is on the screen, for tests: read from what was drawn last, not from what was sent.
  read() {
    return {
      version: this.version, zoom: this.zoom, pan: [this.panX, this.panY], chosen: this.chosen, colour: this.colour, selection: this.selection, frame: this.player.active ? this.player.at : null,
      legend: [...this.legend.querySelectorAll("li:not(.title, .question)")].map((item) => item.textContent), sentence: `${this.sentence.textContent}${this.further.textContent}`,
      panels: this.panels.map((panel) => ({
        ...panel.readBack, title: panel.attack.title, relaxed: panel.attack.relaxed, size: [panel.width, panel.height], lostNodes: panel.attack.lost.slice(),
        close: this.looks(panel.attack).close ?? null, broken: panel.attack.broken ? Array.from(panel.attack.broken) : null, margin: Array.from(panel.attack.margin),
      })),
    };
  }
  place(node, panel = 0) { const box = this.panels[panel].canvas.getBoundingClientRect(), [x, y] = this.panels[panel].place(node); return [box.left + x, box.top + y]; }

  end() {
    this.observer.disconnect(); clearInterval(this.timer); clearTimeout(this.telling); clearTimeout(this.counting); clearTimeout(this.resting);
    this.panels.forEach((panel) => panel.end()); this.player.end();
    shelf().waiting.delete(this.arrived);
    if (shelf().mapView === this) { shelf().map = undefined; shelf().mapView = undefined; }
  }
}
