//! Resizes 8-bit images along the columns, in fixed point. On processors with AVX2, two rows are
//! computed side by side.

use super::refused;
use super::weights::{CHANNELS, Weights};
use crate::error::Result;
use crate::tensor::allocate;

/// Resizes each row of an image with three channels.
pub(super) fn narrow(pixels: &[u8], width: usize, columns: &Weights) -> Result<Vec<u8>> {
    let (length, new_length) = (width * CHANNELS, columns.firsts.len() * CHANNELS);
    let num_rows = pixels.len() / length;
    let mut narrowed = allocate::zeros(num_rows.saturating_mul(new_length)).map_err(refused)?;
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V3::try_new() {
        let pairs = pairs::Pairs::of(columns)?;
        pulp::Simd::vectorize(simd, pairs::Narrowing { simd, pixels, length, pairs, narrowed: &mut narrowed });
        return Ok(narrowed);
    }
    narrow_rows(pixels, length, columns, &mut narrowed)?;
    Ok(narrowed)
}

fn narrow_rows(pixels: &[u8], length: usize, columns: &Weights, narrowed: &mut [u8]) -> Result<()> {
    // Four values are read for each pixel, so there is one more after the last.
    let mut row: Vec<i16> = allocate::zeros(length + 1).map_err(refused)?;
    let new_length = columns.firsts.len() * CHANNELS;
    for (pixels, new_row) in pixels.chunks_exact(length).zip(narrowed.chunks_exact_mut(new_length)) {
        row.iter_mut().zip(pixels).for_each(|(value, pixel)| *value = i16::from(*pixel));
        // If the number of neighbours is known at compile time, the loop is three times faster.
        match columns.width {
            5 => narrow_row(&row, columns, 5, new_row),
            7 => narrow_row(&row, columns, 7, new_row),
            9 => narrow_row(&row, columns, 9, new_row),
            11 => narrow_row(&row, columns, 11, new_row),
            width => narrow_row(&row, columns, width, new_row),
        }
    }
    Ok(())
}

/// Resizes a row. `width` is the number of neighbours of a pixel.
#[inline(always)]
fn narrow_row(row: &[i16], columns: &Weights, width: usize, new_row: &mut [u8]) {
    let weights = columns.weights.chunks_exact(width);
    for ((first, weights), pixel) in columns.firsts.iter().zip(weights).zip(new_row.chunks_exact_mut(CHANNELS)) {
        let neighbours = &row[first * CHANNELS..][..width * CHANNELS + 1];
        let mut sum = [columns.half(); 4];
        for (number, weight) in weights.iter().enumerate() {
            let neighbour = &neighbours[number * CHANNELS..][..4];
            (0..4).for_each(|lane| sum[lane] += i32::from(neighbour[lane]) * i32::from(*weight));
        }
        (0..CHANNELS).for_each(|channel| pixel[channel] = columns.rounded(sum[channel]));
    }
}

/// The same with AVX2. A multiplication computes the weighted sums of a pair of neighbours.
#[cfg(target_arch = "x86_64")]
mod pairs {
    use super::{CHANNELS, Result, Weights, allocate, refused};
    use pulp::x86::V3;
    use std::arch::x86_64::{__m128i, __m256i};

    /// The number of bytes that are read for a pair of pixels.
    const READ: usize = 16;
    /// A byte that becomes zero.
    const ZERO: u8 = 0x80;
    /// Moves the channels of two pixels next to each other, as 16-bit numbers.
    const PAIRED: [u8; READ] = [0, ZERO, 3, ZERO, 1, ZERO, 4, ZERO, 2, ZERO, 5, ZERO, ZERO, ZERO, ZERO, ZERO];

