//! Leaves by their numbers, under a tree that shares with every older version of itself what has not changed since.
//!
//! A change copies the few nodes above a leaf, unless nobody else has them. Numbers are the way down, so
//! nothing is searched. Walking the tree touches no leaf: whoever walks can ask for many ahead of time.

use std::{array, sync::Arc};

/// A node that is copied counts each of its children once more, which waits for memory; so they are few.
const FANOUT: usize = 16;

/// The leaves at one moment. A copy costs one counter.
#[derive(Clone)]
pub(crate) struct Tree<L> {
    root: Node<L>,
    /// Levels of nodes above the leaves.
    height: u32,
}

#[derive(Clone)]
enum Node<L> {
    None,
    Inner(Arc<[Node<L>; FANOUT]>),
    Leaf(L),
}

impl<L> Node<L> {
    fn child(&self, leaf: u64, level: u32) -> &Node<L> {
        match self {
            Node::Inner(children) => &children[child(leaf, level)],
            _ => &Node::None,
        }
    }

    fn leaf(&self) -> Option<&L> {
        match self {
            Node::Leaf(leaf) => Some(leaf),
            _ => None,
        }
    }
}

impl<L: Clone> Tree<L> {
    pub(crate) fn new() -> Tree<L> {
        Tree { root: Node::None, height: 0 }
    }

    pub(crate) fn get(&self, leaf: u64) -> Option<&L> {
        if leaf >= capacity(self.height) {
            return None;
        }
        (0..self.height).rev().fold(&self.root, |node, level| node.child(leaf, level)).leaf()
    }

    /// As many leaves as are asked for. The ways down are taken side by side: far apart as leaves are, each step waits
    /// for memory, and so they wait together.
    pub(crate) fn many<const N: usize>(&self, leaves: [Option<u64>; N]) -> [Option<&L>; N] {
        let leaves = leaves.map(|leaf| leaf.filter(|leaf| *leaf < capacity(self.height)));
        let mut nodes = leaves.map(|leaf| leaf.map_or(&Node::None, |_| &self.root));
        for level in (0..self.height).rev() {
            for (node, leaf) in nodes.iter_mut().zip(leaves) {
                *node = leaf.map_or(&Node::None, |leaf| node.child(leaf, level));
            }
        }
        nodes.map(Node::leaf)
    }

    /// Every leaf from one on, with its number.
    pub(crate) fn iter_from(&self, first: u64) -> impl Iterator<Item = (u64, &L)> {
        let mut waiting = vec![(&self.root, 0, self.height)];
        std::iter::from_fn(move || {
            loop {
                let (node, number, level) = waiting.pop()?;
                match node {
                    Node::None => {}
                    Node::Leaf(leaf) => return Some((number, leaf)),
                    Node::Inner(children) => {
                        let below = capacity(level - 1);
                        let children = children.iter().enumerate().rev();
                        waiting.extend(children.filter_map(|(at, node)| {
                            let from = number + at as u64 * below;
                            let is_before = from.saturating_add(below) <= first;
                            (!is_before && !matches!(node, Node::None)).then_some((
                                node,
                                from,
                                level - 1,
                            ))
                        }));
                    }
                }
            }
        })
    }

    /// The leaf to be changed, with the nodes that lead to it copied where others share them; a new one if there is
    /// none. A leaf that is copied with its node should be behind a counter.
    pub(crate) fn leaf_mut(&mut self, leaf: u64, new: impl FnOnce() -> L) -> &mut L {
        while leaf >= capacity(self.height) {
            let below = std::mem::replace(&mut self.root, Node::None);
            self.height += 1;
            if !matches!(below, Node::None) {
                let mut children = array::from_fn(|_| Node::None);
                children[0] = below;
                self.root = Node::Inner(Arc::new(children));
            }
        }
        let mut node = &mut self.root;
        for level in (0..self.height).rev() {
            if matches!(node, Node::None) {
                *node = Node::Inner(Arc::new(array::from_fn(|_| Node::None)));
            }
            let Node::Inner(children) = node else { unreachable!("leaves are at the bottom") };
            node = &mut Arc::make_mut(children)[child(leaf, level)];
        }
        if matches!(node, Node::None) {
            *node = Node::Leaf(new());
        }
        let Node::Leaf(leaf) = node else { unreachable!("inner nodes are above the bottom") };
        leaf
    }
}

/// How many leaves a tree of this height has room for.
fn capacity(height: u32) -> u64 {
    (FANOUT as u64).checked_pow(height).unwrap_or(u64::MAX)
}

fn child(leaf: u64, level: u32) -> usize {
    (leaf / capacity(level) % FANOUT as u64) as usize
}
