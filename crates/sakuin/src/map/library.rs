//! What a mapping may call: jq's own functions, less those that look or reach out of it.
//!
//! Every definition that can call itself begins with a check of the stack, so that a recursion which an answer
//! drives too deep is an error of the mapping and not the end of the process.

use std::cell::Cell;

use jaq_core::{
    Error, Exn, Native,
    load::{
        self,
        lex::{Lexer, StrPart, Tok, Token},
        parse::{BinaryOp, Def, Term},
    },
    native::{self, Fun, v},
};
use jaq_json::Val;

use super::{Data, MapError, input};

/// Functions that are not there: they show our secrets and our clock, or end the process.
const WITHHELD: [&str; 4] = ["env", "now", "halt", "halt_error"];

/// Replaced by one that counts levels first.
const FROM_JSON: &str = "fromjson";

/// The check of the stack. Also a word of the language, so that it can be written into a program.
const GUARD: &str = "sakuin_guard";

/// jq's own counting loop under another name; ours calls it and checks each step.
const RANGE: &str = "sakuin_range";
const OUR_RANGE: &str = "def range($from; $to; $by): sakuin_range($from; $to; $by) | sakuin_guard;";

/// What a guarded call must still have. Between two checks lie no more calls than the program has nested terms.
const STACK_LEFT: usize = 4 << 20;

/// Checks that one run may pass. It bounds its time, and how deep its closures nest: they are dropped as deep.
const STEPS_MAX: u32 = 200_000;

thread_local! {
    static STEPS: Cell<u32> = const { Cell::new(0) };
}

/// Begins the count of a run's steps on this thread.
pub(super) fn start() {
    STEPS.set(0);
}

/// The definitions written in jq.
pub(super) fn definitions() -> impl Iterator<Item = Def<&'static str>> {
    let ours = load::parse(OUR_RANGE, |parser| parser.defs()).expect("our own text is jq");
    ours.into_iter()
        .chain(jaq_core::defs())
        .chain(jaq_std::defs())
        .chain(jaq_json::defs())
        .filter(|definition| !WITHHELD.contains(&definition.name))
        .map(guard_locals)
}

/// The functions written in Rust.
pub(super) fn functions() -> impl Iterator<Item = Fun<Data>> {
    let theirs = jaq_core::funs::<Data>().chain(jaq_std::funs()).chain(jaq_json::funs());
    let from_json = Native::<Data>::new(|(_, text)| native::bome(from_json(&text)));
    theirs
        .filter(|(name, ..)| !WITHHELD.contains(name) && *name != FROM_JSON)
        .map(|(name, arguments, run)| (if name == "range" { RANGE } else { name }, arguments, run))
        .chain([(FROM_JSON, v(0), from_json), (GUARD, v(0), guard())])
}

/// `program` with a check of the stack wherever it can come by again: at the head of its definitions, and of
/// what it gives to them as arguments, which are run where they are named.
pub(super) fn guarded(program: &str) -> String {
    let tokens = Lexer::new(program).lex().unwrap_or_default();
    let mut places = Places::default();
    places.names_in(&tokens);
    places.find_in(&tokens);
    let mut text = String::with_capacity(program.len() + places.after.len() * (GUARD.len() + 1));
    let mut copied = 0;
    for before in places.after {
        let end = load::span(program, before).start + 1;
        text.push_str(&program[copied..end]);
        text.push_str(GUARD);
        text.push('|');
        copied = end;
    }
    text.push_str(&program[copied..]);
    text
}

/// Where checks are written into a program.
#[derive(Default)]
struct Places<'t> {
    /// Names that the program defines.
    names: Vec<&'t str>,
    /// Texts after whose first byte a check goes, in their order.
    after: Vec<&'t str>,
}

impl<'t> Places<'t> {
    fn names_in(&mut self, tokens: &[Token<&'t str>]) {
        for pair in tokens.windows(2) {
            if pair[0].0 == "def" {
                self.names.push(pair[1].0);
            }
        }
        tokens.iter().for_each(|token| within(token, |inner| self.names_in(inner)));
    }

    fn find_in(&mut self, tokens: &[Token<&'t str>]) {
        let mut defining = false;
        let mut before = "";
        for token in tokens {
            let Token(text, sort) = token;
            match sort {
                Tok::Word if *text == "def" => defining = true,
                Tok::Sym if *text == ":" && defining => {
                    self.after.push(text);
                    defining = false;
                }
                // The parameters of a definition are names.
                Tok::Block(_) if defining => {}
                Tok::Block(inner) => {
                    let call = self.names.contains(&before);
                    if call {
                        self.after.push(text);
                    }
                    self.arguments(inner, call);
                }
                _ => within(token, |inner| self.find_in(inner)),
            }
            before = text;
        }
    }

    fn arguments(&mut self, tokens: &[Token<&'t str>], call: bool) {
        for argument in tokens.split_inclusive(|Token(text, _)| call && *text == ";") {
            self.find_in(argument);
            if let Some(Token(text, _)) =
                argument.last().filter(|Token(text, _)| call && *text == ";")
            {
                self.after.push(text);
            }
        }
    }
}

/// Calls `visit` with the tokens inside a token.
fn within<'a, 't>(token: &'a Token<&'t str>, mut visit: impl FnMut(&'a [Token<&'t str>])) {
    match &token.1 {
        Tok::Block(inner) => visit(inner),
        Tok::Str(parts) => {
            for part in parts {
                if let StrPart::Term(inner) = part {
                    visit(std::slice::from_ref(inner));
                }
            }
        }
        _ => {}
    }
}

/// jq's own loops (`recurse`, `while`, `repeat`, …) are local definitions that call themselves.
fn guard_locals(mut definition: Def<&'static str>) -> Def<&'static str> {
    if let Term::Def(locals, _) = &mut definition.body {
        for local in locals {
            let body = std::mem::take(&mut local.body);
            let guard = Term::Call(GUARD, Vec::new());
            local.body = Term::BinOp(guard.into(), BinaryOp::Pipe(None), body.into());
        }
    }
    definition
}

/// Gives its input, if there is stack and time to go on.
fn guard() -> Native<Data> {
    Native::<Data>::new(|(_, value)| native::bome(enough().map(|()| value)))
        .with_paths(|(_, place)| {
            Box::new(std::iter::once(enough().map(|()| place).map_err(Exn::from)))
        })
        .with_update(|(_, value), update| match enough() {
            Ok(()) => update(value),
            Err(error) => native::bome(Err(error)),
        })
}

fn enough() -> Result<(), Error<Val>> {
    STEPS.set(STEPS.get() + 1);
    if STEPS.get() > STEPS_MAX {
        return Err(Error::str(format_args!("more than {STEPS_MAX} steps")));
    }
    match stacker::remaining_stack() {
        Some(left) if left < STACK_LEFT => Err(Error::str("recursion goes too deep")),
        _ => Ok(()),
    }
}

fn from_json(text: &Val) -> Result<Val, Error<Val>> {
    let bytes = text.try_as_utf8_bytes_owned()?;
    let fail = |why: String| Error::str(format_args!("cannot parse {text} as JSON: {why}"));
    input::parse(&bytes).map_err(|error| match error {
        MapError::Deep { limit } => fail(format!("nested deeper than {limit} levels")),
        MapError::Input { message } => fail(message),
        error => fail(error.to_string()),
    })
}
