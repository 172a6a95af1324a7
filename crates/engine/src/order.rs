//! Sorts the positions of elements, so that the sorting code is compiled only once rather than
//! for each type.

use std::cmp::Ordering;

/// Returns the numbers below `len`, sorted with `compare`. The sort is stable.
pub fn by(len: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut positions: Vec<usize> = (0..len).collect();
    positions.sort_unstable_by(|one, other| compare(*one, *other).then_with(|| one.cmp(other)));
    positions
}

/// Returns the numbers below `len`, sorted by their keys in ascending order. The sort is stable.
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
