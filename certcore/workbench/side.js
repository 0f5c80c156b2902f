// The panel at the side of the picture: charts, table of nodes, protection, and an attack of one's own, as tabs.

const TABS = [
  ["charts", "Charts"],
  ["nodes", "Nodes"],
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
    this.trying = new TryPanel(bench.stage);
    this.root.append(this.nodes.root, this.trying.root);
    this.open("charts");
  }
  open(name) {
    this.tab = name;
    this.root.dataset.side = name;
    for (const [one, tab] of this.buttons) tab.setAttribute("aria-selected", String(one === name));
    if (name === "try" && !this.bench.stage.own.active) this.bench.stage.own.start();
    if (this.bench.data) this.bench.render();
  }
  draw() {
    if (this.tab === "nodes") this.nodes.draw();
    if (this.tab === "try") this.trying.draw();
  }
  end() {
    this.tabs.remove();
    this.nodes.root.remove();
    this.trying.root.remove();
  }
}