    /// The neighbours of each pixel of the result, in pairs.
    pub struct Pairs<'a> {
        columns: &'a Weights,
        num_pairs: usize,
        /// The weights of both neighbours, pixel by pixel.
        weights: Vec<[i16; 2]>,
    }

    impl<'a> Pairs<'a> {
        pub fn of(columns: &'a Weights) -> Result<Self> {
            let num_pairs = columns.width.div_ceil(2);
            let mut weights = allocate::room(columns.firsts.len().saturating_mul(num_pairs)).map_err(refused)?;
            for of_pixel in columns.weights.chunks_exact(columns.width) {
                weights.extend(of_pixel.chunks(2).map(|pair| [pair[0], pair.get(1).copied().unwrap_or(0)]));
            }
            Ok(Self { columns, num_pairs, weights })
        }
    }

    /// Resizes all rows, two at a time.
    pub struct Narrowing<'a> {
        pub simd: V3,
        pub pixels: &'a [u8],
        /// The length of a row.
        pub length: usize,
        pub pairs: Pairs<'a>,
        pub narrowed: &'a mut [u8],
    }

    impl pulp::WithSimd for Narrowing<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: pulp::Simd>(self, _simd: S) {
            let Self { simd, pixels, length, pairs, narrowed } = self;
            let new_length = pairs.columns.firsts.len() * CHANNELS;
            for (number, new_rows) in narrowed.chunks_mut(2 * new_length).enumerate() {
                // Reading may go beyond the end of a row.
                let first = &pixels[2 * number * length..];
                let (new_first, new_second) = new_rows.split_at_mut(new_length);
                // Without a second row, the first one is computed twice.
                let second = if new_second.is_empty() { first } else { &first[length..] };
                narrow_rows(simd, [first, second], &pairs, [new_first, new_second]);
            }
        }
    }

    #[inline(always)]
    fn narrow_rows(simd: V3, rows: [&[u8]; 2], pairs: &Pairs<'_>, [new_first, new_second]: [&mut [u8]; 2]) {
        let paired: __m128i = bytemuck::cast(PAIRED);
        let paired = simd.avx._mm256_set_m128i(paired, paired);
        let half = simd.avx._mm256_set1_epi32(pairs.columns.half());
        let bits: __m128i = bytemuck::cast([u64::from(pairs.columns.fraction_bits), 0]);
        let weights = pairs.weights.chunks_exact(pairs.num_pairs);
        for (number, (first, weights)) in pairs.columns.firsts.iter().zip(weights).enumerate() {
            let mut sum = half;
            for (pair, weight) in weights.iter().enumerate() {
                let [first_row, second_row] = rows.map(|row| read(row, (first + 2 * pair) * CHANNELS));
                let pixels = simd.avx2._mm256_shuffle_epi8(simd.avx._mm256_set_m128i(second_row, first_row), paired);
                let weight = simd.avx._mm256_set1_epi32(bytemuck::cast(*weight));
                sum = simd.avx2._mm256_add_epi32(sum, simd.avx2._mm256_madd_epi16(pixels, weight));
            }
            // Packing clamps numbers to the range of the smaller type.
            let words = simd.avx2._mm256_sra_epi32(sum, bits);
            let words = simd.avx2._mm256_packs_epi32(words, words);
            let bytes: [[u8; 4]; 8] = cast(simd.avx2._mm256_packus_epi16(words, words));
            write(new_first, number * CHANNELS, bytes[0]);
            write(new_second, number * CHANNELS, bytes[4]);
        }
    }

    #[inline(always)]
    fn cast(vector: __m256i) -> [[u8; 4]; 8] {
        bytemuck::cast(vector)
    }

    /// Reads 16 bytes, of which those beyond the end are zero.
    #[inline(always)]
    fn read(row: &[u8], at: usize) -> __m128i {
        let rest = &row[at..];
        bytemuck::cast(match rest.first_chunk::<READ>() {
            Some(bytes) => *bytes,
            None => {
                let mut bytes = [0; READ];
                bytes[..rest.len()].copy_from_slice(rest);
                bytes
            }
        })
    }

    /// Writes a pixel. The following byte may be overwritten, unless it is beyond the end.
    #[inline(always)]
    fn write(row: &mut [u8], at: usize, pixel: [u8; 4]) {
        let Some(rest) = row.get_mut(at..) else { return };
        match rest.first_chunk_mut() {
            Some(four) => *four = pixel,
            None => rest.iter_mut().zip(pixel).for_each(|(value, byte)| *value = byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectorized_results_match_single_pixels() {
        for (width, new_width, num_rows) in
            [(1, 1, 1), (1, 9, 2), (2, 5, 3), (5, 3, 1), (40, 39, 5), (39, 40, 2), (97, 11, 3)]
        {
            let pixels: Vec<u8> = (0..num_rows * width * CHANNELS).map(|value| (value * 7919 % 251) as u8).collect();
            let columns = Weights::new(width, new_width).unwrap();
            let mut expected = vec![0; num_rows * new_width * CHANNELS];
            narrow_rows(&pixels, width * CHANNELS, &columns, &mut expected).unwrap();
            assert_eq!(narrow(&pixels, width, &columns).unwrap(), expected, "{width} to {new_width}");
        }
        // Sums below 0 and above 255.
        let pixels: Vec<u8> = (0..60 * CHANNELS).map(|value| if value / 9 % 2 == 0 { 255 } else { 0 }).collect();
        let columns = Weights::new(20, 47).unwrap();
        let mut expected = vec![0; 3 * 47 * CHANNELS];
        narrow_rows(&pixels, 20 * CHANNELS, &columns, &mut expected).unwrap();
        assert_eq!(narrow(&pixels, 20, &columns).unwrap(), expected);
    }
}
