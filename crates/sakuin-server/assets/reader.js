// Explains every word of the page: by pointer, by tap and by keyboard. The page carries the best
// entries of each position (`#sub-dictionary`); the rest is fetched when a story is first touched.
// Nothing is deinflected here: the server's matches say where each word lies and how it was made.
"use strict";
{
const root = document.documentElement;
const path = document.currentScript.dataset.path;
const narrow = matchMedia("(max-width: 40rem)");
const systemDark = matchMedia("(prefers-color-scheme: dark)");
let dictionary = { texts: [], entries: [], chains: [] };

// ---- Settings: a class on <html> each, remembered.

const settings = { furigana: "always", theme: "system" };
const isDark = () => settings.theme === "system" ? systemDark.matches : settings.theme === "dark";
const actions = {
  f: () => set("furigana", { always: "hover", hover: "never", never: "always" }[settings.furigana]),
  n: () => set("theme", isDark() ? "light" : "dark"),
};

function set(name, value) {
  root.classList.remove(`${name}-${settings[name]}`);
  root.classList.add(`${name}-${settings[name] = value}`);
  try { localStorage.setItem(`sakuin-${name}`, value) } catch {}
  showSettings();
  reflow();
}

function showSettings() {
  const states = { furigana: settings.furigana, dark: isDark() ? "on" : "off" };
  for (const label of document.querySelectorAll("[data-state]")) label.textContent = states[label.dataset.state];
}

// ---- Passages: an element with `data-text`, its base text, and the words in it.

const passages = new Map();

function passageOf(element) {
  if (!passages.has(element)) {
    const passage = { element, text: "", starts: new Map(), words: [], names: [] };
    passages.set(element, passage);
    read(passage, element);
    addMatches(passage, "words", dictionary, element.dataset.text);
  }
  return passages.get(element);
}

// Positions count the text outside <rt> and <rp>, and a line feed for each <br> and each end of a <p>.
function read(passage, parent) {
  for (const node of parent.childNodes) {
    if (node.nodeType === Node.TEXT_NODE) {
      passage.starts.set(node, passage.text.length);
      passage.text += node.data;
    } else if (!/^R[TP]$/.test(node.nodeName)) {
      read(passage, node);
      if (/^(P|BR)$/.test(node.nodeName)) passage.text += "\n";
    }
  }
}

function addMatches(passage, tier, { texts, entries, chains }, index) {
  passage[tier] = (texts[index] ?? []).map(([start, length, pairs]) => ({
    start, end: start + length, options: pairs.map(([entry, chain]) => ({ entry: entries[entry], chain: chains[chain] })),
  }));
  passage.matches = [...passage.words, ...passage.names];
  passage.cut = cut(passage);
}

// One way of cutting the text into words, for the highlight and the arrow keys: the one with the
// greatest sum of squared lengths, where kana that only sounds like a kanji word counts less.
function cut({ text, matches }) {
  const from = Map.groupBy(matches, match => match.start);
  const best = Array(text.length + 1).fill(0), step = [], words = [];
  for (let at = text.length - 1; at >= 0; at--) {
    best[at] = best[at + 1];
    for (const match of from.get(at) ?? []) {
      const score = (match.end - at) ** 2 * weight(match, text) + best[match.end];
      if (score > best[at]) { best[at] = score; step[at] = match }
    }
  }
  for (let at = 0; at < text.length; at = step[at]?.end ?? at + 1) if (step[at]) words.push(step[at]);
  return words;
}

function weight({ start, end, options }, text) {
  const surface = text.slice(start, end), sound = !/^[ぁ-ヿ]+$/.test(surface) ? 1 : /[ァ-ヺ]/.test(surface) ? .4 : .65;
  return Math.max(...options.map(({ entry: { kind, headwords, senses, common } }) => kind === "name" ? .6
    : (headwords.length && !senses[0]?.tags.includes("uk") ? sound : 1) * (common ? 1 : .8)));
}

const wordAt = (passage, at) => passage.cut.find(word => word.start <= at && at < word.end)
  ?? passage.matches.filter(match => match.start === at).sort((one, other) => other.end - one.end)[0];

function ranges(passage, { start, end }) {
  const found = [];
  for (const [node, first] of passage.starts) {
    if (first >= end || first + node.length <= start) continue;
    const range = new Range();
    range.setStart(node, Math.max(start - first, 0));
    range.setEnd(node, Math.min(end - first, node.length));
    found.push(range);
  }
  return found;
}

// ---- The pointer: which character lies under it.

let box = null, leaving = 0;

const within = (box, x, y, slack = 0) => box && x >= box.left && x <= box.right && y >= box.top - slack && y <= box.bottom + slack / 2;

function hit(target, x, y) {
  const element = target.closest("[data-text]");
  if (!element) return null;
  const caret = document.caretPositionFromPoint?.(x, y), range = caret ? null : document.caretRangeFromPoint?.(x, y);
  let node = caret?.offsetNode ?? range?.startContainer, offset = caret?.offset ?? range?.startOffset;
  const passage = passageOf(element), reading = node?.parentElement?.closest("rt");
  for (node = reading ?? node; reading && node && !passage.starts.has(node);) node = node.previousSibling;
  if (!passage.starts.has(node)) return null;
  if (reading) return { passage, at: passage.starts.get(node), box: reading.getBoundingClientRect() };
  for (const at of [offset, offset - 1]) {
    if (at < 0 || at >= node.length) continue;
    const character = new Range();
    character.setStart(node, at);
    character.setEnd(node, at + 1);
    for (const box of character.getClientRects()) {
      if (within(box, x, y, box.height / 3)) return { passage, at: passage.starts.get(node) + at, box };
    }
  }
  return null;
}

function hover({ target, clientX: x, clientY: y, pointerType, buttons }) {
  if (pointerType === "touch" || buttons || open?.pinned) return;
  const found = popup.contains(target) || within(box, x, y) || hit(target, x, y);
  if (!found) {
    if (open) leaving ||= setTimeout(leave, 250);
    return;
  }
  clearTimeout(leaving);
  leaving = 0;
  if (found.box) { box = found.box; show(found.passage, found.at, false) }
}

// After anything that may have moved the words.
function reflow() {
  if (cursor) stand(document.activeElement === cursor);
  if (open) place();
}

function moved() {
  box = null;
  if (open && !narrow.matches) requestAnimationFrame(() => open && place());
}

function leave() {
  box = null;
  if (!open?.pinned) close();
}

function click({ target, clientX: x, clientY: y }) {
  const control = target.closest("button[data-key]");
  if (control) return actions[control.dataset.key]();
  if (target === cursor) return open?.pinned ? close() : (show(walk.passage, walk.word.start, true), stand());
  if (popup.contains(target) || target.closest("a, button, audio, textarea") || CSS.highlights && !getSelection().isCollapsed) return;
  const found = hit(target, x, y), word = found && wordAt(found.passage, found.at);
  if (!word || open?.pinned && open.passage === found.passage && open.word.start === word.start) close();
  else show(found.passage, found.at, true);
}

// ---- The keyboard: one button stands over the current word, and is made anew at each step, so
// that a screen reader speaks each word as it is reached.

let walk = null, cursor = null;
const bar = h("div", { class: "words", role: "toolbar", "aria-label": "Words of the text" });

function stand(take = true) {
  const { passage, word } = walk, old = cursor;
  cursor = h("button", { type: "button", lang: "ja", "aria-expanded": `${open !== null}`, "aria-controls": "popup", "aria-describedby": open && "gist" }, passage.text.slice(word.start, word.end));
  if (passage.element.previousSibling !== bar) passage.element.before(bar);
  const origin = bar.getBoundingClientRect(), box = ranges(passage, word)[0].getBoundingClientRect();
  Object.assign(cursor.style, { left: `${box.left - origin.left}px`, top: `${box.top - origin.top}px`, width: `${box.width}px`, height: `${box.height}px` });
  bar.append(cursor);
  if (take) cursor.focus();
  old?.remove();
}

function step(direction) {
  const elements = [...document.querySelectorAll("[data-text]")];
  if (!walk) return;
  walk = document.activeElement === cursor || open ? neighbour(elements, direction) : firstInView(elements);
  if (open) show(walk.passage, walk.word.start, true);
  else mark(walk);
  stand();
}

function neighbour(elements, direction) {
  let { passage, word } = walk, index = elements.indexOf(passage.element);
  let next = direction > 0 ? passage.cut.find(other => other.start >= word.end) : passage.cut.findLast(other => other.end <= word.start);
  while (!next && elements[index += direction]) {
    passage = passageOf(elements[index]);
    next = passage.cut.at(direction > 0 ? 0 : -1);
  }
  return next ? { passage, word: next } : walk;
}

function firstInView(elements) {
  for (const passage of elements.map(passageOf)) {
    const word = passage.cut.find(word => ranges(passage, word)[0].getBoundingClientRect().top >= 0);
    if (word) return { passage, word };
  }
  return walk;
}

function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("textarea, audio")) return;
  const { key } = event, direction = { ArrowLeft: -1, ArrowRight: 1 }[key], scroll = { ArrowUp: -1, ArrowDown: 1 }[key];
  if (direction) step(direction);
  else if (scroll && open?.pinned) leaf.scrollBy(0, scroll * 64);
  else if (key === "Escape") close();
  else return document.querySelector(`[data-key="${CSS.escape(key.toLowerCase())}"]`)?.click();
  event.preventDefault();
}

