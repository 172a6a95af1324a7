//! Sorting with code that is compiled once instead of for each type: it sorts the positions of
//! elements.

use std::cmp::Ordering;

/// The numbers below `len`, in the order given by `compare`; the sort is stable.
pub fn by(len: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut positions: Vec<usize> = (0..len).collect();
    positions.sort_unstable_by(|one, other| compare(*one, *other).then_with(|| one.cmp(other)));
    positions
}

/// The numbers below `len`, in ascending order of their keys; the sort is stable.
pub fn by_key<K: Ord>(len: usize, key: impl Fn(usize) -> K) -> Vec<usize> {
    by(len, &|one, other| key(one).cmp(&key(other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_elements_keep_their_order() {
        let elements: Vec<_> = (0..1000_u32).map(|position| position * 7919 % 10).collect();
        let mut expected: Vec<_> = (0..elements.len()).collect();
        expected.sort_by_key(|position| elements[*position]);
        assert_eq!(by_key(elements.len(), |position| elements[position]), expected);
        assert_eq!(by(0, &|_, _| Ordering::Equal), Vec::<usize>::new());
    }
}
