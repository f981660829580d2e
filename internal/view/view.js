// What pages do beyond links and forms: keys, marks that light up with their field, and
// live progress. Everything is there without it.

const base = document.body.dataset.base;
const all = (selector) => [...document.querySelectorAll(selector)];

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

const marks = all(".document mark[data-units]");
let mark = -1;
function toMark(k) {
  if (marks.length === 0) return;
  marks[mark]?.classList.remove("lit");
  mark = (k + marks.length) % marks.length;
  marks[mark].classList.add("lit");
  marks[mark].scrollIntoView({ block: "center" });
}

// say tells the reader what a key did.
const say = (text) => { document.getElementById("said").textContent = text; };
const follow = (selector) => () => {
  const link = document.querySelector(selector);
  if (!link) return false;
  link.click();
};

// Find in the document of a trial. The text is in many nodes, since marks divide it.
const pages = all(".document .text");
let find = null;
if (pages.length > 0) {
  const box = document.createElement("p"), label = document.createElement("label");
  find = document.createElement("input");
  find.type = "search";
  find.autocomplete = "off";
  label.append("Find in the document ", find);
  box.className = "find";
  box.append(label);
  document.querySelector(".document").prepend(box);
  let from = { page: 0, at: -1 };
  find.addEventListener("input", () => { from = { page: 0, at: -1 }; });
  find.addEventListener("keydown", (e) => {
    if (composing(e)) return;
    if (e.key === "Escape") find.blur();
    if (e.key !== "Enter" || find.value === "") return;
    e.preventDefault();
    const what = find.value.toLowerCase();
    for (let n = 0; n <= pages.length; n++) {
      const page = (from.page + n) % pages.length;
      // Lower case of a few characters is longer: then offsets would be wrong.
      const text = pages[page].textContent, low = text.toLowerCase();
      const at = (low.length === text.length ? low : text).indexOf(what, n === 0 ? from.at + 1 : 0);
      if (at < 0) continue;
      from = { page, at };
      const range = rangeOf(pages[page], at, at + what.length);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      range.startContainer.parentElement.scrollIntoView({ block: "center" });
      say("found on page " + (page + 1) + " of " + pages.length);
      return;
    }
    say("not found");
  });
}
function rangeOf(place, start, end) {
  const walk = document.createTreeWalker(place, NodeFilter.SHOW_TEXT), range = new Range();
  for (let at = 0; walk.nextNode(); ) {
    const node = walk.currentNode, next = at + node.length;
    if (start >= at && start <= next) range.setStart(node, start - at);
    if (end >= at && end <= next) {
      range.setEnd(node, end - at);
      break;
    }
    at = next;
  }
  return range;
}

startKeys([
  { name: "next-row", key: "j", text: "next row", act: () => toRow(row + 1) },
  { name: "previous-row", key: "k", text: "previous row", act: () => toRow(row - 1) },
  { name: "open", key: "o", text: "open the row (Enter too)", act: () => rows[row]?.querySelector("a")?.click() },
  { name: "up", key: "u", text: "up to the list", act: follow("[data-key=u]") },
  { name: "next", key: "n", text: "next trial or page", act: follow("[data-key=n], [rel=next]") },
  { name: "previous", key: "p", text: "previous trial or page", act: follow("[data-key=p], [rel=prev]") },
  { name: "next-arm", key: "a", text: "next arm or replicate of the item", act: follow("[data-key~=a]") },
  { name: "previous-arm", key: "A", text: "previous arm or replicate of the item", act: follow("[data-key~=A]") },
  { name: "item", key: "i", text: "all arms and replicates of the item", act: follow("[data-key=i]") },
  { name: "filter", key: "/", text: "filter", act: () => {
    const q = document.getElementById("q");
    if (!q) return false;
    q.focus();
    q.setSelectionRange(q.value.length, q.value.length);
  } },
  { name: "find", key: "f", text: "find in the document", act: () => find?.focus() },
  { name: "previous-mark", key: "[", text: "previous mark", act: () => toMark(Math.max(mark, 0) - 1) },
  { name: "next-mark", key: "]", text: "next mark", act: () => toMark(mark + 1) },
  { name: "raw", key: "r", text: "raw answer", act: () => {
    const raw = document.getElementById("raw");
    if (!raw) return false;
    raw.open = !raw.open;
    raw.querySelector("summary").focus();
  } },
  { name: "compare", key: "c", text: "compare", act: follow("[data-key=c]") },
  { name: "link", key: "l", text: "copy the address of the page", act: () => {
    navigator.clipboard.writeText(location.href).then(() => say("address copied"), () => say("the browser does not allow copying"));
  } },
], [["Tab", "next link or button; Enter follows it"], ["Esc", "leave a text or these keys"]]);
document.addEventListener("keydown", (e) => {
  if (e.key === "Escape" && !composing(e) && e.target.matches("input")) e.target.blur();
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

// Progress of runs in other processes. Browsers allow six connections to a server, over all
// tabs: only a page that is seen and has a run without results holds one.
const live = all("[data-live]");
const unfinished = () => live.some((place) => "open" in place.dataset);
let events = null, again = 0;
function listen() {
  clearTimeout(again);
  events?.close();
  events = null;
  if (document.hidden || !unfinished()) return;
  events = new EventSource(base + "events");
  events.onopen = () => say("");
  events.onerror = () => {
    if (events.readyState !== EventSource.CLOSED) return; // else the browser tries again
    say("this page does not follow the run, as too many do: it tries again, or reload it");
    again = setTimeout(listen, 10000);
  };
  events.onmessage = (e) => {
    const run = JSON.parse(e.data);
    for (const place of live) {
      if (place.dataset.live !== run.run) continue;
      const bar = place.querySelector("progress");
      const changed = bar.value !== run.done || bar.max !== run.trials;
      const ended = run.ready === "open" in place.dataset;
      place.toggleAttribute("data-open", !run.ready);
      bar.max = run.trials;
      bar.value = run.done;
      place.querySelector(".count").textContent = run.said;
      place.querySelector(".failed").textContent = run.failed ? ", " + run.failed + " failed" : "";
      // A row has no numbers but these until there are results.
      if (ended || changed && !place.matches("tr")) place.querySelector(".reload").hidden = false;
    }
  };
}
listen();
document.addEventListener("visibilitychange", listen);
addEventListener("pageshow", (e) => { if (e.persisted) listen(); });
addEventListener("pagehide", () => events?.close());
