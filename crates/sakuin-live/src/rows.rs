//! The records of a table: columns in pages of 64, under a tree that shares with every older version of itself
//! what has not changed since.
//!
//! A change copies one page and the few nodes above it, unless nobody else has them. Ids count from 1 and are the
//! way down the tree, so nothing is searched.

use std::{array, sync::Arc};

use crate::{Schema, schema::Cells, value::Cell};

const SLOTS: usize = 64;
const FANOUT: usize = 32;

/// The records of a table at one moment. A copy costs one counter.
#[derive(Clone)]
pub(crate) struct Rows {
    root: Option<Arc<Node>>,
    /// Levels of nodes above the pages.
    height: u32,
    count: u64,
}

#[expect(
    clippy::large_enum_variant,
    reason = "most are pages, and each is behind a counter of its own"
)]
#[derive(Clone)]
enum Node {
    Inner([Option<Arc<Node>>; FANOUT]),
    Page(Page),
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
enum Column {
    Words { present: u64, words: [u64; SLOTS] },
    Blobs(Box<[Option<Arc<[u8]>>; SLOTS]>),
}

/// One record where it lies.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    page: &'a Page,
    slot: usize,
}

impl Rows {
    pub(crate) fn new() -> Rows {
        Rows { root: None, height: 0, count: 0 }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn get(&self, id: u64) -> Option<Row<'_>> {
        let (page, slot) = place(id)?;
        if page >= capacity(self.height) {
            return None;
        }
        let mut node = self.root.as_deref()?;
        let mut level = self.height;
        loop {
            match node {
                Node::Inner(children) => {
                    level -= 1;
                    node = children[child(page, level)].as_deref()?;
                }
                Node::Page(page) => return page.row(slot),
            }
        }
    }

    /// Those of these records that are there. The ways down are taken side by side: far apart as records are, each
    /// step waits for memory, and so they wait together.
    pub(crate) fn many(&self, ids: &[u64]) -> Vec<(u64, Row<'_>)> {
        const ABREAST: usize = 16;
        let mut found = Vec::with_capacity(ids.len());
        for ids in ids.chunks(ABREAST) {
            let mut nodes = [None; ABREAST];
            for (node, id) in nodes.iter_mut().zip(ids) {
                let is_inside = place(*id).is_some_and(|(page, _)| page < capacity(self.height));
                *node = self.root.as_deref().filter(|_| is_inside);
            }
            for level in (0..self.height).rev() {
                for (node, id) in nodes.iter_mut().zip(ids) {
                    if let (Some(Node::Inner(children)), Some((page, _))) = (*node, place(*id)) {
                        *node = children[child(page, level)].as_deref();
                    }
                }
            }
            found.extend(nodes.iter().zip(ids).filter_map(|(node, id)| match (node, place(*id)) {
                (Some(Node::Page(page)), Some((_, slot))) => Some((*id, page.row(slot)?)),
                _ => None,
            }));
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
    }

    /// Takes a record out that is there.
    pub(crate) fn remove(&mut self, schema: &Schema, id: u64) {
        let (at, slot) = place(id).expect("ids count from 1");
        self.page_mut(schema, at).remove(slot);
        self.count -= 1;
    }

    /// Every record from an id on, in the order of ids.
    pub(crate) fn iter_from(&self, first_id: u64) -> impl Iterator<Item = (u64, Row<'_>)> {
        let first_page = place(first_id).map_or(0, |(page, _)| page);
        let mut waiting: Vec<(&Node, u64, u32)> = Vec::new();
        waiting.extend(self.root.as_deref().map(|root| (root, 0, self.height)));
        std::iter::from_fn(move || {
            loop {
                let (node, first, level) = waiting.pop()?;
                match node {
                    Node::Page(page) => return Some((page, first)),
                    Node::Inner(children) => {
                        let below = capacity(level - 1);
                        let children = children.iter().enumerate().rev();
                        waiting.extend(children.filter_map(|(at, node)| {
                            let from = first + at as u64 * below;
                            let is_before = from.saturating_add(below) <= first_page;
                            let node = node.as_deref().filter(|_| !is_before)?;
                            Some((node, from, level - 1))
                        }));
                    }
                }
            }
        })
        .flat_map(|(page, number)| {
            let first = number * SLOTS as u64 + 1;
            (0..SLOTS).filter_map(move |slot| Some((first + slot as u64, page.row(slot)?)))
        })
        .skip_while(move |(id, _)| *id < first_id)
    }

    /// The page to be changed, with what leads to it copied where others share it.
    fn page_mut(&mut self, schema: &Schema, page: u64) -> &mut Page {
        while page >= capacity(self.height) {
            let below = self.root.take();
            self.height += 1;
            if below.is_some() {
                let mut children = array::from_fn(|_| None);
                children[0] = below;
                self.root = Some(Arc::new(Node::Inner(children)));
            }
        }
        let empty = |level| match level {
            0 => Arc::new(Node::Page(Page::new(schema))),
            _ => Arc::new(Node::Inner(array::from_fn(|_| None))),
        };
        let mut level = self.height;
        let mut node = Arc::make_mut(self.root.get_or_insert_with(|| empty(level)));
        loop {
            match node {
                Node::Page(page) => return page,
                Node::Inner(children) => {
                    level -= 1;
                    let below = &mut children[child(page, level)];
                    node = Arc::make_mut(below.get_or_insert_with(|| empty(level)));
                }
            }
        }
    }
}

/// The page and the slot of an id.
fn place(id: u64) -> Option<(u64, usize)> {
    let at = id.checked_sub(1)?;
    Some((at / SLOTS as u64, (at % SLOTS as u64) as usize))
}

/// How many pages a tree of this height has room for.
fn capacity(height: u32) -> u64 {
    (FANOUT as u64).checked_pow(height).unwrap_or(u64::MAX)
}

fn child(page: u64, level: u32) -> usize {
    (page / capacity(level) % FANOUT as u64) as usize
}

impl Page {
    fn new(schema: &Schema) -> Page {
        let column = |is_word| match is_word {
            true => Column::Words { present: 0, words: [0; SLOTS] },
            false => Column::Blobs(Box::new(array::from_fn(|_| None))),
        };
        let columns = schema.attributes().iter().map(|one| column(one.values.is_word())).collect();
        Page { live: 0, versions: [0; SLOTS], columns }
    }

    fn row(&self, slot: usize) -> Option<Row<'_>> {
        (self.live & (1 << slot) != 0).then_some(Row { page: self, slot })
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
        }
    }

    fn cell(&self, slot: usize) -> Option<Cell> {
        match self {
            Column::Words { present, words } => {
                (present & (1 << slot) != 0).then(|| Cell::Word(words[slot]))
            }
            Column::Blobs(blobs) => blobs[slot].clone().map(Cell::Blob),
        }
    }
}

impl Row<'_> {
    pub(crate) fn version(&self) -> u64 {
        self.page.versions[self.slot]
    }

    pub(crate) fn cell(&self, place: usize) -> Option<Cell> {
        self.page.columns[place].cell(self.slot)
    }

    pub(crate) fn cells(&self) -> Cells {
        self.page.columns.iter().map(|column| column.cell(self.slot)).collect()
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
