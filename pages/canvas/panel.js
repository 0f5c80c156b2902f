// One picture of the graph: a quiet layer that is kept (edges, nodes that nothing happens to) and, over it, drawn anew
// for every frame, what the attack does. Sites stand on top, ringed, with their number and name.

class Panel {
  constructor(owner) {
    this.owner = owner;
    this.figure = element("figure", "panel");
    this.caption = element("figcaption", "caption");
    this.canvas = element("canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.tip = element("div", "tip");
    this.tip.setAttribute("role", "tooltip");
    this.box = element("div", "box");
    this.box.append(this.canvas, this.tip);
    this.figure.append(this.caption, this.box);
    this.context = this.canvas.getContext("2d");
    this.edgePicture = document.createElement("canvas");
    this.nodePicture = document.createElement("canvas");
  }

  show(attack) {
    this.attack = attack;
    this.drawn = null;
    this.caption.textContent = attack.title || "";
    this.caption.hidden = !attack.title;
    this.canvas.setAttribute("aria-label", attack.alt);
    // Which way a mark is pushed must not depend on what was shown before.
    this.spots = null;
  }

  // --- from the graph to the screen: one camera for all pictures ---
  get graph() { return this.owner.graph; }
  scaleY() { return (Math.min((this.width - 56) / this.graph.aspect, this.height - 56) / 65535) * this.owner.zoom; }
  scaleX() { return this.scaleY() * this.graph.aspect; }
  toX(v) { return this.width / 2 + (v - 32767.5) * this.scaleX() + this.owner.panX * this.width; }
  toY(v) { return this.height / 2 + (v - 32767.5) * this.scaleY() + this.owner.panY * this.width; }
  place(node) { return [this.toX(this.graph.xy[2 * node]), this.toY(this.graph.xy[2 * node + 1])]; }
  // Smaller pictures have smaller marks.
  room() { return Math.max(0.65, Math.min(1, this.width / 620)); }
  dot() { return this.room() * Math.max(1.2, Math.min(3.6, 2.1 * Math.sqrt(2500 / (this.graph.n + 300)))) * (0.75 + 0.25 * Math.sqrt(this.owner.zoom)); }
  anchor(s) {
    const [ax, ay] = this.place(this.attack.ends[2 * s]), [bx, by] = this.place(this.attack.ends[2 * s + 1]);
    return [(ax + bx) / 2, (ay + by) / 2];
  }
  siteRadius(s) {
    const flips = this.attack.flips[s], few = this.attack.count <= 40 ? 1 : this.attack.count <= 150 ? 0.8 : 0.65;
    return few * Math.max(0.8, this.room()) * (this.attack.isEdge(s) ? 8 : flips < 1 ? 6 + 4 * flips : Math.min(24, 8 + 3.2 * Math.sqrt(flips)));
  }

  resize() {
    const ratio = window.devicePixelRatio || 1, { width, height } = this.box.getBoundingClientRect();
    if (!width) return false;
    this.width = width; this.height = height; this.ratio = ratio;
    for (const c of [this.canvas, this.edgePicture, this.nodePicture]) {
      if (c.width !== Math.round(width * ratio) || c.height !== Math.round(height * ratio)) {
        c.width = Math.round(width * ratio); c.height = Math.round(height * ratio); this.drawn = null;
      }
    }
    return true;
  }

  // --- drawing ---
  draw() {
    if (!this.attack || (!this.width && !this.resize())) return;
    const o = this.owner, look = [o.ink, o.colour, o.edgeStrength].join(), old = this.drawn;
    const moved = !old || old.look !== look || old.zoom !== o.zoom || old.panX !== o.panX || old.panY !== o.panY;
    clearTimeout(this.later);
    // While a large graph is moved its picture is moved along, and drawn anew when the hand rests.
    if (moved && old && old.look === look && this.graph.edges.length / 2 + this.graph.n > 15000) {
      this.later = setTimeout(() => { this.drawQuiet(look); this.compose(); }, 130);
    } else if (moved) this.drawQuiet(look);
    this.compose();
  }

  clean(canvas) {
    const c = canvas.getContext("2d");
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    c.clearRect(0, 0, this.width, this.height);
    return c;
  }

  drawQuiet(look) {
    const o = this.owner, { xy, n } = this.graph;
    this.drawn = { look, zoom: o.zoom, panX: o.panX, panY: o.panY };
    const px = new Float32Array(n), py = new Float32Array(n), sx = this.scaleX(), sy = this.scaleY(), x0 = this.toX(0), y0 = this.toY(0);
    for (let i = 0; i < n; i++) { px[i] = x0 + xy[2 * i] * sx; py[i] = y0 + xy[2 * i + 1] * sy; }
    this.drawNodes(this.clean(this.nodePicture), px, py);
    // Another attack or colouring leaves the edges as they are.
    const key = [o.version, o.zoom, o.panX, o.panY, o.ink, o.edgeStrength, this.canvas.width, this.canvas.height].join();
    if (key === this.edgeKey) return;
    this.edgeKey = key;
    this.drawEdges(this.clean(this.edgePicture), px, py);
  }

  drawEdges(c, px, py) {
    const { owner: o, width, height } = this, { edges } = this.graph, token = (this.token = {});
    if (!o.edgeStrength) return;
    const many = edges.length / 2;
    // Where many edges cross they add up: the more there are, the fainter each of them.
    c.strokeStyle = o.ink; c.lineWidth = 0.7;
    c.globalAlpha = Math.min(0.5, o.edgeStrength * (0.09 * Math.sqrt(o.zoom) * Math.max(Math.min(1, 5000 / (many + 1)), 0.15) + 120 / (many + 2000)));
    const stroke = (from, to, step) => {
      let inPath = 0;
      c.beginPath();
      for (let e = 2 * from; e < 2 * to; e += 2 * step) {
        const a = edges[e], b = edges[e + 1], ax = px[a], ay = py[a], bx = px[b], by = py[b];
        if ((ax < 0 && bx < 0) || (ay < 0 && by < 0) || (ax > width && bx > width) || (ay > height && by > height)) continue;
        c.moveTo(ax, ay); c.lineTo(bx, by);
        // Many short paths: one path with all edges takes many times as long to fill in.
        if (++inPath === 100) { c.stroke(); c.beginPath(); inPath = 0; }
      }
      c.stroke();
    };
    if (many <= 60000) { stroke(0, many, 1); return; }
    // Too many for one breath: some at a time, while the hand rests.
    let at = 0;
    const next = () => {
      if (this.token !== token) return;
      const until = performance.now() + 14;
      while (at < many && performance.now() < until) { stroke(at, Math.min(many, at + 2000), 1); at += 2000; }
      this.compose();
      if (at < many) this.slice = setTimeout(next, 16);
    };
    this.slice = setTimeout(next, 30);
  }

  drawNodes(c, px, py) {
    const { owner: o, attack, width, height } = this, looks = o.looks(attack), dot = this.dot();
    looks.forEach((look, g) => {
      c.fillStyle = look.colour; c.globalAlpha = look.alpha;
      const path = shape(look.shape), r = dot * look.scale, tiny = r < 1.7;
      let inPath = 0;
      c.beginPath();
      for (let i = 0; i < this.graph.n; i++) {
        if (looks.of[i] !== g) continue;
        const x = px[i], y = py[i];
        if (x < -20 || y < -20 || x > width + 20 || y > height + 20) continue;
        if (tiny) { c.fillRect(x - r * 0.9, y - r * 0.9, r * 1.8, r * 1.8); continue; }
        path(c, x, y, r);
        if (++inPath === 100) { c.fill(); c.beginPath(); inPath = 0; }
      }
      c.fill();
    });
    c.globalAlpha = 1;
  }

  compose() {
    const c = this.context, { width, height, drawn, owner: o } = this, k = o.zoom / drawn.zoom;
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    c.globalAlpha = 1;
    c.clearRect(0, 0, width, height);
    const left = width / 2 + o.panX * width - (width / 2 + drawn.panX * width) * k, top = height / 2 + o.panY * width - (height / 2 + drawn.panY * width) * k;
    const lit = this.lit();
    c.globalAlpha = lit ? 0.3 : 1;
    c.drawImage(this.edgePicture, left, top, width * k, height * k);
    c.drawImage(this.nodePicture, left, top, width * k, height * k);
    c.globalAlpha = 1;
    this.drawAttack(c, lit);
    this.drawHand(c);
    this.canvas.dataset.ready = o.version;
  }

  // What is highlighted: a chosen (or hovered) site with its reach, or a target with the sites that reach it.
  lit() {
    const at = this.owner.hover || this.owner.chosen, { attack } = this;
    if (!at) return null;
    const site = this.owner.siteIn(attack, at);
    if (site >= 0) return { site, sites: [site], reached: Array.from(attack.reachedBy(site)), broken: attack.brokenBy(site) };
    if (at.node === undefined || attack.slot[at.node] === undefined) return null;
    const sites = attack.slot[at.node] >= 0 ? attack.sitesOf(at.node) : [];
    return { site: -1, target: at.node, sites, reached: [at.node], broken: attack.state[at.node] === LOST ? [at.node] : [] };
  }

  drawAttack(c, lit) {
    const { owner: o, attack } = this, dot = this.dot(), lostRadius = Math.max(attack.lost.length > 1000 ? 1.8 : 2.6, dot * 1.45);
    this.spread();
    const seen = this.readBack = { sites: [], lines: 0, lost: attack.lost.length, highlighted: lit ? Array.from(lit.broken) : null, reached: lit ? Array.from(lit.reached) : null, lit: lit ? lit.sites.slice() : null, labels: [] };
    // From each site to the labels it breaks.
    const connect = (s, nodes, alpha, line) => {
      const [x, y] = this.spots[s];
      c.strokeStyle = o.colourOf(attack.kind[s]); c.globalAlpha = alpha; c.lineWidth = line;
      c.beginPath();
      for (const node of nodes) { const [tx, ty] = this.place(node); c.moveTo(x, y); c.lineTo(tx, ty); seen.lines++; }
      c.stroke();
    };
    if (lit) lit.sites.forEach((s) => connect(s, lit.target === undefined ? lit.broken : [lit.target], 0.75, 1.3));
    else if (!attack.relaxed && !attack.everyField) {
      const links = attack.breaks.reduce((sum, number) => sum + number, 0), alpha = Math.min(0.5, 90 / (links + 60) + 0.1);
      for (let s = 0; s < attack.count && seen.lines < 12000; s++) connect(s, attack.brokenBy(s), alpha, 0.8);
    }
    // Targets that lose their certificate: squares, whatever the colour says.
    const fill = o.colour === "state" || o.colour === "margin" || attack.relaxed ? null : o.looks(attack);
    const squares = (nodes, alpha) => {
      c.globalAlpha = alpha; c.lineWidth = fill ? 1.8 : 1; c.strokeStyle = fill ? o.lostColour : o.paper;
      for (const node of nodes) {
        const [x, y] = this.place(node);
        if (x < -20 || y < -20 || x > this.width + 20 || y > this.height + 20) continue;
        c.fillStyle = fill ? fill.colourOf(node) : o.lostColour;
        c.beginPath(); c.rect(x - lostRadius, y - lostRadius, 2 * lostRadius, 2 * lostRadius); c.fill(); c.stroke();
      }
    };
    if (attack.relaxed) this.drawShares(c, lit, lostRadius);
    else {
      squares(attack.lost, lit ? 0.16 : 1);
      if (lit) {
        c.globalAlpha = 0.9; c.lineWidth = 1.4; c.strokeStyle = o.ink;
        for (const node of lit.reached) if (attack.state[node] !== LOST) { const [x, y] = this.place(node); c.beginPath(); c.arc(x, y, lostRadius + 0.5, 0, 6.2832); c.stroke(); }
        squares(lit.broken, 1);
      }
    }
    this.drawEdgeSites(c, lit);
    this.drawMarks(c, lit, lostRadius);
    const taken = [];
    const order = [...Array(attack.count).keys()].reverse().sort((a, b) => Number(lit && lit.sites.includes(a)) - Number(lit && lit.sites.includes(b)));
    for (const s of order) this.drawSite(c, s, lit && !lit.sites.includes(s) ? 0.22 : 1, seen, taken);
    this.drawNames(c, lit, seen, taken, lostRadius);
    c.globalAlpha = 1;
  }

  // The relaxed adversary: every target by the fraction u by which it is broken.
  drawShares(c, lit, radius) {
    const { attack, owner: o } = this, wanted = lit ? new Set(lit.reached) : null;
    c.lineWidth = 0.8; c.strokeStyle = o.paper;
    for (let i = 0; i < this.graph.n; i++) {
      const u = attack.broken[i];
      if (!(u > 1e-6) || attack.state[i] === BEFORE) continue;
      const [x, y] = this.place(i);
      c.globalAlpha = !wanted || wanted.has(i) ? 1 : 0.16;
      c.fillStyle = mix(o.shareScale, u);
      c.beginPath(); c.rect(x - radius, y - radius, 2 * radius, 2 * radius); c.fill(); c.stroke();
    }
    if (wanted) { c.globalAlpha = 0.9; c.strokeStyle = o.ink; for (const i of wanted) if (!(attack.broken[i] > 1e-6)) { const [x, y] = this.place(i); c.beginPath(); c.arc(x, y, radius, 0, 6.2832); c.stroke(); } }
  }

  // A deleted edge is a thick dashed line, an added one a thick solid one.
  drawEdgeSites(c, lit) {
    const { attack, owner: o } = this;
    for (let s = 0; s < attack.count; s++) {
      if (!attack.isEdge(s)) continue;
      c.strokeStyle = o.colourOf(attack.kind[s]); c.lineWidth = 3.4;
      c.globalAlpha = (lit && !lit.sites.includes(s) ? 0.2 : 1) * (0.4 + 0.6 * Math.min(1, attack.flips[s]));
      c.setLineDash(attack.kind[s] === 3 ? [7, 4] : []);
      c.beginPath(); c.moveTo(...this.place(attack.ends[2 * s])); c.lineTo(...this.place(attack.ends[2 * s + 1])); c.stroke();
    }
    c.setLineDash([]);
  }

  // Controlled and protected nodes; those that spend nothing are quieter.
  drawMarks(c, lit, radius) {
    const { attack, owner: o } = this, touched = new Set(attack.ends);
    const ring = (node, colour, gap, line, alpha) => {
      const [x, y] = this.place(node);
      c.globalAlpha = lit ? alpha * 0.4 : alpha; c.strokeStyle = colour; c.lineWidth = line;
      c.beginPath(); c.arc(x, y, radius + gap, 0, 6.2832); c.stroke();
    };
    attack.controlled.forEach((node, i) => ring(node, o.ink, 3, touched.has(node) ? 2 : 1.2, touched.has(node) ? 1 : 0.45 * Math.min(1, 0.4 + attack.share[i])));
    attack.protected.forEach((node) => { ring(node, o.protectedColour, 2.5, 2.2, 1); ring(node, o.protectedColour, 6, 1, 1); });
    for (const node of o.selection) ring(node, o.selectedColour, 1.5, 2, 1);
    if (o.chosen && o.chosen.node !== undefined && o.siteIn(attack, o.chosen) < 0) ring(o.chosen.node, o.selectedColour, 4, 3, 1);
  }

  // Marks of sites push each other apart, so that hubs do not sit on each other; a thin line leads to the place.
  spread() {
    const { attack, owner: o } = this, key = [o.zoom, o.panX, o.panY, this.width, this.height].join();
    if (this.spots && this.spotKey === key) return;
    this.spotKey = key;
    const at = Array.from({ length: attack.count }, (_, s) => this.anchor(s)), spots = at.map(([x, y]) => [x, y]);
    const radius = at.map((_, s) => this.siteRadius(s) + 2);
    for (let round = 0; round < (attack.count <= 400 ? 40 : 0); round++) {
      let still = true;
      for (let a = 0; a < spots.length; a++) for (let b = a + 1; b < spots.length; b++) {
        let dx = spots[b][0] - spots[a][0], dy = spots[b][1] - spots[a][1];
        const need = radius[a] + radius[b], distance = Math.hypot(dx, dy);
        if (distance >= need) continue;
        if (distance < 0.01) { dx = Math.cos(a + b); dy = Math.sin(a + b); }
        const push = (need - distance) / 2 / (Math.hypot(dx, dy) || 1);
        spots[a][0] -= dx * push; spots[a][1] -= dy * push; spots[b][0] += dx * push; spots[b][1] += dy * push;
        still = false;
      }
      if (still) break;
    }
    this.spots = spots; this.anchors = at;
  }

  drawSite(c, s, alpha, seen, taken) {
    const { attack, owner: o } = this, [x, y] = this.spots[s], [ax, ay] = this.anchors[s], r = this.siteRadius(s);
    const colour = o.colourOf(attack.kind[s]), text = amount(attack.flips[s]);
    c.globalAlpha = alpha;
    if (Math.hypot(x - ax, y - ay) > r) {
      c.strokeStyle = colour; c.lineWidth = 1.6; c.beginPath(); c.moveTo(ax, ay); c.lineTo(x, y); c.stroke();
      c.fillStyle = colour; c.beginPath(); c.arc(ax, ay, 3, 0, 6.2832); c.fill();
    }
    // The paper's own ring keeps neighbouring marks and lines off.
    c.fillStyle = o.paper; c.beginPath(); c.arc(x, y, r + 1.5, 0, 6.2832); c.fill();
    c.strokeStyle = colour; c.lineWidth = Math.max(2.2, r / 4.5);
    c.beginPath(); c.arc(x, y, r - 1, 0, 6.2832); c.stroke();
    const size = Math.max(8, Math.min(17, (text.length > 2 ? 1.05 : 1.25) * r));
    c.font = `700 ${size}px ${o.font}`; c.textAlign = "center"; c.textBaseline = "middle";
    c.fillStyle = o.ink; c.fillText(text, x, y + size * 0.05);
    taken.push([x - r - 1, y - r - 1, x + r + 1, y + r + 1]);
    seen.sites.push({ site: s, ends: [attack.ends[2 * s], attack.ends[2 * s + 1]], name: o.siteName(attack, s), text, flips: attack.flips[s], amounts: Array.from(attack.amounts.subarray(4 * s, 4 * s + 4)), kind: attack.kind[s], colour, x, y, radius: r, alpha });
  }

  // Names beside marks, the largest first, each only where it covers nothing.
  drawNames(c, lit, seen, taken, radius) {
    const { attack, owner: o } = this;
    const put = (text, x, y, r, size, colour, must) => {
      c.font = `600 ${size}px ${o.font}`;
      const w = c.measureText(text).width, h = size + 2, gap = 3;
      const spots = [[x + r + gap, y - h / 2], [x - r - gap - w, y - h / 2], [x - w / 2, y - r - gap - h], [x - w / 2, y + r + gap], [x + r * 0.8, y - r - h], [x + r * 0.8, y + r], [x - r * 0.8 - w, y - r - h], [x - r * 0.8 - w, y + r]];
      const free = (bx, by) => bx > 2 && by > 2 && bx + w < this.width - 2 && by + h < this.height - 2 && !taken.some(([l, t, rr, b]) => bx < rr && bx + w > l && by < b && by + h > t);
      const spot = spots.find(([bx, by]) => free(bx, by)) || (must ? spots[0] : null);
      if (!spot) return;
      taken.push([spot[0] - 1, spot[1] - 1, spot[0] + w + 1, spot[1] + h + 1]);
      c.textAlign = "left"; c.textBaseline = "top"; c.lineJoin = "round";
      c.strokeStyle = o.paper; c.lineWidth = 3.5; c.strokeText(text, spot[0], spot[1] + 1);
      c.fillStyle = colour; c.fillText(text, spot[0], spot[1] + 1);
      seen.labels.push({ text, box: [spot[0], spot[1], spot[0] + w, spot[1] + h] });
    };
    const sites = lit ? lit.sites : [...Array(attack.count).keys()];
    c.globalAlpha = 1;
    for (const s of sites.slice(0, 120)) {
      const [x, y] = this.spots[s];
      if (x < 0 || y < 0 || x > this.width || y > this.height) continue;
      const share = lit && lit.target !== undefined ? `: ${attack.spent(s)}` : "";
      put(o.siteName(attack, s) + share, x, y, this.siteRadius(s), 12, o.ink, lit && lit.sites.length === 1);
    }
    // What the broken ones received and needed, where there is room; a chosen target always.
    if (lit) for (const node of lit.target !== undefined ? [lit.target] : lit.broken.slice(0, 150)) {
      const [x, y] = this.place(node), name = lit.target !== undefined ? `${o.nodeName(node)}: ` : "";
      put(name + (attack.shareOf(node) || (lit.target !== undefined ? o.stateName(attack, node) : "")), x, y, radius + 1, 11, o.ink, lit.target !== undefined);
    }
  }

  drawHand(c) {
    const { hand } = this.owner;
    if (!hand || hand.panel !== this || hand.path.length < 2) return;
    c.globalAlpha = 1; c.strokeStyle = this.owner.ink; c.lineWidth = 1.4; c.setLineDash([4, 3]);
    c.beginPath();
    hand.outline().forEach(([x, y], i) => (i ? c.lineTo(x, y) : c.moveTo(x, y)));
    c.closePath(); c.stroke(); c.setLineDash([]);
    c.globalAlpha = 0.08; c.fillStyle = this.owner.ink; c.fill();
    c.globalAlpha = 1;
  }

  // --- what is under the pointer: marks first, then nodes ---
  siteAt(x, y) {
    let best = -1, near = 1e9;
    (this.spots || []).forEach(([sx, sy], s) => {
      const distance = Math.hypot(sx - x, sy - y);
      if (distance < this.siteRadius(s) + 3 && distance < near) { best = s; near = distance; }
    });
    return best;
  }
  nodeAt(x, y, within) {
    let best = -1, least = within * within;
    const reachX = within / this.scaleX(), reachY = within / this.scaleY();
    const gx = (x - this.toX(0)) / this.scaleX(), gy = (y - this.toY(0)) / this.scaleY();
    for (let cx = Math.max(0, (gx - reachX) >> 10); cx <= Math.min(63, (gx + reachX) >> 10); cx++) {
      for (let cy = Math.max(0, (gy - reachY) >> 10); cy <= Math.min(63, (gy + reachY) >> 10); cy++) {
        for (const i of this.graph.cells.get(cx * 64 + cy) || []) {
          const [px, py] = this.place(i);
          const distance = (px - x) ** 2 + (py - y) ** 2 - (this.attack.state[i] === LOST ? 9 : 0);
          if (distance < least) { best = i; least = distance; }
        }
      }
    }
    return best;
  }
  at(x, y, touch) {
    const s = this.siteAt(x, y);
    if (s >= 0) return this.owner.asChoice(this.attack, s);
    const node = this.nodeAt(x, y, touch ? 22 : 10);
    return node >= 0 ? { node } : null;
  }
  end() { clearTimeout(this.later); clearTimeout(this.slice); this.token = null; }
}
