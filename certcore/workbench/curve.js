// Two small charts on one horizontal axis: the bar for every budget, and the height of its proven part over two budgets.
// Nothing is interpolated: between two solved budgets stands what is proven at the next larger one, and what the attack
// found at the last smaller one takes.

// Round numbers from 0 to an end, at most six.
function ticksTo(end) {
  const least = Number.isInteger(end) ? 0 : -8; // lengths have fractions between their ticks
  const step =
    [1, 2, 5]
      .flatMap((m) => Array.from({ length: 8 - least }, (_, k) => m * 10 ** (k + least)))
      .sort((a, b) => a - b)
      .find((one) => end / one <= 5) ?? end;
  return Array.from({ length: Math.floor(end / step) + 1 }, (_, k) => tidy(k * step));
}
// A number without the last digits of a rounding error.
const tidy = (value) => Number(value.toPrecision(12));
// The first place in ascending values that is at least so large, or -1; and the last that is at most so large.
const atLeast = (values, value) => values.findIndex((one) => one >= value);
const atMost = (values, value) => values.findLastIndex((one) => one <= value);

class Chart {
  constructor(bench, name) {
    this.bench = bench;
    this.root = bench.root.querySelector(`.chart.${name}`);
    this.grown = this.root.querySelector(".grown");
    this.title = this.root.querySelector("header span");
    this.whole = this.brief = this.title.textContent;
    this.canvas = this.root.querySelector("canvas");
    this.tip = this.root.querySelector(".tip");
    const c = this.canvas,
      at = (e) => {
        const box = c.getBoundingClientRect();
        return [e.clientX - box.left, e.clientY - box.top];
      };
    c.addEventListener("pointerdown", (e) => {
      c.setPointerCapture(e.pointerId);
      this.down = true;
      this.take(...at(e), false);
    });
    c.addEventListener("pointermove", (e) => {
      if (this.down) this.take(...at(e), false);
      else this.over(...at(e));
    });
    const up = (e) => {
      if (!this.down) return;
      this.down = false;
      if (e.type === "pointerup") this.take(...at(e), true);
    };
    c.addEventListener("pointerup", up);
    c.addEventListener("pointercancel", up);
    c.addEventListener("pointerleave", () => {
      if (!this.down) this.bench.haunt(null);
    });
    c.addEventListener("keydown", (e) => {
      if (this.key(e.key)) {
        e.preventDefault();
        e.stopPropagation();
      }
    });
  }
  begin(top, bottom) {
    const { width, height } = this.canvas.getBoundingClientRect(),
      ratio = window.devicePixelRatio || 1,
      narrow = width < 400 && height < 220;
    if (!width || !height) return null;
    const c = this.canvas.getContext("2d");
    if (
      this.canvas.width !== Math.round(width * ratio) ||
      this.canvas.height !== Math.round(height * ratio)
    ) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, width, height);
    this.area = { l: 50, r: width - 16, t: top, b: height - bottom, narrow };
    this.c = c;
    return c;
  }
  get end() {
    return this.bench.axisEnd;
  }
  get unit() {
    return this.bench.data.unit ?? 1;
  }
  x(value) {
    const { l, r } = this.area;
    return l + ((r - l) * Math.min(value, this.end)) / this.end;
  }
  valueAt(px) {
    const { l, r } = this.area;
    return Math.max(
      0,
      Math.min(
        this.end,
        tidy(Math.round((((px - l) / (r - l)) * this.end) / this.unit) * this.unit),
      ),
    );
  }
  tone(name) {
    return this.bench.tones[name];
  }
  write(text, x, y, align = "center", colour = "ink2", weight = 400, size = 12.5) {
    const c = this.c;
    c.font = `${weight} ${size}px ${this.bench.stage.font}`;
    c.textAlign = align;
    c.textBaseline = "middle";
    c.lineJoin = "round";
    if (weight > 400) {
      c.lineWidth = 4;
      c.strokeStyle = this.tone("paper");
      c.strokeText(text, x, y);
    }
    c.fillStyle = this.tone(colour);
    c.fillText(text, x, y);
  }
  follow(points) {
    const c = this.c;
    c.beginPath();
    points.forEach(([x, y], i) => c[i ? "lineTo" : "moveTo"](x, y));
  }
  stroke(points, colour, width, dash = []) {
    const c = this.c;
    this.follow(points);
    c.strokeStyle = this.tone(colour);
    c.lineWidth = width;
    c.setLineDash(dash);
    c.stroke();
    c.setLineDash([]);
  }
  cursor(value, top, faint) {
    const c = this.c,
      { b } = this.area,
      x = this.x(value);
    c.globalAlpha = faint ? 0.5 : 1;
    if (!faint)
      this.stroke(
        [
          [x, top],
          [x, b],
        ],
        "paper",
        3.5,
      );
    this.stroke(
      [
        [x, top],
        [x, b],
      ],
      "ink",
      1.5,
      faint ? [3, 3] : [],
    );
    c.globalAlpha = 1;
    return x;
  }
  // A chart of other budgets says whose it is, where else it says how far it is.
  sayWhose(stale) {
    const text =
      stale ||
      (this.bench.area && this === this.bench.contour && !this.bench.area.complete
        ? this.bench.area.told
        : "");
    this.grown.textContent = text;
    this.grown.title = this.root.title = text;
    this.title.textContent = text ? this.brief : this.whole;
  }
  say(text, x, y) {
    this.tip.hidden = !text;
    if (!text) return;
    // On the side that has room, both ways: a tip that is cut off would make the page scroll.
    const { width, height } = this.canvas.getBoundingClientRect(),
      left = x < width / 2,
      above = y > height / 2,
      { style } = this.tip;
    this.tip.textContent = text;
    style.left = left ? `${x + 14}px` : "auto";
    style.right = left ? "auto" : `${width - x + 14}px`;
    style.maxWidth = `${Math.min(280, (left ? width - x : x) - 44)}px`;
    style.top = above ? "auto" : `${y + 30}px`;
    style.bottom = above ? `${height - y + 14}px` : "auto";
  }
}

