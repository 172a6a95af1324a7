//! Prefix trees of lists: values that several lists begin with are stored once.

use crate::stages::packed_lists::PackedLists;
use std::ops::Range;

/// The values of a list, position by position.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Key {
    bytes: Vec<u8>,
    /// The size in bytes of each component of a position.
    widths: Vec<usize>,
    length: usize,
}

impl Key {
    /// The values of list `row` in several components. The lists must have equal lengths.
    pub fn of(components: &[PackedLists], row: usize) -> Self {
        let ranges: Vec<_> = components.iter().map(|lists| lists.range(row)).collect();
        let length = ranges.first().map_or(0, Range::len);
        let widths: Vec<_> = components.iter().map(PackedLists::value_bytes).collect();
        let values: Vec<_> = components.iter().zip(&ranges).map(|(lists, range)| lists.bytes(range.clone())).collect();
        let mut bytes = Vec::new();
        match values[..] {
            [values] => bytes.extend_from_slice(values),
            _ => (0..length).for_each(|position| {
                let parts = values.iter().zip(&widths).map(|(bytes, width)| &bytes[position * width..][..*width]);
                parts.for_each(|part| bytes.extend_from_slice(part));
            }),
        }
        Self { bytes, widths, length }
    }

    /// The number of positions.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// The memory that it uses.
    pub fn held_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The number of positions, from `at` on, that are equal to those in `other`.
    fn num_shared(&self, at: usize, other: &[u8]) -> usize {
        let width = self.width();
        if width == 0 {
            // Positions without values are not shared.
            return 0;
        }
        let equal = self.bytes[at * width..].iter().zip(other).take_while(|(one, other)| one == other);
        equal.count() / width
    }

    fn width(&self) -> usize {
        self.widths.iter().sum()
    }
}

/// A prefix tree. A list shares a position with another one if they are equal up to there in all
/// components, bit for bit. Each list ends at the end of a node.
#[derive(Debug)]
pub struct PrefixTree {
    /// The values of the nodes, and their widths.
    values: Key,
    /// The first node has no values. Its children are the roots.
    nodes: Vec<Node>,
    /// For each list, the node with its last position.
    leaves: Vec<usize>,
}

#[derive(Debug, Default)]
struct Node {
    parent: usize,
    /// Its positions in the values of the tree.
    range: Range<usize>,
    /// The position, among all positions of all lists end to end, of its first one.
    source: usize,
    /// In the order of arrival.
    children: Vec<usize>,
}

/// The place at which a list leaves the tree.
struct Branch {
    node: usize,
    /// The number of positions in the node that the list shares.
    num_shared: usize,
    /// The number of positions in the whole tree that the list shares.
    depth: usize,
}

/// A node, when all nodes are in order.
#[derive(Debug, PartialEq, Eq)]
pub struct OrderedNode {
    /// The number of its parent.
    pub parent: Option<usize>,
    /// Its positions among all positions of all lists end to end.
    pub source: Range<usize>,
    /// The position of its first value in the lists that contain it.
    pub depth: usize,
}

impl Default for PrefixTree {
    fn default() -> Self {
        Self { values: Key::default(), nodes: vec![Node::default()], leaves: Vec::new() }
    }
}

impl PrefixTree {
    /// The number of positions.
    pub(crate) fn len(&self) -> usize {
        self.values.length
    }

    /// True if lists with such values can be added: positions have the same number of bytes.
    pub fn is_like(&self, key: &Key) -> bool {
        self.leaves.is_empty() || self.values.widths == key.widths
    }

    /// The number of positions that a list shares with the tree.
    pub fn num_shared(&self, key: &Key) -> usize {
        self.branch(key).depth
    }

    /// The memory that it uses.
    pub fn held_bytes(&self) -> usize {
        self.values.bytes.capacity() + self.nodes.capacity() * size_of::<Node>()
    }

    /// Adds a list. `source` is its first position in all lists end to end. Returns how many
    /// positions it shares.
    pub fn add(&mut self, key: &Key, source: usize) -> usize {
        if self.leaves.is_empty() {
            self.values.widths.clone_from(&key.widths);
        }
        let Branch { node, num_shared, depth } = self.branch(key);
        let node = if num_shared < self.nodes[node].range.len() { self.split(node, num_shared) } else { node };
        let leaf = match key.length - depth {
            0 => node,
            length => {
                let start = self.values.length;
                self.values.bytes.extend_from_slice(&key.bytes[depth * key.width()..]);
                self.values.length += length;
                let (range, source) = (start..start + length, source + depth);
                self.push(Node { parent: node, range, source, children: Vec::new() })
            }
        };
        self.leaves.push(leaf);
        depth
    }

