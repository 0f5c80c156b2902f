// The whole graph on a 2-D canvas: zoom, pan, hover, click, legend, keyboard. Names only ever become text nodes.

const decode = (text, Type) => {
  const bytes = Uint8Array.from(atob(text || ""), (c) => c.charCodeAt(0));
  return new Type(bytes.buffer, 0, Math.floor(bytes.length / Type.BYTES_PER_ELEMENT));
};

const shapes = {
  circle: (c, x, y, r) => { c.moveTo(x + r, y); c.arc(x, y, r, 0, 6.2832); },
  square: (c, x, y, r) => { c.rect(x - r * 0.9, y - r * 0.9, r * 1.8, r * 1.8); },
  "triangle-up": (c, x, y, r) => polygon(c, x, y, r * 1.15, [[0, -1], [0.9, 0.7], [-0.9, 0.7]]),
  "triangle-down": (c, x, y, r) => polygon(c, x, y, r * 1.15, [[0, 1], [0.9, -0.7], [-0.9, -0.7]]),
  diamond: (c, x, y, r) => polygon(c, x, y, r * 1.25, [[0, -1], [0.85, 0], [0, 1], [-0.85, 0]]),
  cross: (c, x, y, r) => polygon(c, x, y, r, [[-0.35, -1], [0.35, -1], [0.35, -0.35], [1, -0.35], [1, 0.35],
    [0.35, 0.35], [0.35, 1], [-0.35, 1], [-0.35, 0.35], [-1, 0.35], [-1, -0.35], [-0.35, -0.35]]),
  x: (c, x, y, r) => polygon(c, x, y, r, [[-1, -0.6], [-0.6, -1], [0, -0.4], [0.6, -1], [1, -0.6], [0.4, 0],
    [1, 0.6], [0.6, 1], [0, 0.4], [-0.6, 1], [-1, 0.6], [-0.4, 0]]),
};
function polygon(c, x, y, r, points) {
  points.forEach(([px, py], i) => (i ? c.lineTo(x + px * r, y + py * r) : c.moveTo(x + px * r, y + py * r)));
  c.closePath();
}
const shape = (name) => shapes[name] || shapes.circle;

