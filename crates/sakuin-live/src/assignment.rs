//! What becomes of an attribute, said without having read it: so that adding one to a counter needs no transaction.

use crate::{Schema, Type, Value, ValueError, schema::Cells};

/// What becomes of one attribute of a record.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Assignment {
    /// It gets this value.
    Set(Value),
    /// It has no value any more.
    Clear,
    /// This is added to its number; to none it is added as to 0. The sum of whole numbers must be one of 64 bits.
    Add(Value),
}

/// Assignments that fit their table.
#[derive(Clone, Debug)]
pub(crate) struct Assignments {
    by_place: Vec<(usize, Assignment)>,
}

impl Assignments {
    pub(crate) fn check(
        schema: &Schema,
        assignments: &[(&str, Assignment)],
    ) -> Result<Assignments, ValueError> {
        let checked = assignments.iter().map(|(name, assignment)| {
            let place = match assignment {
                Assignment::Clear => schema.place(name)?,
                Assignment::Set(value) => schema.cell(name, value)?.0,
                Assignment::Add(value) => {
                    let (place, _) = schema.cell(name, value)?;
                    let of = schema.attributes()[place].values;
                    if !matches!(of, Type::Int | Type::Float) {
                        return Err(ValueError::NoSum { attribute: (*name).to_owned(), of });
                    }
                    place
                }
            };
            Ok((place, assignment.clone()))
        });
        Ok(Assignments { by_place: checked.collect::<Result<_, _>>()? })
    }

    /// What a record becomes.
    pub(crate) fn applied(&self, schema: &Schema, cells: &Cells) -> Result<Cells, ValueError> {
        let mut cells = cells.clone();
        for (place, assignment) in &self.by_place {
            let attribute = &schema.attributes()[*place];
            let sum = |value: &Value| {
                let before = cells[*place].as_ref().map(|cell| cell.value(attribute.values));
                let too_large = || ValueError::TooLarge { attribute: attribute.name.clone() };
                sum(before, value).and_then(|sum| sum.cell()).ok_or_else(too_large)
            };
            cells[*place] = match assignment {
                Assignment::Clear => None,
                Assignment::Set(value) => value.cell(),
                Assignment::Add(value) => Some(sum(value)?),
            };
        }
        Ok(cells)
    }
}

fn sum(before: Option<Value>, value: &Value) -> Option<Value> {
    Some(match (before, value) {
        (None, value) => value.clone(),
        (Some(Value::Int(before)), Value::Int(value)) => Value::Int(before.checked_add(*value)?),
        (Some(Value::Float(before)), Value::Float(value)) => Value::Float(before + value),
        (Some(_), _) => return None,
    })
}
