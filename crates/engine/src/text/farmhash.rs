//! FarmHash's 64-bit fingerprint, which is the same on every machine and will never change.
//!
//! Source: Geoff Pike, FarmHash (2014), function `Fingerprint64`.

const K0: u64 = 0xc3a5_c85c_97cb_3127;
const K1: u64 = 0xb492_b66f_be98_f273;
const K2: u64 = 0x9ae1_6a3b_2f90_404f;

/// Strings longer than this are read in blocks of this size.
const BLOCK: usize = 64;

pub fn fingerprint(bytes: &[u8]) -> u64 {
    match bytes.len() {
        0 => K2,
        1..=3 => up_to_3(bytes),
        4..=7 => up_to_7(bytes),
        8..=16 => up_to_16(bytes),
        17..=32 => up_to_32(bytes),
        33..=BLOCK => up_to_64(bytes),
        _ => in_blocks(bytes),
    }
}

fn up_to_3(bytes: &[u8]) -> u64 {
    let at = |index: usize| u32::from(bytes[index]);
    let length = bytes.len();
    let y = at(0) + (at(length / 2) << 8);
    let z = length as u32 + (at(length - 1) << 2);
    shift_mix(u64::from(y).wrapping_mul(K2) ^ u64::from(z).wrapping_mul(K0)).wrapping_mul(K2)
}

fn up_to_7(bytes: &[u8]) -> u64 {
    let length = bytes.len();
    let word = |from: usize| u64::from(u32::from_le_bytes(bytes[from..].as_chunks().0[0]));
    mix((length as u64).wrapping_add(word(0) << 3), word(length - 4), multiplier(length))
}

fn up_to_16(bytes: &[u8]) -> u64 {
    let (length, mul) = (bytes.len(), multiplier(bytes.len()));
    let a = word(bytes, 0).wrapping_add(K2);
    let b = word(bytes, length - 8);
    let c = b.rotate_right(37).wrapping_mul(mul).wrapping_add(a);
    let d = a.rotate_right(25).wrapping_add(b).wrapping_mul(mul);
    mix(c, d, mul)
}

fn up_to_32(bytes: &[u8]) -> u64 {
    let mul = multiplier(bytes.len());
    let (y, z, _) = halves(bytes, K1, mul);
    mix(y, z, mul)
}

fn up_to_64(bytes: &[u8]) -> u64 {
    let (length, mul) = (bytes.len(), multiplier(bytes.len()));
    let (y, second, a) = halves(bytes, K2, mul);
    let z = mix(y, second, mul);
    let e = word(bytes, 16).wrapping_mul(mul);
    let f = word(bytes, 24);
    let g = y.wrapping_add(word(bytes, length - 32)).wrapping_mul(mul);
    let h = z.wrapping_add(word(bytes, length - 24)).wrapping_mul(mul);
    mix(
        e.wrapping_add(f).rotate_right(43).wrapping_add(g.rotate_right(30)).wrapping_add(h),
        e.wrapping_add(f.wrapping_add(a).rotate_right(18)).wrapping_add(g),
        mul,
    )
}

/// Mixes the first and the last 16 bytes into three numbers.
fn halves(bytes: &[u8], first_factor: u64, mul: u64) -> (u64, u64, u64) {
    let length = bytes.len();
    let a = word(bytes, 0).wrapping_mul(first_factor);
    let b = word(bytes, 8);
    let c = word(bytes, length - 8).wrapping_mul(mul);
    let d = word(bytes, length - 16).wrapping_mul(K2);
    let y = a.wrapping_add(b).rotate_right(43).wrapping_add(c.rotate_right(30)).wrapping_add(d);
    let z = a.wrapping_add(b.wrapping_add(K2).rotate_right(18)).wrapping_add(c);
    (y, z, a)
}

/// The state of a hash over blocks.
struct State {
    x: u64,
    y: u64,
    z: u64,
    v: (u64, u64),
    w: (u64, u64),
}

impl State {
    /// Mixes a block into the state. The factors are 1 for the last block and constants for all
    /// others.
    fn absorb(&mut self, block: &[u8], mul: u64, factor: u64) {
        let Self { x, y, z, v, w } = self;
        *x = x.wrapping_add(*y).wrapping_add(v.0).wrapping_add(word(block, 8)).rotate_right(37).wrapping_mul(mul);
        *y = y.wrapping_add(v.1).wrapping_add(word(block, 48)).rotate_right(42).wrapping_mul(mul);
        *x ^= w.1.wrapping_mul(factor);
        *y = y.wrapping_add(v.0.wrapping_mul(factor)).wrapping_add(word(block, 40));
        *z = z.wrapping_add(w.0).rotate_right(33).wrapping_mul(mul);
        *v = weak(block, v.1.wrapping_mul(mul), x.wrapping_add(w.0));
        *w = weak(&block[32..], z.wrapping_add(w.1), y.wrapping_add(word(block, 16)));
        std::mem::swap(z, x);
    }
}

fn in_blocks(bytes: &[u8]) -> u64 {
    const SEED: u64 = 81;
    let y = SEED.wrapping_mul(K1).wrapping_add(113);
    let mut state = State {
        x: SEED.wrapping_mul(K2).wrapping_add(word(bytes, 0)),
        y,
        z: shift_mix(y.wrapping_mul(K2).wrapping_add(113)).wrapping_mul(K2),
        v: (0, 0),
        w: (0, 0),
    };
    // The last block overlaps the previous one, unless the length is a multiple of the block size.
    let rest = (bytes.len() - 1) % BLOCK;
    let whole = bytes.len() - 1 - rest;
    bytes[..whole].chunks_exact(BLOCK).for_each(|block| state.absorb(block, K1, 1));
    let mul = K1.wrapping_add((state.z & 0xff) << 1);
    state.w.0 = state.w.0.wrapping_add(rest as u64);
    state.v.0 = state.v.0.wrapping_add(state.w.0);
    state.w.0 = state.w.0.wrapping_add(state.v.0);
    state.absorb(&bytes[bytes.len() - BLOCK..], mul, 9);
    let State { x, y, z, v, w } = state;
    mix(
        mix(v.0, w.0, mul).wrapping_add(shift_mix(y).wrapping_mul(K0)).wrapping_add(z),
        mix(v.1, w.1, mul).wrapping_add(x),
        mul,
    )
}

fn weak(block: &[u8], a: u64, b: u64) -> (u64, u64) {
    let a = a.wrapping_add(word(block, 0));
    let last = word(block, 24);
    let b = b.wrapping_add(a).wrapping_add(last).rotate_right(21);
    let sum = a.wrapping_add(word(block, 8)).wrapping_add(word(block, 16));
    (sum.wrapping_add(last), b.wrapping_add(sum.rotate_right(44)).wrapping_add(a))
}

fn mix(u: u64, v: u64, mul: u64) -> u64 {
    let a = shift_mix((u ^ v).wrapping_mul(mul));
    shift_mix((v ^ a).wrapping_mul(mul)).wrapping_mul(mul)
}

fn shift_mix(value: u64) -> u64 {
    value ^ (value >> 47)
}

fn multiplier(length: usize) -> u64 {
    K2.wrapping_add(length as u64 * 2)
}

/// Reads eight bytes from `start` on as a number.
fn word(bytes: &[u8], start: usize) -> u64 {
    u64::from_le_bytes(bytes[start..].as_chunks().0[0])
}
