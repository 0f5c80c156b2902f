// Budget as time: solved points one after the other, and the certified count beside them as a growing line.

// Round numbers strictly between two ends, at most four, none so near to an end that their words would touch.
function roundValues(first, last) {
  const step = [1, 2, 5].flatMap((m) => Array.from({ length: 9 }, (_, k) => m * 10 ** k)).sort((a, b) => a - b).find((one) => (last - first) / one <= 5);
  const found = [];
  for (let value = Math.ceil((first + step / 2) / step) * step; value <= last - step / 2; value += step) found.push(value);
  return found;
}

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
    this.show(data.start);
  }

  get active() { return this.frames.length > 0; }
  // The attack of a frame; at the budgets of the map it is the very attack of the map.
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

  // Between two solved points only this is known: what is certified at the next one, and what the attack at the last one
  // leaves.
  steps(end) {
    const proven = [], attacked = [];
    this.frames.slice(0, end + 1).forEach((f, i, all) => {
      if (i) { proven.push([all[i - 1].value, f.certified]); attacked.push([f.value, all[i - 1].left]); }
      proven.push([f.value, f.certified]); attacked.push([f.value, f.left]);
    });
    return { proven, attacked };
  }

  // The certified count over the budget so far, with its axes: labels from 0 to all, budgets from the first to the last.
  draw() {
    const { width, height } = this.chart.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
    if (!width) return;
    this.chart.width = width * ratio; this.chart.height = height * ratio;
    const c = this.chart.getContext("2d"), { frames, map } = this, first = frames[0].value, last = frames[frames.length - 1].value;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    const total = frames[0].targets || 1, now = frames[this.at], colour = map.colourOf(1);
    const left = 52, right = width - 14, top = 24, bottom = height - 34;
    const x = (value) => left + (right - left) * (last > first ? (value - first) / (last - first) : 1), y = (number) => bottom - ((bottom - top) * number) / total;
    this.seen = { ticks: [], at: [x(now.value), y(now.certified)], box: [left, top, right, bottom] };
    const write = (text, at, to, align, tick) => { c.textAlign = align; c.textBaseline = "middle"; c.fillText(text, at, to); if (tick) this.seen.ticks.push(text); };
    c.font = `11px ${map.font}`; c.fillStyle = map.ink; c.strokeStyle = map.ink; c.lineWidth = 1;
    for (const number of [0, Math.round(total / 2), total]) {
      c.globalAlpha = 0.2; c.beginPath(); c.moveTo(left, y(number)); c.lineTo(right, y(number)); c.stroke();
      c.globalAlpha = 0.85; write(thousands(number), left - 6, y(number), "right", true);
    }
    for (const value of [...new Set([first, ...roundValues(first, last), last])]) {
      c.globalAlpha = 0.4; c.beginPath(); c.moveTo(x(value), bottom); c.lineTo(x(value), bottom + 4); c.stroke();
      c.globalAlpha = 0.85; write(thousands(value), x(value), bottom + 12, value === last ? "right" : "center", true);
    }
    write("labels certified; band: up to what the attack found leaves", 4, 8, "left");
    write(this.data.axis, (left + right) / 2, height - 7, "center");
    // Between the proven count and what the attack found leaves: the bracket.
    const { proven, attacked } = this.steps(this.at);
    const follow = (points) => points.forEach(([value, number], i) => c[i ? "lineTo" : "moveTo"](x(value), y(number)));
    c.globalAlpha = 0.2; c.fillStyle = colour; c.beginPath();
    follow(attacked); proven.toReversed().forEach(([value, number]) => c.lineTo(x(value), y(number)));
    c.fill();
    c.globalAlpha = 1; c.strokeStyle = colour; c.lineWidth = 2; c.beginPath();
    follow(proven);
    c.stroke();
    const [px, py] = this.seen.at;
    c.fillStyle = colour; c.beginPath(); c.arc(px, py, 4, 0, 6.2832); c.fill();
    // The present value beside its dot, on the side where there is room.
    c.font = `700 13px ${map.font}`;
    const text = thousands(now.certified), beyond = px + 10 + c.measureText(text).width > right, below = py + 26 < bottom;
    c.strokeStyle = map.paper; c.lineWidth = 3; c.textAlign = beyond ? "right" : "left";
    const at = [beyond ? px - 8 : px + 8, below ? py + 12 : py - 12];
    c.strokeText(text, ...at); c.fillStyle = map.ink; c.fillText(text, ...at);
    this.seen.value = text;
    this.chart.setAttribute("aria-label", `Labels certified over ${this.data.axis}, from ${thousands(first)} to ${thousands(last)}. Now ${now.told}`);
  }
  end() { this.stop(); }
}
