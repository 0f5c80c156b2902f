// Pointer, touch, wheel and keys on a picture.

function listenTo(stage, panel) {
  const c = panel.canvas,
    at = (e) => {
      const box = c.getBoundingClientRect();
      return [e.clientX - box.left, e.clientY - box.top];
    },
    on = (kind, act) => c.addEventListener(kind, (e) => act(stage, panel, e, ...at(e)));
  on("pointerdown", pressed);
  on("pointermove", movedOver);
  on("pointerup", released);
  on("pointercancel", released);
  on("pointerleave", () => {
    stage.point(null);
    stage.showTip(panel, null);
  });
  on("dblclick", () => {
    const node = stage.chosen?.node;
    if (node !== undefined) stage.bench.tell({ open: node });
  });
  c.addEventListener("wheel", (e) => wheeled(stage, c, e, ...at(e)), { passive: false });
  on("keydown", keyed);
  c.addEventListener("contextmenu", (e) => {
    if (spending(stage)) e.preventDefault();
  });
}

function pressed(stage, panel, e, x, y) {
  panel.canvas.focus({ preventScroll: true });
  panel.canvas.setPointerCapture(e.pointerId);
  stage.pointers.set(e.pointerId, [x, y]);
  stage.travel = 0;
  stage.pinch = null;
  if (stage.mode !== "move" && stage.pointers.size === 1) {
    stage.hand = new Hand(panel, x, y);
    stage.point(null);
    stage.showTip(panel, null);
  }
}

function movedOver(stage, panel, e, x, y) {
  const old = stage.pointers.get(e.pointerId);
  stage.touched = performance.now();
  if (!old) {
    const found = panel.at(x, y, false);
    panel.canvas.classList.toggle("over", Boolean(found));
    stage.point(found);
    stage.showTip(panel, found, x, y);
    return;
  }
  stage.pointers.set(e.pointerId, [x, y]);
  if (stage.hand) {
    stage.hand.move(x, y);
    stage.travel = 99;
    stage.paint();
    return;
  }
  if (stage.pointers.size === 2) {
    pinched(stage);
    return;
  }
  stage.travel += Math.abs(x - old[0]) + Math.abs(y - old[1]);
  if (stage.travel > 4) {
    panel.canvas.classList.add("moving");
    stage.panX += (x - old[0]) / panel.width;
    stage.panY += (y - old[1]) / panel.width;
    stage.hover = null;
    stage.showTip(panel, null);
    stage.paint();
  }
}

function pinched(stage) {
  const [[ax, ay], [bx, by]] = stage.pointers.values(),
    distance = Math.hypot(ax - bx, ay - by);
  if (stage.pinch) stage.zoomAt(distance / stage.pinch, (ax + bx) / 2, (ay + by) / 2);
  stage.pinch = distance;
  stage.travel = 99;
}

function released(stage, panel, e, x, y) {
  const known = stage.pointers.delete(e.pointerId),
    { hand } = stage;
  panel.canvas.classList.remove("moving");
  stage.hand = null;
  if (!known || e.type !== "pointerup") return;
  if (hand && stage.travel > 4) stage.select(hand.nodes());
  else if (stage.travel <= 4 && spending(stage)) spendAt(stage, panel, e, x, y);
  else if (stage.travel <= 4) stage.choose(panel.at(x, y, e.pointerType === "touch"));
}

// Whether a click spends a flip.
const spending = (stage) => stage.own.active && stage.bench.side.tab === "try";

function wheeled(stage, canvas, e, x, y) {
  // Scrolling the page must stay possible: the wheel zooms only when the picture has the focus, or is the page.
  if (!e.ctrlKey && stage.held() !== canvas && !document.fullscreenElement) {
    stage.hint.hidden = false;
    clearTimeout(stage.hinting);
    stage.hinting = setTimeout(() => {
      stage.hint.hidden = true;
    }, 1200);
    return;
  }
  e.preventDefault();
  stage.zoomAt(Math.exp(-e.deltaY * 0.0015), x, y);
}

const ARROWS = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

function keyed(stage, panel, e) {
  const pan = ARROWS[e.key];
  if (spending(stage) && ownKey(stage, panel, e)) {
    e.preventDefault();
    e.stopPropagation();
    return;
  }
  if (pan && e.shiftKey) {
    stage.panX += pan[0] * 0.06;
    stage.panY += pan[1] * 0.06;
    stage.paint();
  } else if (pan) stage.step(pan[0] + pan[1] < 0 ? 1 : -1);
  else if (e.key === "+" || e.key === "=") stage.zoomAt(1.4);
  else if (e.key === "-") stage.zoomAt(1 / 1.4);
  else if (e.key === "0") {
    stage.fit();
    stage.paint();
  } else if (e.key === "a") zoomToAttack(stage);
  else if (e.key === "Enter" && stage.chosen)
    stage.bench.tell({ open: stage.chosen.node ?? Number(stage.chosen.edge.split("-")[0]) });
  else if (e.key === "Escape" && endGroup(stage)) stage.live.textContent = "All nodes";
  else if (e.key === "Escape" && stage.chosen) stage.choose(null);
  else return;
  e.preventDefault();
  e.stopPropagation();
}
