// The answer: a sentence with its number, and the bar of all labels asked about, of which each part is a button.

const PART_NAMES = ["each", "together", "open", "lost", "none", "changed", "wrong"];
// A share in per cent, never rounded up.
const shareDown = (part, whole) =>
  `${(Math.floor((1000 * part) / Math.max(1, whole)) / 10).toFixed(1)} %`;
// The most that may be left, never rounded down.
const shareUp = (part, whole) =>
  `${(Math.ceil((1000 * part) / Math.max(1, whole)) / 10).toFixed(1)} %`;
// Words of the engine with places for numbers, filled in.
const filled = (pieces, values) =>
  pieces.map((piece) => ({
    ...piece,
    text: piece.text.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all),
  }));

class Answer {
  constructor(bench) {
    this.bench = bench;
    this.root = bench.root.querySelector(".answer");
    for (const name of ["big", "sub", "brackets", "parts", "key", "barbox"])
      this[name] = this.root.querySelector(`.${name}`);
    this.segments = new Map();
    this.entries = new Map();
    for (const name of PART_NAMES) {
      const segment = element("button", `part ${name}`),
        entry = element("button", "");
      segment.type = entry.type = "button";
      segment.tabIndex = -1;
      entry.dataset.part = segment.dataset.part = name;
      entry.append(element("i", name), element("span"));
      for (const one of [segment, entry]) {
        one.onpointerenter = () => bench.light(name);
        one.onpointerleave = () => bench.light(null);
        one.onclick = () => bench.showOnly(name);
        one.onfocus = () => bench.light(name);
        one.onblur = () => bench.light(null);
      }
      this.segments.set(name, segment);
      this.entries.set(name, entry);
    }
    this.ghost = element("i", "ghost");
    this.ghost.hidden = true;
    this.parts.append(...this.segments.values(), this.ghost);
    this.untried = element("span", "untried");
    this.act = element("button", "act");
    this.act.type = "button";
    this.act.onclick = () => bench.tell({ act: bench.data.act });
    this.sub.after(this.act);
    this.notes = element("span", "notes");
    this.key.append(...this.entries.values(), this.notes, this.untried);
  }

  write(box, pieces, strong) {
    const text = JSON.stringify([pieces, !this.bench.send]);
    if (box.dataset.said === text) return;
    box.dataset.said = text;
    box.replaceChildren(
      ...pieces.map((piece) => {
        if (piece.kind !== "strong") return element("span", "", piece.text);
        if (strong === "b" || !this.bench.send) return element("b", "", piece.text);
        const made = element("button", "proof", piece.text);
        made.type = "button";
        made.title = "How it was proven";
        made.onclick = () => this.bench.drawer("proven");
        return made;
      }),
    );
  }

  // `parts` are of the budgets that are shown; `of`: whose they are, where they are of others and only remembered.
  draw(head, sub, parts, of, tried) {
    this.write(this.big, head, "b");
    this.write(this.sub, sub, "button");
    this.big.classList.toggle("long", this.big.textContent.length > 40);
    this.act.hidden = !this.bench.data.act;
    this.act.textContent = { cancel: "Cancel", again: "Continue" }[this.bench.data.act] ?? "";
    this.barbox.style.opacity = of || !parts ? 0.42 : 1;
    this.parts.style.visibility = parts ? "visible" : "hidden";
    if (!parts) {
      this.brackets.replaceChildren();
      for (const entry of this.entries.values()) entry.hidden = true;
      return;
    }
    const total = PART_NAMES.reduce((sum, name) => sum + parts[name], 0) || 1,
      { words } = this.bench.data,
      proven = parts.each + parts.together;
    for (const name of PART_NAMES) {
      // The attack on certificates takes what is changed too: the bar shows that part apart, so that it adds up.
      const number = name === "lost" ? parts.lost + parts.changed : parts[name];
      const segment = this.segments.get(name),
        entry = this.entries.get(name),
        label = name === "together" && !parts.each ? words.alone : words.parts[name];
      segment.style.width = `${(100 * parts[name]) / total}%`;
      segment.hidden = entry.hidden = !(number || (name === "changed" && tried));
      segment.title = entry.title =
        name === "open" || name === "lost"
          ? this.bench.openText()
          : name === "together" || name === "each"
            ? this.bench.alikeText(parts)
            : name === "changed"
              ? this.bench.changedText()
              : "";
      const help = name === "lost" ? this.bench.helps() : 0;
      entry.lastChild.replaceChildren(
        element("b", "", thousands(number)),
        ` ${label}`,
        ...(help
          ? [` (${help.name} helps with `, element("b", "", thousands(help.number)), ")"]
          : []),
      );
      segment.replaceChildren();
      if (help) {
        const made = element("i");
        made.style.width = `${(100 * help.number) / Math.max(1, number)}%`;
        segment.append(made);
      }
      segment.setAttribute("aria-label", `${thousands(number)} ${label}`);
      const on = this.bench.data.part === name,
        lit = this.bench.lit;
      entry.setAttribute("aria-pressed", String(on));
      segment.setAttribute("aria-pressed", String(on));
      segment.classList.toggle("lit", (lit ?? this.bench.data.part) === name);
      segment.classList.toggle(
        "quiet",
        Boolean(lit ?? this.bench.data.part) && (lit ?? this.bench.data.part) !== name,
      );
    }
    this.untried.hidden =
      tried || Boolean(this.bench.helps()) || !this.notes.hidden || !words.untried;
    this.untried.textContent = `✕ ${words.untried}`;
    this.bracket(proven, total - proven, total, of);
    this.shown = parts;
    this.total = total;
  }
  bracket(proven, rest, total, of) {
    const left = element("span"),
      right = element("span", proven / total > 0.8 ? "end" : "");
    left.append(element("b", "", thousands(proven)), of ? ` ${of}` : " proven to stay");
    left.style.left = "0";
    right.append(element("b", "", thousands(rest)), " not proven");
    if (proven / total <= 0.8) right.style.left = `max(${(100 * proven) / total}%, 170px)`;
    this.brackets.replaceChildren(...(proven ? [left] : []), ...(rest && !of ? [right] : []));
  }
  // Where the number would be at a budget that the pointer is over.
  haunt(proven) {
    this.ghost.hidden = proven === null;
    if (proven !== null && this.total) this.ghost.style.left = `${(100 * proven) / this.total}%`;
  }
  note(lines) {
    this.notes.hidden = !lines.length;
    const more = element("button", "", "Details");
    more.type = "button";
    more.onclick = () => this.bench.drawer("proven");
    this.notes.replaceChildren(
      element("em", "", lines.join(" ")),
      ...(this.bench.send ? [more] : []),
    );
    this.notes.title = lines.join(" ");
  }
}
