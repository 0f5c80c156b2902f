// One allocation on the graph, as arrays: sites, whose fields they lie in, what every target received and needs.
class Attack {
  constructor(data, graph) {
    Object.assign(this, {
      title: data.title,
      relaxed: data.relaxed,
      kinds: data.kinds,
      alt: data.alt,
      everyField: data.everyField,
    });
    Object.assign(this, { n: graph.n, xy: graph.xy });
    this.ends = decode(data.ends, Uint32Array);
    this.amounts = decode(data.amounts, Float64Array);
    this.count = this.ends.length / 2;
    this.width = this.amounts.length / Math.max(1, this.count); // types of perturbation
    // Counted by the engine: the lists that follow may end before the last site.
    this.reach = decode(data.reach, Uint32Array);
    this.breaks = decode(data.breaks, Uint32Array);
    this.start = decode(data.start, Uint32Array);
    this.inside = decode(data.inside, Uint32Array);
    this.state = decode(data.state, Uint8Array);
    this.margin = decode(data.margin, Int16Array);
    this.broken = data.broken ? decode(data.broken, Float64Array) : null;
    this.received = decode(data.received, Float64Array);
    this.needed = decode(data.needed, Float64Array);
    this.step = data.step ?? 0; // what a step of the margin is: a distance, or 0 for one flip
    // By flips of which types each target is lost, one bit per type: the engine's word, not worked out here.
    this.uses = decode(data.uses, Uint8Array);
    this.slot = new Int32Array(graph.n).fill(-1);
    const targets = decode(data.targets, Uint32Array);
    for (let t = 0; t < targets.length; t++) this.slot[targets[t]] = t;
    this.controlled = decode(data.controlled, Uint32Array);
    this.held = new Set(this.controlled);
    this.share = decode(data.share, Float64Array);
    this.protected = decode(data.protected, Uint32Array);
    this.changed = new Set(data.changed ? decode(data.changed, Uint32Array) : []); // labels that an attack on the model changes in fact
    this.readSites();
    this.lost = [];
    this.counts = new Array(6).fill(0);
    if (!this.state.length) this.state = new Uint8Array(graph.n);
    if (!this.margin.length) this.margin = new Int16Array(graph.n).fill(-1);
    for (let i = 0; i < graph.n; i++) {
      this.counts[this.state[i]]++;
      if (this.state[i] === LOST) this.lost.push(i);
    }
  }

