// Flips replayed on the certificates, in whole numbers, as the engine does it: which labels lose theirs. No element of the
// page is used here: a test runs this file alone against the engine.

// Fronts, fields and capacities of a graph under limits (targets, local budgets, protection), and the budgets in play.
class Replay {
  constructor(graph, limits) {
    const { replay } = graph;
    this.graph = graph;
    this.limits = limits;
    this.width = replay.types.length;
    this.points = decode(replay.points, Uint32Array);
    this.start = decode(replay.start, Uint32Array);
    this.front = decode(replay.front, Uint32Array);
    this.targets = decode(limits.targets, Uint32Array);
    this.slot = new Int32Array(graph.n).fill(-1);
    this.targets.forEach((node, t) => {
      this.slot[node] = t;
    });
    this.capacities = unpacked(limits.capacities);
    this.exists = unpacked(replay.exists);
    this.edgeOf = new Map();
    for (let e = 0; e < graph.edges.length; e += 2)
      this.edgeOf.set(`${graph.edges[e]}-${graph.edges[e + 1]}`, e / 2);
    this.reached = new Map();
    this.makeNeighbours();
  }
  // From sender to receivers: the way by which a node comes into fields.
  makeNeighbours() {
    const { n, edges, replay } = this.graph,
      receivers = Array.from({ length: n }, () => []);
    for (let e = 0; e < edges.length; e += 2) {
      receivers[edges[e + 1]].push(edges[e]);
      if (!replay.directed) receivers[edges[e]].push(edges[e + 1]);
    }
    this.receivers = receivers;
  }
  // Types with a budget, in the order of all types; each with its column.
  inPlay(budgets) {
    return this.limits.kinds.filter((kind) => budgets[kind.name] > 0);
  }
  everyField(budgets) {
    return this.graph.replay.everyField || budgets.adj_add > 0;
  }

  // Nodes within so many steps from sender to receiver.
  within(node, steps) {
    const seen = new Set([node]);
    let last = [node];
    for (let step = 0; step < steps; step++) {
      const next = [];
      for (const one of last)
        for (const other of this.receivers[one])
          if (!seen.has(other)) {
            seen.add(other);
            next.push(other);
          }
      last = next;
    }
    return seen;
  }
  // The targets in whose field a site lies: a node, or an edge as `receiver-sender`.
  targetsOf(site) {
    if (this.reached.has(site)) return this.reached.get(site);
    const { layers, rule, directed } = this.graph.replay,
      [a, b] = site.split("-").map(Number);
    let nodes;
    if (b === undefined) nodes = this.within(a, layers);
    else if (rule === "messages" && !layers) nodes = new Set();
    else {
      const steps = rule === "messages" ? layers - 1 : layers,
        bothEnds = rule !== "messages" || !directed;
      nodes = this.within(a, steps);
      if (bothEnds) for (const node of this.within(b, steps)) nodes.add(node);
    }
    const found = Uint32Array.from([...nodes].filter((node) => this.slot[node] >= 0)).sort();
    this.reached.set(site, found);
    return found;
  }

  // Why this spending is not allowed under the budgets and limits, or nothing.
  refusal(spent, budgets) {
    const totals = {},
      at = new Map();
    const add = (node, type, count) => {
      const key = `${node} ${type}`;
      at.set(key, (at.get(key) ?? 0) + count);
    };
    const attacked = new Set();
    for (const [site, amounts] of spent) {
      const ends = site.split("-").map(Number);
      if (ends.length === 2 && !this.edgeOf.has(site)) return "there is no such edge";
      if (ends.some((node) => !(node >= 0 && node < this.graph.n))) return "there is no such node";
      for (const [type, count] of Object.entries(amounts)) {
        if ((ends.length === 2) !== (type === "adj_del")) return `${type} is not spent there`;
        if (!Number.isInteger(count) || count < 1) return "a number of flips is not positive";
        if (ends.length === 2 && count > 1) return "an edge is deleted once";
        totals[type] = (totals[type] ?? 0) + count;
        for (const node of ends) add(node, type, count);
      }
      ends.forEach((node) => attacked.add(node));
    }
    for (const [type, total] of Object.entries(totals))
      if (total > (budgets[type] ?? 0)) return "the budget is spent";
    for (const [key, count] of at) {
      const [node, type] = key.split(" ");
      if (count > (this.capacities[type]?.[node] ?? 0)) return "that node can take no more";
    }
    const { sigma } = budgets;
    if (sigma !== null && sigma !== undefined && attacked.size > sigma)
      return `the attacker has ${sigma} nodes`;
    return "";
  }

