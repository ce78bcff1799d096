//! Furigana: which part of a reading belongs to which characters of a headword.
//!
//! Kana of the headword anchor the reading. Between them each kanji takes one of its readings, voiced
//! (rendaku) or cut short (gemination) where words do that. Where no readings explain the word, as in
//! 今日 or 大人, the characters share one ruby. Of several explanations the one that bends readings least
//! wins; if two are as good, neither does. The search is a table over positions in headword and
//! reading, so its cost is bounded by their lengths.

use crate::{entry::Kanji, fold::fold_char};

/// Longer words, in characters of headword or reading, are anchored at their ends only.
const LENGTH_MAX: usize = 48;

/// A piece of a headword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'t> {
    /// The characters of the headword.
    pub base: &'t str,
    /// How they are read; `None` for kana that the reading repeats, in either script.
    pub reading: Option<&'t str>,
}

/// Splits a headword and its reading into segments that belong together.
///
/// Joined, the bases are the headword and the readings are the reading, whatever it was given. `kanji`
/// knows how single characters are read; where it has nothing, the neighbours decide.
///
/// ```
/// use sakuin_japanese::{entry::Kanji, furigana::{Readings, Segment, split}};
///
/// let taberu = Kanji { character: '食', kun: vec!["た.べる".into()], ..Kanji::default() };
/// let readings = Readings::of(&taberu);
/// let split = split("食べる", "たべる", &|c| (c == '食').then_some(&readings));
/// assert_eq!(split[0], Segment { base: "食", reading: Some("た") });
/// assert_eq!(split[1], Segment { base: "べる", reading: None });
/// ```
pub fn split<'t, 'k>(
    headword: &'t str,
    reading: &'t str,
    kanji: &dyn Fn(char) -> Option<&'k Readings>,
) -> Vec<Segment<'t>> {
    let (word, sound) = (Characters::of(headword), Characters::of(reading));
    let is_long = word.len() > LENGTH_MAX || sound.len() > LENGTH_MAX;
    if is_long || is_foreign(&word, reading) {
        return ends(&word, &sound);
    }
    let search = Search::new(&word, &sound, kanji);
    [Groups::None, Groups::Parts, Groups::Runs]
        .into_iter()
        .find_map(|groups| search.path(groups))
        .map_or_else(|| ends(&word, &sound), |path| segments(&word, &sound, &path))
}

/// How one kanji may be read inside a word: its readings with their variants.
#[derive(Clone, Debug, Default)]
pub struct Readings {
    variants: Vec<Variant>,
}

/// A reading in hiragana as it sounds in some place of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Variant {
    kana: Vec<char>,
    /// How far it is from the dictionary's reading.
    cost: u32,
    /// It needs something before it: rendaku, 手紙 てがみ.
    inside: bool,
    /// It needs something after it: gemination, 学校 がっこう.
    before: bool,
    /// It needs ん before it: 観音 かんのん.
    after_n: bool,
    /// It needs kana after it: the stem た of 食べる.
    okurigana: bool,
}

impl Variant {
    /// What it needs, as flags.
    fn needs(&self) -> [bool; 4] {
        [self.inside, self.before, self.after_n, self.okurigana]
    }

    /// Whether it stands wherever `other` may and costs no more.
    fn covers(&self, other: &Variant) -> bool {
        let needs_more =
            self.needs().iter().zip(other.needs()).any(|(&mine, theirs)| mine && !theirs);
        self.kana == other.kana && self.cost <= other.cost && !needs_more
    }
}

impl Readings {
    /// The readings of a kanji in words.
    pub fn of(kanji: &Kanji) -> Readings {
        let mut readings = Readings::default();
        for on in &kanji.on {
            readings.add(on, 0, false);
        }
        for kun in &kanji.kun {
            readings.add_kun(kun);
        }
        readings
    }

    /// The readings of a kanji in names, where it has more.
    pub fn of_name(kanji: &Kanji) -> Readings {
        let mut readings = Readings::of(kanji);
        for nanori in &kanji.nanori {
            readings.add(&nanori.replace('.', ""), 3, false);
        }
        readings
    }

