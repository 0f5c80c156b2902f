// What an attack does to the graph: lines, squares, deleted and added edges, rings, and the marks of sites.

// Half the side of the square of a changed label, in pixels.
const CHANGED = 6;

// The whole attack, or, where something is lit, that part of it alone; returns what was drawn.
function drawAttack(panel, c, lit) {
  const { attack } = panel,
    radius = panel.lostRadius(),
    sites = lit ? lit.sites : [...Array(attack.count).keys()],
    taken = [];
  spread(panel);
  const seen = {
    sites: [],
    lines: 0,
    lost: attack.lost.length,
    highlighted: lit ? Array.from(lit.broken) : null,
    reached: lit ? Array.from(lit.reached) : null,
    lit: lit ? lit.sites.slice() : null,
    labels: [],
  };
  drawWays(panel, c, lit, seen);
  if (attack.relaxed) drawShares(panel, c, lit, radius);
  else if (lit) drawReached(panel, c, lit, radius);
  drawEdgeSites(panel, c, sites);
  // Above the ends of lines and edges: what an added edge takes often stands at its end.
  if (!attack.relaxed) drawLost(panel, c, lit ? lit.broken : attack.lost, radius);
  const own = panel.owner.own.active;
  if (!lit && (own || groupOf(panel.owner) === "near")) drawNear(panel, c, radius, own);
  if (!lit) drawMarks(panel, c);
  for (const s of [...sites].reverse()) {
    if (seen.rest === "rings") drawShareRing(panel, c, s);
    drawSite(panel, c, s, 1, seen, taken);
  }
  if (!lit || sites.length) drawChanged(panel, c, lit, taken);
  if (own && panel.owner.own.hints) drawHints(panel, c, taken);
  drawNames(panel, c, lit, seen, taken, radius);
  c.globalAlpha = 1;
  return seen;
}

// Targets that lose their certificate: squares, whatever the colour says.
function drawLost(panel, c, nodes, radius) {
  const { owner: o, attack } = panel,
    { sx, sy, x0, y0 } = panel.camera(),
    { xy } = panel.graph;
  const framed = o.colour === "class" || o.colour === "correct",
    shows = filterOf(o, attack),
    edge = framed ? 1.5 : 1,
    outer = radius + edge / 2,
    inner = radius - edge / 2;
  for (const node of nodes) {
    c.globalAlpha = !shows || shows(node) ? 1 : 0.15;
    const x = x0 + xy[2 * node] * sx,
      y = y0 + xy[2 * node + 1] * sy;
    if (x < -20 || y < -20 || x > panel.width + 20 || y > panel.height + 20) continue;
    c.fillStyle = framed ? o.ink : o.paper;
    c.fillRect(x - outer, y - outer, 2 * outer, 2 * outer);
    c.fillStyle = o.lostColour;
    c.fillRect(x - inner, y - inner, 2 * inner, 2 * inner);
  }
}

// Labels that an attack on the model changes stand above everything, discs included: they are what happens in fact.
function drawChanged(panel, c, lit, taken) {
  const { owner: o, attack } = panel,
    shows = filterOf(o, attack),
    reached = lit && new Set(lit.reached);
  for (const node of attack.changed) {
    if ((lit && !reached.has(node)) || (shows && !shows(node))) continue;
    const [x, y] = panel.place(node);
    c.globalAlpha = 1;
    c.fillStyle = o.paper;
    c.fillRect(x - CHANGED - 1, y - CHANGED - 1, 2 * CHANGED + 2, 2 * CHANGED + 2);
    c.fillStyle = o.tones.changed;
    c.fillRect(x - CHANGED, y - CHANGED, 2 * CHANGED, 2 * CHANGED);
    drawCross(c, x, y, CHANGED * 0.6, o.paper);
    taken.push([x - CHANGED, y - CHANGED, x + CHANGED, y + CHANGED]);
  }
}

// What one more flip would take: a hollow square around its own mark.
function drawNear(panel, c, radius, halfHit) {
  const { owner: o, attack } = panel,
    shows = filterOf(o, attack),
    r = Math.max(radius, panel.dot() * 1.2) + 1.5;
  c.globalAlpha = 1;
  c.strokeStyle = o.lostColour;
  c.lineWidth = 1.3;
  for (let node = 0; node < o.graph.n; node++) {
    if (!isNear(attack, node) || (shows && !shows(node))) continue;
    // While one attacks by hand, only those that the next click could take.
    if (halfHit && !attack.receivedAny(node)) continue;
    const [x, y] = panel.place(node);
    c.strokeRect(x - r, y - r, 2 * r, 2 * r);
  }
}

function drawCross(c, x, y, arm, colour) {
  c.strokeStyle = colour;
  c.lineWidth = 1.4;
  c.beginPath();
  c.moveTo(x - arm, y - arm);
  c.lineTo(x + arm, y + arm);
  c.moveTo(x + arm, y - arm);
  c.lineTo(x - arm, y + arm);
  c.stroke();
}

// What a lit site reaches without taking it: its own mark, and a ring around it.
function drawReached(panel, c, lit, radius) {
  const { owner: o, attack } = panel,
    broken = new Set(lit.broken),
    looks = looksOf(o, attack),
    dot = panel.dot();
  c.globalAlpha = 1;
  for (const node of lit.reached)
    if (!broken.has(node) && attack.state[node] !== LOST) {
      const look = looks[looks.of[node]],
        [x, y] = panel.place(node);
      c.fillStyle = look.colour;
      c.beginPath();
      shape(look.shape)(c, x, y, dot * look.scale);
      c.fill();
    }
  c.globalAlpha = 0.6;
  c.lineWidth = 1.2;
  c.strokeStyle = o.ink;
  let inPath = 0;
  c.beginPath();
  for (const node of lit.reached) {
    if (broken.has(node)) continue;
    const [x, y] = panel.place(node);
    c.moveTo(x + radius + 0.5, y);
    c.arc(x, y, radius + 0.5, 0, 6.2832);
    if (++inPath === 100) {
      c.stroke();
      c.beginPath();
      inPath = 0;
    }
  }
  c.stroke();
}

// The relaxed adversary: every target by the fraction u by which it is broken.
function drawShares(panel, c, lit, radius) {
  const { attack, owner: o } = panel,
    nodes = lit ? lit.reached : attack.touched();
  c.globalAlpha = 1;
  for (const i of nodes) {
    const u = attack.broken[i];
    if (!(u > 1e-6) || attack.state[i] === BEFORE) continue;
    const [x, y] = panel.place(i);
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
        const [x, y] = panel.place(i);
        c.beginPath();
        c.arc(x, y, radius, 0, 6.2832);
        c.stroke();
      }
  }
}
