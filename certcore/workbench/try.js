// The tab “Try it yourself”: the flips spent by hand, how many labels they take, and how far behind the best attack they are.

class TryPanel {
  constructor(stage) {
    this.stage = stage;
    this.root = element("section", "side-part side-try");
    this.root.setAttribute("aria-label", "Try it yourself");
    for (const name of ["intro", "gauge", "budget", "said", "buttons", "spent", "help"]) {
      this[name] = element("div", name);
      this.root.append(this[name]);
    }
    this.help.textContent =
      "Click: one more · Shift + click: one less · z: undo · arrows walk, Enter spends";
    const add = (name, text, act) => {
      const made = element("button", "plain-button", text);
      made.type = "button";
      made.onclick = act;
      this.buttons.append(made);
      this[`${name}Button`] = made;
    };
    add("undo", "Undo", () => this.own.undo());
    add("reset", "Reset", () => this.own.reset());
    add("hint", "Hint", () => this.hint());
    add("best", "Best found", () => this.own.takeBest());
    add("share", "Share", () => this.share());
  }
  get own() {
    return this.stage.own;
  }
  hint() {
    const { own } = this;
    own.hints = own.hints ? null : bestNext(own, own.attack.found);
    this.stage.forget();
    own.changed();
  }
  async share() {
    const { link } = this.own;
    history.replaceState(history.state, "", link);
    try {
      await navigator.clipboard.writeText(link);
      this.own.tell("The link is copied.");
    } catch {
      this.own.tell("The link is in the address bar.");
    }
  }

  draw() {
    const { own } = this,
      why = own.why;
    this.root.classList.toggle("off", Boolean(why));
    if (why) {
      this.intro.replaceChildren(element("p", "", why));
      return;
    }
    const { attack } = own,
      { moves } = own.drawn,
      score = own.score,
      key = JSON.stringify([
        own.drawn.key,
        score,
        own.said,
        own.history.length,
        own.hints,
        own.kind,
      ]);
    if (key === this.key) return;
    this.key = key;
    this.drawIntro(score);
    this.drawGauge(attack.lost.length, score);
    this.drawBudget(moves);
    this.said.textContent = own.said || this.standing(attack.lost.length, score);
    this.undoButton.disabled = !own.history.length;
    this.resetButton.disabled = !moves.length;
    this.shareButton.disabled = !moves.length;
    this.bestButton.disabled = this.stage.data.switch?.on === "model";
    this.hintButton.textContent = own.hints ? "Hide hint" : "Hint";
    this.drawSpent(attack);
  }
  drawIntro(score) {
    const { layers, everyField } = this.stage.graph.replay,
      where =
        everyField || this.own.budgets.adj_add
          ? "every label"
          : `every label within ${layers} ${layers === 1 ? "step" : "steps"}`;
    const first = element("p");
    first.append(
      element("b", "", "Be the attacker. "),
      `A flip counts for ${where}; a label loses its certificate once it has received what it needs.`,
    );
    const second = element("p", "quiet", "What is spent here is missing there");
    if (score) {
      const { proven } = this.stage.bench.known(this.own.budgets);
      second.append(
        ": that is why ",
        element("strong", "", thousands(proven)),
        " labels stay, whoever plays.",
      );
    } else second.append(".");
    this.intro.replaceChildren(first, second);
  }
  // A bar up to the bound, with the best attack found as a mark.
  drawGauge(you, score) {
    const most = Math.max(1, you, score?.bound ?? 0),
      part = (value) => `${(100 * value) / most}%`,
      words = element("div", "ends"),
      bar = element("div", "bar"),
      fill = element("i", "you");
    words.append(element("span", "mine", `you ${thousands(you)}`));
    fill.style.width = part(you);
    bar.append(fill);
    if (score) {
      words.append(element("span", "", `no attack takes more than ${thousands(score.bound)}`));
      const open = element("i", "rest"),
        best = element("i", "best"),
        told = element("div", "best-told", `best found ${thousands(score.best)}`);
      open.style.left = best.style.left = part(score.best);
      told.style.setProperty("--at", part(score.best));
      bar.append(open, best);
      this.gauge.replaceChildren(words, bar, told);
    } else this.gauge.replaceChildren(words, bar);
    this.gauge.setAttribute("role", "img");
    this.gauge.setAttribute("aria-label", this.standing(you, score));
  }
  standing(you, score) {
    if (!score) return `${some(you, "label loses its", "labels lose their")} certificate.`;
    if (you > score.bound)
      return `This takes ${thousands(you)} where at most ${thousands(score.bound)} are possible: please report it.`;
    if (you > score.best) return "More than any search here has found.";
    if (you === score.best && you) return "As good as the best attack found.";
    return `${thousands(score.best - you)} behind the best attack found.`;
  }
  drawBudget(moves) {
    const { own } = this,
      chosen = own.chosenKind;
    this.budget.replaceChildren(
      ...own.kinds.map((kind) => {
        const made = element("button", "kind"),
          number = moves.filter(([, type]) => type === kind.name).length;
        made.type = "button";
        made.setAttribute("aria-pressed", String(kind === chosen));
        made.append(
          element("b", "", thousands(number)),
          ` of ${thousands(own.budgets[kind.name])} ${kind.label} spent`,
        );
        made.onclick = () => {
          own.kind = kind.name;
          if (own.hints) own.hints = bestNext(own, own.attack.found);
          this.stage.forget();
          own.changed();
        };
        return made;
      }),
    );
  }
  drawSpent(attack) {
    const { own, stage } = this;
    this.spent.replaceChildren(
      ...[...Array(attack.count).keys()].slice(0, 60).map((s) => {
        const row = element("div", "spent-row"),
          [a, b] = [attack.ends[2 * s], attack.ends[2 * s + 1]],
          site = a === b ? String(a) : `${a}-${b}`;
        const step = (text, words, act) => {
          const made = element("button", "step", text);
          made.type = "button";
          made.setAttribute("aria-label", `${words} at ${stage.siteName(attack, s)}`);
          made.onclick = act;
          return made;
        };
        row.append(
          badge(attack, s),
          choiceButton(stage, stage.asChoice(attack, s), stage.siteName(attack, s), "name"),
          element("span", "helps", `helps take ${thousands(attack.breaks[s])}`),
          step("−", "One less", () => own.less(site)),
          step("+", "One more", () => own.more(site)),
        );
        return row;
      }),
    );
  }
}

