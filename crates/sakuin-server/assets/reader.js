// Explains every word of the page: by pointer, by tap and by keyboard. The page carries the best
// entries of each position (`#sub-dictionary`); the rest is fetched when a story is first touched.
// Nothing is deinflected here: the server's matches say where each word lies and how it was made.
"use strict";
{
const root = document.documentElement;
const path = document.currentScript.dataset.path;
const narrow = matchMedia("(max-width: 40rem)");
const systemDark = matchMedia("(prefers-color-scheme: dark)");
root.classList.add("script");

// The word whose popup is open, and the word the arrow keys stand on.
let open = null, walk = null;

// ---- Settings: one class on <html> each, remembered.

const settings = { furigana: "always", theme: "system" };

function set(name, value) {
  root.classList.remove(`${name}-${settings[name]}`);
  root.classList.add(`${name}-${settings[name] = value}`);
  try { localStorage.setItem(`sakuin-${name}`, value) } catch {}
  showSettings();
  if (open) place();
}

function showSettings() {
  const state = { furigana: settings.furigana, dark: isDark() ? "on" : "off" };
  for (const label of document.querySelectorAll("[data-state]")) label.textContent = state[label.dataset.state];
}

const isDark = () => settings.theme === "system" ? systemDark.matches : settings.theme === "dark";

const actions = {
  f: () => set("furigana", { always: "hover", hover: "never", never: "always" }[settings.furigana]),
  n: () => set("theme", isDark() ? "light" : "dark"),
};

for (const name in settings) {
  let kept;
  try { kept = localStorage.getItem(`sakuin-${name}`) } catch {}
  if (/^(always|hover|never|light|dark)$/.test(kept)) set(name, kept);
}

// ---- Passages: an element with `data-text`, its base text, and the words in it.

const passages = new Map();
const isRuby = node => node.nodeName === "RT" || node.nodeName === "RP";

function passageOf(element) {
  if (!passages.has(element)) {
    const passage = { element, text: "", starts: new Map(), words: [], names: [] };
    read(passage, element);
    passages.set(element, passage);
    addMatches(passage, "words", dictionary, element.dataset.text);
  }
  return passages.get(element);
}

// Positions count text outside <rt> and <rp>, and a line feed for each <br> and each end of a <p>.
function read(passage, parent) {
  for (const node of parent.childNodes) {
    if (node.nodeType === 3) {
      passage.starts.set(node, passage.text.length);
      passage.text += node.data;
    } else if (node.nodeName === "BR") passage.text += "\n";
    else if (!isRuby(node)) {
      read(passage, node);
      if (node.nodeName === "P") passage.text += "\n";
    }
  }
}

function addMatches(passage, tier, { texts, entries, chains }, index) {
  passage[tier] = (texts[index] ?? []).map(([start, length, pairs]) => ({
    start, end: start + length, options: pairs.map(([entry, chain]) => ({ entry: entries[entry], chain: chains[chain] })),
  }));
  passage.matches = [...passage.words, ...passage.names];
  segment(passage);
}

// One way of cutting the text into words, for the highlight and the arrow keys: the cut with the
// greatest sum of squared lengths, where kana that only sounds like a kanji word counts less.
function segment(passage) {
  const from = Map.groupBy(passage.matches, match => match.start);
  const best = Array(passage.text.length + 1).fill(0), step = [];
  for (let at = passage.text.length - 1; at >= 0; at--) {
    best[at] = best[at + 1];
    for (const match of from.get(at) ?? []) {
      const score = (match.end - at) ** 2 * weight(match, passage.text) + best[match.end];
      if (score > best[at]) { best[at] = score; step[at] = match }
    }
  }
  passage.cut = [];
  for (let at = 0; at < passage.text.length; at = step[at]?.end ?? at + 1) if (step[at]) passage.cut.push(step[at]);
}

function weight({ start, end, options: [{ entry }] }, text) {
  if (entry.kind === "name") return .6;
  const asWritten = !/^[ぁ-ゟー]+$/.test(text.slice(start, end)) || !entry.headwords.length || entry.senses[0]?.tags.includes("uk");
  return (asWritten ? 1 : .4) * (entry.common ? 1 : .8);
}

const longest = matches => matches.reduce((best, match) => match.end > (best?.end ?? 0) ? match : best, null);

const wordAt = (passage, at) => passage.cut.find(word => word.start <= at && at < word.end)
  ?? longest(passage.matches.filter(match => match.start === at));

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

const within = (box, x, y, slack = 0) => box && x >= box.left && x <= box.right && y >= box.top - slack && y <= box.bottom + slack / 2;

function hit(target, x, y) {
  const element = target.closest?.("[data-text]");
  if (!element) return null;
  const caret = document.caretPositionFromPoint?.(x, y), range = !caret && document.caretRangeFromPoint?.(x, y);
  let node = caret?.offsetNode ?? range?.startContainer, offset = caret?.offset ?? range?.startOffset;
  const reading = node?.parentElement?.closest("rt");
  if (reading) {
    do node = node === reading || reading.contains(node) ? reading.previousSibling : node.previousSibling; while (node && node.nodeType !== 3);
    offset = 0;
  }
  const passage = passageOf(element), first = passage.starts.get(node);
  if (first === undefined) return null;
  for (const at of [offset, offset - 1]) {
    if (at < 0 || at >= node.length) continue;
    const character = new Range();
    character.setStart(node, at);
    character.setEnd(node, at + 1);
    for (const box of character.getClientRects()) {
      if (reading || within(box, x, y, box.height / 3)) return { passage, at: first + at, box: reading?.getBoundingClientRect() ?? box };
    }
  }
  return null;
}

let box = null, leaving;

function hover(event) {
  if (event.pointerType === "touch" || open?.pinned) return;
  const { target, clientX: x, clientY: y } = event;
  const found = popup.contains(target) || within(box, x, y) || hit(target, x, y);
  if (found) { clearTimeout(leaving); leaving = 0 }
  else if (open) return leaving ||= setTimeout(close, 250);
  if (found?.box) { box = found.box; show(found.passage, found.at, false) }
}

function click(event) {
  const { target, clientX: x, clientY: y } = event, control = target.closest("button[data-key]");
  if (control) return actions[control.dataset.key]();
  if (target === cursor) return open?.pinned ? close() : (show(walk.passage, walk.word.start, true), focus());
  if (popup.contains(target) || target.closest("a, button, audio, textarea") || marks && !getSelection().isCollapsed) return;
  const found = hit(target, x, y), word = found && wordAt(found.passage, found.at);
  if (!word || open?.pinned && open.passage === found.passage && open.word.start === word.start) close();
  else show(found.passage, found.at, true);
}

// ---- The keyboard: one button stands over the current word, and is made anew at each step, so
// that a screen reader speaks each word as it is reached.

let cursor;
const bar = h("div", { class: "words", role: "toolbar", "aria-label": "Words of the text" });

function focus(take = true) {
  const { passage, word } = walk, old = cursor;
  cursor = h("button", { type: "button", lang: "ja", "aria-expanded": Boolean(open), "aria-controls": "popup" }, passage.text.slice(word.start, word.end));
  if (open) cursor.setAttribute("aria-describedby", "gist");
  if (passage.element.previousSibling !== bar) passage.element.before(bar);
  const origin = bar.getBoundingClientRect(), box = ranges(passage, word)[0].getBoundingClientRect();
  Object.assign(cursor.style, { left: `${box.left - origin.left}px`, top: `${box.top - origin.top}px`, width: `${box.width}px`, height: `${box.height}px` });
  bar.append(cursor);
  if (take) cursor.focus();
  old?.remove();
}

function step(direction) {
  const elements = [...document.querySelectorAll("[data-text]")];
  let { passage, word } = open ?? walk ?? {};
  if (!passage) return;
  let next = direction > 0 ? passage.cut.find(other => other.start >= word.end) : passage.cut.findLast(other => other.end <= word.start);
  for (let index = elements.indexOf(passage.element); !next && (index += direction) in elements;) {
    passage = passageOf(elements[index]);
    next = passage.cut.at(direction > 0 ? 0 : -1);
  }
  if (!next) return;
  walk = { passage, word: next };
  if (document.activeElement !== cursor && !open) walk = startOfReading(elements) ?? walk;
  focus();
  if (open) { show(walk.passage, walk.word.start, true); focus() } else mark(walk.passage, walk.word);
}

// The first arrow key takes the first word in view, not the first of the page.
function startOfReading(elements) {
  for (const element of elements) {
    if (element.getBoundingClientRect().bottom < 0) continue;
    const passage = passageOf(element);
    const word = passage.cut.find(word => ranges(passage, word)[0].getBoundingClientRect().top >= 0);
    if (word) return { passage, word };
  }
}

function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("textarea, input, audio")) return;
  const { key } = event, direction = { ArrowLeft: -1, ArrowRight: 1 }[key], scroll = { ArrowUp: -1, ArrowDown: 1 }[key];
  if (direction) step(direction);
  else if (scroll && open?.pinned) leaf.scrollBy(0, scroll * 64);
  else if (key === "Escape") close();
  else return document.querySelector(`[data-key="${CSS.escape(key.toLowerCase())}"]`)?.click();
  event.preventDefault();
}

