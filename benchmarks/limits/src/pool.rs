//! Shuffling without a queue: a pool of elements, from which a new element replaces a random one.

/// The pools of all threads together hold as many elements as the queues of the other programs keep.
const NUM_WAITING: usize = 10_000;

/// Elements of a fixed length, side by side.
pub struct Pool<T> {
    elements: Vec<T>,
    length: usize,
    num_waiting: usize,
    capacity: usize,
    state: u64,
}

impl<T: Copy + Default> Pool<T> {
    /// A pool for one of `num_threads` threads.
    pub fn new(length: usize, num_threads: usize) -> Self {
        let capacity = NUM_WAITING / num_threads;
        Self { elements: vec![T::default(); capacity * length], length, num_waiting: 0, capacity, state: 0x2545_f491 }
    }

    /// Adds an element. Once the pool is full, passes the replaced one to `emit`.
    pub fn swap(&mut self, element: &[T], mut emit: impl FnMut(&[T])) {
        let place = if self.num_waiting < self.capacity {
            self.num_waiting += 1;
            self.num_waiting - 1
        } else {
            let place = self.random(self.capacity);
            emit(self.at(place));
            place
        };
        self.elements[place * self.length..][..self.length].copy_from_slice(element);
    }

    /// Passes the remaining elements to `emit`.
    pub fn drain(&self, mut emit: impl FnMut(&[T])) {
        (0..self.num_waiting).for_each(|place| emit(self.at(place)));
    }

    fn at(&self, place: usize) -> &[T] {
        &self.elements[place * self.length..][..self.length]
    }

    fn random(&mut self, below: usize) -> usize {
        random(&mut self.state, below)
    }
}

/// A number below `below`. Source: Marsaglia, "Xorshift RNGs", 2003.
pub fn random(state: &mut u64, below: usize) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    ((*state >> 32) as usize * below) >> 32
}
