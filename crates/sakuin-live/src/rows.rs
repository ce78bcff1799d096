//! The records of a table: columns in pages of 64, and their vectors beside them in pages of their own.
//!
//! A change copies the page it changes, and the page of vectors only if it changes a vector. Ids count from 1 and are
//! the way down to a page, so nothing is searched.

use std::{array, ops::Bound, sync::Arc};

use crate::{
    Schema, Type,
    filter::{Checked, Wanted},
    kernels,
    schema::Cells,
    tree::Tree,
    value::Cell,
    vectors::{self, VectorPage},
};

/// Records of a page; one bit each makes a word.
pub(crate) const SLOTS: usize = 64;

/// The records of a table at one moment. A copy costs two counters.
#[derive(Clone)]
pub(crate) struct Rows {
    pages: Tree<Arc<Page>>,
    vectors: Tree<Arc<VectorPage>>,
    count: u64,
}

/// Up to 64 records with neighbouring ids.
#[derive(Clone)]
pub(crate) struct Page {
    /// Which slots hold a record.
    live: u64,
    versions: [u64; SLOTS],
    columns: Box<[Column]>,
}

#[expect(
    clippy::large_enum_variant,
    reason = "most columns are words, copied with their page at once"
)]
#[derive(Clone)]
pub(crate) enum Column {
    Words {
        present: u64,
        words: [u64; SLOTS],
    },
    Blobs(Box<[Option<Arc<[u8]>>; SLOTS]>),
    /// Kept beside the pages.
    Vectors {
        present: u64,
    },
}

/// One record where it lies.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    id: u64,
    page: &'a Page,
    vectors: &'a Tree<Arc<VectorPage>>,
}

impl Rows {
    pub(crate) fn new() -> Rows {
        Rows { pages: Tree::new(), vectors: Tree::new(), count: 0 }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn get(&self, id: u64) -> Option<Row<'_>> {
        let (page, _) = place(id)?;
        self.row(id, self.pages.get(page)?)
    }

    /// Every page of vectors by its number: that of its records' page.
    pub(crate) fn vector_pages(&self) -> impl Iterator<Item = (u64, &VectorPage)> {
        self.vectors.iter_from(0).map(|(number, page)| (number, &**page))
    }

    pub(crate) fn page(&self, number: u64) -> Option<&Page> {
        self.pages.get(number).map(|page| &**page)
    }

    /// Those of these records that are there.
    pub(crate) fn many(&self, ids: &[u64]) -> Vec<(u64, Row<'_>)> {
        const ABREAST: usize = 16;
        let mut found = Vec::with_capacity(ids.len());
        for ids in ids.chunks(ABREAST) {
            let numbers = array::from_fn(|at| Some(place(*ids.get(at)?)?.0));
            let pages = self.pages.many::<ABREAST>(numbers);
            found.extend(
                pages
                    .into_iter()
                    .zip(ids)
                    .filter_map(|(page, id)| Some((*id, self.row(*id, page?)?))),
            );
        }
        found
    }

    /// Puts a record in place of the one with its id, if there is one.
    pub(crate) fn set(&mut self, schema: &Schema, id: u64, version: u64, cells: &Cells) {
        let (at, slot) = place(id).expect("ids count from 1");
        let page = self.page_mut(schema, at);
        let is_new = page.live & (1 << slot) == 0;
        page.set(slot, version, cells);
        self.count += u64::from(is_new);
        let (Some(place), Some(vectors)) = (schema.vector_place(), schema.vectors()) else {
            return;
        };
        let before = self.vectors.get(at).and_then(|page| page.get(slot));
        match &cells[place] {
            Some(Cell::Blob(bytes)) if !before.is_some_and(|it| vectors::is_equal(it, bytes)) => {
                let new = || Arc::new(VectorPage::new(vectors.dimensions));
                Arc::make_mut(self.vectors.leaf_mut(at, new)).set(slot, bytes);
            }
            None if before.is_some() => self.remove_vector(at, slot),
            _ => {}
        }
    }

    /// Takes a record out that is there.
    pub(crate) fn remove(&mut self, schema: &Schema, id: u64) {
        let (at, slot) = place(id).expect("ids count from 1");
        self.page_mut(schema, at).remove(slot);
        self.count -= 1;
        if self.vectors.get(at).is_some_and(|page| page.get(slot).is_some()) {
            self.remove_vector(at, slot);
        }
    }