    /// た.べる is た where べる is written; たべ, たべる where it is not, or not all of it: 食物.
    fn add_kun(&mut self, kun: &str) {
        let Some((stem, okurigana)) = kun.split_once('.') else {
            self.add(kun, 0, false);
            return;
        };
        self.add(stem, 0, true);
        self.add(stem, 2, false);
        for (end, c) in okurigana.char_indices() {
            self.add(&[stem, &okurigana[..end + c.len_utf8()]].concat(), 1, false);
        }
        if let Some(noun) = verbal_noun(okurigana) {
            self.add(&[stem, &noun].concat(), 1, false);
        }
    }

    /// Adds a reading and what becomes of it inside a word.
    fn add(&mut self, reading: &str, cost: u32, okurigana: bool) {
        let kana: Vec<char> = reading.chars().filter(|&c| c != '-').map(fold_char).collect();
        let (Some(&first), Some(&last)) = (kana.first(), kana.last()) else { return };
        let plain = Variant { kana, cost, inside: false, before: false, after_n: false, okurigana };
        let mut heads = vec![plain.clone()];
        for (changed, more, after_n) in changed_first(first) {
            let mut head = Variant { cost: cost + more, inside: true, after_n, ..plain.clone() };
            head.kana[0] = changed;
            heads.push(head);
        }
        for head in heads {
            if head.kana.len() > 1 && "つちくきう".contains(last) {
                let mut short = Variant { cost: head.cost + 1, before: true, ..head.clone() };
                short.kana.pop();
                short.kana.push('っ');
                self.insert(short);
            }
            self.insert(head);
        }
    }

    fn insert(&mut self, variant: Variant) {
        if !self.variants.iter().any(|known| known.covers(&variant)) {
            self.variants.push(variant);
        }
    }
}

/// A godan verb as a noun: す → し. An ichidan verb only drops its る.
fn verbal_noun(okurigana: &str) -> Option<String> {
    let last = okurigana.chars().next_back()?;
    let stem = &okurigana[..okurigana.len() - last.len_utf8()];
    Some(format!("{stem}{}", translate(last, "うくぐすつぬぶむる", "いきぎしちにびみり")?))
}

/// What the first kana of a reading becomes inside a word, at what cost, and whether after ん only.
fn changed_first(first: char) -> impl Iterator<Item = (char, u32, bool)> {
    let voiced = "がぎぐげござじずぜぞだぢづでどばびぶべぼ";
    let changes = [
        (translate(first, "かきくけこさしすせそたちつてとはひふへほ", voiced), 1, false),
        (translate(first, "はひふへほちつ", "ぱぴぷぺぽじず"), 2, false),
        (translate(first, "あいうえお", "なにぬねの"), 2, true),
    ];
    changes.into_iter().filter_map(|(changed, cost, after_n)| Some((changed?, cost, after_n)))
}

fn translate(c: char, from: &str, to: &str) -> Option<char> {
    to.chars().nth(from.chars().position(|known| known == c)?)
}

/// A text as characters: folded for comparing, with their places for cutting.
struct Characters<'t> {
    text: &'t str,
    folded: Vec<char>,
    /// Where each character begins, and the end.
    starts: Vec<usize>,
}

impl<'t> Characters<'t> {
    fn of(text: &'t str) -> Characters<'t> {
        let starts = text.char_indices().map(|(start, _)| start).chain([text.len()]).collect();
        Characters { text, folded: text.chars().map(fold_char).collect(), starts }
    }

    fn len(&self) -> usize {
        self.folded.len()
    }

    fn slice(&self, from: usize, to: usize) -> &'t str {
        &self.text[self.starts[from]..self.starts[to]]
    }
}

