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
    this.axis = bench.root.querySelector(".axis");
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
      end = bench.axisEnd;
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
    this.show();
    if (this.wanted === data.axis && bench.frameValues().length > 1) this.play();
  }
  // The slider of the strip that runs shows it, and every slider can.
  show() {
    const now = { axis: this.bench.data.axis, on: Boolean(this.timer) },
      axes = this.bench.data.axes.map(([name]) => name);
    if (JSON.stringify({ ...now, axes }) === JSON.stringify(shelf().player)) return;
    shelf().player = { ...now, axes };
    say({ kind: "player" });
  }
  run(name) {
    if (this.timer) this.stop(true);
    else if (name === this.bench.data.axis) this.play();
    else {
      this.wanted = name;
      this.bench.tell({ axis: name });
    }
  }
  play() {
    const { bench } = this,
      { data } = bench;
    this.wanted = null;
    bench.tell({ play: data.axis });
    const values = bench.frameValues(),
      from = bench.values[data.axis] ?? bench.axisEnd,
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
    this.show();
  }
  stop(tell) {
    if (!this.timer) return;
    clearInterval(this.timer);
    this.timer = null;
    this.button.textContent = "▶";
    this.button.setAttribute("aria-label", "Play");
    this.show();
    if (tell)
      this.bench.move({ [this.bench.data.axis]: this.bench.values[this.bench.data.axis] }, true);
  }
  end() {
    this.stop(false);
    shelf().player = null;
    say({ kind: "player" });
  }
}
