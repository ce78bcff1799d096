//! The trie of all keys, in level order, read in place.
//!
//! Nodes stand level by level, so the children of a node stand side by side, and so do the characters that
//! lead to them: finding a child is a search in a short row of u16. The root's children are as many as there
//! are characters, each at the index that is its code, so the first step is no search at all. A node below
//! which only one key is left is a *leaf*: the rest of that key stands in the tail, its length and first
//! character in the node, so that most walks end without looking there. A node costs 14 bytes, and there is
//! about one a key.

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A node.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Node {
    /// The index of the first child. Of a leaf, where its rest begins in the tail.
    below: U32,
    /// What the key ending here means, 0 if none does. Of a leaf, what the key ending in the tail means.
    value: U32,
    /// How many children. Of a leaf, [`LEAF`] and the length of its rest.
    count: U16,
    /// Of a leaf with a rest, the first character of it.
    first: U16,
}

/// The bit of `count` that marks a leaf.
const LEAF: u16 = 1 << 15;
const ROOT: u32 = 0;
/// In a row of siblings up to this long, looking at each is faster than halving.
const SHORT_ROW: usize = 16;

/// A trie in its sections.
#[derive(Clone, Copy)]
pub(crate) struct Trie<'s> {
    nodes: &'s [Node],
    /// The character that leads to each node.
    codes: &'s [U16],
    tail: &'s [U16],
}

/// How far a walk has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    node: u32,
    /// How much of a leaf's rest is read.
    read: u16,
}

impl<'s> Trie<'s> {
    pub(crate) fn new(nodes: &'s [Node], codes: &'s [U16], tail: &'s [U16]) -> Trie<'s> {
        Trie { nodes, codes, tail }
    }

    pub(crate) fn root(&self) -> Cursor {
        Cursor { node: ROOT, read: 0 }
    }

    /// The place one character further, if any key goes on that way.
    #[inline]
    pub(crate) fn step(&self, cursor: Cursor, code: u16) -> Option<Cursor> {
        let Cursor { node: at, read } = cursor;
        let node = self.nodes.get(at as usize)?;
        let (below, count) = (node.below.get() as usize, node.count.get());
        if at == ROOT {
            return (code != 0 && code <= count).then_some(Cursor { node: u32::from(code), read });
        }
        if count & LEAF == 0 {
            let row = self.codes.get(below..below + usize::from(count))?;
            let child = find(row, code)?;
            return Some(Cursor { node: (below + child) as u32, read: 0 });
        }
        let next = match read {
            _ if read >= count & !LEAF => return None,
            0 => node.first,
            _ => *self.tail.get(below + usize::from(read))?,
        };
        (next.get() == code).then_some(Cursor { node: at, read: read + 1 })
    }

    /// What the key that ends here means; 0 if none does.
    #[inline]
    pub(crate) fn value(&self, cursor: Cursor) -> u32 {
        match self.nodes.get(cursor.node as usize) {
            Some(node)
                if node.count.get() & LEAF == 0 || node.count.get() & !LEAF == cursor.read =>
            {
                node.value.get()
            }
            _ => 0,
        }
    }

    /// What `key` means; 0 if it is no key.
    pub(crate) fn get(&self, key: impl IntoIterator<Item = u16>) -> u32 {
        let mut cursor = self.root();
        for code in key {
            match self.step(cursor, code) {
                Some(next) => cursor = next,
                None => return 0,
            }
        }
        self.value(cursor)
    }
}

/// Where `code` stands in a row of siblings, which are in ascending order.
#[inline]
fn find(row: &[U16], code: u16) -> Option<usize> {
    if row.len() <= SHORT_ROW {
        row.iter().position(|sibling| sibling.get() == code)
    } else {
        row.binary_search_by_key(&code, |sibling| sibling.get()).ok()
    }
}

/// Building a trie.
#[cfg(feature = "pack")]
pub(crate) mod build {
    use super::{LEAF, Node, U16, U32};

    /// The sections of a trie.
    pub(crate) struct Built {
        pub(crate) nodes: Vec<Node>,
        pub(crate) codes: Vec<U16>,
        pub(crate) tail: Vec<U16>,
    }

    /// A key in codes and its value.
    pub(crate) type Key = (Vec<u16>, u32);