    fn remove_vector(&mut self, page: u64, slot: usize) {
        let page = self.vectors.leaf_mut(page, || unreachable!("it was there"));
        Arc::make_mut(page).remove(slot);
    }

    fn page_mut(&mut self, schema: &Schema, page: u64) -> &mut Page {
        Arc::make_mut(self.pages.leaf_mut(page, || Arc::new(Page::new(schema))))
    }

    /// Every record from an id on, in the order of ids.
    pub(crate) fn iter_from(&self, first_id: u64) -> impl Iterator<Item = (u64, Row<'_>)> {
        let first_page = place(first_id).map_or(0, |(page, _)| page);
        self.pages
            .iter_from(first_page)
            .flat_map(|(number, page)| self.of_page(number, page, page.live))
            .skip_while(move |(id, _)| *id < first_id)
    }

    /// Every record that a filter wants, in the order of ids: 64 are decided about at a time.
    pub(crate) fn matching(&self, filter: &Checked) -> impl Iterator<Item = (u64, Row<'_>)> {
        self.pages
            .iter_from(0)
            .flat_map(move |(number, page)| self.of_page(number, page, page.matching(filter)))
    }

    /// The records of a page whose bits are set.
    fn of_page<'a>(
        &'a self,
        number: u64,
        page: &'a Page,
        slots: u64,
    ) -> impl Iterator<Item = (u64, Row<'a>)> {
        ones(slots).map(move |slot| {
            let id = id_of(number, slot);
            (id, Row { id, page, vectors: &self.vectors })
        })
    }

    fn row<'a>(&'a self, id: u64, page: &'a Page) -> Option<Row<'a>> {
        let (_, slot) = place(id)?;
        (page.live & (1 << slot) != 0).then_some(Row { id, page, vectors: &self.vectors })
    }
}

/// The page and the slot of an id.
pub(crate) fn place(id: u64) -> Option<(u64, usize)> {
    let at = id.checked_sub(1)?;
    Some((at / SLOTS as u64, (at % SLOTS as u64) as usize))
}

pub(crate) fn id_of(page: u64, slot: usize) -> u64 {
    page * SLOTS as u64 + slot as u64 + 1
}

/// The places of the ones, the lowest first.
pub(crate) fn ones(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (at < SLOTS).then_some(at)
    })
}

impl Page {
    fn new(schema: &Schema) -> Page {
        let column = |of: Type| match of {
            Type::Text | Type::Bytes => Column::Blobs(Box::new(array::from_fn(|_| None))),
            Type::Vector => Column::Vectors { present: 0 },
            _ => Column::Words { present: 0, words: [0; SLOTS] },
        };
        let columns = schema.attributes().iter().map(|one| column(one.values)).collect();
        Page { live: 0, versions: [0; SLOTS], columns }
    }

    fn set(&mut self, slot: usize, version: u64, cells: &Cells) {
        self.live |= 1 << slot;
        self.versions[slot] = version;
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.set(slot, cell.as_ref());
        }
    }

    fn remove(&mut self, slot: usize) {
        self.live &= !(1 << slot);
        self.columns.iter_mut().for_each(|column| column.set(slot, None));
    }

    /// Which of its records a filter wants.
    pub(crate) fn matching(&self, filter: &Checked) -> u64 {
        let wanted = filter.conditions().iter();
        wanted.fold(self.live, |left, (place, wanted)| match left {
            0 => 0,
            left => left & self.columns[*place].matching(wanted, left),
        })
    }
}

impl Column {
    fn set(&mut self, slot: usize, cell: Option<&Cell>) {
        match (self, cell) {
            (Column::Words { present, words }, Some(Cell::Word(word))) => {
                *present |= 1 << slot;
                words[slot] = *word;
            }
            (Column::Words { present, .. }, _) => *present &= !(1 << slot),
            (Column::Blobs(blobs), Some(Cell::Blob(blob))) => blobs[slot] = Some(blob.clone()),
            (Column::Blobs(blobs), _) => blobs[slot] = None,
            (Column::Vectors { present }, Some(_)) => *present |= 1 << slot,
            (Column::Vectors { present }, None) => *present &= !(1 << slot),
        }
    }

