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
    /// Numbers of 32 bits, as many as the table's vectors have. A table has one such attribute at most, and it is
    /// called [`VECTOR`].
    Vector,
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
    vectors: Option<Vectors>,
}

/// What the vectors of a table are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vectors {
    /// How many numbers each has.
    pub dimensions: usize,
    /// What makes two of them near, unless a search says otherwise.
    pub metric: Metric,
}

/// What makes two vectors near.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Metric {
    /// The cosine of the angle between them; the greater, the nearer. A vector of zeros has none and is refused.
    Cosine,
    /// Their inner product; the greater, the nearer.
    Dot,
    /// Their Euclidean distance; the smaller, the nearer.
    L2,
}

/// The attribute that holds a record's vector.
pub const VECTOR: &str = "vector";

/// A record's cells, in the order of the attributes; an attribute may have none. Most records are short, and a
/// search makes many.
pub(crate) type Cells = SmallVec<[Option<Cell>; 2]>;

impl Type {
    /// Every type that an attribute can be declared with, in the order of the documentation.
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
            Type::Vector => "a vector",
        }
    }

    /// Whether its values are kept as words.
    pub(crate) fn is_word(self) -> bool {
        !matches!(self, Type::Text | Type::Bytes | Type::Vector)
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

impl Metric {
    /// Every metric.
    pub const ALL: [Metric; 3] = [Metric::Cosine, Metric::Dot, Metric::L2];

    /// Its name in a configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Metric::Cosine => "cosine",
            Metric::Dot => "dot",
            Metric::L2 => "l2",
        }
    }
}

impl FromStr for Metric {
    type Err = ();

    fn from_str(name: &str) -> Result<Metric, ()> {
        Metric::ALL.into_iter().find(|one| one.name() == name).ok_or(())
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

    /// With a vector of so many dimensions in each record that has one, as the attribute [`VECTOR`].
    #[must_use]
    pub fn with_vectors(mut self, dimensions: usize, metric: Metric) -> Schema {
        self.vectors = Some(Vectors { dimensions, metric });
        self.with(VECTOR, Type::Vector, None)
    }

    /// What its vectors are, if its records have any.
    pub fn vectors(&self) -> Option<&Vectors> {
        self.vectors.as_ref()
    }

    /// Where a record's vector is, if its records have any.
    pub(crate) fn vector_place(&self) -> Option<usize> {
        self.vectors?;
        self.attributes.iter().position(|attribute| attribute.name == VECTOR)
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
        if let Value::Vector(numbers) = value {
            self.check_vector(numbers)?;
        }
        let cell = value.cell().ok_or_else(|| refused(attribute.values))?;
        Ok((place, cell))
    }

    /// Whether a vector can be one of this table's.
    fn check_vector(&self, numbers: &[f32]) -> Result<(), ValueError> {
        let Some(vectors) = &self.vectors else { return Err(ValueError::NoVectors) };
        if numbers.len() != vectors.dimensions {
            return Err(ValueError::Dimensions {
                wanted: vectors.dimensions,
                found: numbers.len(),
            });
        }
        if vectors.metric == Metric::Cosine && numbers.iter().all(|one| *one == 0.0) {
            return Err(ValueError::NoDirection);
        }
        Ok(())
    }

    /// The cells of a record that has these values and no others.
    pub(crate) fn cells<'v>(
        &self,
        values: impl IntoIterator<Item = (&'v str, Value)>,
    ) -> Result<Cells, ValueError> {
        let mut cells = Cells::from_elem(None, self.attributes.len());
        self.put(&mut cells, values)?;
        Ok(cells)
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
