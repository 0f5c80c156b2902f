// Arrays, shapes, colours and the graphs that have arrived. Names only ever become text nodes.

// By the browser itself where it can: letter by letter takes longer than drawing a small graph.
const bytesOf = (text) => {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const read = atob(text),
    bytes = new Uint8Array(read.length);
  for (let i = 0; i < read.length; i++) bytes[i] = read.charCodeAt(i);
  return bytes;
};
// Packed bytes, or an array that is one already.
const decode = (text, Type) => {
  if (text instanceof Type) return text;
  const bytes = bytesOf(text || "");
  return new Type(bytes.buffer, 0, Math.floor(bytes.length / Type.BYTES_PER_ELEMENT));
};

// A graph arrives once; the pictures that wait for it are told.
function keepGraph(data) {
  const { graphs, waiting } = shelf();
  if (graphs.has(data.version)) return;
  const xy = decode(data.positions, Uint16Array);
  const { names, classes, groups, aspect } = data;
  const label = data.label ? decode(data.label, Uint8Array) : null,
    right = data.right ? decode(data.right, Uint8Array) : null;
  graphs.set(data.version, {
    n: xy.length / 2,
    xy,
    edges: decode(data.edges, Uint32Array),
    names,
    classes,
    groups,
    aspect,
    label,
    right,
    replay: data.replay,
  });
  while (graphs.size > 3) graphs.delete(graphs.keys().next().value);
  for (const tell of [...waiting]) tell(data.version);
}

// Nodes by the cell of the plane they stand in, 64 × 64, made when the pointer first asks what is below it.
function cellsOf(graph) {
  if (graph.cells) return graph.cells;
  const { xy, n } = graph,
    start = new Uint32Array(64 * 64 + 1),
    nodes = new Uint32Array(n);
  const cell = (i) => (xy[2 * i] >> 10) * 64 + (xy[2 * i + 1] >> 10);
  for (let i = 0; i < n; i++) start[cell(i) + 1]++;
  for (let k = 0; k < 64 * 64; k++) start[k + 1] += start[k];
  const next = start.slice();
  for (let i = 0; i < n; i++) nodes[next[cell(i)]++] = i;
  return (graph.cells = { start, nodes });
}

const shapes = {
  // A small one as an octagon: nobody sees the corners, and it is filled in a third of the time.
  circle: (c, x, y, r) => {
    if (r < 3.5) octagon(c, x, y, r * 1.04);
    else {
      c.moveTo(x + r, y);
      c.arc(x, y, r, 0, 6.2832);
    }
  },
  square: (c, x, y, r) => {
    c.rect(x - r * 0.9, y - r * 0.9, r * 1.8, r * 1.8);
  },
  "triangle-up": (c, x, y, r) =>
    polygon(c, x, y, r * 1.15, [
      [0, -1],
      [0.9, 0.7],
      [-0.9, 0.7],
    ]),
  "triangle-down": (c, x, y, r) =>
    polygon(c, x, y, r * 1.15, [
      [0, 1],
      [0.9, -0.7],
      [-0.9, -0.7],
    ]),
  diamond: (c, x, y, r) =>
    polygon(c, x, y, r * 1.25, [
      [0, -1],
      [0.85, 0],
      [0, 1],
      [-0.85, 0],
    ]),
  cross: (c, x, y, r) =>
    polygon(c, x, y, r, [
      [-0.35, -1],
      [0.35, -1],
      [0.35, -0.35],
      [1, -0.35],
      [1, 0.35],
      [0.35, 0.35],
      [0.35, 1],
      [-0.35, 1],
      [-0.35, 0.35],
      [-1, 0.35],
      [-1, -0.35],
      [-0.35, -0.35],
    ]),
  x: (c, x, y, r) =>
    polygon(c, x, y, r, [
      [-1, -0.6],
      [-0.6, -1],
      [0, -0.4],
      [0.6, -1],
      [1, -0.6],
      [0.4, 0],
      [1, 0.6],
      [0.6, 1],
      [0, 0.4],
      [-0.6, 1],
      [-1, 0.6],
      [-0.4, 0],
    ]),
};
function polygon(c, x, y, r, points) {
  for (let i = 0; i < points.length; i++) {
    const p = points[i];
    if (i) c.lineTo(x + p[0] * r, y + p[1] * r);
    else c.moveTo(x + p[0] * r, y + p[1] * r);
  }
  c.closePath();
}
function octagon(c, x, y, r) {
  const a = r * 0.4142;
  c.moveTo(x + r, y - a);
  c.lineTo(x + r, y + a);
  c.lineTo(x + a, y + r);
  c.lineTo(x - a, y + r);
  c.lineTo(x - r, y + a);
  c.lineTo(x - r, y - a);
  c.lineTo(x - a, y - r);
  c.lineTo(x + a, y - r);
}
const shape = (name) => shapes[name] || shapes.circle;
// The same shapes as the path of an SVG: what a canvas would be told, written down.
function outline(name, x, y, r) {
  let told = "";
  const pen = {
    moveTo: (px, py) => {
      told += `M${px} ${py}`;
    },
    lineTo: (px, py) => {
      told += `L${px} ${py}`;
    },
    closePath: () => {
      told += "Z";
    },
    rect: (px, py, w, h) => {
      told += `M${px} ${py}h${w}v${h}h${-w}Z`;
    },
    arc: (px, py, q) => {
      told += `a${q} ${q} 0 1 1 ${-2 * q} 0a${q} ${q} 0 1 1 ${2 * q} 0Z`;
    },
  };
  shape(name)(pen, x, y, r);
  return told;
}

// Written out: the browser's own way first reads its tables of languages, which takes longer than the list it is for.
const thousands = (number) => {
  const [whole, part] = String(number).split(".");
  return whole.replace(/\B(?=(\d{3})+$)/g, ",") + (part ? `.${part}` : "");
};
const some = (number, one, many) => `${thousands(number)} ${number === 1 ? one : many}`;
// A length in an attack, and one short enough for a mark.
const length = (value) => thousands(Number(value.toPrecision(3))),
  short = (value) => String(Number(value.toPrecision(2))).replace(/^0\./, ".");
// Whole numbers as they are; fractions exist in the relaxed adversary only and get as many digits as a mark has room for.
const amount = (value) =>
  Number.isInteger(value)
    ? thousands(value)
    : value >= 9.95
      ? value.toFixed(0)
      : value >= 0.095
        ? value.toFixed(1)
        : value >= 0.0095
          ? value.toFixed(2)
          : "<.01";

const mix = (scale, share) =>
  scale[Math.max(0, Math.min(scale.length - 1, Math.round(share * (scale.length - 1))))];

// States by their code, in the order of TargetState.
const NOT_A_TARGET = 0,
  ALONE = 1,
  UNDECIDED = 2,
  PARTLY = 3,
  LOST = 4,
  BEFORE = 5;

// No attack at all: the graph before the first certificate.
const NOBODY = {
  title: "",
  relaxed: false,
  kinds: [],
  alt: "The graph; no attack was looked for yet.",
  everyField: false,
};

const element = (tag, className, text) => {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
};
