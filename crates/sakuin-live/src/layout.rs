//! Which number each table and each attribute has in the file. Numbers stay for ever, so a configuration may name
//! them in any order and add to them; what it may not do is to take away or to change what records have values for.

use std::sync::Arc;

use crate::{
    Metric, Schema, Type,
    bytes::{Damage, Reader, put_bytes, put_number},
    schema::Cells,
    value::Cell,
};

/// Where everything of the tables in memory lies in the file.
pub(crate) struct Layout {
    /// In the order of the tables in memory.
    tables: Vec<Placed>,
    /// By the number of a table, its place in memory.
    places: Vec<usize>,
}

struct Placed {
    number: u32,
    schema: Arc<Schema>,
    /// In the order of the attributes in memory.
    numbers: Vec<u32>,
    /// By the number of an attribute, its place in memory.
    places: Vec<usize>,
}

/// The tables as the file knows them; the place of each, and of each attribute in it, is its number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stored {
    tables: Vec<StoredTable>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct StoredTable {
    name: String,
    /// What its attributes are called and what their values are.
    attributes: Vec<(String, String)>,
    vectors: Option<(u64, String)>,
}

/// Why tables do not fit what a file has.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Misfit {
    pub(crate) table: String,
    pub(crate) cause: String,
}

impl Stored {
    pub(crate) fn read(mut reader: Reader<'_>) -> Result<Stored, Damage> {
        let text = |reader: &mut Reader<'_>| reader.text().map(str::to_owned);
        let tables = reader.many(|reader| {
            let name = text(reader)?;
            let attributes = reader.many(|reader| Ok((text(reader)?, text(reader)?)))?;
            let dimensions = reader.number()?;
            let vectors = (dimensions > 0).then(|| Ok((dimensions, text(reader)?))).transpose()?;
            Ok(StoredTable { name, attributes, vectors })
        })?;
        reader.end()?;
        Ok(Stored { tables })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        put_number(out, self.tables.len() as u64);
        for table in &self.tables {
            put_bytes(out, table.name.as_bytes());
            put_number(out, table.attributes.len() as u64);
            for text in table.attributes.iter().flat_map(|(name, values)| [name, values]) {
                put_bytes(out, text.as_bytes());
            }
            put_number(out, table.vectors.as_ref().map_or(0, |(dimensions, _)| *dimensions));
            if let Some((_, metric)) = &table.vectors {
                put_bytes(out, metric.as_bytes());
            }
        }
    }

    /// Takes in what is new in the tables as they are described now, and says where all of it lies.
    pub(crate) fn agree(&mut self, tables: &[(&str, &Arc<Schema>)]) -> Result<Layout, Misfit> {
        for table in &self.tables {
            if !tables.iter().any(|(name, _)| *name == table.name) {
                let cause = "is in the file and not among the tables; hint: describe it again, or begin a new file";
                return Err(Misfit { table: table.name.clone(), cause: cause.to_owned() });
            }
        }
        let placed = tables.iter().map(|(name, schema)| {
            let number = self.tables.iter().position(|table| table.name == *name);
            let number = number.unwrap_or_else(|| {
                let (attributes, vectors) = (Vec::new(), None);
                self.tables.push(StoredTable { name: (*name).to_owned(), attributes, vectors });
                self.tables.len() - 1
            });
            let agreed = self.tables[number].agree(schema);
            let (numbers, places) =
                agreed.map_err(|cause| Misfit { table: (*name).to_owned(), cause })?;
            Ok(Placed { number: number as u32, schema: (*schema).clone(), numbers, places })
        });
        let tables = placed.collect::<Result<Vec<_>, _>>()?;
        let mut places = vec![0; tables.len()];
        for (place, table) in tables.iter().enumerate() {
            places[table.number as usize] = place;
        }
        Ok(Layout { tables, places })
    }
}