class View {
  constructor(root) {
    this.root = root;
    this.stage = root.querySelector(".stage");
    this.canvas = root.querySelector(".stage canvas");
    this.tip = root.querySelector(".tip");
    this.live = root.querySelector(".live");
    this.legend = root.querySelector(".legend");
    this.context = this.canvas.getContext("2d");
    this.zoom = 1; this.panX = 0; this.panY = 0; this.hover = -1; this.focus = -1; this.pointers = new Map(); this.version = "";
    this.listen();
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.stage);
    // A change of theme changes inherited colours without any event of ours.
    this.timer = setInterval(() => { if (this.ink() !== this.lastInk) this.paint(); }, 700);
    this.canvas.certcorePosition = (node) => this.place(node);
  }

  ink() { return getComputedStyle(this.root).color; }

  update(data, send) {
    this.send = send;
    this.data = data;
    this.revision = (this.revision || 0) + 1;
    this.stage.style.height = `min(${data.height}px, 72vh)`;
    if (data.version !== this.version) {
      this.version = data.version;
      this.xy = decode(data.positions, Uint16Array);
      this.edges = decode(data.edges, Uint32Array);
      this.index();
      this.fit();
    }
    this.dot = Math.max(1.5, Math.min(6, 2.9 * Math.sqrt(2500 / (this.xy.length / 2 + 300))));
    this.group = decode(data.group, Uint8Array);
    this.size = decode(data.size, Float32Array);
    this.marks = decode(data.marks, Uint8Array);
    this.deleted = decode(data.deleted, Uint32Array);
    this.amount = decode(data.amount, Float32Array);
    this.tour = data.tour || [];
    this.canvas.setAttribute("aria-label", data.alt);
    this.drawLegend();
    this.resize();
    if (data.centre >= 0 && data.centre !== this.centred) this.goTo(data.centre);
    this.centred = data.centre;
  }

  index() {
    const cells = new Map();
    for (let i = 0; i < this.xy.length / 2; i++) {
      const key = (this.xy[2 * i] >> 10) * 64 + (this.xy[2 * i + 1] >> 10);
      if (!cells.has(key)) cells.set(key, []);
      cells.get(key).push(i);
    }
    this.cells = cells;
  }

  fit() { this.zoom = 1; this.panX = 0; this.panY = 0; }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    const { width, height } = this.stage.getBoundingClientRect();
    if (!width) return;
    this.width = width; this.height = height;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    this.ratio = ratio;
    this.paint();
  }

  // The picture has one shape wherever it is shown, here as in every export: only its size depends on the room.
  scaleY() { return (Math.min((this.width - 40) / this.data.aspect, this.height - 40) / 65535) * this.zoom; }
  scaleX() { return this.scaleY() * this.data.aspect; }
  toX(v) { return this.width / 2 + (v - 32767.5) * this.scaleX() + this.panX; }
  toY(v) { return this.height / 2 + (v - 32767.5) * this.scaleY() + this.panY; }
  place(node) { return [this.toX(this.xy[2 * node]), this.toY(this.xy[2 * node + 1])]; }
  radius(node) { return Math.min(15, this.dot * (0.7 + 0.3 * Math.sqrt(this.zoom)) * this.size[node]); }

  paint() {
    if (this.queued || !this.data) return;
    this.queued = true;
    requestAnimationFrame(() => { this.queued = false; this.draw(); });
  }

  // Edges and nodes are kept as a picture of their own: hovering only draws a ring over it, and while a large graph
  // is moved or zoomed that picture is moved along and drawn anew when the hand rests.
  draw() {
    if (!this.width) return;
    const ink = this.ink(), look = [this.width, this.height, this.ratio, ink, this.revision].join();
    this.lastInk = ink;
    clearTimeout(this.later);
    const old = this.drawn;
    const moved = !old || old.look !== look || old.zoom !== this.zoom || old.panX !== this.panX || old.panY !== this.panY;
    if (moved && old && old.look === look && this.edges.length / 2 + this.group.length > 15000) {
      this.later = setTimeout(() => { this.drawGraph(look); this.compose(); }, 150);
    } else if (moved) this.drawGraph(look);
    this.compose();
  }

  compose() {
    const c = this.context, { width, height, drawn } = this, k = this.zoom / drawn.zoom;
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    c.clearRect(0, 0, width, height);
    const left = width / 2 + this.panX - (width / 2 + drawn.panX) * k, top = height / 2 + this.panY - (height / 2 + drawn.panY) * k;
    c.drawImage(this.picture, left, top, width * k, height * k);
    for (const i of [this.hover, this.focus]) if (i >= 0) this.ring(c, i, this.lastInk, 4, 1.5);
    this.canvas.dataset.ready = this.version;
  }

  drawGraph(look) {
    const { width, height, xy } = this, ink = this.lastInk;
    this.picture ||= document.createElement("canvas");
    if (this.picture.width !== this.canvas.width || this.picture.height !== this.canvas.height) {
      this.picture.width = this.canvas.width; this.picture.height = this.canvas.height;
    }
    this.drawn = { look, zoom: this.zoom, panX: this.panX, panY: this.panY };
    const c = this.picture.getContext("2d");
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    c.clearRect(0, 0, width, height);
    const n = xy.length / 2, px = new Float32Array(n), py = new Float32Array(n);
    for (let i = 0; i < n; i++) { px[i] = this.toX(xy[2 * i]); py[i] = this.toY(xy[2 * i + 1]); }
    c.strokeStyle = ink;
    // Where many edges cross they add up: the more there are, the fainter each of them.
    const faint = Math.min(1, 5000 / (this.edges.length / 2 + 1));
    c.globalAlpha = Math.min(0.45, 0.13 * Math.sqrt(this.zoom) * Math.max(faint, 0.15) + 300 / (this.edges.length + 2000));
    c.lineWidth = 0.7;
    // Many short paths: one path with all edges takes many times as long to fill in.
    let inPath = 0;
    c.beginPath();
    for (let e = 0; e < this.edges.length; e += 2) {
      const a = this.edges[e], b = this.edges[e + 1], ax = px[a], ay = py[a], bx = px[b], by = py[b];
      if ((ax < 0 && bx < 0) || (ay < 0 && by < 0) || (ax > width && bx > width) || (ay > height && by > height)) continue;
      c.moveTo(ax, ay); c.lineTo(bx, by);
      if (++inPath === 100) { c.stroke(); c.beginPath(); inPath = 0; }
    }
    c.stroke();
    for (const shown of [false, true]) {
      this.data.groups.forEach((group, g) => {
        c.fillStyle = group.colour === "ink" ? ink : group.colour;
        c.globalAlpha = shown ? 0.95 : 0.12;
        const path = shape(group.shape);
        inPath = 0;
        c.beginPath();
        for (let i = 0; i < n; i++) {
          if (this.group[i] !== g || Boolean(this.marks[i] & 1) !== shown) continue;
          const x = px[i], y = py[i];
          if (x < -20 || y < -20 || x > width + 20 || y > height + 20) continue;
          path(c, x, y, this.radius(i));
          if (++inPath === 100) { c.fill(); c.beginPath(); inPath = 0; }
        }
        c.fill();
      });
    }
    // Over the nodes: in a dense graph nothing would be seen of them below.
    for (let d = 0; d < this.amount.length; d++) {
      c.globalAlpha = 0.35 + 0.65 * Math.min(1, this.amount[d]);
      c.strokeStyle = this.data.deletedColour; c.lineWidth = 2.5; c.setLineDash([6, 4]);
      c.beginPath(); c.moveTo(...this.place(this.deleted[2 * d])); c.lineTo(...this.place(this.deleted[2 * d + 1])); c.stroke();
    }
    c.setLineDash([]);
    c.globalAlpha = 1;
    for (let i = 0; i < this.marks.length; i++) {
      if (this.marks[i] & 2) this.ring(c, i, ink, 3, 2);
      if (this.marks[i] & 4) { this.ring(c, i, this.data.protectedColour, 3, 2.5); this.ring(c, i, this.data.protectedColour, 7, 1); }
      if (this.marks[i] & 8) this.ring(c, i, this.data.selectedColour, 5, 3);
    }
  }

  ring(c, node, colour, gap, line) {
    const [x, y] = this.place(node);
    c.strokeStyle = colour; c.lineWidth = line;
    c.beginPath(); c.arc(x, y, this.radius(node) + gap, 0, 6.2832); c.stroke();
  }

  nearest(x, y, within) {
    let best = -1, bestDistance = within * within;
    // The graph has few nodes near the pointer: look only into cells that touch the circle around it.
    const reachX = within / this.scaleX(), reachY = within / this.scaleY();
    const gx = (x - this.width / 2 - this.panX) / this.scaleX() + 32767.5, gy = (y - this.height / 2 - this.panY) / this.scaleY() + 32767.5;
    for (let cx = Math.max(0, (gx - reachX) >> 10); cx <= Math.min(63, (gx + reachX) >> 10); cx++) {
      for (let cy = Math.max(0, (gy - reachY) >> 10); cy <= Math.min(63, (gy + reachY) >> 10); cy++) {
        for (const i of this.cells.get(cx * 64 + cy) || []) {
          const [px, py] = this.place(i);
          const distance = (px - x) ** 2 + (py - y) ** 2 - (this.marks[i] & 1 ? 9 : 0);
          if (distance < bestDistance) { best = i; bestDistance = distance; }
        }
      }
    }
    return best;
  }

  describe(node) {
    const name = this.data.names ? this.data.names[node] : `node ${node}`;
    const lines = [name, this.data.groups[this.group[node]].label];
    const extra = this.data.extra[node];
    if (extra) lines.push(extra);
    if (this.marks[node] & 4) lines.push("protected");
    if (this.marks[node] & 2) lines.push("controlled by the attacker");
    return lines.join("\n");
  }

  showTip(node, x, y) {
    if (node < 0) { this.tip.style.display = "none"; return; }
    this.tip.textContent = this.describe(node);
    this.tip.style.display = "block";
    this.tip.style.left = `${Math.min(x + 14, this.width - this.tip.offsetWidth - 6)}px`;
    this.tip.style.top = `${Math.max(4, Math.min(y + 14, this.height - this.tip.offsetHeight - 6))}px`;
  }

  zoomAt(factor, x = this.width / 2, y = this.height / 2) {
    const next = Math.max(0.5, Math.min(60, this.zoom * factor)), ratio = next / this.zoom;
    this.panX = x - this.width / 2 - (x - this.width / 2 - this.panX) * ratio;
    this.panY = y - this.height / 2 - (y - this.height / 2 - this.panY) * ratio;
    this.zoom = next;
    this.paint();
  }

  goTo(node) {
    if (!(node >= 0 && node < this.group.length)) return;
    this.focus = node;
    this.zoom = Math.max(this.zoom, 5);
    const [x, y] = this.place(node);
    this.panX += this.width / 2 - x; this.panY += this.height / 2 - y;
    this.paint();
    this.live.textContent = this.describe(node);
    if (this.root.contains(this.root.getRootNode().activeElement)) this.showTip(node, this.width / 2, this.height / 2);
  }

  step(by) {
    const stops = this.tour.length ? this.tour : [...this.group.keys()];
    const at = stops.indexOf(this.focus);
    this.goTo(stops[(at + by + stops.length) % stops.length]);
  }

  choose(node) { if (node >= 0) this.send("clicked", { node, at: Date.now() }); }

  listen() {
    const c = this.canvas, at = (e) => { const box = c.getBoundingClientRect(); return [e.clientX - box.left, e.clientY - box.top]; };
    c.addEventListener("pointerdown", (e) => {
      c.focus({ preventScroll: true }); c.setPointerCapture(e.pointerId);
      this.pointers.set(e.pointerId, at(e)); this.travel = 0; this.pinch = null;
    });
    c.addEventListener("pointermove", (e) => {
      const [x, y] = at(e), old = this.pointers.get(e.pointerId);
      if (!old) {
        const node = this.nearest(x, y, 12);
        c.classList.toggle("over", node >= 0);
        if (node !== this.hover) { this.hover = node; this.paint(); }
        this.showTip(node, x, y);
        return;
      }
      this.pointers.set(e.pointerId, [x, y]);
      const points = [...this.pointers.values()];
      if (points.length === 2) {
        const distance = Math.hypot(points[0][0] - points[1][0], points[0][1] - points[1][1]);
        if (this.pinch) this.zoomAt(distance / this.pinch, (points[0][0] + points[1][0]) / 2, (points[0][1] + points[1][1]) / 2);
        this.pinch = distance; this.travel = 99;
        return;
      }
      this.travel += Math.abs(x - old[0]) + Math.abs(y - old[1]);
      if (this.travel > 4) { c.classList.add("moving"); this.panX += x - old[0]; this.panY += y - old[1]; this.showTip(-1); this.paint(); }
    });
    const up = (e) => {
      const [x, y] = at(e);
      if (this.pointers.delete(e.pointerId) && this.travel <= 4 && e.type === "pointerup") this.choose(this.nearest(x, y, e.pointerType === "touch" ? 22 : 12));
      c.classList.remove("moving");
    };
    c.addEventListener("pointerup", up);
    c.addEventListener("pointercancel", up);
    c.addEventListener("pointerleave", () => { if (this.hover >= 0) { this.hover = -1; this.paint(); } this.showTip(-1); });
    c.addEventListener("wheel", (e) => {
      // Scrolling the page must stay possible: the wheel zooms only when the graph has the focus.
      if (!e.ctrlKey && this.root.getRootNode().activeElement !== c) return;
      e.preventDefault();
      this.zoomAt(Math.exp(-e.deltaY * 0.0015), ...at(e));
    }, { passive: false });
    c.addEventListener("keydown", (e) => {
      const pan = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] }[e.key];
      if (pan) { this.panX += pan[0]; this.panY += pan[1]; this.paint(); }
      else if (e.key === "+" || e.key === "=") this.zoomAt(1.4);
      else if (e.key === "-") this.zoomAt(1 / 1.4);
      else if (e.key === "0") { this.fit(); this.paint(); }
      else if (e.key === "n") this.step(1);
      else if (e.key === "p") this.step(-1);
      else if (e.key === "Enter" || e.key === " ") this.choose(this.focus >= 0 ? this.focus : this.hover);
      else if (e.key === "Escape") { this.focus = -1; this.showTip(-1); this.paint(); }
      else return;
      e.preventDefault(); e.stopPropagation();
    });
    const [inward, outward, whole] = this.root.querySelectorAll(".buttons button");
    inward.onclick = () => this.zoomAt(1.6);
    outward.onclick = () => this.zoomAt(1 / 1.6);
    whole.onclick = () => { this.fit(); this.paint(); };
  }

  drawLegend() {
    const entries = this.data.groups.map((g) => ({ ...g })).filter((g) => g.count !== 0);
    const marks = this.data.markLegend || [];
    const items = [...entries, ...marks].map((entry) => {
      const item = document.createElement("li"), sample = document.createElement("canvas"), label = document.createElement("span");
      sample.width = sample.height = 32; sample.setAttribute("aria-hidden", "true");
      const c = sample.getContext("2d"), colour = entry.colour === "ink" ? this.ink() : entry.colour;
      c.fillStyle = c.strokeStyle = colour; c.lineWidth = 4; c.beginPath();
      if (entry.line) { c.setLineDash([7, 5]); c.moveTo(0, 16); c.lineTo(32, 16); c.stroke(); }
      else if (entry.ring) { c.arc(16, 16, 11, 0, 6.2832); c.stroke(); if (entry.ring > 1) { c.lineWidth = 2; c.beginPath(); c.arc(16, 16, 15, 0, 6.2832); c.stroke(); } }
      else { shape(entry.shape)(c, 16, 16, 11); c.fill(); }
      label.textContent = entry.count === undefined ? entry.label : `${entry.label} (${entry.count.toLocaleString("en")})`;
      item.append(sample, label);
      return item;
    });
    this.legend.replaceChildren(...items);
  }

  end() { this.observer.disconnect(); clearInterval(this.timer); clearTimeout(this.later); }
}

export default function (component) {
  const root = component.parentElement.querySelector(".graph");
  if (!root.certcoreView) root.certcoreView = new View(root);
  root.certcoreView.update(component.data, component.setTriggerValue);
  return () => { root.certcoreView?.end(); root.certcoreView = null; };
}
