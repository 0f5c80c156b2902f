// The panel at the side of the picture: charts, table of nodes, protection, and an attack of one's own, as tabs.

const TABS = [
  ["charts", "Charts"],
  ["nodes", "Nodes"],
  ["protect", "Protect"],
  ["try", "Try it yourself"],
];

class Side {
  constructor(bench) {
    this.bench = bench;
    this.root = bench.root.querySelector(".cards");
    this.tabs = element("div", "side-tabs");
    this.tabs.setAttribute("role", "tablist");
    this.buttons = new Map();
    for (const [name, text] of TABS) {
      const tab = element("button", "", text);
      tab.type = "button";
      tab.setAttribute("role", "tab");
      tab.onclick = () => this.open(name);
      this.buttons.set(name, tab);
      this.tabs.append(tab);
    }
    this.root.prepend(this.tabs);
    this.nodes = new NodeTable(bench.stage);
    this.guards = new ProtectPanel(bench.stage);
    this.trying = new TryPanel(bench.stage);
    this.root.append(this.nodes.root, this.guards.root, this.trying.root);
    this.open("charts");
  }
  open(name) {
    this.tab = name;
    this.root.dataset.side = name;
    for (const [one, tab] of this.buttons) tab.setAttribute("aria-selected", String(one === name));
    const { own } = this.bench.stage;
    if (name === "try" && !own.active) own.start();
    // Suggestions are about the attack that was found.
    if (name === "protect") {
      if (own.active) own.stop();
      if (!this.guards.rows.length && !this.guards.request) this.guards.suggest();
    }
    if (this.bench.data) this.bench.render();
  }
  draw() {
    // A page by itself has no server to ask.
    this.buttons.get("protect").hidden = !this.bench.send || !this.bench.data.api;
    if (this.tab === "nodes") this.nodes.draw();
    if (this.tab === "protect") this.guards.draw();
    if (this.tab === "try") this.trying.draw();
  }
  end() {
    this.tabs.remove();
    this.nodes.root.remove();
    this.guards.end();
    this.trying.root.remove();
  }
}