  // The largest budget of a type at which a label is proven on its own beside the other budgets; Infinity: at any, and -1
  // where it is proven at none.
  naiveTo(node, type, budgets) {
    const { width, points, start, front } = this,
      types = this.graph.replay.types,
      column = types.indexOf(type);
    let least = Infinity;
    for (let p = start[front[node]]; p < start[front[node] + 1]; p++) {
      const reached = types.every(
        (name, k) => k === column || points[width * p + k] <= (budgets[name] ?? 0),
      );
      if (reached) least = Math.min(least, points[width * p + column]);
    }
    return least - 1;
  }

  // What these flips do: received, needed and margin of every target, and the states of all nodes.
  run(spent, budgets) {
    const sites = this.sitesOf(spent, budgets),
      received = this.receive(sites, budgets),
      kinds = this.inPlay(budgets);
    const found = {
      kinds,
      ...this.judge(received, budgets),
      targets: this.targets,
      full: received,
      protected: decode(this.limits.protected, Uint32Array),
      received: this.columns(received, kinds),
    };
    return { ...found, ...this.sent(sites, found, budgets) };
  }
  // Most flips first, then in the order of nodes.
  sitesOf(spent) {
    const types = this.graph.replay.types;
    const sites = [...spent].map(([site, amounts]) => {
      const ends = site.split("-").map(Number),
        row = types.map((type) => amounts[type] ?? 0);
      return { site, ends: [ends[0], ends.at(-1)], row, flips: row.reduce((a, b) => a + b, 0) };
    });
    return sites.sort((a, b) => b.flips - a.flips || a.ends[0] - b.ends[0]);
  }
  receive(sites, budgets) {
    const { width, targets, slot } = this,
      received = new Float64Array(width * targets.length),
      all = this.everyField(budgets);
    for (const { site, row } of sites)
      for (const node of all ? targets : this.targetsOf(site))
        for (let k = 0; k < width; k++) received[width * slot[node] + k] += row[k];
    return received;
  }
  columns(values, kinds) {
    const { width, targets } = this,
      chosen = new Float64Array(kinds.length * targets.length);
    for (let t = 0; t < targets.length; t++)
      kinds.forEach((kind, k) => {
        chosen[kinds.length * t + k] = values[width * t + kind.type];
      });
    return chosen;
  }

