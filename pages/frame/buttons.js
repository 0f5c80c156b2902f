// Buttons that act in the browser alone.

const page = document.documentElement;
const sidebar = () =>
  document.querySelector('[data-testid="stExpandSidebarButton"]') ??
  document.querySelector('[data-testid="stSidebarCollapseButton"] button');
const ACTS = {
  // The picture stands in a shadow tree, where no address with # leads.
  skip: () => {
    const picture = window.certcore?.mapView?.panels?.[0]?.canvas;
    picture?.focus({ preventScroll: true });
    picture?.scrollIntoView({ block: "nearest" });
  },
  menu: () => page.classList.toggle("menu-open"),
  attacker: () => page.classList.toggle("attacker-open"),
  more: () => sidebar()?.click(),
  copy: async (button) => {
    try {
      await navigator.clipboard.writeText(location.href);
    } catch {
      window.prompt("The address of this view", location.href);
      return;
    }
    button.textContent = "Copied";
    setTimeout(() => {
      button.textContent = "Copy link";
    }, 1600);
  },
};

// Escape closes an open drawer wherever the focus is: after a download it is on no part of the drawer any more.
const escaped = (e) => {
  const drawer = document.querySelector('[role="dialog"]');
  if (e.key === "Escape" && drawer && !drawer.contains(e.target))
    drawer.querySelector('button[aria-label="Close"]')?.click();
  else if (e.key === "Escape" && e.target.closest?.('[data-testid="stSidebar"]')) ACTS.more();
};
if (!page.dataset.escape) {
  page.dataset.escape = "1";
  document.addEventListener("keydown", escaped);
}
// “More” that was left open on a wide screen would cover a narrow one.
const fold = (tries) => {
  const open = document.querySelector(
    'section[data-testid="stSidebar"][data-collapsed="false"] [data-testid="stSidebarCollapseButton"] button',
  );
  if (open) open.click();
  else if (tries) setTimeout(fold, 100, tries - 1);
};
if (innerWidth < 760 && !page.dataset.folded) {
  page.dataset.folded = "1";
  fold(30);
}

export default function ({ parentElement, data }) {
  const root = parentElement.querySelector(".buttons"),
    known = JSON.stringify(data.buttons);
  if (root.dataset.known === known) return;
  root.dataset.known = known;
  root.replaceChildren(
    ...data.buttons.map(({ act, text, title, look }) => {
      const made = document.createElement(act ? "button" : "span");
      made.className = look;
      made.textContent = text;
      if (title) made.title = title;
      if (look === "brand") made.prepend(document.createElement("i"));
      if (act) {
        made.type = "button";
        made.onclick = () => ACTS[act](made);
        if (act === "menu") made.setAttribute("aria-label", "Menu");
      }
      return made;
    }),
  );
}
