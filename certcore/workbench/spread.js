// Where the marks of sites stand: they push each other apart, so that hubs do not sit on each other, and leave a short
// edge visible that they would cover; a thin line leads to the place. Moving the picture moves them all alike.

function spread(panel) {
  const key = [panel.owner.zoom, panel.width, panel.height].join(),
    { x0, y0 } = panel.camera();
  if (panel.spots && panel.spotKey === key) {
    const dx = x0 - panel.spotFrom[0],
      dy = y0 - panel.spotFrom[1];
    if (dx || dy)
      for (const spot of [...panel.spots, ...panel.anchors]) {
        spot[0] += dx;
        spot[1] += dy;
      }
    panel.spotFrom = [x0, y0];
    return;
  }
  panel.spotKey = key;
  panel.spotFrom = [x0, y0];
  const { attack } = panel,
    at = Array.from({ length: attack.count }, (_, s) => panel.anchor(s)),
    radius = at.map((_, s) => panel.siteRadius(s) + 2);
  const lines = at.map((_, s) =>
    attack.isEdge(s)
      ? [...panel.place(attack.ends[2 * s]), ...panel.place(attack.ends[2 * s + 1])]
      : null,
  );
  const short = lines.map(
    (line, s) => line !== null && Math.hypot(line[2] - line[0], line[3] - line[1]) < 9 * radius[s],
  );
  panel.spots = at.map((place, s) => (short[s] ? besideEdge(at, lines, radius[s], s) : [...place]));
  panel.anchors = at;
  const rounds = attack.count <= 400 ? 40 : 0,
    changed = attack.changed.size <= 200 ? [...attack.changed].map((i) => panel.place(i)) : [];
  for (let round = 0; round < rounds; round++) {
    const moved = pushApart(panel.spots, radius, attack.count <= 80 ? short : [], lines),
      away = pushOff(panel.spots, radius, changed);
    if (!moved && !away) break;
  }
}

// One round of pushing spots off the labels that are changed; returns whether anything moved.
function pushOff(spots, radius, places) {
  let moved = false;
  spots.forEach((spot, s) => {
    for (const [x, y] of places) {
      const need = radius[s] + CHANGED + 2,
        dx = spot[0] - x,
        dy = spot[1] - y,
        distance = Math.hypot(dx, dy);
      if (distance >= need) continue;
      // Straight up from the very place.
      const [ux, uy] = distance < 0.01 ? [0, -1] : [dx / distance, dy / distance];
      spot[0] = x + ux * need;
      spot[1] = y + uy * need;
      moved = true;
    }
  });
  return moved;
}

// A spot away from the other edges nearby, or to the side of a lonely one.
function besideEdge(at, lines, radius, s) {
  const [x, y] = at[s];
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
  const far = (radius + 16) / (Math.hypot(dx, dy) || 1);
  return [x + dx * far, y + dy * far];
}

// One round of pushing spots apart and off short edges; returns whether anything moved.
function pushApart(spots, radius, short, lines) {
  let moved = false;
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
      moved = true;
    }
    if (short[a])
      for (const line of lines) if (line && offLine(spots[a], line, radius[a] + 1)) moved = true;
  }
  return moved;
}

// Push a spot off a line if it stands nearer than this; returns whether it did.
function offLine(spot, [ax, ay, bx, by], need) {
  const ux = bx - ax,
    uy = by - ay,
    share = ((spot[0] - ax) * ux + (spot[1] - ay) * uy) / (ux * ux + uy * uy || 1),
    along = Math.max(0, Math.min(1, share));
  const dx = spot[0] - ax - along * ux,
    dy = spot[1] - ay - along * uy,
    distance = Math.hypot(dx, dy);
  if (distance >= need || distance < 0.01) return false;
  spot[0] += (dx / distance) * (need - distance);
  spot[1] += (dy / distance) * (need - distance);
  return true;
}
