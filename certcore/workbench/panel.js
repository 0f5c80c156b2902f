// One picture of the graph, on a single canvas: edges, and over them marks (nodes, and what the attack does to them: sites
// ringed, with number and name). It is kept when something is drawn over it: what the pointer or a choice lights up, with
// the rest faded. While a large graph is moved its picture is moved along. The edges are kept when another attack comes.
// Passing over a node that nothing reaches moves a ring over it and draws nothing.

// How much is left of what is not lit.
const FADED = 0.25;
// How dark the shade is that selected nodes stand on.
const SELECTED = 0.22;
// From this radius on the shapes of nodes can be told apart.
// So many edges are drawn at once; more come in parts.
const BREATH = 60000;

// Push a spot off a line if it stands nearer than this; says whether it did.
function offLine(spot, [ax, ay, bx, by], need) {
  const ux = bx - ax,
    uy = by - ay,
    along = Math.max(
      0,
      Math.min(1, ((spot[0] - ax) * ux + (spot[1] - ay) * uy) / (ux * ux + uy * uy || 1)),
    );
  const dx = spot[0] - ax - along * ux,
    dy = spot[1] - ay - along * uy,
    distance = Math.hypot(dx, dy);
  if (distance >= need || distance < 0.01) return false;
  spot[0] += (dx / distance) * (need - distance);
  spot[1] += (dy / distance) * (need - distance);
  return true;
}

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
      look = [o.ink, o.paper, o.colour, o.edgeStrength].join(),
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
    this.litSeen = lit ? this.drawAttack(c, lit) : null;
    this.drawChoice(c, lit);
    this.drawHand(c);
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
      o.edgeStrength,
      this.canvas.width,
      this.canvas.height,
    ].join();
    const keep = key === this.seenKey || this.graph.edges.length / 2 > BREATH;
    this.seenKey = key;
    if (keep && key !== this.edgeKey) {
      this.edgeKey = key;
      this.drawEdges(this.clean(this.kept.edges, true), px, py);
    }
    // Where edges are still to come, what covers them is kept apart until the last of them is drawn.
    const c = this.unfinished
      ? this.clean(this.kept.marks)
      : keep
        ? this.ground()
        : this.clean(this.canvas, true);
    if (!keep) this.drawEdges(c, px, py);
    this.drawNodes(c, px, py);
    this.attackSeen = this.drawAttack(c, null);
    if (this.unfinished) this.cover();
    this.direct = true;
    this.isFaded = false;
  }
  cover() {
    this.ground().drawImage(this.kept.marks, 0, 0, this.width, this.height);
    this.direct = true;
    this.isFaded = false;
  }

  drawEdges(c, px, py) {
    const { owner: o, width, height } = this,
      { edges } = this.graph;
    this.unfinished = null;
    if (!o.edgeStrength) return;
    const many = edges.length / 2;
    // Where many edges cross they add up: the more there are, the fainter each of them.
    c.strokeStyle = o.ink;
    c.lineWidth = 0.7;
    c.globalAlpha = Math.min(
      0.5,
      o.edgeStrength *
        (0.09 * Math.sqrt(o.zoom) * Math.max(Math.min(1, 5000 / (many + 1)), 0.15) +
          120 / (many + 2000)),
    );
    const stroke = (from, to) => {
      let inPath = 0;
      c.beginPath();
      for (let e = 2 * from; e < 2 * to; e += 2) {
        const a = edges[e],
          b = edges[e + 1],
          ax = px[a],
          ay = py[a],
          bx = px[b],
          by = py[b];
        if (
          (ax < 0 && bx < 0) ||
          (ay < 0 && by < 0) ||
          (ax > width && bx > width) ||
          (ay > height && by > height)
        )
          continue;
        c.moveTo(ax, ay);
        c.lineTo(bx, by);
        // Many short paths: one path with all edges takes many times as long to fill in.
        if (++inPath === 100) {
          c.stroke();
          c.beginPath();
          inPath = 0;
        }
      }
      c.stroke();
    };
    if (many <= BREATH) {
      stroke(0, many);
      c.globalAlpha = 1;
      return;
    }
    // Too many for one breath: some at a time, while the hand rests. What the pointer asks for comes first.
    let at = 0;
    const token = (this.unfinished = {});
    const next = () => {
      if (this.unfinished !== token) return;
      // Nor while another attack or size is about to be drawn.
      if (performance.now() - o.touched < 100 || !this.drawn) {
        this.slice = setTimeout(next, 50);
        return;
      }
      stroke(at, Math.min(many, at + 10000));
      at += 10000;
      this.cover();
      this.compose();
      if (at < many) this.slice = setTimeout(next, 16);
      else this.unfinished = null;
    };
    this.slice = setTimeout(next, 30);
  }

  drawNodes(c, px, py) {
    const { owner: o, attack, width, height } = this,
      looks = o.looks(attack),
      dot = this.dot();
    looks.forEach((look, g) => {
      c.fillStyle = look.colour;
      c.globalAlpha = look.alpha;
      const path = shape(look.shape),
        r = dot * look.scale,
        tiny = r < 1.7;
      let inPath = 0;
      const outlined = look.edge && r > 2.4,
        paint = () => {
          c.fill();
          if (outlined) c.stroke();
        };
      if (outlined) {
        c.strokeStyle = look.edge;
        c.lineWidth = 1;
      }
      c.beginPath();
      for (const i of looks.members[g]) {
        const x = px[i],
          y = py[i];
        if (x < -20 || y < -20 || x > width + 20 || y > height + 20) continue;
        if (tiny) c.rect(x - r * 0.9, y - r * 0.9, r * 1.8, r * 1.8);
        else path(c, x, y, r);
        if (++inPath === 100) {
          paint();
          c.beginPath();
          inPath = 0;
        }
      }
      paint();
    });
    c.globalAlpha = 1;
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

  // The whole attack, or, where something is lit, that part of it alone; returns what was drawn.
  drawAttack(c, lit) {
    const { owner: o, attack } = this,
      lostRadius = this.lostRadius();
    this.spread();
    const seen = {
      sites: [],
      lines: 0,
      lost: attack.lost.length,
      highlighted: lit ? Array.from(lit.broken) : null,
      reached: lit ? Array.from(lit.reached) : null,
      lit: lit ? lit.sites.slice() : null,
      labels: [],
    };
    // From each site to the labels it breaks.
    const { sx, sy, x0, y0 } = this.camera(),
      { xy } = this.graph;
    const connect = (s, nodes, alpha, line) => {
      const [x, y] = this.spots[s];
      c.strokeStyle = o.lostColour;
      c.globalAlpha = alpha;
      c.lineWidth = line;
      let inPath = 0;
      c.beginPath();
      for (const node of nodes) {
        c.moveTo(x, y);
        c.lineTo(x0 + xy[2 * node] * sx, y0 + xy[2 * node + 1] * sy);
        seen.lines++;
        if (++inPath === 100) {
          c.stroke();
          c.beginPath();
          inPath = 0;
        }
      }
      c.stroke();
    };
    // Of the sites that reach a lost target only those that it is lost by.
    const joined = (s) =>
      lit.target === undefined
        ? lit.broken
        : lit.broken.length && !attack.helps(s, lit.target)
          ? []
          : [lit.target];
    if (lit) lit.sites.forEach((s) => connect(s, joined(s), 0.75, 1.3));
    else if (!attack.relaxed && !attack.everyField) {
      const links = attack.breaks.reduce((sum, number) => sum + number, 0),
        alpha = Math.min(0.65, 170 / (links + 180) + 0.1);
      // Not wider than a pixel: wider lines take many times as long.
      for (let s = 0; s < attack.count && seen.lines < 12000; s++)
        connect(s, attack.brokenBy(s), alpha, 1);
    }
    // Targets that lose their certificate: squares, whatever the colour says.
    const framed = o.colour === "class" || o.colour === "correct",
      shown = o.lighted ?? o.only;
    const squares = (nodes) => {
      const r = lostRadius,
        edge = framed ? 1.5 : 1,
        outer = r + edge / 2,
        inner = r - edge / 2;
      c.globalAlpha = shown.length && !shown.includes(LOST) ? 0.15 : 1;
      for (const node of nodes) {
        const x = x0 + xy[2 * node] * sx,
          y = y0 + xy[2 * node + 1] * sy;
        if (x < -20 || y < -20 || x > this.width + 20 || y > this.height + 20) continue;
        c.fillStyle = framed ? o.ink : o.paper;
        c.fillRect(x - outer, y - outer, 2 * outer, 2 * outer);
        c.fillStyle = attack.changed.has(node) ? o.tones.changed : o.lostColour;
        c.fillRect(x - inner, y - inner, 2 * inner, 2 * inner);
        if (!attack.changed.has(node)) continue;
        c.strokeStyle = o.paper;
        c.lineWidth = 1.4;
        const arm = inner * 0.62;
        c.beginPath();
        c.moveTo(x - arm, y - arm);
        c.lineTo(x + arm, y + arm);
        c.moveTo(x + arm, y - arm);
        c.lineTo(x - arm, y + arm);
        c.stroke();
      }
    };
    if (attack.relaxed) this.drawShares(c, lit, lostRadius);
    else if (lit) {
      const broken = new Set(lit.broken),
        looks = o.looks(attack),
        dot = this.dot();
      let inPath = 0;
      c.globalAlpha = 1;
      for (const node of lit.reached)
        if (!broken.has(node) && attack.state[node] !== LOST) {
          const look = looks[looks.of[node]],
            [x, y] = this.place(node);
          c.fillStyle = look.colour;
          c.beginPath();
          shape(look.shape)(c, x, y, dot * look.scale);
          c.fill();
        }
      c.globalAlpha = 0.6;
      c.lineWidth = 1.2;
      c.strokeStyle = o.ink;
      c.beginPath();
      for (const node of lit.reached) {
        if (broken.has(node)) continue;
        const [x, y] = this.place(node);
        c.moveTo(x + lostRadius + 0.5, y);
        c.arc(x, y, lostRadius + 0.5, 0, 6.2832);
        if (++inPath === 100) {
          c.stroke();
          c.beginPath();
          inPath = 0;
        }
      }
      c.stroke();
    }
    const sites = lit ? lit.sites : [...Array(attack.count).keys()];
    this.drawEdgeSites(c, sites);
    // Above the ends of lines and edges: what an added edge takes often stands at its end.
    if (!attack.relaxed) squares(lit ? lit.broken : attack.lost);
    if (!lit) this.drawMarks(c);
    const taken = [];
    for (const s of [...sites].reverse()) this.drawSite(c, s, 1, seen, taken);
    this.drawNames(c, lit, seen, taken, lostRadius);
    c.globalAlpha = 1;
    return seen;
  }
  lostRadius() {
    return Math.max(
      this.attack.lost.length > 1000 ? 1.8 : this.attack.lost.length < 60 ? 4 : 2.6,
      this.dot() * 1.45,
    );
  }

  // The relaxed adversary: every target by the fraction u by which it is broken.
  drawShares(c, lit, radius) {
    const { attack, owner: o } = this,
      nodes = lit ? lit.reached : attack.touched();
    c.globalAlpha = 1;
    for (const i of nodes) {
      const u = attack.broken[i];
      if (!(u > 1e-6) || attack.state[i] === BEFORE) continue;
      const [x, y] = this.place(i);
      c.fillStyle = o.paper;
      c.fillRect(x - radius - 0.5, y - radius - 0.5, 2 * radius + 1, 2 * radius + 1);
      c.fillStyle = mix(o.shareScale, u);
      c.fillRect(x - radius + 0.4, y - radius + 0.4, 2 * radius - 0.8, 2 * radius - 0.8);
    }
    if (lit) {
      c.globalAlpha = 0.9;
      c.lineWidth = 0.8;
      c.strokeStyle = o.ink;
      for (const i of nodes)
        if (!(attack.broken[i] > 1e-6)) {
          const [x, y] = this.place(i);
          c.beginPath();
          c.arc(x, y, radius, 0, 6.2832);
          c.stroke();
        }
    }
  }

  // A deleted edge is a thick dashed line, an added one a thick solid one.
  drawEdgeSites(c, sites) {
    const { attack, owner: o } = this;
    for (const s of sites) {
      if (!attack.isEdge(s)) continue;
      const [ax, ay] = this.place(attack.ends[2 * s]),
        [bx, by] = this.place(attack.ends[2 * s + 1]),
        length = Math.hypot(bx - ax, by - ay);
      c.beginPath();
      c.moveTo(ax, ay);
      c.lineTo(bx, by);
      // The paper's own margin keeps it apart from all that is crowded below.
      c.strokeStyle = o.paper;
      c.lineWidth = 6.5;
      c.globalAlpha = 0.85;
      c.setLineDash([]);
      c.stroke();
      c.strokeStyle = o.ink;
      c.lineWidth = 3.4;
      c.globalAlpha = 0.4 + 0.6 * Math.min(1, attack.flips[s]);
      // Also a short edge is seen to be dashed.
      const dash = Math.max(3, Math.min(7, length / 4));
      c.setLineDash(attack.kind[s] === 3 ? [dash, dash * 0.6] : []);
      c.stroke();
    }
    c.setLineDash([]);
  }

  // Controlled and protected nodes; those that spend nothing are quieter (one that spends has its ring around its mark).
  drawMarks(c) {
    const { attack, owner: o } = this,
      touched = new Set(attack.ends);
    attack.controlled.forEach((node, i) =>
      this.ring(
        c,
        node,
        o.ink,
        3,
        touched.has(node) ? 2 : 1.2,
        touched.has(node) ? 1 : 0.45 * Math.min(1, 0.4 + attack.share[i]),
      ),
    );
    attack.protected.forEach((node) => {
      this.ring(c, node, o.protectedColour, 2.5, 2.2, 1);
      this.ring(c, node, o.protectedColour, 6, 1, 1);
    });
  }
  // What was selected by hand, and the chosen node.
  drawChoice(c, lit) {
    const { attack, owner: o } = this;
    this.drawSelection(c, lit ? 0.1 : SELECTED);
    if (o.chosen && o.chosen.node !== undefined && o.siteIn(attack, o.chosen) < 0)
      this.ring(c, o.chosen.node, o.ink, 4, 2.5, 1);
    c.globalAlpha = 1;
  }
  // Selected nodes: one shade under all of them, however close they stand, and nothing over the marks of the attack.
  drawSelection(c, alpha) {
    const { owner: o } = this,
      r = this.lostRadius() + 4;
    if (!o.selection.length) return;
    c.save();
    c.beginPath();
    c.rect(0, 0, this.width, this.height);
    (this.spots || []).forEach(([x, y], s) => {
      const far = this.siteRadius(s) + 3;
      c.moveTo(x + far, y);
      c.arc(x, y, far, 0, 6.2832);
    });
    c.clip("evenodd");
    c.globalAlpha = alpha;
    c.fillStyle = o.ink;
    c.beginPath();
    for (const node of o.selection) {
      const [x, y] = this.place(node);
      c.moveTo(x + r, y);
      c.arc(x, y, r, 0, 6.2832);
    }
    c.fill();
    c.restore();
  }
  ring(c, node, colour, gap, line, alpha) {
    const [x, y] = this.place(node);
    c.globalAlpha = alpha;
    c.strokeStyle = colour;
    c.lineWidth = line;
    c.beginPath();
    c.arc(x, y, this.lostRadius() + gap, 0, 6.2832);
    c.stroke();
  }

  // Where the marks of sites stand: they push each other apart, so that hubs do not sit on each other, and leave a short
  // edge visible that they would cover; a thin line leads to the place. Moving the picture moves them all alike.
  spread() {
    const { attack, owner: o } = this,
      key = [o.zoom, this.width, this.height].join(),
      { x0, y0 } = this.camera();
    if (this.spots && this.spotKey === key) {
      const dx = x0 - this.spotFrom[0],
        dy = y0 - this.spotFrom[1];
      if (dx || dy)
        for (const spot of [...this.spots, ...this.anchors]) {
          spot[0] += dx;
          spot[1] += dy;
        }
      this.spotFrom = [x0, y0];
      return;
    }
    this.spotKey = key;
    this.spotFrom = [x0, y0];
    const at = Array.from({ length: attack.count }, (_, s) => this.anchor(s)),
      radius = at.map((_, s) => this.siteRadius(s) + 2);
    const lines = at.map((_, s) =>
      attack.isEdge(s)
        ? [...this.place(attack.ends[2 * s]), ...this.place(attack.ends[2 * s + 1])]
        : null,
    );
    const short = lines.map(
      (line, s) =>
        line !== null && Math.hypot(line[2] - line[0], line[3] - line[1]) < 9 * radius[s],
    );
    const spots = at.map(([x, y], s) => {
      if (!short[s]) return [x, y];
      // Away from the other edges nearby, or to the side of a lonely one.
      let dx = 0,
        dy = 0;
      at.forEach(([ox, oy], other) => {
        if (lines[other] && Math.hypot(ox - x, oy - y) < 90) {
          dx += x - ox;
          dy += y - oy;
        }
      });
      if (Math.hypot(dx, dy) < 1) {
        dx = lines[s][3] - lines[s][1];
        dy = lines[s][0] - lines[s][2];
      }
      const far = (radius[s] + 16) / (Math.hypot(dx, dy) || 1);
      return [x + dx * far, y + dy * far];
    });
    const few = attack.count <= 80;
    for (let round = 0; round < (attack.count <= 400 ? 40 : 0); round++) {
      let still = true;
      for (let a = 0; a < spots.length; a++) {
        for (let b = a + 1; b < spots.length; b++) {
          let dx = spots[b][0] - spots[a][0],
            dy = spots[b][1] - spots[a][1];
          const need = radius[a] + radius[b],
            distance = Math.hypot(dx, dy);
          if (distance >= need) continue;
          if (distance < 0.01) {
            dx = Math.cos(a + b);
            dy = Math.sin(a + b);
          }
          const push = (need - distance) / 2 / (Math.hypot(dx, dy) || 1);
          spots[a][0] -= dx * push;
          spots[a][1] -= dy * push;
          spots[b][0] += dx * push;
          spots[b][1] += dy * push;
          still = false;
        }
        if (short[a] && few)
          for (const line of lines)
            if (line && offLine(spots[a], line, radius[a] + 1)) still = false;
      }
      if (still) break;
    }
    this.spots = spots;
    this.anchors = at;
  }

  drawSite(c, s, alpha, seen, taken) {
    const { attack, owner: o } = this,
      [x, y] = this.spots[s],
      [ax, ay] = this.anchors[s],
      r = this.siteRadius(s);
    const colour = o.ink,
      text = attack.signed(s);
    c.globalAlpha = alpha;
    if (Math.hypot(x - ax, y - ay) > r) {
      c.strokeStyle = colour;
      c.lineWidth = 1.6;
      c.beginPath();
      c.moveTo(ax, ay);
      c.lineTo(x, y);
      c.stroke();
      if (!attack.isEdge(s)) {
        c.fillStyle = colour;
        c.beginPath();
        c.arc(ax, ay, 3, 0, 6.2832);
        c.fill();
      }
    }
    // The paper's own ring keeps neighbouring marks and lines off.
    c.fillStyle = o.paper;
    c.beginPath();
    c.arc(x, y, r + 1.5, 0, 6.2832);
    c.fill();
    const held = !attack.isEdge(s) && attack.held.has(attack.ends[2 * s]),
      outer = held ? r + 3 : r + 1;
    if (held) {
      c.strokeStyle = o.ink;
      c.lineWidth = 2;
      c.beginPath();
      c.arc(x, y, r + 2, 0, 6.2832);
      c.stroke();
    }
    c.fillStyle = colour;
    c.beginPath();
    c.arc(x, y, r, 0, 6.2832);
    c.fill();
    const size = Math.max(8, Math.min(16, (text.length > 2 ? 0.95 : 1.15) * r));
    c.font = `700 ${size}px ${o.font}`;
    c.textAlign = "center";
    c.textBaseline = "middle";
    // A small length is longer than its mark: it is told beside it and in the list.
    if (!attack.step || c.measureText(text).width < 2 * r) {
      c.fillStyle = o.paper;
      c.fillText(text, x, y + size * 0.05);
    }
    if (o.bench.helps() && o.chosen && o.siteIn(attack, o.chosen) === s) {
      c.strokeStyle = o.ink;
      c.lineWidth = 1.5;
      c.beginPath();
      c.arc(x, y, r + 4.5, 0, 6.2832);
      c.stroke();
    }
    taken.push([x - outer, y - outer, x + outer, y + outer]);
    seen.sites.push({
      site: s,
      ends: [attack.ends[2 * s], attack.ends[2 * s + 1]],
      name: o.siteName(attack, s),
      text,
      flips: attack.flips[s],
      amounts: Array.from(attack.amounts.subarray(attack.width * s, attack.width * (s + 1))),
      kind: attack.kind[s],
      colour,
      x,
      y,
      radius: r,
      alpha,
    });
  }

  // Names beside marks, the largest first, each only where it covers nothing; where few are named, a line leads to one
  // that finds no room close by.
  drawNames(c, lit, seen, taken, radius) {
    const { attack, owner: o } = this,
      free = (bx, by, w, h) =>
        bx > 2 &&
        by > 2 &&
        bx + w < this.width - 2 &&
        by + h < this.height - 2 &&
        !taken.some(([l, t, rr, b]) => bx < rr && bx + w > l && by < b && by + h > t);
    const put = (text, x, y, r, size, colour, must, far) => {
      c.font = `600 ${size}px ${o.font}`;
      const w = c.measureText(text).width,
        h = size + 2,
        gap = 5;
      const spots = [
        [x + r + gap, y - h / 2],
        [x - r - gap - w, y - h / 2],
        [x - w / 2, y - r - gap - h],
        [x - w / 2, y + r + gap],
        [x + r * 0.8, y - r - h],
        [x + r * 0.8, y + r],
        [x - r * 0.8 - w, y - r - h],
        [x - r * 0.8 - w, y + r],
      ];
      let spot = spots.find(([bx, by]) => free(bx, by, w, h));
      if (!spot && far) spot = this.aside(x, y, r, w, h, free);
      if (!spot && must) spot = spots[0];
      if (!spot) return;
      taken.push([spot[0] - 1, spot[1] - 1, spot[0] + w + 1, spot[1] + h + 1]);
      if (spot.line) {
        const [ax, ay, bx, by] = spot.line;
        c.globalAlpha = 0.8;
        c.strokeStyle = colour;
        c.lineWidth = 1;
        c.beginPath();
        c.moveTo(ax, ay);
        c.lineTo(bx, by);
        c.stroke();
      }
      c.textAlign = "left";
      c.textBaseline = "top";
      c.globalAlpha = 0.8;
      c.fillStyle = o.paper;
      c.fillRect(spot[0] - 1, spot[1], w + 2, h);
      c.globalAlpha = 1;
      c.fillStyle = colour;
      c.fillText(text, spot[0], spot[1] + 1);
      seen.labels.push({ text, box: [spot[0], spot[1], spot[0] + w, spot[1] + h] });
    };
    const sites = lit ? lit.sites : [...Array(attack.count).keys()];
    c.globalAlpha = 1;
    for (const s of sites.slice(0, 120)) {
      const [x, y] = this.spots[s];
      if (x < 0 || y < 0 || x > this.width || y > this.height || (this.width < 600 && !lit))
        continue;
      const share = lit && lit.target !== undefined ? `: ${attack.spent(s)}` : "";
      put(
        o.siteName(attack, s) + share,
        x,
        y,
        this.siteRadius(s),
        13.5,
        o.ink,
        lit && lit.sites.length === 1,
        attack.count <= 30,
      );
    }
    // What the broken ones received and needed, where there is room; a chosen target always.
    if (lit)
      for (const node of lit.target !== undefined ? [lit.target] : lit.broken.slice(0, 80)) {
        const [x, y] = this.place(node),
          name = lit.target !== undefined ? `${o.nodeName(node)}: ` : "";
        put(
          name +
            (attack.ratioOf(node) || (lit.target !== undefined ? o.stateName(attack, node) : "")),
          x,
          y,
          radius + 1,
          12.5,
          attack.state[node] === LOST ? o.tones["lost-text"] : o.ink,
          lit.target !== undefined,
        );
      }
  }

  // A free place for a name further off, in rings around its mark, with the line that leads there.
  aside(x, y, r, w, h, free) {
    for (const off of [16, 32, 52, 76, 104])
      for (let turn = 0; turn < 16; turn++) {
        const angle = (turn * Math.PI) / 8,
          dx = Math.cos(angle),
          dy = Math.sin(angle);
        const left = x + dx * (r + off) - (w / 2) * (1 - dx),
          top = y + dy * (r + off) - h / 2;
        if (free(left, top, w, h))
          return Object.assign([left, top], {
            line: [
              x + dx * (r + 1),
              y + dy * (r + 1),
              Math.max(left, Math.min(left + w, x + dx * (r + off))),
              Math.max(top, Math.min(top + h, y + dy * (r + off))),
            ],
          });
      }
    return null;
  }

  drawHand(c) {
    const { hand } = this.owner;
    if (!hand || hand.panel !== this || hand.path.length < 2) return;
    c.globalAlpha = 1;
    c.strokeStyle = this.owner.ink;
    c.lineWidth = 1.4;
    c.setLineDash([4, 3]);
    c.beginPath();
    hand.outline().forEach(([x, y], i) => (i ? c.lineTo(x, y) : c.moveTo(x, y)));
    c.closePath();
    c.stroke();
    c.setLineDash([]);
    c.globalAlpha = 0.08;
    c.fillStyle = this.owner.ink;
    c.fill();
    c.globalAlpha = 1;
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
