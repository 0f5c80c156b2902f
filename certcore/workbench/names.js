// Names beside marks, the largest first, each only where it covers nothing; where few are named, a line leads to one
// that finds no room close by.

function drawNames(panel, c, lit, seen, taken, radius) {
  const { attack, owner: o } = panel,
    sites = lit ? lit.sites : [...Array(attack.count).keys()],
    onTarget = lit && lit.target !== undefined;
  const pen = { panel, c, seen, taken };
  c.globalAlpha = 1;
  for (const s of sites.slice(0, 120)) {
    const [x, y] = panel.spots[s];
    if (x < 0 || y < 0 || x > panel.width || y > panel.height || (panel.width < 600 && !lit))
      continue;
    const text = o.siteName(attack, s) + (onTarget ? `: ${attack.spent(s)}` : "");
    putName(pen, text, [x, y, panel.siteRadius(s)], {
      size: 13.5,
      colour: o.ink,
      must: lit && lit.sites.length === 1,
      far: attack.count <= 30,
    });
  }
  // What a chosen target received and needed.
  if (!onTarget) return;
  const node = lit.target,
    [x, y] = panel.place(node),
    text = `${o.nodeName(node)}: ${attack.shareOf(node) || o.stateName(attack, node)}`;
  putName(pen, text, [x, y, radius + 1], {
    size: 12.5,
    colour: attack.state[node] === LOST ? o.tones["lost-text"] : o.ink,
    must: true,
    far: false,
  });
}

function putName({ panel, c, seen, taken }, text, [x, y, r], { size, colour, must, far }) {
  const free = (bx, by, w, h) =>
    bx > 2 &&
    by > 2 &&
    bx + w < panel.width - 2 &&
    by + h < panel.height - 2 &&
    !taken.some(([l, t, rr, b]) => bx < rr && bx + w > l && by < b && by + h > t);
  c.font = `600 ${size}px ${panel.owner.font}`;
  const w = c.measureText(text).width,
    h = size + 2,
    spots = placesAround(x, y, r, w, h);
  let spot = spots.find(([bx, by]) => free(bx, by, w, h));
  if (!spot && far) spot = placeFurther(x, y, r, w, h, free);
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
  c.fillStyle = panel.owner.paper;
  c.fillRect(spot[0] - 1, spot[1], w + 2, h);
  c.globalAlpha = 1;
  c.fillStyle = colour;
  c.fillText(text, spot[0], spot[1] + 1);
  seen.labels.push({ text, box: [spot[0], spot[1], spot[0] + w, spot[1] + h] });
}

function placesAround(x, y, r, w, h) {
  const gap = 5;
  return [
    [x + r + gap, y - h / 2],
    [x - r - gap - w, y - h / 2],
    [x - w / 2, y - r - gap - h],
    [x - w / 2, y + r + gap],
    [x + r * 0.8, y - r - h],
    [x + r * 0.8, y + r],
    [x - r * 0.8 - w, y - r - h],
    [x - r * 0.8 - w, y + r],
  ];
}

// A free place further off, in rings around the mark, with the line that leads there.
function placeFurther(x, y, r, w, h, free) {
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