    /// Builds a trie of keys, each once, those with a common beginning next to each other and a key that
    /// begins others before them. Keys are rows of codes from 1 to `codes`, shorter than 32,768; values are
    /// above 0.
    pub(crate) fn build(keys: &[Key], codes: u16) -> Built {
        let mut built =
            Built { nodes: vec![Node::default()], codes: vec![U16::ZERO], tail: vec![] };
        built.nodes[0].below = U32::new(1);
        built.nodes[0].count = U16::new(codes);
        built.nodes.resize(1 + usize::from(codes), Node::default());
        built.codes.extend((1..=codes).map(U16::new));

        // The keys below each node that has some, and how many characters they share.
        let mut level: Vec<(usize, &[Key], usize)> = Vec::new();
        for keys in keys.chunk_by(|(a, _), (b, _)| a.first() == b.first()) {
            if let Some(&code) = keys[0].0.first() {
                level.push((usize::from(code), keys, 1));
            }
        }
        while !level.is_empty() {
            let mut next = Vec::new();
            for (at, keys, depth) in level {
                let (value, below) = match keys.split_first() {
                    Some(((key, value), below)) if key.len() == depth => (*value, below),
                    _ => (0, keys),
                };
                match below {
                    [(key, value_below)] if value == 0 => {
                        built.nodes[at] = built.leaf(&key[depth..], *value_below);
                    }
                    [] => built.nodes[at] = built.leaf(&[], value),
                    _ => {
                        let mut rows: Vec<_> =
                            below.chunk_by(|(a, _), (b, _)| a[depth] == b[depth]).collect();
                        rows.sort_unstable_by_key(|keys| keys[0].0[depth]);
                        let first = built.nodes.len();
                        built.nodes[at] = Node {
                            below: U32::new(first as u32),
                            value: U32::new(value),
                            count: U16::new(rows.len() as u16),
                            first: U16::ZERO,
                        };
                        built.nodes.resize(first + rows.len(), Node::default());
                        built.codes.extend(rows.iter().map(|keys| U16::new(keys[0].0[depth])));
                        let child = |(row, keys)| (first + row, keys, depth + 1);
                        next.extend(rows.into_iter().enumerate().map(child));
                    }
                }
            }
            level = next;
        }
        built
    }

    impl Built {
        fn leaf(&mut self, rest: &[u16], value: u32) -> Node {
            let below = U32::new(self.tail.len() as u32);
            self.tail.extend(rest.iter().map(|&code| U16::new(code)));
            Node {
                below,
                value: U32::new(value),
                count: U16::new(LEAF | rest.len() as u16),
                first: U16::new(rest.first().copied().unwrap_or(0)),
            }
        }
    }
}

#[cfg(all(test, feature = "pack"))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Every key has its value, every prefix and every extension that is no key has none.
    fn check(keys: BTreeMap<Vec<u16>, u32>) {
        let rows: Vec<_> = keys.clone().into_iter().collect();
        let built = build::build(&rows, 6000);
        let trie = Trie::new(&built.nodes, &built.codes, &built.tail);
        let expected = |key: &[u16]| keys.get(key).copied().unwrap_or(0);
        for key in keys.keys() {
            for end in 0..=key.len() {
                assert_eq!(trie.get(key[..end].iter().copied()), expected(&key[..end]), "{key:?}");
            }
            for next in [0, 1, 2, 300, u16::MAX] {
                let longer: Vec<u16> = key.iter().copied().chain([next]).collect();
                assert_eq!(trie.get(longer.iter().copied()), expected(&longer), "{longer:?}");
            }
        }
    }

    #[test]
    fn no_keys_and_one_key() {
        check(BTreeMap::new());
        check(BTreeMap::from([(vec![7], 1)]));
        check(BTreeMap::from([(vec![7, 8, 9], 1)]));
    }

    #[test]
    fn keys_that_begin_other_keys() {
        check(BTreeMap::from([(vec![1], 1), (vec![1, 2], 2), (vec![1, 2, 3, 4], 3), (vec![2], 4)]));
    }

    proptest! {
        #[test]
        fn any_keys(keys in prop::collection::btree_map(
            prop::collection::vec(prop_oneof![1u16..6, 1u16..6000], 1..9), 1u32..1000, 0..200)) {
            check(keys);
        }
    }
}