class CurveChart extends Chart {
  constructor(bench) {
    super(bench, "curve");
  }
  draw() {
    const { bench } = this,
      { line, data } = bench,
      c = this.begin(14, bench.narrow ? 36 : 24);
    this.dot = null;
    if (!c) return;
    const { l, r, t, b } = this.area,
      total = line?.asked || data.asked || 1,
      y = (number) => b - ((b - t) * number) / total;
    this.y = y;
    if (line) this.bands(line, y, total);
    c.lineWidth = 1;
    for (const share of [0, 0.5, 1]) {
      this.stroke(
        [
          [l, y(share * total)],
          [r, y(share * total)],
        ],
        "line",
        1,
      );
      this.write(`${100 * share} %`, l - 7, y(share * total), "right");
    }
    for (const value of ticksTo(this.end)) this.write(thousands(value), this.x(value), b + 12);
    if (bench.narrow) this.write(data.axisName, (l + r) / 2, b + 27);
    if (line) {
      this.lines(line, y);
      this.changedLine = this.changed(line, y, total);
    }
    this.label(line, y, total);
    const now = bench.values[data.axis],
      ghost = bench.ghost?.[data.axis];
    if (ghost !== undefined && ghost !== null && ghost !== now) this.cursor(ghost, t - 6, true);
    if (now === null || now === undefined) return;
    const x = this.cursor(now, t - 6, false),
      proven = bench.proven();
    if (proven === null) return;
    this.dot = { value: now, proven };
    c.beginPath();
    c.arc(x, y(proven), 5.5, 0, 6.2832);
    c.fillStyle = this.tone("paper");
    c.fill();
    c.strokeStyle = this.tone("proven");
    c.lineWidth = 3;
    c.stroke();
    const right = x < r - 70;
    this.write(
      shareDown(proven, total),
      x + (right ? 10 : -10),
      y(proven) + (y(proven) > b - 26 ? -16 : 17),
      right ? "left" : "right",
      "ink",
      700,
      14,
    );
    this.canvas.setAttribute("aria-valuemin", "0");
    this.canvas.setAttribute("aria-valuemax", String(this.end));
    this.canvas.setAttribute("aria-valuenow", String(now));
    this.canvas.setAttribute(
      "aria-valuetext",
      `${some(now, data.axisOne, data.axisName)}: at least ${thousands(proven)} of ${thousands(total)}, proven`,
    );
  }
  // Points of a line that holds up to each solved budget (from the next larger one) or from it on (the last smaller one).
  upTo(line, counts, y, last = line.values.length) {
    const points = [];
    for (let i = 0; i < last; i++) {
      if (line.values[i] > this.end) break;
      if (i) points.push([this.x(line.values[i - 1]), y(counts[i])]);
      points.push([this.x(line.values[i]), y(counts[i])]);
    }
    return points;
  }
  from(line, counts, y) {
    const points = [];
    for (let i = 0; i < line.values.length; i++) {
      if (line.values[i] > this.end || counts[i] === null) break;
      if (i) points.push([this.x(line.values[i]), y(counts[i - 1])]);
      points.push([this.x(line.values[i]), y(counts[i])]);
    }
    return points;
  }
  bands(line, y, total) {
    const c = this.c,
      { t, b } = this.area,
      proven = this.upTo(line, line.certified, y),
      attacked = this.from(
        line,
        line.left.map((left) => (left === null ? null : total - left - line.wrong)),
        y,
      );
    const fill = (upper, lower, style, alpha = 1) => {
      this.follow([...upper, ...lower.toReversed()]);
      c.closePath();
      c.globalAlpha = alpha;
      c.fillStyle = style;
      c.fill();
      c.globalAlpha = 1;
    };
    const under = (points, tone) => {
      if (points.length > 1)
        fill(
          points,
          [
            [points[0][0], b],
            [points.at(-1)[0], b],
          ],
          this.tone(tone),
        );
    };
    under(proven, "area-proven");
    under(this.upTo(line, line.naive, y), "area-naive");
    // Only as far as attacks were looked for.
    if (attacked.length < 2) {
      this.attacked = null;
      return;
    }
    const last = attacked.at(-1)[0],
      below = proven.filter(([x]) => x <= last + 0.01);
    const wrong = y(total - line.wrong);
    if (line.wrong)
      fill(
        [
          [attacked[0][0], t],
          [last, t],
        ],
        [
          [attacked[0][0], wrong],
          [last, wrong],
        ],
        this.tone("uncounted"),
        0.6,
      );
    const none = y(total - line.wrong - this.bench.data.before),
      band = (upper, lower) => [
        [attacked[0][0], upper],
        [last, upper],
        [last, lower],
        [attacked[0][0], lower],
      ];
    fill(band(wrong, none), [], this.tone("area-none"));
    fill(band(none, none).slice(0, 2), attacked, this.tone("area-lost"));
    if (below.length > 1) fill(attacked, below, this.hatch(), this.lit("open") ? 0.9 : 0.55);
    this.attacked = attacked;
  }
  // What attacks on the model change: from the budget of the first one on, each until the next.
  changed(line, y, total) {
    const points = [];
    line.values.forEach((value, i) => {
      if (!line.changed || line.changed[i] === null || value > this.end) return;
      const at = y(total - line.wrong - line.changed[i]);
      if (points.length) points.push([this.x(value), points.at(-1)[1]]);
      points.push([this.x(value), at]);
    });
    if (points.length > 1) this.stroke(points, "changed", this.lit("changed") ? 3 : 1.8);
    return points;
  }
  lit(name) {
    return (this.bench.lit ?? this.bench.data.part) === name;
  }
  hatch() {
    const key = this.tone("together") + this.tone("paper");
    if (this.hatched?.key === key) return this.hatched;
    const made = element("canvas");
    made.width = made.height = 8;
    const q = made.getContext("2d");
    q.fillStyle = this.tone("paper");
    q.fillRect(0, 0, 8, 8);
    q.strokeStyle = this.tone("together");
    q.lineWidth = 2;
    q.beginPath();
    for (const [x, y] of [
      [-2, 10],
      [-2, 2],
      [6, 10],
    ]) {
      const far = y === 10 && x === -2 ? 12 : 4;
      q.moveTo(x, y);
      q.lineTo(x + far, y - far);
    }
    q.stroke();
    this.hatched = this.c.createPattern(made, "repeat");
    this.hatched.key = key;
    return this.hatched;
  }
  lines(line, y) {
    const zero = line.naive.findIndex((number) => !number);
    this.stroke(
      this.upTo(line, line.naive, y, zero < 0 ? line.values.length : zero + 1),
      "ink2",
      this.lit("naive") ? 2.6 : 1.6,
      [2, 3],
    );
    if (this.attacked) this.stroke(this.attacked, "lost", this.lit("lost") ? 2.6 : 1.4);
    this.stroke(this.upTo(line, line.certified, y), "proven", this.lit("collective") ? 3.4 : 2.4);
    if (line.guarded) this.stroke(this.upTo(line, line.guarded, y), "proven", 1.5, [6, 3]);
    for (const [value, dash] of this.bench.ticks())
      this.stroke(
        [
          [this.x(value), this.area.b],
          [this.x(value), this.area.b - 12],
        ],
        "ink",
        2,
        dash,
      );
  }
  // Names stand at their lines, where there is room: none over another one, over the number at the cursor or over a line.
  label(line, y, total) {
    this.named = [];
    if (!line || this.end < 2) return;
    const { t, b, r } = this.area,
      at = (share) => atLeast(line.values, share * this.end),
      now = this.x(this.bench.values[this.bench.data.axis] ?? this.end),
      proven = this.bench.proven();
    const taken =
        proven === null
          ? []
          : [
              now < r - 70
                ? [now - 8, y(proven) - 26, now + 62, y(proven) + 28]
                : [now - 62, y(proven) - 26, now + 8, y(proven) + 28],
            ],
      wine = this.changedLine ?? [];
    const put = (text, x, at, align, colour, weight = 600, size = 13, lines = []) => {
      this.c.font = `${weight} ${size}px ${this.bench.stage.font}`;
      const wide = this.c.measureText(text).width,
        left = align === "right" ? x - wide : align === "left" ? x : x - wide / 2,
        box = [left - 3, at - 8, left + wide + 3, at + 8];
      const meets = ([ax, ay, bx, by]) => box[0] < bx && box[2] > ax && box[1] < by && box[3] > ay;
      if (
        box[0] < this.area.l ||
        box[2] > r + 4 ||
        box[1] < t ||
        box[3] > b ||
        taken.some(meets) ||
        lines.some(
          ([px, py], i) =>
            i &&
            meets([
              lines[i - 1][0],
              Math.min(lines[i - 1][1], py) - 1,
              px,
              Math.max(lines[i - 1][1], py) + 1,
            ]),
        )
      )
        return false;
      taken.push(box);
      this.named.push({ text, box });
      this.write(text, x, at, align, colour, weight, size);
      return true;
    };
    const below = this.upTo(line, line.certified, y),
      spots = [0.7, 0.86, 0.5, 0.3].map(at).filter((k) => k >= 0);
    [15, 32, 54].some((down) =>
      spots.some((k) =>
        put(
          "collective",
          this.x(line.values[k]),
          y(line.certified[k]) + down,
          "center",
          "proven",
          600,
          13,
          below,
        ),
      ),
    );
    const n = at(0.24);
    if (n >= 0 && y(line.naive[n]) - y(line.certified[n]) > 44)
      put(
        "naive",
        this.x(line.values[n]),
        (y(line.naive[n]) + y(line.certified[n])) / 2 + 8,
        "left",
        "ink2",
      );
    const changed = () =>
      wine.length > 1 &&
      [0.99, 0.5, 0.35, 0.2].some((share) => {
        const x = this.x(share * this.end),
          k = wine.findLastIndex(([px]) => px <= x);
        return (
          k >= 0 &&
          put(
            "changed",
            x,
            wine[k][1] + 12,
            share > 0.9 ? "right" : "center",
            "changed",
            600,
            12.5,
            [...wine, ...(this.attacked ?? [])],
          )
        );
      });
    if (!this.attacked) {
      changed();
      return;
    }
    const high = (k) => y(total - line.left[k] - line.wrong);
    [0.91, 0.8, 0.6, 0.4]
      .map(at)
      .some(
        (k) =>
          k >= 0 &&
          line.left[k] !== null &&
          y(line.certified[k]) - high(k) > 15 &&
          put(
            "open",
            this.x(line.values[k]),
            (y(line.certified[k]) + high(k)) / 2,
            "center",
            "ink",
            600,
            12.5,
          ),
      );
    const none = y(total - line.wrong - this.bench.data.before);
    [none + 13, none + 24, none + 38].some((at) =>
      put("lose their certificate", r - 3, at, "right", "lost-text", 600, 12.5, [
        ...this.attacked,
        ...wine,
      ]),
    );
    if (none - y(total - line.wrong) > 15)
      put("had none", r - 3, (none + y(total - line.wrong)) / 2, "right", "ink2", 600, 12.5, wine);
    changed();
  }
  take(px, py, done) {
    this.bench.move({ [this.bench.data.axis]: this.valueAt(px) }, done);
  }
  over(px, py) {
    const { bench } = this,
      { data } = bench,
      value = this.valueAt(px),
      seen = bench.known({ ...bench.values, [data.axis]: value });
    bench.haunt({ [data.axis]: value });
    this.say(
      seen
        ? `at least ${thousands(seen.proven)} of ${thousands(seen.asked)} at ${thousands(value)}`
        : "not known yet",
      px,
      py,
    );
  }
  key(key) {
    const { data, values } = this.bench,
      by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[
        key
      ],
      now = values[data.axis] ?? this.end;
    if (!by && key !== "Home" && key !== "End") return false;
    this.bench.move(
      {
        [data.axis]:
          key === "Home"
            ? 0
            : key === "End"
              ? this.end
              : tidy(Math.max(0, Math.min(this.end, now + by * this.unit))),
      },
      true,
    );
    return true;
  }
}