// ---- The popup.

const leaf = h("div", { class: "leaf" });
const popup = h("div", { id: "popup", role: "dialog", "aria-label": "Dictionary", lang: "en", hidden: "" }, leaf);
const marks = window.Highlight && new Highlight();
if (marks) CSS.highlights.set("word", marks);

function show(passage, at, pinned) {
  const word = wordAt(passage, at);
  if (!word) return close();
  const same = open && open.passage === passage && open.word.start === word.start && open.word.end === word.end && open.at === at;
  open = { passage, word, at, pinned };
  walk = { passage, word };
  if (same) return;
  render();
  fetchRest(passage.element.closest("article"));
}

function render() {
  const { passage, word, at } = open;
  const here = passage.matches.filter(match => match.start === word.start && match.end === word.end).flatMap(match => match.options);
  const around = passage.matches.filter(match => match.start === word.start && match.end !== word.end || match.start === at && at !== word.start)
    .sort((one, other) => other.end - other.start - one.end + one.start).flatMap(match => match.options);
  const isName = ({ entry }) => entry.kind === "name", isWord = option => !isName(option);
  const words = here.filter(isWord), full = words.slice(0, 3), surface = passage.text.slice(word.start, word.end);
  const others = [...words, ...around.filter(isWord)].filter(({ entry }) => !full.some(option => option.entry.id === entry.id));
  leaf.replaceChildren(
    ...full.map((option, index) => fullEntry(option, surface, index)),
    ...list("Also", others, 10, !words.length),
    ...list("Names", [...here.filter(isName), ...around.filter(isName)], 8, !words.length),
    ...kanjiStrip(surface),
  );
  leaf.scrollTop = 0;
  popup.hidden = false;
  mark(passage, word);
  place();
}

