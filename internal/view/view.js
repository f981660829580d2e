// What pages do beyond links and forms: keys, marks that light up with their field, and
// live progress. Everything is there without it.

const base = document.body.dataset.base;
const all = (selector) => [...document.querySelectorAll(selector)];

// Keys. They are off while typing, with a modifier, and if the reader turned them off.
const help = document.getElementById("keys");
const on = document.getElementById("keys-on");
help.hidden = false;
try {
  on.checked = localStorage.getItem("scruple-keys") !== "off";
} catch { /* storage is disabled */ }
on.addEventListener("change", () => {
  try {
    localStorage.setItem("scruple-keys", on.checked ? "on" : "off");
  } catch { /* the setting lasts for this page */ }
});

const rows = all("[data-row]");
let row = -1;
function toRow(k) {
  if (rows.length === 0) return;
  rows[row]?.classList.remove("here");
  row = Math.min(Math.max(k, 0), rows.length - 1);
  rows[row].classList.add("here");
  const link = rows[row].querySelector("a");
  link?.focus({ preventScroll: true });
  rows[row].scrollIntoView({ block: "nearest" });
}

const marks = all(".document mark");
let mark = -1;
function toMark(k) {
  if (marks.length === 0) return;
  marks[mark]?.classList.remove("lit");
  mark = (k + marks.length) % marks.length;
  marks[mark].classList.add("lit");
  marks[mark].scrollIntoView({ block: "center" });
}

const keys = {
  j: () => toRow(row + 1),
  k: () => toRow(row - 1),
  o: () => rows[row]?.querySelector("a")?.click(),
  u: () => document.querySelector("[data-key=u]")?.click(),
  n: () => (document.querySelector("[data-key=n]") ?? document.querySelector("[rel=next]"))?.click(),
  p: () => (document.querySelector("[data-key=p]") ?? document.querySelector("[rel=prev]"))?.click(),
  c: () => document.querySelector("[data-key=c]")?.click(),
  "/": () => document.getElementById("q")?.focus(),
  "[": () => toMark(mark - 1),
  "]": () => toMark(mark + 1),
  r: () => {
    const raw = document.getElementById("raw");
    if (raw) {
      raw.open = !raw.open;
      raw.querySelector("summary").focus();
    }
  },
  "?": () => {
    help.open = !help.open;
    help.querySelector("summary").focus();
  },
};
document.addEventListener("keydown", (e) => {
  if (e.key === "Escape") {
    help.open = false;
    if (e.target.matches("input")) e.target.blur();
    return;
  }
  if (!on.checked || e.ctrlKey || e.metaKey || e.altKey || e.target.matches("input, select, textarea")) return;
  const act = Object.hasOwn(keys, e.key) ? keys[e.key] : null;
  if (act) {
    e.preventDefault();
    act();
  }
});

// A field and its marks light up together.
for (const r of all(".fields tbody tr")) {
  const unit = r.querySelector("th")?.textContent.trim();
  const own = marks.filter((m) => m.dataset.units.split("\n").includes(unit));
  if (own.length === 0) continue;
  r.dataset.unit = unit;
  r.tabIndex = 0;
  const light = (lit) => () => {
    r.classList.toggle("lit", lit);
    for (const m of own) m.classList.toggle("lit", lit);
  };
  for (const [event, lit] of [["mouseenter", true], ["focus", true], ["mouseleave", false], ["blur", false]]) r.addEventListener(event, light(lit));
  const show = () => own[0].scrollIntoView({ block: "center" });
  r.addEventListener("click", show);
  r.addEventListener("keydown", (e) => {
    if (e.key === "Enter") show();
  });
  for (const m of own) {
    m.addEventListener("mouseenter", light(true));
    m.addEventListener("mouseleave", light(false));
  }
}

// Progress of runs in other processes.
const live = all("[data-live]");
if (live.length > 0) {
  const events = new EventSource(base + "events");
  events.onmessage = (e) => {
    const run = JSON.parse(e.data);
    for (const place of live) {
      if (place.dataset.live !== run.run) continue;
      const bar = place.querySelector("progress");
      const changed = bar.value !== run.done || bar.max !== run.trials;
      bar.max = run.trials;
      bar.value = run.done;
      place.querySelector(".count").textContent = run.done + " of " + run.trials;
      place.querySelector(".failed").textContent = run.failed ? ", " + run.failed + " failed" : "";
      const reload = place.querySelector(".reload");
      if (reload && changed) reload.hidden = false;
    }
  };
  addEventListener("pagehide", () => events.close());
}