// ---- The popup.

let open = null;
const leaf = h("div", { class: "leaf" });
const popup = h("div", { id: "popup", role: "dialog", "aria-label": "Dictionary", lang: "en", hidden: "" }, leaf);
const marks = CSS.highlights ? new Highlight() : { clear: () => getSelection().removeAllRanges(), add: range => getSelection().addRange(range) };
CSS.highlights?.set("word", marks);

function show(passage, at, pinned) {
  const word = wordAt(passage, at), before = open;
  if (!word) return close();
  walk = open = { passage, word, at, pinned };
  if (before?.passage === passage && before.at === at && before.word === word) return;
  render();
  fetchRest(passage.element.closest("article"));
}

function render() {
  const { passage, word, at } = open, surface = passage.text.slice(word.start, word.end), sound = soundOf(passage, word);
  const inner = at !== word.start && !/[ぁ-ゟ]/.test(passage.text[at]);
  const here = passage.matches.filter(({ start, end }) => start === word.start && end === word.end);
  const around = passage.matches.filter(({ start, end }) => start === word.start ? end !== word.end : inner && start === at)
    .sort((one, other) => other.end - other.start - one.end + one.start);
  const seen = new Set(), isNew = ({ entry: { id } }) => !seen.has(id) && seen.add(id);
  const { word: words = [], name: names = [] } = Object.groupBy([...here, ...around].flatMap(match => match.options).filter(isNew), ({ entry }) => entry.kind);
  const full = words.filter(option => here.some(match => match.options.includes(option))).slice(0, 3);
  leaf.replaceChildren(
    ...full.map(option => fullEntry(option, surface, sound)),
    ...list("Also", words.filter(option => !full.includes(option)), 6),
    ...list("Names", names, 6),
    ...kanjiStrip(surface),
  );
  leaf.querySelector(".entry, .brief")?.setAttribute("id", "gist");
  leaf.scrollTop = 0;
  popup.hidden = false;
  mark(open);
  place();
}