function list(title, options, most, first) {
  const seen = new Set(), shown = options.filter(({ entry }) => !seen.has(entry.id) && seen.add(entry.id));
  if (!shown.length) return [];
  const more = shown.length - most;
  return [h("h4", {}, title), ...shown.slice(0, most).map((option, index) => briefEntry(option, first && !index)), more > 0 ? h("p", { class: "path" }, `and ${more} more`) : ""];
}

function fullEntry({ entry, chain }, surface, index) {
  const { headwords, readings, senses } = entry;
  return h("section", { class: "entry", id: index ? null : "gist" },
    chain.length ? h("p", { class: "path" }, h("b", { lang: "ja" }, dictionaryForm(entry, surface)), ...chain.map(reason => ` « ${reason}`)) : "",
    h("h3", { lang: "ja" },
      ...(headwords.length ? headwords.slice(0, 5).map((head, at) => h("span", at ? { class: "other" } : {}, ...furigana(entry.furigana?.[at] ?? [head]))) : readings.map(reading => h("span", {}, reading))),
      headwords.length ? h("span", { class: "readings" }, readings.join("・")) : "",
      entry.common ? h("span", { class: "common", lang: "en" }, "common") : ""),
    h("ol", { class: senses.length > 1 ? "senses" : "senses one" }, ...senses.map(({ tags, glosses }, at) => h("li", {}, `${tags}` === `${senses[at - 1]?.tags}` ? "" : tagLine(tags), glosses.join("; ")))));
}

