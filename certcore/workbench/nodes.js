// The table of nodes: every selection as rows that can be sorted, copied and saved.

const ROW = 29;

class NodeTable {
  constructor(stage) {
    this.stage = stage;
    this.root = element("section", "side-part side-nodes");
    this.root.setAttribute("aria-label", "Nodes");
    for (const name of ["pills", "why", "columns", "rows", "foot"]) {
      this[name] = element("div", name);
      this.root.append(this[name]);
    }
    this.sort = ["node", 1];
    this.sites = false;
    this.filling = element("div", "filling");
    this.rows.append(this.filling);
    this.rows.onscroll = () => this.fill();
    this.told = element("span", "told");
    const copy = element("button", "plain-button", "Copy"),
      save = element("button", "plain-button", "CSV");
    copy.type = save.type = "button";
    copy.onclick = () => navigator.clipboard.writeText(this.text("\t"));
    save.onclick = () => this.save();
    this.foot.append(this.told, copy, save);
  }

  get attack() {
    return this.stage.attacks[0];
  }
  draw() {
    const { stage, attack } = this;
    if (!attack || !stage.graph) return;
    const table = (this.table = this.sites ? SITES_TABLE : LABELS_TABLE);
    const key = [groupOf(stage), stage.classOnly, stage.selection, attack, stage.tones, this.sort];
    key.push(table, stage.own.limits, table === LABELS_TABLE && JSON.stringify(stage.bench.values));
    if (this.key && key.every((part, i) => part === this.key[i])) return;
    this.key = key;
    this.shown = table.columns(stage, attack);
    this.list = this.sorted(table.rows(stage, attack));
    this.drawPills();
    this.why.textContent = attack.relaxed ? (stage.data.switch?.why ?? "") : "";
    this.drawColumns();
    this.rows.scrollTop = 0;
    this.fill();
    const all = sizeOfTargets(attack);
    this.told.textContent = this.sites
      ? some(this.list.length, "site", "sites")
      : `${thousands(this.list.length)} of ${some(all, "label", "labels")}`;
  }
  sorted(rows) {
    const [by, way] = this.sort,
      of = this.shown.find((column) => column.name === by)?.order ?? (() => 0);
    return rows.sort((a, b) => way * (of(a) - of(b) || 0) || a.node - b.node);
  }

  drawPills() {
    const { stage, attack } = this,
      chosen = groupOf(stage),
      plain = !chosen && !this.sites,
      pills = [pill("", sizeOfTargets(attack), "all labels", plain, () => this.open("", chosen))];
    for (const name of Object.keys(GROUPS)) {
      const size = sizeOfGroup(attack, name);
      if (!size || name === "outside") continue;
      const on = name === chosen && !this.sites;
      pills.push(pill(name, size, groupText(attack, name), on, () => this.open(name, chosen)));
    }
    const sites = () => {
      this.sites = true;
      this.sort = ["spent", -1];
      stage.bench.render();
    };
    if (attack.count)
      pills.push(
        pill("sites", attack.count, attack.count === 1 ? "site" : "sites", this.sites, sites),
      );
    if (stage.selection.length)
      pills.push(pill("hand", stage.selection.length, "selected ×", true, () => stage.select([])));
    if (stage.graph.label) pills.push(this.classChoice());
    this.pills.replaceChildren(...pills);
  }
  // A group of labels, or all of them; once more ends it.
  open(name, chosen) {
    if (name === "near" && chosen !== "near") this.sort = ["received", -1];
    else if (this.sites) this.sort = ["node", 1];
    const same = this.sites && name === chosen;
    this.sites = false;
    if (!name) endGroup(this.stage);
    else if (!same) chooseGroup(this.stage, name);
    this.stage.bench.render();
  }
  classChoice() {
    const { stage } = this,
      made = element("select", "pill");
    made.setAttribute("aria-label", "Label");
    const add = (value, text) => {
      const option = element("option", "", text);
      option.value = value;
      made.append(option);
    };
    add("", "any label");
    stage.graph.classes.forEach((name, k) => add(String(k), name));
    made.value = stage.classOnly === null ? "" : String(stage.classOnly);
    made.onchange = () => {
      stage.classOnly = made.value === "" ? null : Number(made.value);
      stage.forget();
      stage.beside();
      stage.bench.render();
    };
    return made;
  }
  drawColumns() {
    const [by, way] = this.sort;
    this.root.style.setProperty(
      "--columns",
      this.shown.map((column) => `minmax(0, ${column.width}fr)`).join(" "),
    );
    this.columns.replaceChildren(
      ...this.shown.map((column) => {
        const made = element("button", column.words ? "words" : "", column.text);
        made.type = "button";
        made.title = column.title;
        if (column.name === by) {
          made.setAttribute("aria-sort", way > 0 ? "ascending" : "descending");
          made.append(way > 0 ? " ↑" : " ↓");
        }
        made.onclick = () => {
          this.sort = [column.name, column.name === by ? -way : column.words ? 1 : -1];
          this.stage.bench.render();
        };
        return made;
      }),
    );
  }
  // Only the rows in view are elements: a graph has thousands.
  fill() {
    const { stage, attack, list, shown, table } = this,
      from = Math.max(0, Math.floor(this.rows.scrollTop / ROW) - 4),
      to = Math.min(list.length, from + Math.ceil((this.rows.clientHeight || 600) / ROW) + 10);
    this.filling.style.height = `${list.length * ROW}px`;
    this.filling.replaceChildren(
      ...list.slice(from, to).map((row, k) => {
        const choice = table.choice(stage, attack, row),
          made = choiceButton(stage, choice, "", "row");
        made.onclick = () => stage.choose(choice);
        made.style.top = `${(from + k) * ROW}px`;
        made.append(
          ...shown.map((column, at) => {
            const cell = element("span", column.words ? "words" : "", column.show(row));
            if (!at) cell.prepend(table.mark(stage, attack, row));
            return cell;
          }),
        );
        return made;
      }),
    );
  }

  text(separator) {
    const quoted = (value) => {
      const text = String(value),
        safe = /^[=+\-@]/.test(text) && !/^-?[\d.]+$/.test(text) ? `'${text}` : text;
      return /[",\n\t]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
    };
    const columns = this.table.saved(this.stage, this.attack),
      lines = this.list.map((row) => columns.map(([, value]) => quoted(value(row))));
    return `${[columns.map(([name]) => name), ...lines].map((line) => line.join(separator)).join("\n")}\n`;
  }
  save() {
    const { bench } = this.stage,
      part = groupOf(this.stage) || (this.stage.selection.length ? "selected" : "all"),
      name = this.sites ? "sites" : `nodes-${part}`,
      kind = this.attack.relaxed ? "relaxed" : "",
      budgets = Object.entries(bench.data.at)
        .filter(([, value]) => value)
        .map(([kind, value]) => `${kind}-${value}`);
    saveText([name, kind, ...budgets].filter(Boolean).join("-") + ".csv", this.text(","));
  }
}

function pill(name, size, text, chosen, act) {
  const made = element("button", `pill ${name}`);
  made.type = "button";
  made.dataset.group = name;
  made.setAttribute("aria-pressed", String(chosen));
  made.append(element("b", "", thousands(size)), ` ${text}`);
  made.onclick = act;
  return made;
}

function sizeOfTargets(attack) {
  return attack.n - attack.counts[NOT_A_TARGET];
}

// A file without a byte order mark.
function saveText(name, text) {
  const link = element("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
