//! The plain deinflector: strips one auxiliary at a time. The oracle that the automaton is held against.

/// One way to read a word as an inflected form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inflection {
    /// The dictionary form.
    pub form: String,
    /// JMdict tags a dictionary entry of that form must have one of.
    pub classes: Vec<&'static str>,
    /// Labels of the steps from the dictionary form to the word.
    pub reasons: Vec<&'static str>,
}

/// Every way to read `word` as an inflected form, the word itself among them.
pub fn deinflect(_word: &str) -> Vec<Inflection> {
    unimplemented!()
}