function list(title, options, most) {
  const more = options.length - most;
  return options.length ? [h("h4", {}, title), ...options.slice(0, most).map(briefEntry), more > 0 ? h("p", { class: "path" }, `and ${more} more`) : ""] : [];
}

// How the page itself reads the word, as far as its furigana go: 食べた with た above 食 begins with た.
function soundOf(passage, word) {
  let sound = "", known = "";
  for (const range of ranges(passage, word)) {
    const reading = range.startContainer.parentElement.closest("ruby")?.querySelector("rt");
    sound += reading ? reading.textContent : `${range}`;
    if (reading) known = sound;
  }
  return known;
}

function fullEntry({ entry: { headwords, readings, senses, common, furigana }, chain }, surface, sound) {
  const form = [...headwords, ...readings].find(form => form[0] === surface[0]) ?? headwords[0] ?? readings[0];
  const asHere = sound && readings.filter(reading => reading.startsWith(sound)), spoken = new Set([...asHere, ...readings]);
  const heads = (headwords.length ? headwords : readings).map((head, index) => h("span", {}, ...withFurigana(furigana?.[index] ?? [head], head, headwords.length && asHere[0])));
  const asWritten = headwords.findIndex(head => head[0] === surface[0]);
  if (asWritten > 0) heads.unshift(...heads.splice(asWritten, 1));
  return h("section", { class: "entry" },
    chain.length ? h("p", { class: "path" }, h("b", { lang: "ja" }, form), ...chain.map(reason => ` « ${reason}`)) : "",
    h("h3", { lang: "ja" }, ...heads.slice(0, 5),
      headwords.length ? h("span", { class: "readings" }, [...spoken].join("・")) : "",
      common ? h("span", { class: "common", lang: "en" }, "common") : ""),
    h("ol", { class: senses.length > 1 ? "senses" : "senses one" }, ...senses.map(({ tags, glosses }, index) =>
      h("li", {}, `${tags}` === `${senses[index - 1]?.tags ?? ""}` ? "" : tagLine(tags), glosses.join("; ")))));
}

