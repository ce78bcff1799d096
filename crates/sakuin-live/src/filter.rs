//! Which records a search wants. A filter is checked against its table once and decides about a record from its
//! cells alone, so that the committer can ask of any change whether it would have changed an answer.

mod parse;

use std::ops::{Bound, RangeBounds};

use smallvec::{SmallVec, smallvec};
use smol_str::SmolStr;

use crate::{Record, Schema, Type, Value, ValueError, schema::Cells, value::Cell};

pub use parse::FilterError;

/// What a record must be like: all of its conditions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// Most have one, of an attribute with a short name: then nothing is allocated.
    conditions: SmallVec<[(SmolStr, Condition); 1]>,
}

#[derive(Clone, Debug, PartialEq)]
enum Condition {
    Equal(Value),
    Within(Bound<Value>, Bound<Value>),
    Missing,
}

/// A filter that fits its table.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    conditions: SmallVec<[(usize, Wanted); 1]>,
}

#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    Equal(Cell),
    Within(Bound<Cell>, Bound<Cell>),
    Missing,
}

impl Filter {
    /// Every record.
    pub fn all() -> Filter {
        Filter::default()
    }

    /// Those whose attribute has this value.
    pub fn equal(attribute: &str, value: impl Into<Value>) -> Filter {
        Filter::all().and_equal(attribute, value)
    }

    /// Those whose attribute has a value in this range.
    pub fn within(attribute: &str, range: impl RangeBounds<Value>) -> Filter {
        let bounds = Condition::Within(range.start_bound().cloned(), range.end_bound().cloned());
        Filter { conditions: smallvec![(attribute.into(), bounds)] }
    }

    /// Those that have no value for this attribute.
    pub fn missing(attribute: &str) -> Filter {
        Filter { conditions: smallvec![(attribute.into(), Condition::Missing)] }
    }

    /// And whose attribute has this value.
    #[must_use]
    pub fn and_equal(mut self, attribute: &str, value: impl Into<Value>) -> Filter {
        self.conditions.push((attribute.into(), Condition::Equal(value.into())));
        self
    }

    /// And all that `other` wants.
    #[must_use]
    pub fn and(mut self, other: Filter) -> Filter {
        self.conditions.extend(other.conditions);
        self
    }

    /// Whether it wants every record.
    pub fn is_all(&self) -> bool {
        self.conditions.is_empty()
    }

    /// Whether it wants this record, as a search would.
    pub fn matches(&self, record: &Record) -> bool {
        self.conditions.iter().all(|(attribute, condition)| {
            let cell = record.value(attribute).and_then(|value| value.cell());
            let bound = |bound: &Bound<Value>| bound.as_ref().map(Value::cell);
            match (condition, cell) {
                (Condition::Missing, cell) => cell.is_none(),
                (_, None) => false,
                (Condition::Equal(value), cell) => value.cell() == cell,
                (Condition::Within(from, to), cell) => (bound(from), bound(to)).contains(&cell),
            }
        })
    }

    /// Whether an index finds its records by a value that is likely to be that of few: a search then costs less than
    /// it takes to hand it to another thread.
    pub fn is_quick(&self, schema: &Schema) -> bool {
        self.conditions.iter().any(|(name, condition)| {
            let attribute = schema.attributes().iter().find(|attribute| attribute.name == *name);
            matches!(condition, Condition::Equal(_))
                && attribute.is_some_and(|it| it.index.is_some() && it.values != Type::Bool)
        })
    }

    pub(crate) fn check(&self, schema: &Schema) -> Result<Checked, ValueError> {
        let conditions = self.conditions.iter().map(|(attribute, condition)| {
            let cell = |value: &Value| match schema.cell(attribute, value)? {
                _ if value.type_of() == Type::Vector => {
                    Err(ValueError::Vector { attribute: attribute.to_string() })
                }
                placed => Ok(placed),
            };
            let bound = |bound: &Bound<Value>| {
                Ok(match bound {
                    Bound::Unbounded => Bound::Unbounded,
                    Bound::Included(value) => Bound::Included(cell(value)?.1),
                    Bound::Excluded(value) => Bound::Excluded(cell(value)?.1),
                })
            };
            Ok(match condition {
                Condition::Equal(value) => {
                    let (place, cell) = cell(value)?;
                    (place, Wanted::Equal(cell))
                }
                Condition::Within(from, to) => {
                    (schema.place(attribute)?, Wanted::Within(bound(from)?, bound(to)?))
                }
                Condition::Missing => (schema.place(attribute)?, Wanted::Missing),
            })
        });
        Ok(Checked { conditions: conditions.collect::<Result<_, _>>()? })
    }
}

impl Checked {
    pub(crate) fn conditions(&self) -> &[(usize, Wanted)] {
        &self.conditions
    }

    pub(crate) fn matches(&self, cell: impl Fn(usize) -> Option<Cell>) -> bool {
        self.conditions.iter().all(|(place, wanted)| wanted.matches(cell(*place).as_ref()))
    }

    pub(crate) fn matches_cells(&self, cells: &Cells) -> bool {
        self.matches(|place| cells[place].clone())
    }
}

impl Wanted {
    /// The least and the greatest word that is wanted; none if no word is.
    pub(crate) fn words(&self) -> Option<(u64, u64)> {
        let word = |cell: &Cell| match cell {
            Cell::Word(word) => Some(*word),
            Cell::Blob(_) => None,
        };
        match self {
            Wanted::Missing => None,
            Wanted::Equal(cell) => word(cell).map(|word| (word, word)),
            Wanted::Within(from, to) => {
                let least = match from {
                    Bound::Unbounded => 0,
                    Bound::Included(cell) => word(cell)?,
                    Bound::Excluded(cell) => word(cell)?.checked_add(1)?,
                };
                let most = match to {
                    Bound::Unbounded => u64::MAX,
                    Bound::Included(cell) => word(cell)?,
                    Bound::Excluded(cell) => word(cell)?.checked_sub(1)?,
                };
                Some((least, most))
            }
        }
    }

    /// Whether these bytes are wanted, or that there are none.
    pub(crate) fn matches_blob(&self, blob: Option<&[u8]>) -> bool {
        let bytes = |cell: &Cell| match cell {
            Cell::Blob(bytes) => bytes.clone(),
            Cell::Word(_) => unreachable!("a filter fits its table"),
        };
        match (self, blob) {
            (Wanted::Missing, blob) => blob.is_none(),
            (_, None) => false,
            (Wanted::Equal(Cell::Blob(wanted)), Some(blob)) => **wanted == *blob,
            (Wanted::Equal(Cell::Word(_)), Some(_)) => false,
            (Wanted::Within(from, to), Some(blob)) => {
                let (from, to) = (from.as_ref().map(bytes), to.as_ref().map(bytes));
                let bounds = (from.as_ref().map(|it| &**it), to.as_ref().map(|it| &**it));
                RangeBounds::<[u8]>::contains(&bounds, blob)
            }
        }
    }

    fn matches(&self, cell: Option<&Cell>) -> bool {
        match (self, cell) {
            (Wanted::Missing, cell) => cell.is_none(),
            (_, None) => false,
            (Wanted::Equal(wanted), Some(cell)) => wanted == cell,
            (Wanted::Within(from, to), Some(cell)) => (from.as_ref(), to.as_ref()).contains(cell),
        }
    }
}
