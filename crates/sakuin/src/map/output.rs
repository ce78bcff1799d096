//! Writing what a mapping gave. jaq writes more than JSON; a client must get JSON or nothing.

use jaq_json::{Num, Val, write};

use super::{DEPTH_MAX, MapError};

/// The value as JSON without spaces.
pub(super) fn write(value: &Val) -> Result<Vec<u8>, MapError> {
    check(value, 0).map_err(|fault| match fault {
        Fault::Deep => MapError::Deep { limit: DEPTH_MAX },
        Fault::Unsayable { what, mut path } => {
            path.reverse();
            MapError::Output {
                what,
                path: if path.is_empty() { ".".into() } else { path.concat() },
            }
        }
    })?;
    let mut json = Vec::new();
    write::write(&mut json, &write::Pp::default(), 0, value).expect("a vector takes every byte");
    Ok(json)
}

enum Fault {
    Deep,
    /// The path grows from its end while the fault goes up.
    Unsayable {
        what: &'static str,
        path: Vec<String>,
    },
}

fn check(value: &Val, depth: usize) -> Result<(), Fault> {
    let unsayable = |what| Err(Fault::Unsayable { what, path: Vec::new() });
    let below = |mut fault, step: String| {
        if let Fault::Unsayable { path, .. } = &mut fault {
            path.push(step);
        }
        fault
    };
    match value {
        Val::Arr(_) | Val::Obj(_) if depth == DEPTH_MAX => Err(Fault::Deep),
        Val::Arr(items) => items.iter().enumerate().try_for_each(|(at, item)| {
            check(item, depth + 1).map_err(|fault| below(fault, format!("[{at}]")))
        }),
        Val::Obj(fields) => fields.iter().try_for_each(|(name, item)| {
            let step = || format!(".{}", name.to_string().trim_matches('"'));
            if !matches!(name, Val::TStr(_)) {
                return unsayable("a key that is no text").map_err(|fault| below(fault, step()));
            }
            check(name, depth + 1).map_err(|fault| below(fault, step()))?;
            check(item, depth + 1).map_err(|fault| below(fault, step()))
        }),
        Val::Num(Num::Float(number)) if number.is_nan() => unsayable("not a number"),
        Val::Num(Num::Float(number)) if number.is_infinite() => unsayable("an infinite number"),
        Val::BStr(_) => unsayable("bytes"),
        Val::TStr(text) if std::str::from_utf8(text).is_err() => unsayable("text that is no UTF-8"),
        _ => Ok(()),
    }
}