    /// Which of the slots have what is wanted; only `among` is looked at, where looking is dear.
    fn matching(&self, wanted: &Wanted, among: u64) -> u64 {
        match (self, wanted) {
            (Column::Words { present, .. } | Column::Vectors { present }, Wanted::Missing) => {
                !present
            }
            (Column::Words { present, words }, wanted) => match wanted.words() {
                Some((least, most)) => present & kernels::within(words, least, most),
                None => 0,
            },
            (Column::Blobs(blobs), wanted) => ones(among)
                .filter(|slot| wanted.matches_blob(blobs[*slot].as_deref()))
                .fold(0, |found, slot| found | 1 << slot),
            (Column::Vectors { present }, Wanted::Within(Bound::Unbounded, Bound::Unbounded)) => {
                *present
            }
            // A filter asks nothing else of vectors.
            (Column::Vectors { .. }, _) => 0,
        }
    }
}

impl Row<'_> {
    fn slot(&self) -> usize {
        ((self.id - 1) % SLOTS as u64) as usize
    }

    pub(crate) fn version(&self) -> u64 {
        self.page.versions[self.slot()]
    }

    pub(crate) fn vector(&self) -> Option<&[f32]> {
        let (page, slot) = place(self.id)?;
        self.vectors.get(page)?.get(slot)
    }

    pub(crate) fn cell(&self, place: usize) -> Option<Cell> {
        let slot = self.slot();
        match &self.page.columns[place] {
            Column::Words { present, words } => {
                (present & (1 << slot) != 0).then(|| Cell::Word(words[slot]))
            }
            Column::Blobs(blobs) => blobs[slot].clone().map(Cell::Blob),
            Column::Vectors { .. } => self.vector().map(vectors::cell),
        }
    }

    /// Its cells, but of its vector only that there is one: it is large, and no filter asks for more.
    pub(crate) fn cells_but_vector(&self) -> Cells {
        let cells = self.page.columns.iter().enumerate();
        let cell = |(place, column): (usize, &Column)| match column {
            Column::Vectors { present } => {
                (present & (1 << self.slot()) != 0).then(|| Cell::Blob(Arc::default()))
            }
            _ => self.cell(place),
        };
        cells.map(cell).collect()
    }

    pub(crate) fn cells(&self) -> Cells {
        (0..self.page.columns.len()).map(|place| self.cell(place)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::Type;

    fn cells(number: u64) -> Cells {
        Cells::from_iter([
            Some(Cell::Word(number)),
            number.is_multiple_of(3).then(|| Cell::Blob([7].into())),
        ])
    }

    proptest! {
        /// Against a map, over ids near and far; an older copy stays as it was.
        #[test]
        fn rows_are_a_map(
            changes in prop::collection::vec((prop_oneof![1..200u64, 1..100_000u64], any::<bool>()), 1..200),
        ) {
            let schema = Schema::new().with("a", Type::Int, None).with("b", Type::Bytes, None);
            let (mut rows, mut model) = (Rows::new(), BTreeMap::new());
            let mut before = (rows.clone(), model.clone());
            for (at, (id, is_set)) in changes.into_iter().enumerate() {
                let version = at as u64;
                if is_set {
                    rows.set(&schema, id, version, &cells(version));
                    model.insert(id, version);
                } else if model.remove(&id).is_some() {
                    rows.remove(&schema, id);
                }
                prop_assert_eq!(rows.count(), model.len() as u64);
                prop_assert_eq!(rows.get(id).map(|row| row.version()), model.get(&id).copied());
                if at == 50 {
                    before = (rows.clone(), model.clone());
                }
            }
            for (rows, model) in [(rows, model), before] {
                let found: Vec<_> = rows.iter_from(1).map(|(id, row)| (id, row.cells())).collect();
                let wanted: Vec<_> = model.iter().map(|(id, version)| (*id, cells(*version))).collect();
                prop_assert_eq!(&found, &wanted);
                for first in [0, 1, 64, 65, 150, 99_999, u64::MAX] {
                    let ids: Vec<u64> = rows.iter_from(first).map(|(id, _)| id).collect();
                    let wanted: Vec<u64> = model.range(first..).map(|(id, _)| *id).collect();
                    prop_assert_eq!(ids, wanted);
                }
                prop_assert!(rows.get(0).is_none() && rows.get(u64::MAX).is_none());
                let ids: Vec<u64> = (0..300).chain([99_999, u64::MAX]).collect();
                let many: Vec<_> = rows.many(&ids).iter().map(|(id, row)| (*id, row.version())).collect();
                let wanted: Vec<_> = ids.iter().filter_map(|id| Some((*id, *model.get(id)?))).collect();
                prop_assert_eq!(many, wanted);
            }
        }
    }
}
