//! What the records of a table look like.

use std::{fmt, str::FromStr};

use smallvec::SmallVec;

use crate::{Value, ValueError, value::Cell};

/// What an attribute's values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Type {
    /// A whole number of 64 bits.
    Int,
    /// A number of 64 bits.
    Float,
    /// True or false.
    Bool,
    /// A moment, in microseconds since 1970.
    Time,
    /// Text.
    Text,
    /// Any bytes.
    Bytes,
}

/// How an attribute can be searched without looking at every record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IndexKind {
    /// By a value.
    Equal,
    /// By a value or a range of values.
    Ordered,
}

/// One attribute of a table's records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// What its values are.
    pub values: Type,
    /// How it is searched.
    pub index: Option<IndexKind>,
}

/// The attributes of a table, in an order that stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schema {
    attributes: Vec<Attribute>,
}

/// A record's cells, in the order of the attributes; an attribute may have none. Most records are short, and a
/// search makes many.
pub(crate) type Cells = SmallVec<[Option<Cell>; 2]>;

impl Type {
    /// Every type, in the order of the documentation.
    pub const ALL: [Type; 6] =
        [Type::Int, Type::Float, Type::Bool, Type::Time, Type::Text, Type::Bytes];

    /// Its name in a configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Type::Int => "int",
            Type::Float => "float",
            Type::Bool => "bool",
            Type::Time => "time",
            Type::Text => "text",
            Type::Bytes => "bytes",
        }
    }

    pub(crate) fn is_word(self) -> bool {
        !matches!(self, Type::Text | Type::Bytes)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Type {
    type Err = ();

    fn from_str(name: &str) -> Result<Type, ()> {
        Type::ALL.into_iter().find(|one| one.name() == name).ok_or(())
    }
}

impl Schema {
    /// A schema without attributes.
    pub fn new() -> Schema {
        Schema::default()
    }

    /// With one attribute more. Of two with one name the later counts.
    #[must_use]
    pub fn with(mut self, name: &str, values: Type, index: Option<IndexKind>) -> Schema {
        self.attributes.retain(|before| before.name != name);
        self.attributes.push(Attribute { name: name.to_owned(), values, index });
        self
    }

    /// Every attribute.
    pub fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    /// The place of an attribute, if `value` may be one of its values, and the value as it is kept.
    pub(crate) fn cell(&self, name: &str, value: &Value) -> Result<(usize, Cell), ValueError> {
        let place = self.place(name)?;
        let attribute = &self.attributes[place];
        let refused = |wanted| ValueError::Type {
            attribute: name.to_owned(),
            wanted,
            found: value.to_string(),
        };
        if value.type_of() != attribute.values {
            return Err(refused(attribute.values));
        }
        let cell = value.cell().ok_or_else(|| refused(attribute.values))?;
        Ok((place, cell))
    }

    /// Puts values into a record's cells, by the names of their attributes.
    pub(crate) fn put<'v>(
        &self,
        cells: &mut Cells,
        values: impl IntoIterator<Item = (&'v str, Value)>,
    ) -> Result<(), ValueError> {
        for (name, value) in values {
            let (place, cell) = self.cell(name, &value)?;
            cells[place] = Some(cell);
        }
        Ok(())
    }

    pub(crate) fn place(&self, name: &str) -> Result<usize, ValueError> {
        let found = self.attributes.iter().position(|attribute| attribute.name == name);
        found.ok_or_else(|| ValueError::Unknown {
            attribute: name.to_owned(),
            known: self.attributes.iter().map(|attribute| attribute.name.clone()).collect(),
        })
    }
}
