//! A dictionary entry as every reader gives it and the packer takes it, whatever file it came from.

/// One entry of a dictionary of words or of names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Written forms, beside which the readings tell how they are read; may be empty.
    pub headwords: Vec<Headword>,
    /// Readings in kana; where there is no headword these are the written forms, in any script. An
    /// entry has a headword or a reading.
    pub readings: Vec<Reading>,
    /// Meanings in the order of the file. A few lines of EDICT have none.
    pub senses: Vec<Sense>,
    /// Whether the file marks the entry as common: `(P)` in EDICT, a priority in JMdict.
    pub common: bool,
}

/// A written form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headword {
    /// The form as the file has it.
    pub text: String,
    /// Whether this very form is marked common.
    pub common: bool,
    /// What JMdict says of the form itself: `ateji`, `oK` (outdated kanji), `io`, `iK`, `rK`, `sK`.
    pub tags: Vec<String>,
}

/// A reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The reading as the file has it.
    pub text: String,
    /// Whether this very reading is marked common.
    pub common: bool,
    /// The headwords it belongs to, by index; empty means all of them.
    pub only: Vec<usize>,
    /// Whether it is a form of its own that reads no headword, as バラ beside 薔薇 read ばら.
    pub alone: bool,
    /// What JMdict says of the reading itself: `gikun`, `ok` (outdated kana), `ik`, `rk`, `sk`.
    pub tags: Vec<String>,
}

/// One meaning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sense {
    /// JMdict tags of every sort: classes (`v5k`, `adj-i`, `n`), usage (`uk`), field, dialect, and for
    /// names JMnedict's types (`surname`, `place`), by which ENAMDICT's letters are spelt out.
    pub tags: Vec<String>,
    /// Translations, in English.
    pub glosses: Vec<String>,
}

/// What a kanji dictionary says of one character.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kanji {
    /// The character.
    pub character: char,
    /// School grade, 1 to 6, 8 for the rest of the jōyō list, 9 and 10 for names.
    pub grade: Option<u8>,
    /// Strokes; 0 where the file does not say.
    pub strokes: u8,
    /// Rank among the 2,500 most used.
    pub frequency: Option<u16>,
    /// Chinese readings, in katakana.
    pub on: Vec<String>,
    /// Japanese readings, in hiragana; a full stop stands before okurigana, a hyphen where the reading
    /// needs something before or after it.
    pub kun: Vec<String>,
    /// Readings in names.
    pub nanori: Vec<String>,
    /// Meanings.
    pub meanings: Vec<String>,
}
