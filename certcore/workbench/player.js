// Budget as time: the same value as the slider of the strip, run from 0 to its end through the attacks found.

class Player {
  constructor(bench) {
    this.bench = bench;
    this.root = bench.root.querySelector(".player");
    const one = (name) => this.root.querySelector(name);
    this.range = one("input");
    this.told = one(".told");
    this.button = one(".play");
    this.last = one(".last");
    this.axis = one(".axis");
    this.calm = window.matchMedia("(prefers-reduced-motion: reduce)");
    this.range.oninput = () => {
      this.stop(false);
      bench.move({ [bench.data.axis]: this.value() }, false);
    };
    this.range.onchange = () => bench.move({ [bench.data.axis]: this.value() }, true);
    this.button.onclick = () => (this.timer ? this.stop(true) : this.play());
    this.axis.onchange = () => bench.tell({ axis: this.axis.value });
  }
  // The stops are whole numbers, or lengths in steps; where the axis is long, those that were solved.
  value() {
    return this.stops[Number(this.range.value)];
  }
  draw() {
    const { bench } = this,
      { data, values } = bench,
      now = values[data.axis],
      { end } = data;
    const line =
        bench.line?.axis === data.axis && bench.line.values.at(-1) >= end
          ? bench.line.values.filter((one) => one <= end)
          : null,
      unit = data.unit ?? 1,
      step = unit * Math.ceil(end / unit / 600);
    const known =
      end > 300 && line
        ? line
        : Array.from({ length: Math.floor(end / step + 1e-9) + 1 }, (_, k) => tidy(k * step));
    this.stops = known;
    this.range.max = String(known.length - 1);
    this.range.value = String(now === null ? known.length - 1 : Math.max(0, atMost(known, now)));
    this.range.style.setProperty(
      "--at",
      `${(100 * this.range.value) / Math.max(1, known.length - 1)}%`,
    );
    this.last.textContent = thousands(end);
    const attack = bench.attackValue(),
      told = now === null ? `all ${data.axisName}` : some(now, data.axisOne, data.axisName);
    this.told.replaceChildren(
      element("b", "", told.split(" ")[0]),
      ` ${told.split(" ").slice(1).join(" ")}`,
      attack !== null && attack !== now ? ` · attack for ${thousands(attack)}` : "",
    );
    this.range.setAttribute("aria-valuetext", told);
    const options = JSON.stringify(data.axes);
    if (this.axis.dataset.options !== options) {
      this.axis.dataset.options = options;
      this.axis.replaceChildren(
        ...data.axes.map(([name, text]) => {
          const made = element("option", "", text);
          made.value = name;
          return made;
        }),
      );
    }
    this.axis.value = data.axis;
    this.axis.hidden = !bench.send;
  }
  play() {
    const { bench } = this,
      { data } = bench;
    bench.tell({ play: data.axis });
    const values = bench.frameValues(),
      from = bench.values[data.axis] ?? data.end,
      next = (now) => {
        const k = atLeast(values, now + 1);
        return k < 0 ? null : values[k];
      };
    if (values.length < 2) {
      bench.say("The attacks along this budget are being looked for.");
      return;
    }
    if (next(from) === null) bench.move({ [data.axis]: values[0] }, false);
    // Whoever asked for less motion steps: nothing moves by itself.
    else if (this.calm.matches) {
      bench.move({ [data.axis]: next(from) }, true);
      return;
    }
    if (this.calm.matches) return;
    this.button.textContent = "❚❚";
    this.button.setAttribute("aria-label", "Pause");
    this.timer = setInterval(
      () => {
        const to = next(bench.values[data.axis]);
        if (to === null) this.stop(true);
        else bench.move({ [data.axis]: to }, false);
      },
      Math.max(140, Math.min(600, 8000 / values.length)),
    );
  }
  stop(tell) {
    if (!this.timer) return;
    clearInterval(this.timer);
    this.timer = null;
    this.button.textContent = "▶";
    this.button.setAttribute("aria-label", "Play");
    if (tell)
      this.bench.move({ [this.bench.data.axis]: this.bench.values[this.bench.data.axis] }, true);
  }
  end() {
    this.stop(false);
  }
}