// The dictionary splits one reading of each headword; where the page has another, it stands whole.
function withFurigana(pieces, head, asHere) {
  const split = pieces.map(piece => typeof piece === "string" ? piece : piece[1]).join("");
  const shown = asHere && split !== asHere ? [[head, asHere]] : pieces;
  return shown.map(piece => typeof piece === "string" ? piece : h("ruby", {}, piece[0], h("rt", {}, piece[1])));
}

function briefEntry({ entry: { headwords, readings, senses, kind }, chain }) {
  return h("p", { class: "brief" },
    h("span", { lang: "ja" }, headwords[0] ?? readings[0]), headwords.length ? h("span", { class: "readings", lang: "ja" }, readings[0]) : "",
    chain.length ? h("span", { class: "path" }, `« ${chain.join(" « ")} `) : "",
    senses.flatMap(sense => sense.glosses).slice(0, 3).join("; "),
    kind === "name" ? h("span", { class: "path" }, " ", [...new Set(senses.flatMap(sense => sense.tags))].map(tag => nameTags[tag] ?? tag).join(", ")) : "");
}

const tagLine = tags => h("span", { class: "tags" }, ...tags.flatMap((tag, index) => [index ? ", " : "", h("abbr", { title: tag }, plain(tag))]));

function plain(tag) {
  const [, row, odd] = tag.match(/^v5(aru|[kgstnbmru])(-.)?$/) ?? [];
  return row ? `godan verb (${{ k: "く", g: "ぐ", s: "す", t: "つ", n: "ぬ", b: "ぶ", m: "む", r: "る", u: "う", aru: "ある" }[row]}${odd ? ", irregular" : ""})` : wordTags[tag] ?? tag;
}

const table = text => Object.fromEntries(text.split("|").map(line => line.split("=")));
const wordTags = table("n=noun|pn=pronoun|num=number|ctr=counter|n-suf=noun suffix|n-pref=noun prefix|n-adv=noun or adverb|n-t=noun of time|pref=prefix|suf=suffix|prt=particle|v1=ichidan verb|v1-s=ichidan verb (くれる)|vk=verb 来る|vs=takes する|vs-i=verb する|vs-s=verb in する|vz=verb in ずる|vi=intransitive|vt=transitive|adj-i=い adjective|adj-ix=い adjective (いい)|adj-na=な adjective|adj-no=takes の|adj-t=たる adjective|adj-pn=before nouns|adj-f=before nouns|aux=auxiliary|aux-v=auxiliary verb|aux-adj=auxiliary adjective|adv=adverb|adv-to=adverb with と|conj=conjunction|cop=copula|int=interjection|exp=expression|id=idiom|on-mim=sound or manner|uk=usually in kana|abbr=abbreviation|pol=polite|hon=honorific|hum=humble|col=colloquial|fam=familiar|sl=slang|fem=said by women|male=said by men|chn=child’s word|arch=archaic|obs=obsolete|sens=sensitive|derog=derogatory|vulg=vulgar");
const nameTags = table("s=surname|p=place|u=name|g=given name|f=female name|m=male name|h=person|pr=product|c=company|o=organization|st=station|wk=work|unclass=name|given=given name|fem=female name|masc=male name");

function mark({ passage, word }) {
  unmark();
  for (const range of ranges(passage, word)) {
    marks.add(range);
    range.startContainer.parentElement.closest("ruby")?.classList.add("read");
  }
}

function unmark() {
  marks.clear();
  for (const ruby of document.querySelectorAll("ruby.read")) ruby.classList.remove("read");
}

// Beside the word, on the side with more room, never beyond the window. On a narrow screen the style
// sheet makes it a sheet at the bottom, and the word is scrolled out from under it.
function place() {
  const boxes = ranges(open.passage, open.word).flatMap(range => [...range.getClientRects()]);
  const anchor = boxes.find(other => box && !open.pinned && within(other, box.left, box.top + box.height / 2)) ?? boxes[0];
  if (anchor.bottom < 0 || anchor.top > innerHeight) return close();
  if (narrow.matches) {
    const hidden = anchor.bottom + 16 - innerHeight + popup.offsetHeight;
    return hidden > 0 && scrollBy({ top: hidden });
  }
  const below = innerHeight - anchor.bottom - 16, above = anchor.top - anchor.height / 2 - 8, wraps = boxes.at(-1).top > anchor.bottom;
  const down = !(wraps && above > 240) && below > Math.min(above, 320);
  const style = {
    top: down ? `${anchor.bottom + 4}px` : "auto", bottom: down ? "auto" : `${innerHeight - above - 4}px`,
    left: `${Math.max(8, Math.min(anchor.left - 16, root.clientWidth - popup.offsetWidth - 8))}px`, height: `${Math.min(down ? below : above, 420)}px`,
  };
  for (const name in style) popup.style.setProperty(`--${name}`, style[name]);
}