function briefEntry({ entry, chain }, first) {
  const { headwords, readings, senses, kind } = entry;
  return h("p", { class: "brief", id: first ? "gist" : null },
    h("span", { lang: "ja" }, headwords[0] ?? readings[0]), headwords.length ? h("span", { class: "readings", lang: "ja" }, readings[0]) : "",
    chain.length ? h("span", { class: "path" }, `« ${chain.join(" « ")} `) : "",
    senses.flatMap(sense => sense.glosses).slice(0, 3).join("; "), kind === "name" ? h("span", { class: "path" }, " ", [...new Set(senses.flatMap(sense => sense.tags))].map(tag => nameTags[tag] ?? tag).join(", ")) : "");
}

const furigana = pieces => pieces.map(piece => typeof piece === "string" ? piece : h("ruby", {}, piece[0], h("rt", {}, piece[1])));

const dictionaryForm = ({ headwords, readings }, surface) => [...headwords, ...readings].find(form => form[0] === surface[0]) ?? headwords[0] ?? readings[0];

const tagLine = tags => tags.length ? h("span", { class: "tags" }, ...tags.flatMap((tag, index) => [index ? ", " : "", h("abbr", { title: tag }, plain(tag))])) : "";

function plain(tag) {
  const [, row, odd] = tag.match(/^v5(aru|[kgstnbmru])(-.)?$/) ?? [];
  return row ? `godan verb (${{ k: "く", g: "ぐ", s: "す", t: "つ", n: "ぬ", b: "ぶ", m: "む", r: "る", u: "う", aru: "ある" }[row]}${odd ? ", irregular" : ""})` : wordTags[tag] ?? tag;
}

const table = text => Object.fromEntries(text.split("|").map(line => line.split("=")));
const wordTags = table("n=noun|pn=pronoun|num=number|ctr=counter|n-suf=noun suffix|n-pref=noun prefix|n-adv=noun or adverb|n-t=noun of time|pref=prefix|suf=suffix|prt=particle|v1=ichidan verb|v1-s=ichidan verb (くれる)|vk=verb 来る|vs=takes する|vs-i=verb する|vs-s=verb in する|vz=verb in ずる|vi=intransitive|vt=transitive|adj-i=い adjective|adj-ix=い adjective (いい)|adj-na=な adjective|adj-no=takes の|adj-t=たる adjective|adj-pn=before nouns|adj-f=before nouns|aux=auxiliary|aux-v=auxiliary verb|aux-adj=auxiliary adjective|adv=adverb|adv-n=adverb or noun|adv-to=adverb with と|conj=conjunction|cop=copula|int=interjection|exp=expression|id=idiom|on-mim=sound or manner|uk=usually in kana|abbr=abbreviation|pol=polite|hon=honorific|hum=humble|col=colloquial|fam=familiar|sl=slang|fem=said by women|male=said by men|chn=child’s word|arch=archaic|obs=obsolete|obsc=obscure|rare=rare|sens=sensitive|derog=derogatory|vulg=vulgar|ok=old kana|oK=old kanji|ik=irregular kana|iK=irregular kanji|io=irregular okurigana");
const nameTags = table("s=surname|p=place|u=name|g=given name|f=female name|m=male name|h=person|pr=product|c=company|o=organization|st=station|wk=work|surname=surname|place=place|unclass=name|given=given name|fem=female name|masc=male name|person=person");

function mark(passage, word) {
  unmark();
  for (const range of ranges(passage, word)) {
    marks ? marks.add(range) : getSelection().addRange(range);
    range.startContainer.parentElement.closest("ruby")?.classList.add("read");
  }
}

function unmark() {
  marks ? marks.clear() : getSelection().removeAllRanges();
  for (const ruby of document.querySelectorAll("ruby.read")) ruby.classList.remove("read");
}

