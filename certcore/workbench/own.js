// An attack of one's own: flips spent one by one, replayed on the certificates at once.

// A link is written by anybody: it spends no more flips than this.
const MOST_MOVES = 10_000;

class Own {
  constructor(stage) {
    this.stage = stage;
    this.active = false;
    this.moves = [];
    this.history = [];
    this.kind = "";
    this.hints = null;
    this.said = "";
    this.fromLink();
  }
  get bench() {
    return this.stage.bench;
  }
  get budgets() {
    return this.bench.values;
  }
  // Capacities and targets of the view on show, as soon as they have arrived.
  get limits() {
    const found = shelf().kept.get("limits"),
      { data } = this.bench;
    return found && data && found.key === data.limits && found.version === data.version
      ? found
      : null;
  }
  // Why nothing can be spent by hand, or nothing.
  get why() {
    const { limits } = this;
    if (!limits) return "What can be spent is on its way.";
    if (limits.why) return limits.why;
    if (this.kinds.length) return "";
    const { adj_add, adj_del, sigma } = this.budgets;
    if (adj_del && sigma !== null && sigma !== undefined)
      return "With a limit on the attacked nodes σ, edges are not deleted by hand: which end is attacked would be open.";
    return adj_add
      ? "Edges cannot be added by hand; give another type a budget."
      : "Give the attacker a budget first.";
  }
  // Types with a budget that can be spent by hand.
  get kinds() {
    const { sigma } = this.budgets;
    return (this.limits?.kinds ?? []).filter(
      (kind) =>
        kind.byHand &&
        this.budgets[kind.name] > 0 &&
        !(kind.edge && sigma !== null && sigma !== undefined),
    );
  }
  get chosenKind() {
    const { kinds } = this;
    return kinds.find((kind) => kind.name === this.kind) ?? kinds[0] ?? null;
  }
  get replay() {
    const { limits } = this,
      { graph } = this.stage;
    if (!limits || limits.why || !graph) return null;
    if (this.replayOf?.limits !== limits || this.replayOf.graph !== graph)
      this.replayOf = new Replay(graph, limits);
    return this.replayOf;
  }

  // The moves that the present budgets and limits allow, from the first: more come back with a larger budget.
  allowed() {
    const { replay, moves, budgets } = this;
    if (!replay) return [];
    const fits = (number) => !replay.refusal(spentBy(moves.slice(0, number)), budgets);
    if (fits(moves.length)) return moves.slice();
    // What refuses some moves refuses them with more behind: halving finds the last that fits.
    let [number, beyond] = [0, moves.length];
    while (beyond - number > 1) {
      const middle = (number + beyond) >> 1;
      if (fits(middle)) number = middle;
      else beyond = middle;
    }
    return moves.slice(0, number);
  }
  // The attack as the picture draws it; the same object until something changes.
  get attack() {
    const { replay, stage } = this;
    if (!replay) return null;
    const moves = this.allowed(),
      key = JSON.stringify([moves, this.budgets]);
    if (this.drawn?.key === key && this.drawn.replay === replay) return this.drawn.attack;
    const found = replay.run(spentBy(moves), this.budgets),
      attack = new Attack({ ...found, title: "", relaxed: false, alt: "" }, stage.graph);
    attack.alt = `Your attack: ${some(moves.length, "flip", "flips")}; ${some(attack.lost.length, "label loses its", "labels lose their")} certificate.`;
    attack.found = found;
    if (this.hints) this.hints = bestNext(this, found);
    this.drawn = { key, replay, attack, moves };
    return attack;
  }
  // You, the best attack found, and the limit of all attacks; null where these budgets have no proven number yet.
  get score() {
    const { data } = this.bench,
      seen = this.bench.known(this.budgets);
    if (!seen) return null;
    const bound = data.targets - data.before - seen.proven;
    return { bound, best: bound - seen.parts.open };
  }

