//! The trie of all keys: a double array over folded characters, read in place.
//!
//! One [`Node`] is 16 bytes. The child of a node for the character with code `c` stands at `base ^ c` if
//! that node's `check` names the parent. A node below which only one key is left is a *leaf*: the rest of
//! that key stands in the tail, its length and first character in the node, so that most walks end without
//! looking there (minimal prefix, as in Aoe's "An Efficient Digital Search Algorithm by Using a
//! Double-Array Structure", 1989). Codes are given by frequency, which keeps siblings near each other.

use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, little_endian::U16, little_endian::U32,
};

/// A node of the double array.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Node {
    /// Where the children are; of a leaf, where its rest begins in the tail.
    base: U32,
    /// The parent's index and one bit: whether this is a leaf. Free nodes name no parent.
    check: U32,
    /// What the key ending here means, 0 if none does. Of a leaf, what the key ending in the tail means.
    value: U32,
    /// Of a leaf: length of the rest and its first character's code.
    rest: U16,
    first: U16,
}

/// The bit of `check` that marks a leaf.
const LEAF: u32 = 1 << 31;
/// The parent of no node: marks free nodes.
const FREE: u32 = LEAF - 1;
const ROOT: u32 = 0;

/// A trie in its sections.
#[derive(Clone, Copy)]
pub(crate) struct Trie<'s> {
    nodes: &'s [Node],
    tail: &'s [U16],
}

/// How far a walk has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cursor {
    /// At a node of the double array.
    Node(u32),
    /// Inside the rest of a leaf: its index and how much of the rest is read.
    Rest(u32, u16),
}

