//! Regular expressions over whole texts, as keys are matched with: compiled once, bounded in size, linear in the
//! text.
//!
//! A small expression becomes one table of states, which a hit walks at a few instructions a byte. One that would
//! take more than 64 KiB so is matched by the general machine, which takes some ten times as long.

use regex_automata::{
    Anchored, Input, MatchKind,
    dfa::{Automaton, StartKind, dense},
    meta::Regex,
    nfa::thompson,
    util::syntax,
};
use regex_syntax::hir::{Hir, Look};

/// A compiled expression.
#[derive(Clone, Debug)]
pub struct Expression {
    text: String,
    machine: Machine,
}

#[derive(Clone, Debug)]
enum Machine {
    Table(Box<dense::DFA<Vec<u32>>>),
    General(Regex),
}

/// An expression that is none, or too large a one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no regular expression: {message}")]
pub struct PatternError {
    /// What is wrong with it.
    pub message: String,
}

/// What a compiled expression may take: `\w{1,64}`, with all its Unicode, takes half of it.
const EXPRESSION_BYTES_MAX: usize = 4 << 20;

/// What a table of states may take, and what making one may.
const TABLE_BYTES_MAX: usize = 64 << 10;
const TABLE_WORK_BYTES_MAX: usize = 1 << 20;

impl Expression {
    pub(super) fn compile(text: &str) -> Result<Expression, PatternError> {
        let refused = |message: String| PatternError { message };
        let inner = syntax::parse(text).map_err(|error| {
            // The parser draws the place over several lines; the last one says what is wrong.
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default();
            refused(last.trim_start_matches("error: ").to_owned())
        })?;
        let whole = Hir::concat(vec![Hir::look(Look::Start), inner, Hir::look(Look::End)]);
        let limits = Regex::config()
            .nfa_size_limit(Some(EXPRESSION_BYTES_MAX))
            .onepass_size_limit(Some(EXPRESSION_BYTES_MAX))
            .hybrid_cache_capacity(EXPRESSION_BYTES_MAX);
        let general = Regex::builder().configure(limits).build_from_hir(&whole);
        let general = general.map_err(|error| match error.size_limit() {
            Some(_) => refused("it is too large".to_owned()),
            None => refused(error.to_string()),
        })?;
        let machine = table(&whole)
            .map_or(Machine::General(general), |table| Machine::Table(Box::new(table)));
        Ok(Expression { text: text.to_owned(), machine })
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it matches the whole of a text.
    pub(super) fn matches(&self, text: &str) -> bool {
        match &self.machine {
            Machine::General(regex) => regex.is_match(text),
            Machine::Table(table) => {
                let input = Input::new(text).anchored(Anchored::Yes).earliest(true);
                table.try_search_fwd(&input).is_ok_and(|found| found.is_some())
            }
        }
    }
}

fn table(whole: &Hir) -> Option<dense::DFA<Vec<u32>>> {
    let limits = thompson::Config::new().nfa_size_limit(Some(TABLE_WORK_BYTES_MAX));
    let nfa = thompson::Compiler::new().configure(limits).build_from_hir(whole).ok()?;
    let limits = dense::Config::new()
        .match_kind(MatchKind::All)
        .start_kind(StartKind::Anchored)
        .dfa_size_limit(Some(TABLE_BYTES_MAX))
        .determinize_size_limit(Some(TABLE_WORK_BYTES_MAX));
    dense::Builder::new().configure(limits).build_from_nfa(&nfa).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_expression_is_a_table_and_a_large_one_works_as_well() {
        let check = |expression: &str, is_table: bool, good: &[&str], bad: &[&str]| {
            let expression = Expression::compile(expression).unwrap();
            assert_eq!(matches!(expression.machine, Machine::Table(_)), is_table, "{expression:?}");
            assert!(good.iter().all(|text| expression.matches(text)), "{good:?}");
            assert!(!bad.iter().any(|text| expression.matches(text)), "{bad:?}");
        };
        check("[0-9]{5}", true, &["01012"], &["1012", "010122", "", "0101\n", "01012\n"]);
        check("a|ab|", true, &["", "a", "ab"], &["b", "aba"]);
        check("(?i)[a-z]+(-[0-9]+)?", true, &["Bus", "BUS-15"], &["bus-", "-15"]);
        check(r"\w{1,64}", false, &["駅", "a_b"], &["", "a b"]);
    }
}
