// The ways of an attack: along real edges from a site to the labels it helps to take, each edge once, as wide as the binary
// logarithm of what passes over it. Where they would cover too much of the picture, sites bear rings instead.

// Share of the picture up to which ways are drawn at rest.
const WAYS_COVER = 0.05;
// Steps from a site after which a straight line has to do.
const FURTHEST = 6;

function neighboursOf(graph) {
  if (graph.neighbours) return graph.neighbours;
  const found = Array.from({ length: graph.n }, () => []);
  for (let e = 0; e < graph.edges.length; e += 2) {
    found[graph.edges[e]].push(graph.edges[e + 1]);
    found[graph.edges[e + 1]].push(graph.edges[e]);
  }
  return (graph.neighbours = found);
}

// Adds the ways from one site to these labels: `use` counts what passes over an edge, `rays` are those without a way.
function addWays(graph, ends, labels, use, rays) {
  const neighbours = neighboursOf(graph),
    sources = [...new Set(ends)].filter((node) => node < graph.n),
    wanted = new Set(labels),
    depth = new Map(sources.map((node) => [node, 0]));
  let missing = [...wanted].filter((node) => !depth.has(node)).length,
    last = sources;
  for (let step = 1; step <= FURTHEST && missing && last.length; step++) {
    const next = [];
    for (const node of last)
      for (const other of neighbours[node])
        if (!depth.has(other)) {
          depth.set(other, step);
          next.push(other);
          if (wanted.has(other)) missing--;
        }
    last = next;
  }
  // Of several ways the one that most of the labels share.
  const via = new Map(),
    towards = (node) => neighbours[node].filter((one) => depth.get(one) === depth.get(node) - 1);
  for (const label of wanted)
    if (depth.get(label) > 1)
      for (const one of towards(label)) via.set(one, (via.get(one) ?? 0) + 1);
  for (const label of wanted) {
    if (!depth.has(label)) rays.push([ends[0], label]);
    for (let node = label; depth.get(node) > 0;) {
      const before = towards(node).reduce((best, one) =>
        (via.get(one) ?? 0) > (via.get(best) ?? 0) ? one : best,
      );
      const key = before < node ? `${before}-${node}` : `${node}-${before}`;
      use.set(key, (use.get(key) ?? 0) + 1);
      node = before;
    }
  }
}

// The ways of these sites to the labels of each of them.
function waysOf(panel, sites, labelsOf) {
  const { attack, graph } = panel,
    use = new Map(),
    rays = [];
  for (const s of sites) {
    const ends = [attack.ends[2 * s], attack.ends[2 * s + 1]];
    addWays(graph, ends, labelsOf(s), use, rays);
  }
  const edges = [...use].map(([key, count]) => [...key.split("-").map(Number), count]);
  return { edges, rays: rays.map(([a, b]) => [a, b, 1]) };
}
// Those of the whole attack, found once.
function allWays(panel) {
  const { attack } = panel;
  return (attack.ways ||= waysOf(panel, attack.everySite(), (s) => attack.brokenBy(s)));
}

const wayWidth = (count) => 0.8 + 0.55 * Math.log2(1 + count);

// How much of the picture the ways would cover, of what is in view.
function coverOf(panel, { edges, rays }) {
  const { width, height } = panel;
  let area = 0;
  for (const [a, b, count] of [...edges, ...rays]) {
    const [ax, ay] = panel.place(a),
      [bx, by] = panel.place(b),
      outside =
        Math.max(ax, bx) < 0 ||
        Math.max(ay, by) < 0 ||
        Math.min(ax, bx) > width ||
        Math.min(ay, by) > height;
    if (!outside) area += Math.min(width, Math.hypot(ax - bx, ay - by)) * wayWidth(count);
  }
  return area / (width * height);
}

function strokeWays(panel, c, { edges, rays }, alpha) {
  const byWidth = new Map();
  for (const way of [...edges, ...rays]) {
    const width = wayWidth(way[2]).toFixed(1);
    if (!byWidth.has(width)) byWidth.set(width, []);
    byWidth.get(width).push(way);
  }
  c.strokeStyle = panel.owner.lostColour;
  c.globalAlpha = alpha;
  c.lineCap = "round";
  for (const [width, ways] of byWidth) {
    c.lineWidth = Number(width);
    c.beginPath();
    for (const [a, b] of ways) {
      c.moveTo(...panel.place(a));
      c.lineTo(...panel.place(b));
    }
    c.stroke();
  }
  c.lineCap = "butt";
}

// The lines of the attack, or of what is lit: at rest only where they cover little.
function drawWays(panel, c, lit, seen) {
  const { attack, owner: o } = panel;
  seen.ways = [];
  seen.rest = "ways";
  if (attack.relaxed || (!lit && attack.everyField)) return;
  if (lit) {
    // Of the sites that reach a lost target only those that it is lost by.
    const labels = (s) => {
      if (lit.target === undefined) return lit.broken;
      return lit.broken.length && !attack.helps(s, lit.target) ? [] : [lit.target];
    };
    const ways = waysOf(panel, lit.sites, labels);
    strokeWays(panel, c, ways, coverOf(panel, ways) > WAYS_COVER ? 0.4 : 0.75);
    seen.ways = [...ways.edges, ...ways.rays];
    seen.lines = lit.sites.reduce((sum, s) => sum + labels(s).length, 0);
    return;
  }
  const ways = allWays(panel);
  seen.cover = coverOf(panel, ways);
  if (seen.cover > WAYS_COVER) {
    seen.rest = "rings";
    return;
  }
  const quiet = filterOf(o, attack) && groupOf(o) !== "lost" ? 0.3 : 1;
  strokeWays(panel, c, ways, 0.55 * quiet);
  seen.ways = [...ways.edges, ...ways.rays];
  seen.lines = attack.breaks.reduce((sum, number) => sum + number, 0);
}

// Around a site, in place of its ways: which share of all lost labels it helps to take.
function drawShareRing(panel, c, s) {
  const { attack, owner: o } = panel,
    [x, y] = panel.spots[s],
    r = panel.siteRadius(s) + 4;
  if (!attack.lost.length || !attack.breaks[s]) return;
  const share = Math.min(1, attack.breaks[s] / attack.lost.length);
  c.lineWidth = 4;
  c.strokeStyle = o.paper;
  c.beginPath();
  c.arc(x, y, r, 0, 6.2832);
  c.stroke();
  c.strokeStyle = o.lostColour;
  c.beginPath();
  c.arc(x, y, r, -1.5708, -1.5708 + 6.2832 * share);
  c.stroke();
}