/// Kanji that spell a foreign word share one ruby: 仏蘭西 フランス.
fn is_foreign(word: &Characters<'_>, reading: &str) -> bool {
    reading.chars().all(|c| matches!(c, 'ァ'..='ヺ' | 'ー' | '・'))
        && !word.folded.iter().copied().any(is_kana)
}

fn is_kana(folded: char) -> bool {
    matches!(folded, 'ぁ'..='ゖ' | 'ー')
}

/// Kana that belong to the one before them.
fn never_begins(folded: char) -> bool {
    "ーんっぁぃぅぇぉゃゅょゎ".contains(folded)
}

/// Which characters may share a ruby.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Groups {
    /// None may.
    None,
    /// Two or more neighbours, or one of which no reading is known.
    Parts,
    /// Only all characters between two kana.
    Runs,
}

/// What a group costs, each character in it, and each kana it takes: more than any bending of readings.
const GROUP_COST: u32 = 50_000;
const GROUPED_COST: u32 = 100_000;
const GROUPED_KANA_COST: u32 = 200;

/// A word, its reading and what may be read how.
struct Search<'s, 'k> {
    word: &'s [char],
    sound: &'s [char],
    readings: Vec<Option<&'k Readings>>,
    /// For each character where the run of characters that are not kana begins and ends.
    runs: Vec<(usize, usize)>,
}

/// The best way to a pair of positions.
#[derive(Clone, Copy)]
struct Cell {
    cost: u32,
    from: (usize, usize),
    /// Whether another way is as good.
    is_ambiguous: bool,
}

const UNREACHED: Cell = Cell { cost: u32::MAX, from: (0, 0), is_ambiguous: false };

impl<'s, 'k> Search<'s, 'k> {
    fn new(
        word: &'s Characters<'_>,
        sound: &'s Characters<'_>,
        kanji: &dyn Fn(char) -> Option<&'k Readings>,
    ) -> Self {
        let word = &word.folded[..];
        let mut readings: Vec<Option<&Readings>> = Vec::with_capacity(word.len());
        for (at, &c) in word.iter().enumerate() {
            // 々 is read as the kanji before it.
            let read = if c == '々' && at > 0 { readings[at - 1] } else { None };
            readings.push(read.or_else(|| if is_kana(c) { None } else { kanji(c) }));
        }
        let mut runs = vec![(0, 0); word.len()];
        let mut start = 0;
        for run in word.chunk_by(|&a, &b| is_kana(a) == is_kana(b)) {
            runs[start..start + run.len()].fill((start, start + run.len()));
            start += run.len();
        }
        Search { word, sound: &sound.folded, readings, runs }
    }

    /// The positions in word and reading where segments meet, if one way is best.
    fn path(&self, groups: Groups) -> Option<Vec<(usize, usize)>> {
        let width = self.sound.len() + 1;
        let mut cells = vec![UNREACHED; (self.word.len() + 1) * width];
        cells[0].cost = 0;
        for at in 0..self.word.len() {
            for heard in 0..width {
                let here = cells[at * width + heard];
                if here.cost == u32::MAX {
                    continue;
                }
                self.steps(at, heard, groups, &mut |to, until, cost| {
                    let step = Cell { cost: here.cost + cost, from: (at, heard), ..here };
                    reach(&mut cells[to * width + until], step);
                });
            }
        }
        let mut position = (self.word.len(), self.sound.len());
        let last = cells[position.0 * width + position.1];
        if last.cost == u32::MAX || last.is_ambiguous {
            return None;
        }
        let mut path = vec![position];
        while position.0 > 0 {
            position = cells[position.0 * width + position.1].from;
            path.push(position);
        }
        path.reverse();
        Some(path)
    }

