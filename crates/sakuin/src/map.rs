//! jq over an origin's JSON, compiled once, run when an answer is fetched.
//!
//! The language is jaq's. What it may reach is cut to its input: no environment, no clock but `$now`, no
//! further inputs, no files, no way to end the process (`library`). What a hostile answer may do to it is
//! bounded: nesting is counted before anything recursive reads a byte, a program runs on a stack of its own
//! that it can use up without harm, and only the first output is ever computed.

mod input;
mod library;
mod output;
mod place;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::SystemTime,
};

use jaq_core::{
    Compiler, Ctx, Filter, Vars, compile, data,
    load::{self, Arena, File, Loader},
};
use jaq_json::Val;

/// Levels of arrays and objects that an answer, a mapped answer and a text given to `fromjson` may have.
const DEPTH_MAX: usize = 128;

/// The stack of a running program. Pages that are not touched cost nothing.
const STACK: usize = 64 << 20;

/// Characters of a message that are kept: jq's words hold the value at fault, which may be a whole answer.
const MESSAGE_MAX: usize = 240;

type Data = data::JustLut<Val>;

/// A compiled jq program. It sees the origin's answer as `.`, the key as `$key`, the time as `$now` (seconds
/// since 1970). It cannot read the environment, files or further inputs.
///
/// ```
/// use std::time::SystemTime;
///
/// let mapping = sakuin::Mapping::compile(".buses | map({number: .no, stop: $key})")?;
/// let mapped = mapping.run(br#"{"buses": [{"no": "15"}]}"#, "01012", SystemTime::now())?;
/// assert_eq!(mapped, br#"[{"number":"15","stop":"01012"}]"#);
/// # Ok::<(), sakuin::MapError>(())
/// ```
pub struct Mapping {
    program: Filter<Data>,
}

/// Why a mapping was refused or failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MapError {
    /// It does not compile.
    #[error("the mapping is no jq: {message}")]
    Program {
        /// What the compiler said, with the place.
        message: String,
    },
    /// The input is no JSON.
    #[error("the answer is no JSON: {message}")]
    Input {
        /// What and where.
        message: String,
    },
    /// The input or the output is nested too deeply to be handled safely.
    #[error("the answer is nested deeper than {limit} levels")]
    Deep {
        /// The limit.
        limit: usize,
    },
    /// It failed on this input.
    #[error("the mapping failed: {message}")]
    Run {
        /// jq's own words, with the path in the input where it can be told.
        message: String,
    },
    /// Its output cannot be written as JSON: not a number, bytes, a key that is no text.
    #[error("the mapping gave what JSON cannot say: {what} at `{path}`")]
    Output {
        /// What it gave.
        what: &'static str,
        /// Where in the output.
        path: String,
    },
    /// It gave no output.
    #[error("the mapping gave no output")]
    Empty,
}

impl Mapping {
    /// Compiles a jq program.
    pub fn compile(program: &str) -> Result<Mapping, MapError> {
        let refused = |message| MapError::Program { message };
        if input::shape(program.as_bytes()).depth > DEPTH_MAX {
            return Err(refused(format!("nested deeper than {DEPTH_MAX} levels")));
        }
        compile_text(program).map_err(refused)?;
        // A second time with the guard in every definition: the messages above are about the text as written.
        let program = compile_text(&library::guarded(program)).map_err(refused)?;
        Ok(Mapping { program })
    }

    /// The first output for `json`, as JSON without spaces. An empty input is `null`. Costs some 50 ns a byte;
    /// not for a loop that serves.
    pub fn run(&self, json: &[u8], key: &str, now: SystemTime) -> Result<Vec<u8>, MapError> {
        let input = input::read(json)?;
        let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let variables = [Val::from(key.to_owned()), Val::from(now)];
        // Whatever the program built is also dropped there: a deep value is dropped as deep as it was built.
        stacker::grow(STACK, || {
            catch_unwind(AssertUnwindSafe(|| self.first_output(&input, variables)))
                .unwrap_or_else(|_| Err(MapError::Run { message: "jq panicked".to_owned() }))
        })
    }

    fn first_output(&self, input: &Val, variables: [Val; 2]) -> Result<Vec<u8>, MapError> {
        library::start();
        let context = Ctx::<Data>::new(&self.program.lut, Vars::new(variables));
        let mut outputs = self.program.id.run((context, input.clone()));
        match outputs.next() {
            Some(Ok(output)) => output::write(&output),
            Some(Err(exception)) => {
                let message = match exception.get_err().map(jaq_core::Error::into_val) {
                    Ok(Val::TStr(text)) => String::from_utf8_lossy(&text).into_owned(),
                    Ok(value) => value.to_string(),
                    Err(_) => "it ended without an output".to_owned(),
                };
                Err(MapError::Run { message: place::explain(&message, input) })
            }
            None => Err(MapError::Empty),
        }
    }
}

fn compile_text(text: &str) -> Result<Filter<Data>, String> {
    let arena = Arena::default();
    let file = File { code: text, path: () };
    let modules = Loader::new(library::definitions())
        .load(&arena, file)
        .map_err(|errors| first_message(text, errors, in_loading))?;
    load::import(&modules, |_| Err("a mapping reads no files".to_owned()))
        .map_err(|errors| first_message(text, errors, in_loading))?;
    Compiler::default()
        .with_funs(library::functions())
        .with_global_vars(["$key", "$now"])
        .compile(modules)
        .map_err(|errors| first_message(text, errors, in_compiling))
}

/// The first of the errors, as `line 2, column 7: what`.
fn first_message<'t, E>(
    text: &'t str,
    errors: load::Errors<&'t str, (), E>,
    message: fn(E) -> Option<(&'t str, String)>,
) -> String {
    let first = errors.into_iter().find_map(|(_, error)| message(error));
    let Some((part, message)) = first else { return "unknown error".to_owned() };
    // An end of input has no place of its own.
    let at = match part.as_ptr().addr().checked_sub(text.as_ptr().addr()) {
        Some(at) if at <= text.len() => at,
        _ => text.len(),
    };
    let before = &text[..at];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    format!("line {line}, column {column}: {message}")
}

fn in_loading(error: load::Error<&str>) -> Option<(&str, String)> {
    match error {
        load::Error::Io(errors) => errors.into_iter().next(),
        load::Error::Lex(errors) => {
            let (expected, found) = errors.into_iter().next()?;
            Some((found, format!("expected {}", expected.as_str())))
        }
        load::Error::Parse(errors) => {
            let (expected, found) = errors.into_iter().next()?;
            let but = if found.is_empty() { String::new() } else { format!(", found `{found}`") };
            Some((found, format!("expected {}{but}", expected.as_str())))
        }
    }
}

fn in_compiling(errors: Vec<compile::Error<&str>>) -> Option<(&str, String)> {
    let (name, undefined) = errors.into_iter().next()?;
    let arity = match undefined {
        compile::Undefined::Filter(arity) => format!("/{arity}"),
        _ => String::new(),
    };
    Some((name, format!("there is no {} `{name}{arity}` here", undefined.as_str())))
}
