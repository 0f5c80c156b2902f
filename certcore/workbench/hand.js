// A hand-drawn outline: which nodes lie inside a lasso or a box.

class Hand {
  constructor(panel, kind, x, y) {
    this.panel = panel;
    this.kind = kind;
    this.path = [[x, y]];
  }
  move(x, y) {
    if (this.kind === "box") this.path = [this.path[0], [x, y]];
    else {
      const [lx, ly] = this.path[this.path.length - 1];
      if (Math.hypot(x - lx, y - ly) > 3) this.path.push([x, y]);
    }
  }
  outline() {
    if (this.kind !== "box") return this.path;
    const [[ax, ay], [bx, by]] = this.path;
    return [
      [ax, ay],
      [bx, ay],
      [bx, by],
      [ax, by],
    ];
  }
  nodes() {
    const outline = this.outline(),
      found = [];
    if (outline.length < 3) return found;
    for (let i = 0; i < this.panel.graph.n; i++) {
      const [x, y] = this.panel.place(i);
      let inside = false;
      for (let a = 0, b = outline.length - 1; a < outline.length; b = a++) {
        const [ax, ay] = outline[a],
          [bx, by] = outline[b];
        if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside;
      }
      if (inside) found.push(i);
    }
    return found;
  }
  draw(c) {
    if (this.path.length < 2) return;
    c.globalAlpha = 1;
    c.strokeStyle = this.panel.owner.ink;
    c.lineWidth = 1.4;
    c.setLineDash([4, 3]);
    c.beginPath();
    this.outline().forEach(([x, y], i) => (i ? c.lineTo(x, y) : c.moveTo(x, y)));
    c.closePath();
    c.stroke();
    c.setLineDash([]);
    c.globalAlpha = 0.08;
    c.fillStyle = this.panel.owner.ink;
    c.fill();
    c.globalAlpha = 1;
  }
}