function close() {
  clearTimeout(leaving);
  leaving = 0;
  open = null;
  popup.hidden = true;
  unmark();
  if (cursor && document.activeElement === cursor) { stand(); mark(walk) }
}

// ---- What is fetched later: shorter words and names of a story, and single kanji.

const asked = new Set(), kanji = new Map();

function fetchRest(article) {
  if (asked.has(article)) return;
  asked.add(article);
  const elements = [...article.querySelectorAll("[data-text]")], { story } = article.dataset;
  const request = story ? {} : { method: "POST", headers: { "content-type": "text/plain" }, body: passageOf(elements[0]).text };
  for (const tier of ["words", "names"]) {
    fetch(`${path}dictionary/${tier}${story ? `?story=${encodeURIComponent(story)}` : ""}`, request)
      .then(answer => answer.ok ? answer.json() : Promise.reject(answer.status))
      .then(rest => elements.forEach((element, index) => addMatches(passageOf(element), tier, rest, index)))
      .then(again, () => asked.delete(article));
  }
}

function again() {
  if (!open) return;
  const { scrollTop } = leaf;
  open.word = wordAt(open.passage, open.at) ?? open.word;
  render();
  leaf.scrollTop = scrollTop;
}

function kanjiStrip(surface) {
  const characters = [...new Set(surface.match(/\p{Unified_Ideograph}/gu))];
  if (characters.some(character => !kanji.has(character))) setTimeout(fetchKanji, 120, open.word, characters);
  const known = characters.map(character => kanji.get(character)).filter(Boolean);
  return known.length ? [h("h4", {}, "Kanji"), ...known.map(kanjiRow)] : [];
}

function kanjiRow({ character, grade, strokes, on = [], kun = [], meanings = [] }) {
  const school = !grade ? "" : grade < 7 ? `grade ${grade}, ` : grade < 9 ? "secondary school, " : "for names, ";
  return h("div", { class: "kanji" }, h("b", { lang: "ja" }, character),
    h("div", {}, meanings.slice(0, 4).join(", "), h("br"),
      h("span", { lang: "ja" }, [...on.slice(0, 3), ...kun.slice(0, 4)].join("・")), h("span", {}, ` ${school}${strokes} stroke${strokes > 1 ? "s" : ""}`)));
}

async function fetchKanji(word, characters) {
  if (open?.word !== word) return;
  await Promise.all(characters.filter(character => !kanji.has(character)).map(async character => {
    kanji.set(character, null);
    const answer = await fetch(`${path}kanji/${encodeURIComponent(character)}`).catch(() => null);
    if (answer?.ok) kanji.set(character, await answer.json());
  }));
  again();
}

// ---- The start.

function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const name in attributes) if (attributes[name] !== null) element.setAttribute(name, attributes[name]);
  element.append(...children);
  return element;
}

root.classList.add("script");
for (const name in settings) {
  let kept;
  try { kept = localStorage.getItem(`sakuin-${name}`) } catch {}
  if (/^(always|hover|never|light|dark)$/.test(kept)) set(name, kept);
}

document.addEventListener("DOMContentLoaded", () => {
  showSettings();
  systemDark.addEventListener("change", showSettings);
  document.addEventListener("click", click);
  document.addEventListener("keydown", key);
  const data = document.getElementById("sub-dictionary");
  if (!data) return;
  dictionary = JSON.parse(data.textContent);
  popup.append(h("footer", {}, ...document.getElementById("credit").cloneNode(true).childNodes));
  document.body.append(popup);
  document.addEventListener("pointermove", hover, { passive: true });
  root.addEventListener("pointerleave", ({ pointerType }) => pointerType !== "touch" && leave());
  addEventListener("scroll", moved, { passive: true });
  addEventListener("resize", reflow);
  const first = document.querySelector("[data-text]"), [word] = passageOf(first).cut;
  walk = word && { passage: passageOf(first), word };
  if (walk) stand(false);
});
}