  start() {
    this.active = true;
    this.changed();
  }
  stop() {
    this.active = false;
    this.hints = null;
    this.changed();
  }
  changed() {
    if (!this.bench.data) return;
    drawSwitch(this.stage);
    this.bench.render();
  }
  keep(moves) {
    this.history.push(this.moves);
    this.moves = moves;
    this.said = "";
    this.changed();
  }
  undo() {
    if (!this.history.length) return;
    this.moves = this.history.pop();
    this.said = "";
    this.changed();
  }
  reset() {
    if (this.moves.length) this.keep([]);
  }
  // One more flip at a site, or a sentence that says why not.
  more(site, type = this.chosenKind?.name) {
    const before = this.attack?.lost.length ?? 0,
      moves = [...this.allowed(), [site, type]];
    if (!this.replay || !type) return this.tell(this.why);
    const refused = this.replay.refusal(spentBy(moves), this.budgets);
    if (refused) return this.tell(this.refused(site, type, refused));
    this.keep(moves);
    const more = this.attack.lost.length - before;
    this.said = `${this.nameOf(site)}: ${more ? `+${thousands(more)} at once` : "none yet, they need more"}`;
    riseAt(this.stage, site, more);
    return this.bench.say(this.said);
  }
  less(site) {
    const moves = this.allowed(),
      last = moves.findLastIndex(([one]) => one === site);
    if (last >= 0) this.keep(moves.filter((_, k) => k !== last));
  }
  refused(site, type, why) {
    const { label } = this.limits.kinds.find((kind) => kind.name === type),
      ends = site.split("-").map(Number);
    if (ends.some((node) => this.attack.protected.includes(node)))
      return `${this.nameOf(site)} is protected.`;
    if (why === "the budget is spent")
      return `All ${label} are spent. Take one back, or give the attacker more above.`;
    if (why === "that node can take no more")
      return `${this.nameOf(site)} can take no more ${label}.`;
    return `Not possible: ${why}.`;
  }
  tell(text) {
    this.said = text;
    this.bench.say(text);
    this.bench.render();
  }
  nameOf(site) {
    const [a, b] = site.split("-").map(Number),
      { stage } = this;
    return b === undefined ? stage.nodeName(a) : `${stage.nodeName(a)} – ${stage.nodeName(b)}`;
  }
  // What one more flip here would do.
  promise(node) {
    const kind = this.chosenKind,
      { attack } = this;
    if (!kind || kind.edge || !attack) return "";
    const [taken, closer] = this.replay.gain(String(node), kind.name, attack.found, this.budgets);
    return `${taken ? `+${thousands(taken)}` : "none"} at once, ${thousands(closer)} get closer`;
  }

  // The best attack found, flip by flip.
  takeBest() {
    const { attacks } = this.bench.found(),
      attack = attacks[0] && this.bench.attackOf(attacks[0]);
    if (!attack || attack.relaxed) return;
    const moves = [];
    for (let s = 0; s < attack.count; s++) {
      const [a, b] = [attack.ends[2 * s], attack.ends[2 * s + 1]],
        site = a === b ? String(a) : `${a}-${b}`;
      for (const kind of attack.kinds)
        for (let k = 0; k < attack.amounts[attack.width * s + kind.type]; k++)
          moves.push([site, this.stage.graph.replay.types[kind.type]]);
    }
    this.keep(moves);
  }
  // The link holds the flips alone: what they do is replayed where it is opened.
  get link() {
    const first = this.kinds[0]?.name,
      parts = [...spentBy(this.allowed())].flatMap(([site, amounts]) =>
        Object.entries(amounts).map(
          ([type, count]) => `${site}x${count}${type === first ? "" : `.${type}`}`,
        ),
      );
    return `${location.href.split("#")[0]}#try=${parts.join(",")}`;
  }
  fromLink() {
    const text = /[#&]try=([^&]*)/.exec(location.hash)?.[1];
    if (text === undefined) return;
    let told = "",
      left = MOST_MOVES;
    try {
      told = decodeURIComponent(text);
    } catch {
      return; // a link that was cut in the middle of a character
    }
    this.asked = [];
    for (const part of told.slice(0, 20000).split(",")) {
      const found = /^(\d+(?:-\d+)?)x(\d{1,4})(?:\.(\w+))?$/.exec(part);
      if (!found) continue;
      const count = Math.min(Number(found[2]), left);
      left -= count;
      this.asked.push([found[1], count, found[3]]);
    }
  }
  // As soon as the limits are there, a link's flips are spent.
  open() {
    if (!this.asked || !this.replay) return;
    const first = this.kinds[0]?.name;
    this.moves = this.asked.flatMap(([site, count, type]) =>
      Array(count).fill([site, type ?? first]),
    );
    this.asked = null;
    this.bench.side.open("try");
    const [kept, given] = [this.allowed().length, this.moves.length];
    if (kept < given)
      this.tell(
        `The link spends ${thousands(given)} flips; ${thousands(kept)} of them are possible here.`,
      );
  }
}

// Moves by site and type.
function spentBy(moves) {
  const spent = new Map();
  for (const [site, type] of moves) {
    if (!spent.has(site)) spent.set(site, {});
    spent.get(site)[type] = (spent.get(site)[type] ?? 0) + 1;
  }
  return spent;
}

// The three nodes (or edges) at which one more flip takes most.
function bestNext(own, found) {
  const kind = own.chosenKind,
    { replay, budgets } = own;
  if (!kind) return [];
  const sites = kind.edge
    ? [...replay.edgeOf.keys()]
    : [...Array(replay.graph.n).keys()].filter((i) => replay.capacities[kind.name][i]).map(String);
  return sites
    .map((site) => [site, replay.gain(site, kind.name, found, budgets)[0]])
    .filter(([, gain]) => gain)
    .sort((a, b) => b[1] - a[1])
    .slice(0, 3);
}
