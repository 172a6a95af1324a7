//! Sets of a block's rows.

/// One bit per row.
#[derive(Clone, Default)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    /// No bit is set.
    pub(super) fn new(len: usize) -> Self {
        Self(std::iter::repeat_n(0, len.div_ceil(64)).collect())
    }

    pub(super) fn set(&mut self, row: usize) {
        self.0[row / 64] |= 1 << (row % 64);
    }

    #[inline]
    pub(super) fn unset(&mut self, row: usize) {
        self.0[row / 64] &= !(1 << (row % 64));
    }

    /// The memory of the bits.
    pub(super) fn num_bytes(&self) -> usize {
        size_of_val(&*self.0)
    }

    /// Iterates over the rows whose bits are set.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(index, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let row = 64 * index + rest.trailing_zeros() as usize;
                let is_set = rest != 0;
                rest &= rest.wrapping_sub(1);
                is_set.then_some(row)
            })
        })
    }
}

/// Answers how many bits are set before a position.
pub(super) struct Ranks {
    bits: Bits,
    /// The number of set bits before each word.
    before: Vec<u32>,
}

impl Ranks {
    pub(super) fn new(bits: Bits) -> Self {
        let mut count = 0;
        let counted = |word: &u64| {
            count += word.count_ones();
            count - word.count_ones()
        };
        let before = bits.0.iter().map(counted).collect();
        Self { bits, before }
    }

    /// The memory of the bits and their counts.
    pub(super) fn num_bytes(&self) -> usize {
        self.bits.num_bytes() + size_of_val(&*self.before)
    }

    /// How many bits are set before a row.
    #[inline]
    pub(super) fn get(&self, row: usize) -> usize {
        let below = self.bits.0[row / 64] & ((1 << (row % 64)) - 1);
        (self.before[row / 64] + below.count_ones()) as usize
    }
}
