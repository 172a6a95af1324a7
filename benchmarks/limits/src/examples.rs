//! Digits in TFRecords: records are checked, examples parsed, shuffled, converted and batched.

use crate::batch::Batches;
use crate::pool::Pool;
use crate::{Share, Tally};

const NUM_PIXELS: usize = 784;
const BATCH_SIZE: usize = 128;

pub fn run(share: &Share) -> Tally {
    let mut pool = Pool::new(NUM_PIXELS + 1, share.num_threads);
    let mut images = Batches::<f32>::new(BATCH_SIZE, NUM_PIXELS);
    let mut labels = Batches::<i64>::new(BATCH_SIZE, 1);
    let (mut count, mut label_sum, mut pixel_sum) = (0, 0, 0);
    let mut add_labels = |batch: &[i64]| {
        count += batch.len() as u64;
        label_sum += batch.iter().sum::<i64>();
    };
    let mut add_images = |batch: &[f32]| {
        for image in batch.chunks_exact(NUM_PIXELS) {
            pixel_sum += image.iter().skip(98).step_by(196).map(|x| ((x + 0.5) * 255.0).round() as i64).sum::<i64>();
        }
    };
    let mut emit = |element: &[u8]| {
        let (image, label) = element.split_at(NUM_PIXELS);
        labels.fill_row(|row| row[0] = label[0].into(), &mut add_labels);
        images.fill_row(|row| normalise(image, row), &mut add_images);
    };
    let mut element = [0; NUM_PIXELS + 1];
    share.for_each_file(|bytes| {
        for_each_record(bytes, |record| {
            let (image, label) = parse(record);
            element[..NUM_PIXELS].copy_from_slice(image);
            element[NUM_PIXELS] = label as u8;
            pool.swap(&element, &mut emit);
        });
    });
    pool.drain(&mut emit);
    labels.flush(add_labels);
    images.flush(add_images);
    Tally { count, sums: vec![label_sum, pixel_sum] }
}

fn normalise(image: &[u8], row: &mut [f32]) {
    for (pixel, target) in image.iter().zip(row) {
        *target = f32::from(*pixel) * (1.0 / 255.0) - 0.5;
    }
}

fn for_each_record(mut bytes: &[u8], mut body: impl FnMut(&[u8])) {
    while let Some((head, rest)) = bytes.split_first_chunk::<12>() {
        let (length, check) = head.split_at(8);
        assert_eq!(check, masked(length), "the check sum of a length");
        let length = u64::from_le_bytes(length.try_into().expect("8 bytes")) as usize;
        let (record, rest) = rest.split_at(length);
        assert_eq!(rest[..4], masked(record), "the check sum of a record");
        body(record);
        bytes = &rest[4..];
    }
}

fn masked(bytes: &[u8]) -> [u8; 4] {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
}

/// The image and the label of an `Example` that has only these two features.
fn parse(record: &[u8]) -> (&[u8], u64) {
    let (mut image, mut label) = (&[][..], 0);
    let mut features = field(&mut &record[..]); // Example.features
    while !features.is_empty() {
        let mut entry = field(&mut features); // Features.feature, an entry of the map
        let name = field(&mut entry);
        let mut feature = field(&mut entry);
        let mut list = field(&mut feature); // Feature.bytes_list or Feature.int64_list
        match name {
            b"image" => image = field(&mut list),
            _ => label = varint(&mut field(&mut list)),
        }
    }
    (image, label)
}

/// The contents of the next length-delimited field.
fn field<'a>(bytes: &mut &'a [u8]) -> &'a [u8] {
    *bytes = &bytes[1..];
    let length = varint(bytes) as usize;
    let (contents, rest) = bytes.split_at(length);
    *bytes = rest;
    contents
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    let mut shift = 0;
    loop {
        let byte = bytes[0];
        *bytes = &bytes[1..];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return value;
        }
        shift += 7;
    }
}
