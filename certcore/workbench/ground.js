// Edges and nodes, below everything that an attack does to them.

// So many edges are drawn at once; more come in parts.
const EDGES_AT_ONCE = 60000;

function drawEdges(panel, c, px, py) {
  const { owner: o } = panel,
    many = panel.graph.edges.length / 2;
  panel.unfinished = null;
  // Where many edges cross they add up: the more there are, the fainter each of them.
  c.strokeStyle = o.ink;
  c.lineWidth = 0.7;
  c.globalAlpha = Math.min(
    0.5,
    0.09 * Math.sqrt(o.zoom) * Math.max(Math.min(1, 5000 / (many + 1)), 0.15) + 120 / (many + 2000),
  );
  const stroke = (from, to) => strokeEdges(panel, c, px, py, from, to);
  if (many <= EDGES_AT_ONCE) {
    stroke(0, many);
    c.globalAlpha = 1;
    return;
  }
  // Too many at once: some at a time, while the hand rests. What the pointer asks for comes first.
  let at = 0;
  const token = (panel.unfinished = {});
  const next = () => {
    if (panel.unfinished !== token) return;
    // Nor while another attack or size is about to be drawn.
    if (performance.now() - o.touched < 100 || !panel.drawn) {
      panel.slice = setTimeout(next, 50);
      return;
    }
    stroke(at, Math.min(many, at + 10000));
    at += 10000;
    panel.cover();
    panel.compose();
    if (at < many) panel.slice = setTimeout(next, 16);
    else panel.unfinished = null;
  };
  panel.slice = setTimeout(next, 30);
}

function strokeEdges(panel, c, px, py, from, to) {
  const { width, height } = panel,
    { edges } = panel.graph;
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
}

function drawNodes(panel, c, px, py) {
  const { owner: o, attack, width, height } = panel,
    looks = looksOf(o, attack),
    dot = panel.dot();
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