impl<'s> Trie<'s> {
    pub(crate) fn new(nodes: &'s [Node], tail: &'s [U16]) -> Trie<'s> {
        Trie { nodes, tail }
    }

    pub(crate) fn root(&self) -> Cursor {
        Cursor::Node(ROOT)
    }

    /// The place one character further, if any key goes on that way.
    #[inline]
    pub(crate) fn step(&self, cursor: Cursor, code: u16) -> Option<Cursor> {
        match cursor {
            Cursor::Node(at) => {
                let node = self.nodes.get(at as usize)?;
                if node.check.get() & LEAF != 0 {
                    return (node.rest.get() > 0 && node.first.get() == code)
                        .then_some(Cursor::Rest(at, 1));
                }
                let child = node.base.get() ^ u32::from(code);
                let found = self.nodes.get(child as usize)?;
                (found.check.get() & !LEAF == at && child != ROOT).then_some(Cursor::Node(child))
            }
            Cursor::Rest(at, read) => {
                let node = self.nodes.get(at as usize)?;
                if read >= node.rest.get() {
                    return None;
                }
                let next = self.tail.get(node.base.get() as usize + usize::from(read))?;
                (next.get() == code).then_some(Cursor::Rest(at, read + 1))
            }
        }
    }

    /// What the key that ends here means; 0 if none does.
    #[inline]
    pub(crate) fn value(&self, cursor: Cursor) -> u32 {
        let (at, read) = match cursor {
            Cursor::Node(at) => (at, 0),
            Cursor::Rest(at, read) => (at, read),
        };
        match self.nodes.get(at as usize) {
            Some(node) if node.rest.get() == read => node.value.get(),
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

/// Builds the double array from keys in ascending order, each once, with values above 0.
#[cfg(feature = "pack")]
pub(crate) mod build {
    use super::{FREE, LEAF, Node, ROOT, U16, U32};

    /// The sections of a trie.
    pub(crate) struct Built {
        pub(crate) nodes: Vec<Node>,
        pub(crate) tail: Vec<U16>,
    }

    /// How many free nodes are tried for a set of children before the array is made longer.
    const TRIES: usize = 256;

    /// Keys are rows of codes from 1 to 65,535, at most 65,535 long.
    pub(crate) fn build(keys: &[(Vec<u16>, u32)]) -> Built {
        let mut builder = Builder { block: 256, ..Builder::default() };
        let largest = keys.iter().flat_map(|(key, _)| key).max().copied().unwrap_or(0);
        while builder.block <= usize::from(largest) {
            builder.block *= 2;
        }
        builder.grow();
        builder.take(ROOT, ROOT);
        builder.place(ROOT, keys, 0);
        while builder.nodes.last().is_some_and(|node| node.check.get() == FREE) {
            builder.nodes.pop();
        }
        Built { nodes: builder.nodes, tail: builder.tail }
    }

    #[derive(Default)]
    struct Builder {
        nodes: Vec<Node>,
        tail: Vec<U16>,
        /// Free nodes as a ring through `next` and `previous`, `head` its first.
        next: Vec<u32>,
        previous: Vec<u32>,
        head: Option<u32>,
        /// The array grows by this power of two, above every code, so that `base ^ code` never leaves it.
        block: usize,
        codes: Vec<u16>,
    }

    impl Builder {
        /// Gives `parent`, which `keys` share `depth` characters to, its value and its children.
        fn place(&mut self, parent: u32, keys: &[(Vec<u16>, u32)], depth: usize) {
            let (here, below) = match keys.split_first() {
                Some(((key, value), below)) if key.len() == depth => (*value, below),
                _ => (0, keys),
            };
            if let ([(key, value)], 0) = (below, here)
                && parent != ROOT
            {
                return self.leaf(parent, &key[depth..], *value);
            }
            self.nodes[parent as usize].value = U32::new(here);
            let children = || below.chunk_by(|(a, _), (b, _)| a[depth] == b[depth]);
            let mut codes = std::mem::take(&mut self.codes);
            codes.clear();
            codes.extend(children().map(|keys| keys[0].0[depth]));
            if let Some(&first) = codes.first() {
                let base = self.find_base(first, &codes);
                self.nodes[parent as usize].base = U32::new(base);
                for &code in &codes {
                    self.take(base ^ u32::from(code), parent);
                }
                self.codes = codes;
                for keys in children() {
                    self.place(base ^ u32::from(keys[0].0[depth]), keys, depth + 1);
                }
            } else {
                self.codes = codes;
            }
        }

        fn leaf(&mut self, at: u32, rest: &[u16], value: u32) {
            let node = &mut self.nodes[at as usize];
            node.check = U32::new(node.check.get() | LEAF);
            node.value = U32::new(value);
            node.base = U32::new(self.tail.len() as u32);
            node.rest = U16::new(rest.len() as u16);
            node.first = U16::new(rest.first().copied().unwrap_or(0));
            self.tail.extend(rest.iter().map(|&code| U16::new(code)));
        }

        fn find_base(&mut self, first: u16, codes: &[u16]) -> u32 {
            let mut tried = 0;
            let mut free = self.head;
            while let Some(at) = free {
                let base = at ^ u32::from(first);
                if codes.iter().all(|&code| self.is_free(base ^ u32::from(code))) {
                    return base;
                }
                tried += 1;
                free = Some(self.next[at as usize])
                    .filter(|&next| Some(next) != self.head && tried < TRIES);
            }
            let start = self.nodes.len() as u32;
            self.grow();
            start
        }

        fn is_free(&self, at: u32) -> bool {
            self.nodes.get(at as usize).is_some_and(|node| node.check.get() == FREE)
        }

        fn grow(&mut self) {
            let from = self.nodes.len();
            let free = Node { check: U32::new(FREE), ..Node::default() };
            self.nodes.resize(from + self.block, free);
            self.next.resize(from + self.block, 0);
            self.previous.resize(from + self.block, 0);
            for at in from as u32..(from + self.block) as u32 {
                match self.head {
                    None => {
                        self.head = Some(at);
                        self.next[at as usize] = at;
                        self.previous[at as usize] = at;
                    }
                    Some(head) => {
                        let last = self.previous[head as usize];
                        self.next[last as usize] = at;
                        self.previous[at as usize] = last;
                        self.next[at as usize] = head;
                        self.previous[head as usize] = at;
                    }
                }
            }
        }

        /// Takes a free node for a child of `parent`.
        fn take(&mut self, at: u32, parent: u32) {
            let (next, previous) = (self.next[at as usize], self.previous[at as usize]);
            self.next[previous as usize] = next;
            self.previous[next as usize] = previous;
            if self.head == Some(at) {
                self.head = Some(next).filter(|&next| next != at);
            }
            self.nodes[at as usize].check = U32::new(parent);
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
        let built = build::build(&rows);
        let trie = Trie::new(&built.nodes, &built.tail);
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
