// Budget as time: solved points one after the other, and the certified count beside them as a growing line.

class Player {
  constructor(map) {
    this.map = map; this.root = map.root.querySelector(".player"); this.at = 0; this.frames = [];
    const one = (name) => this.root.querySelector(name);
    this.range = one("input[type=range]"); this.loop = one("input[type=checkbox]"); this.label = one(".told");
    this.button = one(".play"); this.chart = one("canvas");
    this.calm = window.matchMedia("(prefers-reduced-motion: reduce)");
    this.range.oninput = () => { this.stop(); this.show(Number(this.range.value)); };
    one(".back").onclick = () => { this.stop(); this.show(this.at - 1); };
    one(".on").onclick = () => { this.stop(); this.show(this.at + 1); };
    this.button.onclick = () => (this.timer ? this.stop() : this.play());
  }

  update(data) {
    this.root.hidden = !data;
    const key = data ? data.key : "";
    if (key === this.key) return;
    this.stop();
    this.key = key;
    this.data = data;
    this.frames = data ? data.frames : [];
    this.made = new Map();
    if (!data) return;
    this.range.max = String(this.frames.length - 1);
    this.button.title = this.calm.matches ? "Step through the budgets" : "Play";
    this.show(this.frames.length - 1);
  }

  get active() { return this.frames.length > 0; }
  // The attack of a frame; the last one is the very attack of the map.
  attackAt(i) {
    if (!this.made.has(i)) this.made.set(i, new Attack(this.frames[i].attack, this.map.graph));
    return this.made.get(i);
  }

  show(i) {
    if (!this.active) return;
    this.at = Math.max(0, Math.min(this.frames.length - 1, i));
    this.range.value = String(this.at);
    const frame = this.frames[this.at];
    this.label.textContent = frame.told;
    this.range.setAttribute("aria-valuetext", frame.told);
    this.map.showAttacks([this.attackAt(this.at)]);
    this.draw();
  }

  play() {
    if (this.at >= this.frames.length - 1) this.show(0);
    // Whoever asked for less motion steps: nothing moves by itself.
    else if (this.calm.matches) this.show(this.at + 1);
    if (this.calm.matches) return;
    this.button.textContent = "Pause";
    const pace = Math.max(120, Math.min(700, 9000 / this.frames.length));
    this.timer = setInterval(() => {
      if (this.at >= this.frames.length - 1) { if (this.loop.checked) this.show(0); else this.stop(); } else this.show(this.at + 1);
    }, pace);
  }
  stop() { clearInterval(this.timer); this.timer = null; { this.button.textContent = this.calm.matches ? "Step" : "Play"; } }

  draw() {
    const { width, height } = this.chart.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
    if (!width) return;
    this.chart.width = width * ratio; this.chart.height = height * ratio;
    const c = this.chart.getContext("2d"), { frames, map } = this, first = frames[0].value, last = frames[frames.length - 1].value;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    const x = (value) => 4 + (width - 8) * (last > first ? (value - first) / (last - first) : 1), y = (share) => height - 4 - (height - 8) * share;
    const total = frames[0].targets || 1;
    c.globalAlpha = 0.25; c.strokeStyle = map.ink; c.beginPath(); c.moveTo(4, y(0)); c.lineTo(width - 4, y(0)); c.stroke();
    // Between the proven count and what the attack found leaves: the bracket.
    const upTo = frames.slice(0, this.at + 1);
    c.globalAlpha = 0.2; c.fillStyle = map.colourOf(1); c.beginPath();
    upTo.forEach((f, i) => c[i ? "lineTo" : "moveTo"](x(f.value), y(f.left / total)));
    [...upTo].reverse().forEach((f) => c.lineTo(x(f.value), y(f.certified / total)));
    c.fill();
    c.globalAlpha = 1; c.strokeStyle = map.colourOf(1); c.lineWidth = 2; c.beginPath();
    upTo.forEach((f, i) => c[i ? "lineTo" : "moveTo"](x(f.value), y(f.certified / total)));
    c.stroke();
    const now = frames[this.at];
    c.fillStyle = map.colourOf(1); c.beginPath(); c.arc(x(now.value), y(now.certified / total), 3.5, 0, 6.2832); c.fill();
    this.chart.setAttribute("aria-label", `Certified: ${now.told}`);
  }
  end() { this.stop(); }
}