// Where a click falls while one attacks by hand: a site, a node, or an edge if edges are deleted.
function siteAtPoint(stage, panel, x, y, touch) {
  const { own } = stage,
    kind = own.chosenKind;
  if (!kind) return null;
  const s = panel.siteAt(x, y);
  if (s >= 0 && panel.attack.isEdge(s) === kind.edge) {
    const [a, b] = [panel.attack.ends[2 * s], panel.attack.ends[2 * s + 1]];
    return a === b ? String(a) : `${a}-${b}`;
  }
  if (!kind.edge) {
    const node = panel.nodeAt(x, y, touch ? 22 : 12);
    return node < 0 ? null : String(node);
  }
  const { edges } = stage.graph;
  let best = null,
    near = touch ? 16 : 8;
  for (let e = 0; e < edges.length; e += 2) {
    const away = distanceToLine([x, y], panel.place(edges[e]), panel.place(edges[e + 1]));
    if (away < near) [best, near] = [`${edges[e]}-${edges[e + 1]}`, away];
  }
  return best;
}
function distanceToLine([x, y], [ax, ay], [bx, by]) {
  const [ux, uy] = [bx - ax, by - ay],
    share = ((x - ax) * ux + (y - ay) * uy) / (ux * ux + uy * uy || 1),
    along = Math.max(0, Math.min(1, share));
  return Math.hypot(x - ax - along * ux, y - ay - along * uy);
}

function spendAt(stage, panel, e, x, y) {
  const site = siteAtPoint(stage, panel, x, y, e.pointerType === "touch");
  if (site === null) return;
  stage.showTip(panel, null);
  if (e.shiftKey || e.button === 2) stage.own.less(site);
  else stage.own.more(site);
}

// Keys of the picture while one attacks by hand; returns whether the key was one of them.
function ownKey(stage, panel, e) {
  const { own } = stage,
    way = ARROWS[e.key],
    at = stage.hover?.node;
  if (e.key === "z" && !e.ctrlKey && !e.metaKey) own.undo();
  else if (way && !e.shiftKey) {
    const next = nodeTowards(stage, panel, at, way);
    if (next >= 0) {
      stage.point({ node: next });
      stage.showTip(panel, { node: next }, ...panel.place(next));
    }
  } else if (e.key === "Enter" && at !== undefined) own.more(String(at));
  else if (e.key === "Backspace" && at !== undefined) own.less(String(at));
  else return false;
  return true;
}
// The nearest node in the direction of an arrow, from a node or from the middle of the picture.
function nodeTowards(stage, panel, from, [wx, wy]) {
  const [x, y] = from === undefined ? panel.middle() : panel.place(from);
  let best = -1,
    least = Infinity;
  for (let i = 0; i < stage.graph.n; i++) {
    const [px, py] = panel.place(i),
      along = -(wx * (px - x) + wy * (py - y)),
      aside = Math.abs(wx * (py - y)) + Math.abs(wy * (px - x)),
      cost = along + 3 * aside;
    if (i !== from && along > 0.5 && cost < least) [best, least] = [i, cost];
  }
  return best;
}

// A number that rises from where a flip was spent.
function riseAt(stage, site, number) {
  const panel = stage.panels[0],
    places = site.split("-").map((node) => panel.place(Number(node))),
    made = element("span", "rise", number ? `+${thousands(number)}` : "0");
  const middle = (k) => places.reduce((total, place) => total + place[k], 0) / places.length;
  made.style.left = `${middle(0)}px`;
  made.style.top = `${middle(1) - 26}px`;
  panel.box.append(made);
  setTimeout(() => made.remove(), 1100);
}

// Where one more flip takes most: a dashed ring with the number.
function drawHints(panel, c, taken) {
  const { owner: o } = panel;
  c.font = `700 13px ${o.font}`;
  c.textAlign = "left";
  c.textBaseline = "middle";
  for (const [site, gain] of o.own.hints) {
    const places = site.split("-").map((node) => panel.place(Number(node))),
      [x, y] = [0, 1].map((k) => places.reduce((sum, place) => sum + place[k], 0) / places.length);
    c.globalAlpha = 1;
    c.setLineDash([3, 2]);
    circleLine(c, x, y, 9, 1.6, o.ink);
    c.setLineDash([]);
    c.lineWidth = 3;
    c.strokeStyle = o.paper;
    c.strokeText(`+${gain}`, x + 13, y);
    c.fillStyle = o.tones["lost-text"];
    c.fillText(`+${gain}`, x + 13, y);
    taken.push([x - 10, y - 10, x + 40, y + 10]);
  }
}