// Beside the word, on the side with more room, never beyond the window; on a narrow screen the
// style sheet makes it a sheet at the bottom, and the word is scrolled out from under it.
function place() {
  const boxes = ranges(open.passage, open.word).flatMap(range => [...range.getClientRects()]);
  const anchor = boxes.find(other => box && !open.pinned && within(other, box.left, box.top + box.height / 2)) ?? boxes[0];
  if (anchor.bottom < 0 || anchor.top > innerHeight) return close();
  if (narrow.matches) {
    const hidden = anchor.bottom + 16 - popup.getBoundingClientRect().top;
    if (hidden > 0) scrollBy({ top: hidden });
    return;
  }
  const below = innerHeight - anchor.bottom - 16, above = anchor.top - anchor.height / 2 - 8;
  const down = boxes.at(-1).top > anchor.bottom && above > 240 ? false : below > Math.min(above, 320);
  const style = {
    "--top": down ? `${anchor.bottom + 4}px` : "auto", "--bottom": down ? "auto" : `${innerHeight - above - 4}px`,
    "--left": `${Math.max(8, Math.min(anchor.left - 16, root.clientWidth - 8 - Math.min(parseFloat(getComputedStyle(root).fontSize) * 26, root.clientWidth - 16)))}px`,
    "--height": `${Math.min(down ? below : above, 420)}px`,
  };
  for (const name in style) popup.style.setProperty(name, style[name]);
}

function close() {
  clearTimeout(leaving);
  leaving = 0;
  if (!open) return;
  open = null;
  popup.hidden = true;
  unmark();
  if (document.activeElement === cursor) { focus(); mark(walk.passage, walk.word) }
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
  open.word = wordAt(open.passage, open.at) ?? open.word;
  const { scrollTop } = leaf;
  render();
  leaf.scrollTop = scrollTop;
}

function kanjiStrip(surface) {
  const characters = [...new Set(surface.match(/[㐀-鿿豈-﫿𠀀-𿿽]/gu))];
  if (characters.some(character => !kanji.has(character))) setTimeout(fetchKanji, 120, open, characters);
  const known = characters.map(character => kanji.get(character)).filter(Boolean);
  return known.length ? [h("h4", {}, "Kanji"), ...known.map(kanjiRow)] : [];
}

function kanjiRow({ character, grade, strokes, on, kun, meanings }) {
  const facts = [grade && (grade < 7 ? `grade ${grade}` : grade < 9 ? "secondary school" : "names"), `${strokes} strokes`];
  return h("div", { class: "kanji" }, h("b", { lang: "ja" }, character), h("div", {}, meanings.slice(0, 5).join(", "), h("br"), h("span", {}, h("span", { lang: "ja" }, [...on.slice(0, 4), ...kun.slice(0, 5)].join("・")), ` ${facts.filter(Boolean).join(", ")}`)));
}

async function fetchKanji(when, characters) {
  if (open?.word !== when.word) return;
  await Promise.all(characters.filter(character => !kanji.has(character)).map(async character => {
    const answer = await fetch(`${path}kanji/${encodeURIComponent(character)}`).catch(() => null);
    if (answer) kanji.set(character, answer.ok ? await answer.json() : null);
  }));
  if (open?.word === when.word) again();
}

// ---- The start.

function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const name in attributes) if (attributes[name] !== null) element.setAttribute(name, attributes[name]);
  element.append(...children);
  return element;
}

let dictionary = { texts: [], entries: [], chains: [] };

document.addEventListener("DOMContentLoaded", () => {
  showSettings();
  systemDark.addEventListener("change", showSettings);
  document.addEventListener("click", click);
  document.addEventListener("keydown", key);
  const data = document.getElementById("sub-dictionary");
  if (!data) return;
  dictionary = JSON.parse(data.textContent);
  const credit = h("footer");
  credit.append(...document.getElementById("credit").cloneNode(true).childNodes);
  popup.append(credit);
  document.body.append(popup);
  document.addEventListener("pointermove", hover, { passive: true });
  root.addEventListener("pointerleave", event => event.pointerType === "touch" || open?.pinned || close());
  for (const name of ["scroll", "resize"]) addEventListener(name, () => open && !narrow.matches && requestAnimationFrame(() => open && place()), { passive: true });
  for (const element of document.querySelectorAll("[data-text]")) {
    const passage = passageOf(element), [word] = passage.cut;
    if (word) { walk = { passage, word }; focus(false); break }
  }
});
}
