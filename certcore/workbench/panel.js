// One picture of the graph, on a single canvas: edges, and over them marks (nodes, and what the attack does to them: sites
// ringed, with number and name). It is kept when something is drawn over it: what the pointer or a choice lights up, with
// the rest faded. While a large graph is moved its picture is moved along. The edges are kept when another attack comes.
// Passing over a node that nothing reaches moves a ring over it and draws nothing.

// How much is left of what is not lit.
const FADED = 0.25;
class Panel {
  constructor(owner) {
    this.owner = owner;
    this.figure = element("figure", "panel");
    this.caption = element("figcaption", "caption");
    this.kept = Object.fromEntries(
      ["edges", "marks", "whole", "faded"].map((name) => [name, element("canvas")]),
    );
    this.told = null;
    this.canvas = element("canvas", "top");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.halo = element("div", "halo");
    this.tip = element("div", "tip");
    this.tip.setAttribute("role", "tooltip");
    this.box = element("div", "box");
    this.box.append(this.canvas, this.halo, this.tip);
    this.figure.append(this.caption, this.box);
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
  get graph() {
    return this.owner.graph;
  }
  // Factors and offsets of the camera, kept until it moves: thousands of places are asked for in every frame.
  camera() {
    const o = this.owner,
      old = this.seenFrom;
    if (
      old &&
      old.zoom === o.zoom &&
      old.panX === o.panX &&
      old.panY === o.panY &&
      old.room === this.room0 &&
      old.graph === o.graph
    )
      return old;
    const room = this.room0,
      [mx, my] = this.middle(),
      sy =
        (Math.min((room.right - room.left) / o.graph.aspect, room.bottom - room.top) / 65535) *
        o.zoom,
      sx = sy * o.graph.aspect;
    const x0 = mx - 32767.5 * sx + o.panX * this.width,
      y0 = my - 32767.5 * sy + o.panY * this.width;
    return (this.seenFrom = {
      sx,
      sy,
      x0,
      y0,
      zoom: o.zoom,
      panX: o.panX,
      panY: o.panY,
      room,
      graph: o.graph,
    });
  }
  middle() {
    const room = this.room0;
    return [(room.left + room.right) / 2, (room.top + room.bottom) / 2];
  }
  scaleY() {
    return this.camera().sy;
  }
  scaleX() {
    return this.camera().sx;
  }
  place(node) {
    const { sx, sy, x0, y0 } = this.camera(),
      { xy, n } = this.owner.graph,
      [x, y] = node < n ? [xy[2 * node], xy[2 * node + 1]] : this.attack.newPlace(node);
    return [x0 + x * sx, y0 + y * sy];
  }
  // Smaller pictures have smaller marks.
  room() {
    return Math.max(0.65, Math.min(1, this.width / 620));
  }
  dot() {
    return (
      this.room() *
      Math.max(1.2, Math.min(3.6, 2.1 * Math.sqrt(2500 / (this.graph.n + 300)))) *
      (0.6 + 0.4 * Math.sqrt(this.owner.zoom))
    );
  }
  anchor(s) {
    const [ax, ay] = this.place(this.attack.ends[2 * s]),
      [bx, by] = this.place(this.attack.ends[2 * s + 1]);
    return [(ax + bx) / 2, (ay + by) / 2];
  }
  siteRadius(s) {
    const flips = this.attack.flips[s],
      few = this.attack.count <= 40 ? 1 : this.attack.count <= 150 ? 0.8 : 0.65;
    return (
      few *
      Math.max(0.75, this.room()) *
      (this.attack.isEdge(s)
        ? 9
        : flips < 1
          ? 7 + 4 * flips
          : Math.min(24, 8.4 + 3.2 * Math.sqrt(flips)))
    );
  }

  resize() {
    const ratio = window.devicePixelRatio || 1,
      { width, height } = this.box.getBoundingClientRect();
    if (!width) return false;
    this.width = width;
    this.height = height;
    this.ratio = ratio;
    const room = this.owner.free(width, height);
    if (JSON.stringify(room) !== JSON.stringify(this.room0)) {
      this.room0 = room;
      this.drawn = this.spots = null;
    }
    for (const c of [...Object.values(this.kept), this.canvas]) {
      if (c.width !== Math.round(width * ratio) || c.height !== Math.round(height * ratio)) {
        c.width = Math.round(width * ratio);
        c.height = Math.round(height * ratio);
        this.drawn = this.edgeKey = null;
      }
    }
    return true;
  }

  // --- drawing ---
  draw() {
    if (!this.attack || (!this.width && !this.resize())) return;
    const o = this.owner,
      look = [o.ink, o.paper, o.colour].join(),
      old = this.drawn;
    const moved =
      !old ||
      old.look !== look ||
      old.zoom !== o.zoom ||
      old.panX !== o.panX ||
      old.panY !== o.panY;
    clearTimeout(this.later);
    // While a large graph is moved its picture is moved along, and drawn anew when the hand rests.
    if (moved && old && old.look === look && this.graph.edges.length / 2 + this.graph.n > 15000) {
      // Edges that are still on their way belong to a picture that is being left.
      if (this.unfinished) {
        this.unfinished = null;
        this.edgeKey = null;
      }
      this.later = setTimeout(() => {
        this.drawQuiet(look);
        this.compose();
      }, 130);
    } else if (moved) this.drawQuiet(look);
    const lit = this.lit(),
      now = [this.drawn, o.zoom, o.panX, o.panY, o.chosen, o.selection, lit];
    if (
      o.hand ||
      this.hadHand ||
      !this.composed ||
      now.some((value, i) => value !== this.composed[i])
    )
      this.compose(lit);
    this.composed = now;
    this.hadHand = o.hand;
    this.haloAt(
      o.hover && o.hover.node !== undefined && o.siteIn(this.attack, o.hover) < 0
        ? o.hover.node
        : -1,
    );
    this.canvas.dataset.ready = o.version;
  }

  // The ring at the node below the pointer: an element of its own, so that the picture need not be put together again.
  haloAt(node) {
    const { style } = this.halo;
    if (node < 0) {
      style.display = "none";
      return;
    }
    const [x, y] = this.place(node),
      r = this.lostRadius() + 3.25;
    style.display = "block";
    style.width = style.height = `${2 * r}px`;
    style.transform = `translate(${x - r}px, ${y - r}px)`;
  }

  // Words beside the pointer, towards the middle of the picture: so nothing has to be measured before it is placed.
  tell(text, x, y) {
    const { tip, width, height } = this,
      { style } = tip;
    if (text !== this.told) {
      this.told = text;
      tip.textContent = text ?? "";
      style.display = text === null ? "none" : "block";
    }
    if (text === null) return;
    const right = x < width / 2,
      down = y < height / 2,
      room = (right ? width - x : x) - 20;
    style.left = right ? `${x + 14}px` : "auto";
    style.right = right ? "auto" : `${width - x + 14}px`;
    style.top = down ? `${y + 14}px` : "auto";
    style.bottom = down ? "auto" : `${height - y + 14}px`;
    style.maxWidth = `${Math.min(280, room)}px`;
  }

  // What is on the screen: the picture, shifted and scaled from where it was drawn to where the camera is now and faded
  // where something is lit, and over it what the pointer or a choice lights up.
  compose(lit = this.lit()) {
    const { width, height, ratio, drawn, owner: o } = this,
      k = o.zoom / drawn.zoom;
    // Freshly drawn, with nothing over it: it is on the screen already.
    if (
      this.direct &&
      !lit &&
      !o.chosen &&
      !o.selection.length &&
      !o.hand &&
      k === 1 &&
      o.panX === drawn.panX &&
      o.panY === drawn.panY
    ) {
      this.litSeen = null;
      return;
    }
    const [mx, my] = this.middle(),
      picture = lit ? this.faded() : this.whole(),
      left = mx + o.panX * width - (mx + drawn.panX * width) * k,
      top = my + o.panY * width - (my + drawn.panY * width) * k;
    const c = this.clean(this.canvas, true),
      exact = (value) => Math.round(value * ratio) / ratio;
    // Whole pixels: shifted by a part of one, every pixel would have to be mixed.
    if (k === 1) c.drawImage(picture, exact(left), exact(top), width, height);
    else c.drawImage(picture, left, top, width * k, height * k);
    this.litSeen = lit ? drawAttack(this, c, lit) : null;
    drawChoice(this, c, lit);
    if (this.owner.hand?.panel === this) this.owner.hand.draw(c);
  }

  onto(canvas, solid = true) {
    const c = canvas.getContext("2d", { alpha: !solid });
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    c.globalAlpha = 1;
    return c;
  }
  // A canvas to draw on: empty, or the paper's colour, which nothing shines through.
  clean(canvas, solid = false) {
    const c = this.onto(canvas, solid);
    if (solid) {
      c.fillStyle = this.owner.paper;
      c.fillRect(0, 0, this.width, this.height);
    } else c.clearRect(0, 0, this.width, this.height);
    return c;
  }
  // The picture without anything over it: taken from the screen when something is to be drawn there.
  whole() {
    const { whole } = this.kept;
    if (this.direct) {
      this.onto(whole).drawImage(this.canvas, 0, 0, this.width, this.height);
      this.direct = false;
    }
    return whole;
  }
  // The picture as it looks below what is lit; kept, because every step of the pointer asks for it.
  faded() {
    const { faded } = this.kept,
      whole = this.whole();
    if (!this.isFaded) {
      const c = this.clean(faded, true);
      c.globalAlpha = FADED;
      c.drawImage(whole, 0, 0, this.width, this.height);
      this.isFaded = true;
    }
    return faded;
  }
  // The kept edges on the screen, as the ground for what covers them.
  ground() {
    const c = this.onto(this.canvas);
    c.drawImage(this.kept.edges, 0, 0, this.width, this.height);
    return c;
  }

  drawQuiet(look) {
    const o = this.owner,
      { xy, n } = this.graph;
    this.drawn = { look, zoom: o.zoom, panX: o.panX, panY: o.panY };
    const px = new Float32Array(n),
      py = new Float32Array(n),
      { sx, sy, x0, y0 } = this.camera();
    for (let i = 0; i < n; i++) {
      px[i] = x0 + xy[2 * i] * sx;
      py[i] = y0 + xy[2 * i + 1] * sy;
    }
    // Another attack or colouring leaves the edges as they are. They are kept when they are asked for again, or come in parts.
    const key = [
      o.version,
      sx,
      sy,
      x0,
      y0,
      o.ink,
      o.paper,
      this.canvas.width,
      this.canvas.height,
    ].join();
    const keep = key === this.seenKey || this.graph.edges.length / 2 > EDGES_AT_ONCE;
    this.seenKey = key;
    if (keep && key !== this.edgeKey) {
      this.edgeKey = key;
      drawEdges(this, this.clean(this.kept.edges, true), px, py);
    }
    // Where edges are still to come, what covers them is kept apart until the last of them is drawn.
    const c = this.unfinished
      ? this.clean(this.kept.marks)
      : keep
        ? this.ground()
        : this.clean(this.canvas, true);
    if (!keep) drawEdges(this, c, px, py);
    drawNodes(this, c, px, py);
    this.attackSeen = drawAttack(this, c, null);
    if (this.unfinished) this.cover();
    this.direct = true;
    this.isFaded = false;
  }
  cover() {
    this.ground().drawImage(this.kept.marks, 0, 0, this.width, this.height);
    this.direct = true;
    this.isFaded = false;
  }

  // What is highlighted: a hovered or chosen site with its reach, or a target with the sites that reach it. Passing over a
  // node that nothing reaches is no reason to fade everything else, nor is passing over a target on the way.
  lit() {
    const { hover, chosen, rests } = this.owner;
    const over =
      hover && (rests || this.owner.siteIn(this.attack, hover) >= 0) ? this.litBy(hover) : null;
    return over?.sites.length ? over : chosen ? this.litBy(chosen) : null;
  }
  // The same object for the same choice, so that it is seen whether anything has changed.
  litBy(at) {
    const { attack } = this,
      known = this.litOf;
    if (known && known.at === at && known.attack === attack) return known.lit;
    this.litOf = { at, attack, lit: this.reachOf(at) };
    return this.litOf.lit;
  }
  reachOf(at) {
    const { attack } = this,
      site = this.owner.siteIn(attack, at);
    if (site >= 0)
      return {
        site,
        sites: [site],
        reached: Array.from(attack.reachedBy(site)),
        broken: attack.brokenBy(site),
      };
    if (at.node === undefined || attack.slot[at.node] === undefined) return null;
    const sites = attack.slot[at.node] >= 0 ? attack.sitesOf(at.node) : [];
    return {
      site: -1,
      target: at.node,
      sites,
      reached: [at.node],
      broken: attack.state[at.node] === LOST ? [at.node] : [],
    };
  }

  // What is on the screen, from what was drawn: the attack, and over it what is lit.
  get readBack() {
    const all = this.attackSeen,
      lit = this.litSeen;
    if (!all || !lit) return all;
    const on = new Map(lit.sites.map((site) => [site.site, site]));
    return {
      ...lit,
      lost: all.lost,
      sites: all.sites.map((site) => on.get(site.site) ?? { ...site, alpha: FADED }),
    };
  }

  lostRadius() {
    const { length } = this.attack.lost,
      least = length > 1000 ? 1.8 : length < 60 ? 4 : 2.6;
    return Math.max(this.room() * least, this.dot() * 1.45);
  }

  // --- what is under the pointer: marks first, then nodes ---
  siteAt(x, y) {
    let best = -1,
      near = 1e9;
    (this.spots || []).forEach(([sx, sy], s) => {
      const distance = Math.hypot(sx - x, sy - y);
      if (distance < this.siteRadius(s) + 3 && distance < near) {
        best = s;
        near = distance;
      }
    });
    return best;
  }
  nodeAt(x, y, within) {
    let best = -1,
      least = within * within;
    const reachX = within / this.scaleX(),
      reachY = within / this.scaleY();
    const { xy } = this.graph,
      { start, nodes } = cellsOf(this.graph),
      { sx, sy, x0, y0 } = this.camera(),
      gx = (x - x0) / sx,
      gy = (y - y0) / sy;
    for (let cx = Math.max(0, (gx - reachX) >> 10); cx <= Math.min(63, (gx + reachX) >> 10); cx++) {
      for (
        let cy = Math.max(0, (gy - reachY) >> 10);
        cy <= Math.min(63, (gy + reachY) >> 10);
        cy++
      ) {
        for (let k = start[cx * 64 + cy]; k < start[cx * 64 + cy + 1]; k++) {
          const i = nodes[k],
            dx = x0 + xy[2 * i] * sx - x,
            dy = y0 + xy[2 * i + 1] * sy - y;
          const distance = dx * dx + dy * dy - (this.attack.state[i] === LOST ? 9 : 0);
          if (distance < least) {
            best = i;
            least = distance;
          }
        }
      }
    }
    return best;
  }
  at(x, y, touch) {
    for (const node of this.attack.changed) {
      const [nx, ny] = this.place(node);
      if (Math.abs(nx - x) <= CHANGED + 1 && Math.abs(ny - y) <= CHANGED + 1)
        return { node, as: "target" };
    }
    const s = this.siteAt(x, y);
    if (s >= 0) return this.owner.asChoice(this.attack, s);
    const node = this.nodeAt(x, y, touch ? 22 : 10);
    return node >= 0 ? { node } : null;
  }
  end() {
    clearTimeout(this.later);
    clearTimeout(this.slice);
    this.unfinished = null;
  }
}