impl StoredTable {
    fn agree(&mut self, schema: &Schema) -> Result<(Vec<u32>, Vec<usize>), String> {
        for (name, values) in &self.attributes {
            let now = schema.attributes().iter().find(|attribute| attribute.name == *name);
            match now {
                None => {
                    return Err(format!(
                        "has attribute `{name}` in the file and no more; hint: declare it again"
                    ));
                }
                Some(now) if now.values.name() != values => {
                    return Err(format!(
                        "has {values} for `{name}` in the file and {} now; hint: give the new attribute another name",
                        now.values
                    ));
                }
                Some(_) => {}
            }
        }
        let vectors = schema.vectors().map(|now| (now.dimensions as u64, now.metric));
        if let (Some((stored, _)), Some((now, _))) = (&self.vectors, vectors)
            && *stored != now
        {
            return Err(format!(
                "has vectors of {stored} dimensions in the file and of {now} now; hint: begin a new file with them"
            ));
        }
        self.vectors = vectors.map(|(dimensions, metric)| (dimensions, metric.name().to_owned()));
        let numbers = schema.attributes().iter().map(|attribute| {
            let number = self.attributes.iter().position(|(name, _)| *name == attribute.name);
            let number = number.unwrap_or_else(|| {
                let one = (attribute.name.clone(), attribute.values.name().to_owned());
                self.attributes.push(one);
                self.attributes.len() - 1
            });
            number as u32
        });
        let numbers: Vec<u32> = numbers.collect();
        let mut places = vec![0; numbers.len()];
        for (place, number) in numbers.iter().enumerate() {
            places[*number as usize] = place;
        }
        Ok((numbers, places))
    }
}

impl Layout {
    /// The number of a table.
    pub(crate) fn number(&self, table: usize) -> u32 {
        self.tables[table].number
    }

    /// The place of the table with a number.
    pub(crate) fn table(&self, number: u64) -> Result<usize, Damage> {
        let place = usize::try_from(number).ok().and_then(|number| self.places.get(number));
        place.copied().ok_or(Damage("it names a table that there is not"))
    }

    /// Writes a record's cells: how many there are, and each with the number of its attribute.
    pub(crate) fn put_cells(&self, out: &mut Vec<u8>, table: usize, cells: &Cells) {
        put_number(out, cells.iter().flatten().count() as u64);
        for (number, cell) in self.tables[table].numbers.iter().zip(cells) {
            let Some(cell) = cell else { continue };
            put_number(out, u64::from(*number));
            match cell {
                Cell::Word(word) => out.extend_from_slice(&word.to_le_bytes()),
                Cell::Blob(blob) => put_bytes(out, blob),
            }
        }
    }

    /// Reads them, if they may be those of a record of this table.
    pub(crate) fn cells(&self, reader: &mut Reader<'_>, table: usize) -> Result<Cells, Damage> {
        let table = &self.tables[table];
        let attributes = table.schema.attributes();
        let mut cells = Cells::from_elem(None, attributes.len());
        for _ in 0..reader.number()? {
            let number = usize::try_from(reader.number()?).unwrap_or(usize::MAX);
            let place = table.places.get(number).copied();
            let place = place.ok_or(Damage("it names an attribute that there is not"))?;
            cells[place] = Some(cell(reader, &table.schema, attributes[place].values)?);
        }
        Ok(cells)
    }
}

fn cell(reader: &mut Reader<'_>, schema: &Schema, values: Type) -> Result<Cell, Damage> {
    if values.is_word() {
        let cell = Cell::Word(u64::from_le_bytes(reader.array()?));
        let is_one = cell.value(values).cell().as_ref() == Some(&cell);
        return if is_one { Ok(cell) } else { Err(Damage("a value in it is none")) };
    }
    let bytes = match values {
        Type::Text => reader.text()?.as_bytes(),
        _ => reader.bytes()?,
    };
    if values == Type::Vector && !is_vector(bytes, schema) {
        return Err(Damage("a vector in it is none of its table's"));
    }
    Ok(Cell::Blob(bytes.into()))
}

fn is_vector(bytes: &[u8], schema: &Schema) -> bool {
    let (numbers, rest) = bytes.as_chunks();
    let mut numbers = numbers.iter().map(|bytes| f32::from_le_bytes(*bytes));
    schema.vectors().is_some_and(|vectors| {
        rest.is_empty()
            && numbers.len() == vectors.dimensions
            && numbers.clone().all(f32::is_finite)
            && (vectors.metric != Metric::Cosine || numbers.any(|one| one != 0.0))
    })
}