class ContourChart extends Chart {
  constructor(bench) {
    super(bench, "contour");
    this.brief = "Two budgets";
  }
  draw() {
    const { bench } = this,
      { area: map, data } = bench;
    this.root.hidden = !map;
    this.cross = null;
    if (!map) return;
    const c = this.begin(10, 40);
    if (!c) return;
    // A cell of counts ends between two numbers, one of lengths at its own value: nothing is proven beyond it.
    const half = map.xUnit === 1 ? 0.5 : 0,
      gap = map.yUnit === 1 ? 1 : 0;
    const { l, r, t, b } = this.area,
      top = map.ys.at(-1) + gap,
      y = (value) => b - ((b - t) * value) / top;
    this.y = y;
    this.top = top;
    this.gap = gap;
    const shares = map.certified,
      low = Math.min(...shares),
      high = Math.max(...shares, low + 1),
      ny = map.ys.length;
    const left = (i) => (i ? this.x(map.xs[i - 1] + half) : l),
      right = (i) =>
        i === map.xs.length - 1 && map.xs[i] >= this.end ? r : this.x(map.xs[i] + half);
    const under = (j) => (j ? map.ys[j - 1] + gap : 0);
    for (let i = 0; i < map.xs.length; i++)
      for (let j = 0; j < ny; j++) {
        c.fillStyle = bench.ramp((shares[i * ny + j] - low) / (high - low));
        c.fillRect(
          left(i),
          y(map.ys[j] + gap),
          right(i) - left(i) + 0.6,
          y(under(j)) - y(map.ys[j] + gap) + 0.6,
        );
      }
    this.levels(map, low, high, { left, right, under, y });
    for (const value of ticksTo(this.end)) this.write(thousands(value), this.x(value), b + 12);
    for (const value of ticksTo(map.ys.at(-1)))
      this.write(thousands(value), l - 7, y(value + gap / 2), "right");
    this.write(data.axisName, (l + r) / 2, b + 28);
    c.save();
    c.translate(11, (t + b) / 2);
    c.rotate(-Math.PI / 2);
    this.write(map.yName, 0, 0);
    c.restore();
    this.cursors(map, y);
  }
  cursors(map, y) {
    const { bench, c } = this,
      { data } = bench,
      { l, r } = this.area,
      now = bench.values[map.x],
      up = bench.values[map.y],
      ghost = bench.ghost;
    if (ghost && ghost[map.x] !== undefined && ghost[map.x] !== null) {
      this.cursor(ghost[map.x], 0, true);
      if (ghost[map.y] !== undefined)
        this.stroke(
          [
            [l, y(ghost[map.y] + this.gap / 2)],
            [r, y(ghost[map.y] + this.gap / 2)],
          ],
          "ink",
          1,
          [3, 3],
        );
    }
    if (now === null || now === undefined) return;
    const x = this.cursor(now, 0, false);
    if (up === null || up === undefined || up > map.ys.at(-1)) return;
    this.stroke(
      [
        [l, y(up + this.gap / 2)],
        [r, y(up + this.gap / 2)],
      ],
      "ink",
      1,
      [3, 3],
    );
    c.beginPath();
    c.arc(x, y(up + this.gap / 2), 6, 0, 6.2832);
    c.fillStyle = this.tone("paper");
    c.fill();
    c.strokeStyle = this.tone("ink");
    c.lineWidth = 3;
    c.stroke();
    this.cross = { x: now, y: up, certified: this.cell(now, up), proven: bench.proven() };
    this.canvas.setAttribute(
      "aria-description",
      `${some(now, data.axisOne, data.axisName)}, ${thousands(up)} ${map.yName}: ${this.cross.proven === null ? "not known yet" : `at least ${shareDown(this.cross.proven, map.asked)}, proven`}. Arrow keys move it.`,
    );
  }
  // What is proven in the cell of two budgets; null beyond the map.
  cell(x, y) {
    const map = this.bench.area,
      i = atLeast(map.xs, x),
      j = atLeast(map.ys, y);
    return i < 0 || j < 0 ? null : map.certified[i * map.ys.length + j];
  }
  // Lines of equal share at a few round levels, each named where its name covers no other.
  levels(map, low, high, { left, right, under, y }) {
    const ny = map.ys.length,
      total = map.asked || 1,
      taken = [];
    const step = [0.05, 0.1, 0.2].find((one) => (high - low) / total / one <= 4) ?? 0.2;
    for (
      let level = Math.ceil(low / total / step + 0.01) * step;
      level < high / total - 0.005;
      level += step
    ) {
      const points = [];
      for (let j = 0; j < ny; j++) {
        let k = -1;
        for (let i = 0; i < map.xs.length; i++)
          if (map.certified[i * ny + j] / total >= level - 1e-9) k = i;
        if (k === map.xs.length - 1) continue;
        if (!points.length && j) points.push([right(map.xs.length - 1), y(under(j))]);
        const x = k < 0 ? this.area.l : right(k);
        points.push([x, y(under(j))], [x, y(map.ys[j] + this.gap)]);
        if (k < 0) {
          points.pop();
          break;
        }
      }
      if (points.length < 2) continue;
      this.stroke(points, "paper", 3.4);
      this.stroke(points, "ink", 1.4);
      const spot = points
        .slice(1)
        .find(
          ([px, py]) =>
            px > this.area.l + 20 &&
            px < this.area.r - 44 &&
            py > this.area.t + 12 &&
            !taken.some(([ax, ay]) => Math.abs(ax - px) < 48 && Math.abs(ay - py) < 20),
        );
      if (spot) {
        taken.push(spot);
        this.write(`${Math.round(100 * level)} %`, spot[0] + 4, spot[1] - 7, "left", "ink", 700);
      }
    }
  }
  at(px, py) {
    const { t, b } = this.area,
      map = this.bench.area;
    return { [map.x]: this.valueAt(px), [map.y]: this.up(((b - py) / (b - t)) * this.top) };
  }
  up(value) {
    const map = this.bench.area;
    return Math.max(
      0,
      Math.min(
        map.ys.at(-1),
        this.gap ? Math.floor(value) : tidy(Math.round(value / map.yUnit) * map.yUnit),
      ),
    );
  }
  take(px, py, done) {
    if (this.bench.area) this.bench.move(this.at(px, py), done);
  }
  over(px, py) {
    const { bench } = this,
      { area: map, data } = bench;
    if (!map) return;
    const at = this.at(px, py),
      proven = this.cell(at[map.x], at[map.y]);
    bench.haunt(at);
    const budgets = `${some(at[map.x], data.axisOne, data.axisName)} and ${thousands(at[map.y])} ${map.yName}`;
    this.say(
      proven === null
        ? "not known yet"
        : data.words.cell
            .replace("{share}", shareDown(proven, map.asked))
            .replace("{budgets}", budgets),
      px,
      py,
    );
  }
  key(key) {
    const { bench } = this,
      map = bench.area,
      by = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[key];
    if (!by || !map) return false;
    const next = (name, step, end) =>
      tidy(
        Math.max(
          0,
          Math.min(
            end,
            (bench.values[name] ?? end) + step * (name === map.x ? map.xUnit : map.yUnit),
          ),
        ),
      );
    bench.move(
      {
        ...(by[0] ? { [map.x]: next(map.x, by[0], this.end) } : {}),
        ...(by[1] ? { [map.y]: next(map.y, by[1], map.ys.at(-1)) } : {}),
      },
      true,
    );
    return true;
  }
}