  // How much is spent at each site, of which types.
  readSites() {
    this.flips = new Float64Array(this.count);
    this.kind = new Uint8Array(this.count);
    this.types = new Uint8Array(this.count);
    this.siteOf = new Map();
    for (let s = 0; s < this.count; s++) {
      let most = -1;
      for (let k = 0; k < this.width; k++) {
        const here = this.amounts[this.width * s + k];
        this.flips[s] += here;
        if (here > 0) this.types[s] |= 1 << k;
        if (here > most) {
          most = here;
          this.kind[s] = k;
        }
      }
      if (!this.isEdge(s)) this.siteOf.set(this.ends[2 * s], s);
    }
    // Lengths have no number of their own: the longest move counts like 16 flips, and areas are as squares.
    if (this.step) {
      const most = Math.max(...this.flips);
      this.flips = this.flips.map((here, s) =>
        this.isEdge(s) ? here : Math.max(1.01, 16 * (here / most) ** 2),
      );
    }
  }
  // New nodes stand in a column beside the graph, each about as high as what it is joined to.
  newPlace(node) {
    if (!this.column) {
      const height = (s) => {
        const joined = this.reachedBy(s);
        let sum = 0;
        for (const i of joined) sum += this.xy[2 * i + 1];
        return joined.length ? sum / joined.length : 32768;
      };
      const found = [...this.ends.keys()]
        .filter((k) => k % 2 === 0 && this.ends[k] >= this.n)
        .map((k) => k / 2)
        .sort((a, b) => height(a) - height(b));
      this.column = new Map(
        found.map((s, rank) => [this.ends[2 * s], [66800, ((rank + 0.5) / found.length) * 65535]]),
      );
    }
    return this.column.get(node) ?? [66800, 32768];
  }
  isEdge(s) {
    return this.ends[2 * s] !== this.ends[2 * s + 1];
  }
  // How many sites, from the first, come with a list of the targets in whose field they lie.
  get listed() {
    return this.everyField ? this.count : this.start.length - 1;
  }
  // Targets in whose field a site lies; none where they are not listed.
  reachedBy(s) {
    if (this.everyField) return [...this.slot.keys()].filter((node) => this.slot[node] >= 0);
    return s < this.listed ? this.inside.subarray(this.start[s], this.start[s + 1]) : [];
  }
  everySite() {
    return [...Array(this.count).keys()];
  }
  // Those that it helps to break; of the relaxed adversary, those that the bound counts by some fraction.
  brokenBy(s) {
    this.brokenLists ||= [];
    if (!this.brokenLists[s]) {
      const reached = this.reachedBy(s),
        found = (this.brokenLists[s] = []);
      for (let k = 0; k < reached.length; k++)
        if (this.helps(s, reached[k])) found.push(reached[k]);
    }
    return this.brokenLists[s];
  }
  // Whether a site in the field of a target spends what it is lost by.
  helps(s, node) {
    return (this.uses[this.slot[node]] & this.types[s]) !== 0;
  }
  sitesOf(node) {
    const all = [...Array(this.count).keys()];
    if (this.everyField) return this.slot[node] >= 0 ? all : [];
    return all.slice(0, this.listed).filter((s) => this.reachedBy(s).includes(node));
  }
  // Targets that the relaxed adversary breaks by some fraction.
  touched() {
    return (this.touchedList ||= [...this.broken.keys()].filter(
      (node) => this.broken[node] > 1e-6,
    ));
  }
  // What a target received and what its certificate needs, by type where there are several.
  exchange(node, tell) {
    const t = this.slot[node];
    if (t < 0 || this.margin[node] === -1) return "";
    const parts = [];
    this.kinds.forEach((kind, k) => {
      const got = this.received[this.kinds.length * t + k],
        need = this.needed[this.kinds.length * t + k];
      const text = kind.lengths ? length : amount;
      if (this.kinds.length === 1 || need > 0)
        parts.push(
          `${tell(text(got), text(need))}${this.kinds.length > 1 ? ` ${kind.short}` : ""}`,
        );
    });
    return parts.join(", ");
  }
  shareOf(node) {
    return this.exchange(node, (got, need) => `${got} received, ${need} needed`);
  }
  // What is spent at a site: −3 deletions, +2 additions; both where it is both.
  signed(s) {
    let more = 0,
      less = 0,
      moved = 0;
    for (const { type, label, lengths } of this.kinds) {
      const here = this.amounts[this.width * s + type];
      if (lengths) moved += here;
      else if (label.includes("deletion")) less += here;
      else more += here;
    }
    return [
      moved ? short(moved) : "",
      more ? `+${amount(more)}` : "",
      less ? `−${amount(less)}` : "",
    ]
      .filter(Boolean)
      .join(" ");
  }
  // Of several combinations that a lost target was reached by one is told; types that only others are made of.
  otherWays(node) {
    const t = this.slot[node];
    if (t < 0 || this.relaxed) return "";
    return this.kinds
      .filter(
        (kind, k) => (this.uses[t] >> kind.type) & 1 && !this.needed[this.kinds.length * t + k],
      )
      .map((kind) => kind.label)
      .join(" and ");
  }
  // What a lost target received beyond the combination that is told.
  surplus(node) {
    const t = this.slot[node];
    if (this.state[node] !== LOST || this.relaxed) return "";
    let flips = 0,
      moved = 0;
    this.kinds.forEach((kind, k) => {
      const at = this.kinds.length * t + k,
        more = this.needed[at] ? this.received[at] - this.needed[at] : 0;
      if (kind.lengths) moved += more;
      else flips += more;
    });
    return [moved > 0 ? length(moved) : "", flips > 0 ? some(flips, "flip", "flips") : ""]
      .filter(Boolean)
      .join(" and ");
  }
  receivedAny(node) {
    const width = this.kinds.length,
      at = width * this.slot[node];
    return this.received.subarray(at, at + width).some(Boolean);
  }
  further(margin) {
    return this.step
      ? `a further distance of ${length(margin * this.step)}`
      : some(margin, "further flip", "further flips");
  }
  // Whose field a site lies in and what becomes of them: losses in an attack, fractions in the relaxed adversary.
  // Of the labels that an attack on the model changes, those in reach of a site: which site changes which is not known.
  changedBy(s) {
    return s < this.listed
      ? this.reachedBy(s).reduce((sum, node) => sum + this.changed.has(node), 0)
      : 0;
  }
  story(s) {
    const where = `in the field of ${some(this.reach[s], "label", "labels")}`,
      number = this.breaks[s];
    if (this.changed.size)
      return `${where}, ${thousands(this.changedBy(s))} of the ${thousands(this.changed.size)} changed ones among them`;
    if (!this.relaxed)
      return `${where}; it helps take ${number ? some(number, "certificate", "certificates") : "none of their certificates"}`;
    if (!number) return `${where}; the bound counts none of them`;
    const sum =
      s < this.listed
        ? this.brokenBy(s).reduce((total, node) => total + this.broken[node], 0)
        : null;
    return `${where}; the bound counts ${thousands(number)} of them${sum === null ? "" : `, by fractions that add up to ${thousands(Number(sum.toFixed(2)))}`}`;
  }
  spent(s, separator = ", ") {
    return this.kinds
      .map((kind) => [this.amounts[this.width * s + kind.type], kind])
      .filter(([value]) => value > 0)
      .map(([value, kind]) =>
        kind.lengths
          ? `a distance of ${length(value)}`
          : `${amount(value)} ${value === 1 ? kind.one : kind.label}`,
      )
      .join(separator);
  }
}