  // Per target: its state, the front point that was reached or is nearest, and the flips that are missing.
  judge(received, budgets) {
    const { width, targets, points, graph } = this,
      kinds = this.inPlay(budgets),
      limit = graph.replay.types.map((type) => budgets[type] ?? 0),
      held = this.held(budgets);
    const state = new Uint8Array(graph.n),
      margin = new Int16Array(graph.n).fill(-2),
      uses = new Uint8Array(targets.length),
      needed = new Float64Array(width * targets.length);
    for (let t = 0; t < targets.length; t++) {
      const node = targets[t],
        here = this.judgeOne(t, node, received, limit, held);
      state[node] = here.state;
      margin[node] = Math.min(here.missing, 32000);
      uses[t] = here.uses;
      if (here.point >= 0)
        needed.set(points.subarray(width * here.point, width * (here.point + 1)), width * t);
    }
    return { state, margin, uses, needed: this.columns(needed, kinds) };
  }
  judgeOne(t, node, received, limit, held) {
    const { width, points, start, front } = this;
    let [clean, alone, lost, uses] = [true, true, false, 0],
      [point, missing, within] = [-1, -1, false];
    for (let p = start[front[node]]; p < start[front[node] + 1]; p++) {
      let [total, lacking, possible, inside] = [0, 0, true, true];
      for (let k = 0; k < width; k++) {
        const need = points[width * p + k];
        total += need;
        lacking += Math.max(0, need - received[width * t + k]);
        if (need > limit[k]) inside = false;
        if ((need && !limit[k]) || need > held[width * t + k]) possible = false;
      }
      if (!total) clean = false;
      if (inside) alone = false;
      if (!lacking) {
        lost = true;
        for (let k = 0; k < width; k++) if (points[width * p + k]) uses |= 1 << k;
      }
      const nearer = missing < 0 || lacking < missing || (lacking === missing && inside && !within);
      if (possible && nearer) [point, missing, within] = [p, lacking, inside];
    }
    const state = !clean ? BEFORE : lost ? LOST : alone ? ALONE : UNDECIDED;
    return { state, point, missing, uses: state === LOST ? uses : 0 };
  }
  // How many flips of each type exist in a field, whatever the budgets are.
  held(budgets) {
    const all = this.everyField(budgets),
      edges = budgets.adj_del > 0,
      key = `${all} ${edges}`;
    if (this.heldFor === key) return this.heldCounts;
    const { width, targets, slot, graph } = this,
      counts = new Float64Array(width * targets.length).fill(Infinity),
      column = (type) => graph.replay.types.indexOf(type);
    const fill = (type, sites, count) => {
      const k = column(type);
      for (let t = 0; t < targets.length; t++) counts[width * t + k] = 0;
      for (const [site, number] of sites)
        for (const node of this.targetsOf(site)) counts[width * slot[node] + k] += number;
      if (count === undefined) return;
      for (let t = 0; t < targets.length; t++) counts[width * t + k] = count;
    };
    for (const type of ["attr_add", "attr_del"]) {
      const exists = [...this.exists[type]];
      if (all)
        fill(
          type,
          [],
          exists.reduce((a, b) => a + b, 0),
        );
      else
        fill(
          type,
          exists.map((number, node) => [String(node), number]),
        );
    }
    if (all) fill("adj_del", [], graph.edges.length / 2);
    else if (edges)
      fill(
        "adj_del",
        [...this.edgeOf.keys()].map((edge) => [edge, 1]),
      );
    this.heldFor = key;
    return (this.heldCounts = counts);
  }

  // The sites as the picture reads them.
  sent(sites, found, budgets) {
    const everyField = this.everyField(budgets),
      reached = sites.map(({ site }) => (everyField ? this.targets : this.targetsOf(site))),
      start = new Uint32Array(sites.length + 1),
      breaks = new Uint32Array(sites.length);
    reached.forEach((nodes, s) => {
      start[s + 1] = start[s] + nodes.length;
      const types = sites[s].row.reduce((bits, count, k) => (count ? bits | (1 << k) : bits), 0);
      for (const node of nodes) if (found.uses[this.slot[node]] & types) breaks[s]++;
    });
    const inside = new Uint32Array(everyField ? 0 : start[sites.length]);
    if (!everyField) reached.forEach((nodes, s) => inside.set(nodes, start[s]));
    return {
      everyField,
      ends: Uint32Array.from(sites.flatMap(({ ends }) => ends)),
      amounts: Float64Array.from(sites.flatMap(({ row }) => row)),
      reach: Uint32Array.from(reached.map((nodes) => nodes.length)),
      breaks,
      start: everyField ? new Uint32Array(1) : start,
      inside,
    };
  }

  // How many further labels one more flip of a type would take at a site, and how many would get closer.
  gain(site, type, found, budgets) {
    const { width, points, start, front, slot } = this,
      column = this.graph.replay.types.indexOf(type),
      reached = this.everyField(budgets) ? this.targets : this.targetsOf(site);
    let [taken, closer] = [0, 0];
    for (const node of reached) {
      if (found.state[node] === LOST || found.state[node] === BEFORE) continue;
      const row = found.full.subarray(width * slot[node], width * (slot[node] + 1));
      let falls = false;
      for (let p = start[front[node]]; p < start[front[node] + 1] && !falls; p++) {
        falls = true;
        for (let k = 0; k < width; k++)
          if (points[width * p + k] > row[k] + (k === column ? 1 : 0)) falls = false;
      }
      if (falls) taken++;
      else closer++;
    }
    return [taken, closer];
  }
}

const unpacked = (columns) =>
  Object.fromEntries(
    Object.entries(columns).map(([type, packed]) => [type, decode(packed, Uint32Array)]),
  );
