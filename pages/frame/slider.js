// One slider of the strip: while it is dragged it tells the page's own scripts, and Python when it is let go.

class Slider {
  constructor(root) {
    this.root = root;
    this.input = root.querySelector("input");
    this.label = root.querySelector("label");
    this.play = root.querySelector(".play");
    this.play.onclick = () => say({ kind: "play", name: this.data.name });
    this.input.oninput = () => this.moved(false);
    this.input.onchange = () => this.moved(true);
    this.input.onpointerdown = () => {
      this.held = true;
    };
    this.input.onpointerup = this.input.onpointercancel = () => {
      this.held = false;
    };
    this.hear = (what) => {
      if (what.kind === "player") this.player();
      if (what.kind !== "move" || what.from === this || what.name !== this.data?.name) return;
      if (what.done) this.wait(what.value);
      this.place(what.value);
    };
    shelf().hearing.add(this.hear);
  }
  update(data, send) {
    const before = this.data?.options[Number(this.input.value)];
    this.data = data;
    this.send = send;
    this.label.textContent = data.label;
    this.label.hidden = !data.label;
    this.input.max = String(data.options.length - 1);
    this.input.disabled = data.disabled;
    this.input.setAttribute("aria-label", data.name_text);
    this.root.title = data.help;
    this.player();
    // An answer to what was asked before comes late: the slider stays where it was put.
    if (
      this.asked &&
      (data.value === this.asked.value || performance.now() - this.asked.since > 15000)
    )
      this.asked = null;
    const kept = this.held || this.later || this.asked;
    this.place(kept && before !== undefined ? before : data.value); // the stops may be others by now
  }
  // Budget as time: the slider that the charts run over has the button in front of it, others when they are pointed at.
  player() {
    const now = shelf().player,
      runs = Boolean(now?.axes.includes(this.data?.name)),
      mine = runs && now.axis === this.data.name,
      on = mine && now.on;
    this.play.hidden = !runs;
    this.root.classList.toggle("main", mine);
    this.play.textContent = on ? "❚❚" : "▶";
    this.play.setAttribute("aria-label", `${on ? "Pause" : "Play"}: ${this.data?.name_text}`);
    this.play.title = on ? "Pause (Space)" : "Run this budget from 0 to its end (Space)";
  }
  wait(value) {
    this.asked = value === this.data.value ? null : { value, since: performance.now() };
  }
  // A run of the page that a newer one overtakes takes what it was told with it, so it is told again.
  tell(value, patience = 3000) {
    clearTimeout(this.telling);
    if (value === this.data.value) return;
    this.send("moved", { value, at: Date.now() });
    this.telling = setTimeout(
      () => this.asked?.value === value && this.tell(value, 2 * patience),
      patience,
    );
  }
  // A value between two stops stands at the one below it; no number at all is the last stop.
  place(value) {
    const { options } = this.data,
      at =
        value === null
          ? options.length - 1
          : options.findLastIndex((one) => one !== null && one <= value);
    this.input.value = String(Math.max(0, at));
    this.show(value);
  }
  show(value) {
    const told = value === null ? this.data.none : String(value).replace(/\B(?=(\d{3})+$)/g, ",");
    this.input.style.setProperty(
      "--at",
      `${(100 * this.input.value) / Math.max(1, this.input.max)}%`,
    );
    this.input.setAttribute("aria-valuetext", told);
    // The field beside it is Streamlit's: it shows what is being chosen, and gets the value itself with the next run.
    const field = document.querySelector(`.st-key-${this.data.name} input`);
    if (field && document.activeElement !== field) {
      field.value = value === null ? "" : String(value);
      field.placeholder = value === null ? this.data.none : field.placeholder;
    }
  }
  moved(done) {
    const value = this.data.options[Number(this.input.value)];
    this.show(value);
    say({ kind: "move", name: this.data.name, value, done: false, from: this });
    if (!done) return;
    // Keys come one after the other: Python hears of the last one.
    clearTimeout(this.later);
    this.later = setTimeout(
      () => {
        this.later = null;
        say({ kind: "move", name: this.data.name, value, done: true, from: this });
        this.wait(value);
        this.tell(value);
      },
      this.held === undefined || this.held ? 0 : 180,
    );
  }
  end() {
    shelf().hearing.delete(this.hear);
    clearTimeout(this.later);
    clearTimeout(this.telling);
  }
}

export default function (component) {
  return mounted(
    component.parentElement.querySelector(".range"),
    component,
    (root) => new Slider(root),
  );
}
