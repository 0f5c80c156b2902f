// Marks of sites, deleted and added edges, and rings around single nodes.

// How dark the shade is that selected nodes stand on.
const SELECTED = 0.22;

// A deleted edge is a thick dashed line, an added one a thick solid one.
function drawEdgeSites(panel, c, sites) {
  const { attack, owner: o } = panel;
  for (const s of sites) {
    if (!attack.isEdge(s)) continue;
    const [ax, ay] = panel.place(attack.ends[2 * s]),
      [bx, by] = panel.place(attack.ends[2 * s + 1]),
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
function drawMarks(panel, c) {
  const { attack, owner: o } = panel,
    touched = new Set(attack.ends);
  attack.controlled.forEach((node, i) =>
    ring(
      panel,
      c,
      node,
      o.ink,
      3,
      touched.has(node) ? 2 : 1.2,
      touched.has(node) ? 1 : 0.45 * Math.min(1, 0.4 + attack.share[i]),
    ),
  );
  attack.protected.forEach((node) => {
    ring(panel, c, node, o.protectedColour, 2.5, 2.2, 1);
    ring(panel, c, node, o.protectedColour, 6, 1, 1);
  });
}

// What was selected by hand, and the chosen node.
function drawChoice(panel, c, lit) {
  const { attack, owner: o } = panel;
  drawSelection(panel, c, lit ? 0.1 : SELECTED);
  if (o.chosen && o.chosen.node !== undefined && o.siteIn(attack, o.chosen) < 0)
    ring(panel, c, o.chosen.node, o.ink, 4, 2.5, 1);
  c.globalAlpha = 1;
}

// Selected nodes: one shade under all of them, however close they stand, and nothing over the marks of the attack.
function drawSelection(panel, c, alpha) {
  const { owner: o } = panel,
    r = panel.lostRadius() + 4;
  if (!o.selection.length) return;
  c.save();
  c.beginPath();
  c.rect(0, 0, panel.width, panel.height);
  (panel.spots || []).forEach(([x, y], s) => {
    const far = panel.siteRadius(s) + 3;
    c.moveTo(x + far, y);
    c.arc(x, y, far, 0, 6.2832);
  });
  c.clip("evenodd");
  c.globalAlpha = alpha;
  c.fillStyle = o.ink;
  c.beginPath();
  for (const node of o.selection) {
    const [x, y] = panel.place(node);
    c.moveTo(x + r, y);
    c.arc(x, y, r, 0, 6.2832);
  }
  c.fill();
  c.restore();
}

function ring(panel, c, node, colour, gap, line, alpha) {
  const [x, y] = panel.place(node);
  c.globalAlpha = alpha;
  c.strokeStyle = colour;
  c.lineWidth = line;
  c.beginPath();
  c.arc(x, y, panel.lostRadius() + gap, 0, 6.2832);
  c.stroke();
}

// One site: a disc with the number of flips spent there, and a line to its place where it was pushed off.
function drawSite(panel, c, s, alpha, seen, taken) {
  const { attack, owner: o } = panel,
    [x, y] = panel.spots[s],
    r = panel.siteRadius(s),
    text = attack.signed(s),
    held = !attack.isEdge(s) && attack.held.has(attack.ends[2 * s]),
    outer = held ? r + 3 : r + 1;
  c.globalAlpha = alpha;
  drawStem(panel, c, s);
  // The paper's own ring keeps neighbouring marks and lines off.
  disc(c, x, y, r + 1.5, o.paper);
  if (held) circleLine(c, x, y, r + 2, 2, o.ink);
  disc(c, x, y, r, o.ink);
  const size = Math.max(8, Math.min(16, (text.length > 2 ? 0.95 : 1.15) * r));
  c.font = `700 ${size}px ${o.font}`;
  c.textAlign = "center";
  c.textBaseline = "middle";
  // A small length is longer than its mark: it is told beside it and in the list. So are fractions of two types, of
  // which the mark bears the sum.
  const fits = (words) => c.measureText(words).width < 2 * r,
    shown = fits(text) || !attack.relaxed ? text : `±${amount(attack.flips[s])}`;
  if (!attack.step || fits(shown)) {
    c.fillStyle = o.paper;
    c.fillText(shown, x, y + size * 0.05);
  }
  if (o.bench.helps() && o.chosen && o.siteIn(attack, o.chosen) === s)
    circleLine(c, x, y, r + 4.5, 1.5, o.ink);
  taken.push([x - outer, y - outer, x + outer, y + outer]);
  seen.sites.push({
    site: s,
    ends: [attack.ends[2 * s], attack.ends[2 * s + 1]],
    name: o.siteName(attack, s),
    text,
    flips: attack.flips[s],
    amounts: Array.from(attack.amounts.subarray(attack.width * s, attack.width * (s + 1))),
    kind: attack.kind[s],
    colour: o.ink,
    x,
    y,
    radius: r,
    alpha,
  });
}

function drawStem(panel, c, s) {
  const [x, y] = panel.spots[s],
    [ax, ay] = panel.anchors[s],
    { ink } = panel.owner;
  if (Math.hypot(x - ax, y - ay) <= panel.siteRadius(s)) return;
  c.strokeStyle = ink;
  c.lineWidth = 1.6;
  c.beginPath();
  c.moveTo(ax, ay);
  c.lineTo(x, y);
  c.stroke();
  if (!panel.attack.isEdge(s)) disc(c, ax, ay, 3, ink);
}

function disc(c, x, y, r, colour) {
  c.fillStyle = colour;
  c.beginPath();
  c.arc(x, y, r, 0, 6.2832);
  c.fill();
}
function circleLine(c, x, y, r, width, colour) {
  c.strokeStyle = colour;
  c.lineWidth = width;
  c.beginPath();
  c.arc(x, y, r, 0, 6.2832);
  c.stroke();
}