    /// Returns the nodes, each after its parent and before its parent's later children, and the
    /// node with the last position of each list.
    pub fn ordered(&self) -> (Vec<OrderedNode>, Vec<usize>) {
        let mut numbers: Vec<_> = self.nodes.iter().map(|_| 0).collect();
        let mut ordered = Vec::new();
        let mut next: Vec<_> = self.nodes[0].children.iter().rev().map(|root| (*root, None, 0)).collect();
        while let Some((number, parent, depth)) = next.pop() {
            let node = &self.nodes[number];
            numbers[number] = ordered.len();
            let (own, below) = (Some(ordered.len()), depth + node.range.len());
            next.extend(node.children.iter().rev().map(|child| (*child, own, below)));
            ordered.push(OrderedNode { parent, source: node.source..node.source + node.range.len(), depth });
        }
        (ordered, self.leaves.iter().map(|leaf| numbers[*leaf]).collect())
    }

    fn branch(&self, key: &Key) -> Branch {
        let (mut node, mut depth) = (0, 0);
        let width = key.width();
        loop {
            let shared = |child: &usize| {
                let range = &self.nodes[*child].range;
                key.num_shared(depth, &self.values.bytes[range.start * width..range.end * width])
            };
            let mut children = self.nodes[node].children.iter().map(|child| (*child, shared(child)));
            let Some((child, num_shared)) = children.find(|(_, num_shared)| *num_shared > 0) else {
                return Branch { node, num_shared: self.nodes[node].range.len(), depth };
            };
            depth += num_shared;
            node = child;
            if num_shared < self.nodes[child].range.len() {
                return Branch { node, num_shared, depth };
            }
        }
    }

    fn push(&mut self, node: Node) -> usize {
        let number = self.nodes.len();
        self.nodes[node.parent].children.push(number);
        self.nodes.push(node);
        number
    }

    /// Splits a node after `length` positions. Returns the upper part, which is new.
    fn split(&mut self, lower: usize, length: usize) -> usize {
        let upper = self.nodes.len();
        let node = &mut self.nodes[lower];
        let (parent, source, middle) = (node.parent, node.source, node.range.start + length);
        let range = node.range.start..middle;
        (node.parent, node.source, node.range.start) = (upper, source + length, middle);
        let siblings = self.nodes[parent].children.iter_mut();
        siblings.filter(|child| **child == lower).for_each(|child| *child = upper);
        self.nodes.push(Node { parent, range, source, children: vec![lower] });
        upper
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(values: &[u8]) -> Key {
        Key { bytes: values.to_vec(), widths: vec![1], length: values.len() }
    }

    type Nodes = Vec<(Option<usize>, Range<usize>, usize)>;

    /// Adds lists, and returns the shared part of each, the parents, and the last node of each
    /// list.
    fn tree(lists: &[&[u8]]) -> (Vec<usize>, Nodes, Vec<usize>) {
        let mut tree = PrefixTree::default();
        let mut source = 0;
        let shared = lists.iter().map(|list| {
            source += list.len();
            let shared = tree.num_shared(&key(list));
            assert_eq!(tree.add(&key(list), source - list.len()), shared);
            shared
        });
        let shared = shared.collect();
        let (nodes, leaves) = tree.ordered();
        assert_eq!(tree.len(), nodes.iter().map(|node| node.source.len()).sum::<usize>());
        (shared, nodes.into_iter().map(|node| (node.parent, node.source, node.depth)).collect(), leaves)
    }

    #[test]
    fn nodes_are_split_where_lists_diverge_or_end() {
        let (shared, nodes, leaves) = tree(&[&[1, 2, 3, 4], &[1, 2, 5], &[7], &[1, 2, 3], &[1, 2, 5, 6], &[7]]);
        assert_eq!(shared, [0, 2, 0, 3, 3, 1]);
        let expected = [
            (None, 0..2, 0),
            (Some(0), 2..3, 2),
            (Some(1), 3..4, 3),
            (Some(0), 6..7, 2),
            (Some(3), 14..15, 3),
            (None, 7..8, 0),
        ];
        assert_eq!(nodes, expected);
        assert_eq!(leaves, [2, 3, 5, 1, 4, 5]);
    }

    #[test]
    fn positions_are_shared_only_if_all_components_are_equal() {
        let pairs = |bytes: &[u8]| Key { bytes: bytes.to_vec(), widths: vec![1, 1], length: bytes.len() / 2 };
        let mut tree = PrefixTree::default();
        tree.add(&pairs(&[1, 0, 2, 0]), 0);
        assert_eq!(tree.num_shared(&pairs(&[1, 0, 2, 1])), 1);
        assert_eq!(tree.num_shared(&pairs(&[1, 1, 2, 0])), 0);
        assert!(tree.is_like(&pairs(&[])) && !tree.is_like(&key(&[1])));
        let empty = || Key { bytes: Vec::new(), widths: vec![0], length: 3 };
        let mut tree = PrefixTree::default();
        assert_eq!((tree.add(&empty(), 0), tree.add(&empty(), 3), tree.len()), (0, 0, 6));
    }
}
