// The answer: two statements over one ruler. The number that is proven stands over the left end of the bar of all labels,
// what an model attack changes over its right end; every place is there from the first second and stays.

const PART_NAMES = ["naive", "collective", "open", "lost", "none", "wrong"];
// A share in per cent, never rounded up.
const shareDown = (part, whole) =>
  `${(Math.floor((1000 * part) / Math.max(1, whole)) / 10).toFixed(1)} %`;
// Words of the engine with places for numbers, filled in.
const filled = (pieces, values) =>
  pieces.map((piece) => ({
    ...piece,
    text: piece.text.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all),
  }));
// How wide a number is in digits, so that its place is as wide as that of the largest number.
const digits = (number) => {
  const text = thousands(number),
    commas = text.split(",").length - 1;
  return `${text.length - commas + 0.45 * commas}ch`;
};

class Answer {
  constructor(bench) {
    this.bench = bench;
    this.root = bench.root.querySelector(".answer");
    for (const name of ["big", "sentence", "changes", "brackets", "parts", "key", "notes", "float"])
      this[name] = this.root.querySelector(`.${name}`);
    this.changesWhy = this.root.querySelector(".changes-why");
    [this.stay, this.change] = this.brackets.children;
    this.segments = new Map();
    this.entries = new Map();
    for (const name of PART_NAMES) this.part(name);
    this.sum = element("span", "sum");
    this.near = element("button", "near");
    this.near.type = "button";
    this.near.append(element("i"), element("span"));
    this.near.onclick = () => {
      chooseGroup(bench.stage, "near");
      if (groupOf(bench.stage) === "near") bench.side.open("nodes");
    };
    this.ghost = element("i", "ghost");
    this.ghost.hidden = true;
    this.parts.append(...this.segments.values(), this.ghost);
    this.key.append(...this.entries.values(), this.sum, this.near);
    this.act = this.root.querySelector(".act");
    this.act.onclick = () => bench.tell({ act: bench.data.act });
    this.root.querySelector(".details").onclick = () => bench.drawer("proven");
    this.float.querySelector(".close").onclick = () => this.explain(false);
  }
  part(name) {
    const { bench } = this,
      segment = element("button", `part ${name}`),
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

  // Sentences of the engine; what is strong in them is a button where `act` says what it does.
  write(box, pieces, act, title) {
    const text = JSON.stringify([pieces, Boolean(act), title]);
    if (box.dataset.said === text) return;
    box.dataset.said = text;
    box.replaceChildren(
      ...pieces.map((piece) => {
        if (piece.kind !== "strong") return element("span", "", piece.text);
        if (!act) return element("b", "", piece.text);
        const made = element("button", "strong", piece.text);
        made.type = "button";
        made.title = title;
        made.onclick = act;
        return made;
      }),
    );
  }

  // `parts` are of the budgets that are shown; `of`: whose they are, where they are of others and only remembered.
  draw(head, sub, parts, of, model) {
    const { bench } = this,
      { data } = bench;
    this.write(this.big, head);
    this.big.style.setProperty("--wide", digits(data.asked));
    this.write(
      this.sentence,
      sub,
      bench.send && (() => bench.drawer("proven")),
      "How it was proven, and the proof",
    );
    this.sentence.title = this.sentence.textContent;
    this.act.hidden = !data.act;
    this.act.textContent = { cancel: "Cancel", again: "Continue" }[data.act] ?? "";
    this.drawModel(model);
    for (const one of [this.parts, this.key, this.brackets]) one.style.opacity = of ? 0.42 : 1;
    this.drawParts(parts ?? this.unknown(), parts);
    this.drawBrackets(parts, model);
    this.shown = parts;
  }
  // Before anything is proven all labels are open but those that had no certificate.
  unknown() {
    const { data } = this.bench,
      wrong = data.asked - data.targets;
    return {
      naive: 0,
      collective: 0,
      open: data.targets - data.before,
      lost: 0,
      none: data.before,
      wrong,
    };
  }
  drawParts(parts, known) {
    const { bench } = this,
      { words } = bench.data,
      total = PART_NAMES.reduce((sum, name) => sum + parts[name], 0) || 1,
      lit = bench.lit ?? bench.data.part;
    this.total = total;
    let from = 0;
    for (const name of PART_NAMES) {
      const number = parts[name],
        segment = this.segments.get(name),
        entry = this.entries.get(name),
        label = words.parts[name],
        text = known || name === "none" || name === "wrong" ? thousands(number) : "…";
      segment.style.left = `${(100 * from) / total}%`;
      segment.style.width = `max(1px, ${(100 * number) / total}% - 2px)`;
      segment.hidden = !number;
      entry.hidden = name === "wrong" && !number;
      segment.title = entry.title = this.titleOf(name, parts);
      entry.lastChild.replaceChildren(
        name === "collective" && parts.naive ? "+ " : "",
        element("b", "", text),
        ` ${label}`,
      );
      segment.setAttribute("aria-label", `${text} ${label}`);
      for (const one of [entry, segment])
        one.setAttribute("aria-pressed", String(bench.data.part === name));
      segment.classList.toggle("lit", lit === name);
      segment.classList.toggle("quiet", Boolean(lit) && lit !== name);
      from += number;
    }
    this.drawHelp(parts);
    this.drawNear();
  }
  // Labels that one more flip would take: between what is kept and what is lost, so beside the bar and no part of it.
  drawNear() {
    const { stage } = this.bench,
      attack = stage.graph && stage.attacks[0],
      count = attack && !attack.relaxed ? sizeOfGroup(attack, "near") : 0;
    this.near.style.visibility = count ? "visible" : "hidden";
    if (!count) return;
    this.near.lastChild.replaceChildren(
      element("b", "", thousands(count)),
      ` ${groupText(attack, "near")}`,
    );
    this.near.setAttribute("aria-pressed", String(groupOf(stage) === "near"));
  }
  titleOf(name, parts) {
    if (name === "open" || name === "lost") return this.bench.openText();
    return name === "collective" || name === "naive" ? this.bench.alikeText(parts) : "";
  }
  // The ink line in the bar: what the chosen site helps to take of the labels that lose their certificate.
  drawHelp(parts) {
    const help = this.bench.helps(),
      segment = this.segments.get("lost");
    segment.replaceChildren();
    this.sum.textContent = help
      ? (help.text ?? `${help.name} helps with ${thousands(help.number)}`)
      : `= ${thousands(this.total)} labels`;
    if (!help) return;
    const made = element("i");
    made.style.width = `${Math.min(100, (100 * help.number) / Math.max(1, parts.lost))}%`;
    segment.append(made);
  }
  drawBrackets(parts, model) {
    const proven = parts ? parts.naive + parts.collective : 0,
      changed = model.changed ?? 0;
    this.stay.hidden = !proven;
    this.stay.style.width = `${(100 * proven) / this.total}%`;
    this.change.hidden = !changed;
    this.change.style.width = `${(100 * changed) / this.total}%`;
  }
  // Beside the headline: what an model attack changes, or that none was tried and how one is.
  drawModel(model) {
    const { bench } = this,
      found = model.changed !== null,
      show = found && bench.send && bench.data.adversary && !bench.moved;
    this.write(
      this.changes,
      model.head,
      show && (() => this.showModel()),
      "Show this model attack",
    );
    this.changesWhy.title = model.told;
    const said = JSON.stringify([model.sub, Boolean(show), bench.data.adversary, model.how]);
    if (this.changesWhy.dataset.said === said) return;
    this.changesWhy.dataset.said = said;
    const button = (text, act) => {
      const made = element("button", "link", text);
      made.type = "button";
      made.onclick = act;
      return [" · ", made];
    };
    const shown = bench.data.adversary === "model";
    this.changesWhy.replaceChildren(
      model.sub,
      ...(show ? button(shown ? "back" : "show it", () => this.showModel(!shown)) : []),
      ...(model.how ? button("how?", () => this.explain(this.float.hidden)) : []),
    );
  }
  showModel(on = true) {
    this.bench.tell({ adversary: on ? "model" : "attack" });
  }
  // How an model attack is looked for: a sentence and a command, over the stage.
  explain(on) {
    this.float.hidden = !on;
    if (!on) return;
    const [sentence, command] = this.bench.data.words.how;
    this.float.querySelector("p").textContent = sentence;
    this.float.querySelector("code").textContent = command;
    this.float.querySelector(".close").focus({ preventScroll: true });
  }
  // Where the number would be at a budget that the pointer is over.
  haunt(proven) {
    this.ghost.hidden = proven === null;
    if (proven !== null && this.total) this.ghost.style.left = `${(100 * proven) / this.total}%`;
  }
  note(lines) {
    this.notes.hidden = !lines.length;
    this.notes.querySelector("em").textContent = lines.join(" ");
    this.notes.title = lines.join(" ");
    this.notes.querySelector("button").hidden = !this.bench.send;
  }
  end() {
    this.parts.replaceChildren();
    this.key.replaceChildren();
  }
}