    /// Every segment that may begin at a pair of positions, by its end in both and its cost.
    fn steps(
        &self,
        at: usize,
        heard: usize,
        groups: Groups,
        step: &mut dyn FnMut(usize, usize, u32),
    ) {
        let c = self.word[at];
        let rest = &self.sound[heard..];
        if rest.first() == Some(&c) {
            step(at + 1, heard + 1, 0);
        }
        // ヶ counts and joins: 一ヶ月, 霞ヶ関.
        if matches!(c, 'ゖ' | 'ゕ' | 'け')
            && rest.first().is_some_and(|heard| "かがこ".contains(*heard))
        {
            step(at + 1, heard + 1, 1);
        }
        if is_kana(c) || rest.first().is_some_and(|&heard| never_begins(heard)) {
            return;
        }
        if groups != Groups::Runs {
            for variant in self.readings[at].iter().flat_map(|readings| &readings.variants) {
                if rest.starts_with(&variant.kana) && self.may_stand(variant, at, heard) {
                    step(at + 1, heard + variant.kana.len(), variant.cost);
                }
            }
        }
        for end in at + 1..=self.runs[at].1 {
            if self.may_share(groups, at, end) {
                let cost = GROUP_COST + GROUPED_COST * (end - at) as u32;
                for until in heard + 1..=self.sound.len() {
                    step(end, until, cost + GROUPED_KANA_COST * (until - heard) as u32);
                }
            }
        }
    }

    fn may_stand(&self, variant: &Variant, at: usize, heard: usize) -> bool {
        (!variant.inside || at > 0)
            && (!variant.before || at + 1 < self.word.len())
            && (!variant.after_n || heard > 0 && self.sound[heard - 1] == 'ん')
            && (!variant.okurigana || self.word.get(at + 1).is_some_and(|&next| is_kana(next)))
    }

    fn may_share(&self, groups: Groups, at: usize, end: usize) -> bool {
        let is_run = self.runs[at] == (at, end);
        match groups {
            Groups::None => false,
            Groups::Runs => is_run,
            Groups::Parts => is_run || end - at > 1 || self.readings[at].is_none(),
        }
    }
}

/// Keeps the cheaper way, and remembers when two are as cheap.
fn reach(cell: &mut Cell, step: Cell) {
    if step.cost < cell.cost {
        *cell = step;
    } else if step.cost == cell.cost && step.from != cell.from {
        cell.is_ambiguous = true;
    }
}

/// Cuts along a path; kana that are read as written are joined.
fn segments<'t>(
    word: &Characters<'t>,
    sound: &Characters<'t>,
    path: &[(usize, usize)],
) -> Vec<Segment<'t>> {
    let mut segments = Vec::new();
    let mut plain_from = None;
    for (&(at, heard), &(end, until)) in path.iter().zip(&path[1..]) {
        if (at, heard) == (end, until) {
            continue;
        }
        let is_plain = word.folded[at..end] == sound.folded[heard..until];
        if is_plain {
            plain_from = plain_from.or(Some(at));
            continue;
        }
        if let Some(from) = plain_from.take() {
            segments.push(Segment { base: word.slice(from, at), reading: None });
        }
        segments
            .push(Segment { base: word.slice(at, end), reading: Some(sound.slice(heard, until)) });
    }
    if let Some(from) = plain_from {
        segments.push(Segment { base: word.slice(from, word.len()), reading: None });
    }
    segments
}

/// Anchors the kana at both ends; all between them shares one ruby.
fn ends<'t>(word: &Characters<'t>, sound: &Characters<'t>) -> Vec<Segment<'t>> {
    let shorter = word.len().min(sound.len());
    let same = |a: usize, b: usize| is_kana(word.folded[a]) && word.folded[a] == sound.folded[b];
    let front = (0..shorter).take_while(|&at| same(at, at)).count();
    let back =
        (1..=shorter - front).take_while(|&at| same(word.len() - at, sound.len() - at)).count();
    let middle = (front, word.len() - back, sound.len() - back);
    // Kana at an end may be all there is of one of the two: then nothing is certain.
    let (front, word_end, sound_end) = if middle.0 < middle.1 && middle.0 < middle.2 {
        middle
    } else {
        (0, word.len(), sound.len())
    };
    let path = [(0, 0), (front, front), (word_end, sound_end), (word.len(), sound.len())];
    segments(word, sound, &path)
}
