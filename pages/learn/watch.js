// An empty place for a figure: says that it has come into view, and is gone when the figure is there.
// One place speaks at a time, and again if nobody answers: of several that speak at once Streamlit hears only some.

const PATIENCE = 4000;
const line = (globalThis.certcoreWatch ??= { waiting: new Map(), speaking: null, timer: 0 });

function next() {
  if (line.speaking !== null || !line.waiting.size) return;
  const [name, speak] = line.waiting.entries().next().value;
  line.waiting.delete(name);
  line.speaking = name;
  speak();
  line.timer = setTimeout(() => { line.waiting.set(name, speak); done(name); }, PATIENCE);
}

function done(name) {
  if (line.speaking !== name) return;
  clearTimeout(line.timer);
  line.speaking = null;
  next();
}

export default function (component) {
  const place = component.parentElement.querySelector(".wait");
  const { name, height } = component.data;
  place.style.height = `${height}px`;
  if (!height) { line.waiting.delete(name); done(name); return undefined; }
  let times = 0;
  const watch = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    watch.disconnect();
    line.waiting.set(name, () => component.setStateValue("seen", ++times));
    next();
  }, { rootMargin: "150px 0px" });
  watch.observe(place);
  return () => { watch.disconnect(); line.waiting.delete(name); done(name); };
}
