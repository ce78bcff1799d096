//! Values as they are read: one, or the values of a key.

use crate::{ReadError, table::Inner, varint};

/// Where a value stands in the file; equal ids of one table are the same stored value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u64);

/// One value, borrowed from the table.
#[derive(Clone, Copy)]
pub struct Value<'t> {
    pub(crate) id: ValueId,
    pub(crate) bytes: &'t [u8],
}

/// The values of one key, in the order they were added; at least one.
#[derive(Clone, Copy)]
pub struct Values<'t> {
    table: &'t Inner,
    first: Value<'t>,
    /// The count, the codes and the inline bytes, where the record has such a list.
    list: Option<&'t [u8]>,
}

/// The values of one key, one after the other.
pub struct ValuesIter<'t> {
    table: &'t Inner,
    rest: Rest<'t>,
}

enum Rest<'t> {
    One(Option<Value<'t>>),
    List(List<'t>),
}

/// What is left of a list: codes to read, and the inline bytes they will take.
#[derive(Clone, Copy)]
struct List<'t> {
    count: u64,
    codes: &'t [u8],
    inline: &'t [u8],
}

impl<'t> Value<'t> {
    /// The value's bytes.
    #[inline]
    pub fn bytes(&self) -> &'t [u8] {
        self.bytes
    }

    /// Where it stands: keys that share a value give it the same id.
    #[inline]
    pub fn id(&self) -> ValueId {
        self.id
    }

    /// The value as text; `None` if it is not UTF-8, as a table of content `bytes` may hold.
    pub fn text(&self) -> Option<&'t str> {
        std::str::from_utf8(self.bytes).ok()
    }
}

impl<'t> Values<'t> {
    /// The values of a record's body, every one of them checked to be readable.
    #[inline]
    pub(crate) fn read(
        table: &'t Inner,
        plain: bool,
        body: &'t [u8],
    ) -> Result<Values<'t>, ReadError> {
        if plain {
            let first = Value { id: table.id_of(body), bytes: body };
            return Ok(Values { table, first, list: None });
        }
        let mut list = List::new(body).ok_or_else(|| table.bad_list())?;
        let first = list.next(table)?;
        while list.count > 0 {
            list.next(table)?;
        }
        Ok(Values { table, first, list: Some(body) })
    }

    /// The first value.
    #[inline]
    pub fn first(&self) -> Value<'t> {
        self.first
    }

    /// How many there are.
    #[allow(clippy::len_without_is_empty)] // a key has at least one
    pub fn len(&self) -> usize {
        let count = self.list.and_then(varint::read);
        count.map_or(1, |(count, _)| count as usize)
    }

    /// All of them, in the order they were added.
    pub fn iter(&self) -> ValuesIter<'t> {
        let rest = match self.list.and_then(List::new) {
            Some(list) => Rest::List(list),
            None => Rest::One(Some(self.first)),
        };
        ValuesIter { table: self.table, rest }
    }
}

impl<'t> List<'t> {
    /// `None` if there are fewer codes than the count says, or none.
    fn new(body: &'t [u8]) -> Option<List<'t>> {
        let (count, length) = varint::read(body)?;
        let codes = &body[length..];
        let mut inline = codes;
        if count == 0 || count > codes.len() as u64 {
            return None;
        }
        for _ in 0..count {
            let (_, length) = varint::read(inline)?;
            inline = &inline[length..];
        }
        Some(List { count, codes, inline })
    }

    fn next(&mut self, table: &'t Inner) -> Result<Value<'t>, ReadError> {
        let (code, length) = varint::read(self.codes).ok_or_else(|| table.bad_list())?;
        self.codes = &self.codes[length..];
        self.count -= 1;
        if code & 1 != 0 {
            return table.shared(code >> 1);
        }
        let length = usize::try_from(code >> 1).unwrap_or(usize::MAX);
        let Some((bytes, rest)) = self.inline.split_at_checked(length) else {
            return Err(table.bad_list());
        };
        self.inline = rest;
        Ok(Value { id: table.id_of(bytes), bytes })
    }
}

impl<'t> Iterator for ValuesIter<'t> {
    type Item = Value<'t>;

    fn next(&mut self) -> Option<Value<'t>> {
        match &mut self.rest {
            Rest::One(value) => value.take(),
            Rest::List(list) if list.count == 0 => None,
            // They were all read once already, when the key was found.
            Rest::List(list) => list.next(self.table).ok(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let count = match &self.rest {
            Rest::One(value) => usize::from(value.is_some()),
            Rest::List(list) => list.count as usize,
        };
        (count, Some(count))
    }
}

impl ExactSizeIterator for ValuesIter<'_> {}

impl<'t> IntoIterator for Values<'t> {
    type Item = Value<'t>;
    type IntoIter = ValuesIter<'t>;

    fn into_iter(self) -> ValuesIter<'t> {
        self.iter()
    }
}

impl std::fmt::Debug for Value<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}: `{}`", self.id.0, self.bytes.escape_ascii())
    }
}

impl std::fmt::Debug for Values<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_list().entries(self.iter()).finish()
    }
}
