// A box drawn by hand: which nodes lie inside.

class Hand {
  constructor(panel, x, y) {
    this.panel = panel;
    this.from = this.to = [x, y];
  }
  move(x, y) {
    this.to = [x, y];
  }
  sides() {
    const [[ax, ay], [bx, by]] = [this.from, this.to];
    return [Math.min(ax, bx), Math.min(ay, by), Math.max(ax, bx), Math.max(ay, by)];
  }
  nodes() {
    const [left, top, right, bottom] = this.sides(),
      found = [];
    for (let i = 0; i < this.panel.graph.n; i++) {
      const [x, y] = this.panel.place(i);
      if (x >= left && x <= right && y >= top && y <= bottom) found.push(i);
    }
    return found;
  }
  draw(c) {
    const [left, top, right, bottom] = this.sides(),
      box = [left, top, right - left, bottom - top];
    c.globalAlpha = 1;
    c.strokeStyle = c.fillStyle = this.panel.owner.ink;
    c.lineWidth = 1.4;
    c.setLineDash([4, 3]);
    c.strokeRect(...box);
    c.setLineDash([]);
    c.globalAlpha = 0.08;
    c.fillRect(...box);
    c.globalAlpha = 1;
  }
}
