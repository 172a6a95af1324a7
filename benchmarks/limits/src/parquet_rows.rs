//! Parquet: rows of eight features, two integers and a string are read, shuffled and batched, a column at a time.

use crate::lines::Batch;
use crate::pool::random;
use crate::{Share, Tally};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Int64Type};
use arrow_array::{RecordBatch, StringArray};
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::ops::Range;
use std::{array, fs, mem};

const FEATURES: usize = 8;
const FRACTION: f64 = 1_024.0;
const BATCH_SIZE: usize = 4_096;
const NUM_WAITING: usize = 100_000;

pub fn run(share: &Share) -> Tally {
    let mut rows = Rows::new(NUM_WAITING / share.num_threads);
    let mut state = 0x2545_f491;
    for name in &share.files {
        let bytes = Bytes::from(fs::read(name).expect("a file"));
        let builder = ParquetRecordBatchReaderBuilder::try_new(bytes).expect("a footer");
        for batch in builder.with_batch_size(BATCH_SIZE).build().expect("a file of rows") {
            rows.add(&batch.expect("rows"), &mut state);
        }
    }
    rows.finish()
}

/// The rows that wait, and those of the batch that is being filled.
struct Rows {
    features: [Column<f32>; FEATURES],
    integers: [Column<i64>; 2],
    texts: Vec<Vec<u8>>,
    /// The strings of the batch; it begins the next one by itself.
    text_batch: Batch,
    capacity: usize,
    places: Vec<usize>,
    sums: Vec<i64>,
}

impl Rows {
    fn new(capacity: usize) -> Self {
        Self {
            features: array::from_fn(|_| Column::new(capacity)),
            integers: array::from_fn(|_| Column::new(capacity)),
            texts: Vec::with_capacity(capacity),
            text_batch: Batch::new(BATCH_SIZE),
            capacity,
            places: Vec::with_capacity(BATCH_SIZE),
            sums: vec![0; 4],
        }
    }

    /// Adds rows to those that wait; once there is no room, each takes the place of a random one.
    fn add(&mut self, rows: &RecordBatch, state: &mut u64) {
        let mut begin = 0;
        while begin < rows.num_rows() {
            let num_free = self.capacity - self.texts.len();
            let most = if num_free > 0 { num_free } else { self.room() };
            let part = rows.slice(begin, most.min(rows.num_rows() - begin));
            let num_drawn = if num_free > 0 { 0 } else { part.num_rows() };
            self.places.clear();
            self.places.extend((0..num_drawn).map(|_| random(state, self.capacity)));
            let columns = part.columns();
            for (column, values) in self.features.iter_mut().zip(columns) {
                column.add(values.as_primitive::<Float32Type>().values(), &self.places);
            }
            for (column, values) in self.integers.iter_mut().zip(&columns[FEATURES..]) {
                column.add(values.as_primitive::<Int64Type>().values(), &self.places);
            }
            self.add_texts(columns[FEATURES + 2].as_string());
            self.flush_if(BATCH_SIZE);
            begin += part.num_rows();
        }
    }

    fn add_texts(&mut self, texts: &StringArray) {
        let mut each = texts.iter().map(|text| text.expect("no null").as_bytes());
        if self.places.is_empty() {
            self.texts.extend(each.by_ref().map(<[u8]>::to_vec));
        }
        for (text, &place) in each.zip(&self.places) {
            let waiting = &mut self.texts[place];
            self.text_batch.add(waiting);
            // Each slot keeps its memory for later strings.
            waiting.clear();
            waiting.extend_from_slice(text);
        }
    }

    /// How many rows the batch still takes.
    fn room(&self) -> usize {
        BATCH_SIZE - self.integers[0].batch.len()
    }

    /// Takes the rows that still wait.
    fn finish(mut self) -> Tally {
        let mut begin = 0;
        while begin < self.texts.len() {
            let end = self.texts.len().min(begin + self.room());
            self.features.iter_mut().for_each(|column| column.take(begin..end));
            self.integers.iter_mut().for_each(|column| column.take(begin..end));
            self.texts[begin..end].iter().for_each(|text| self.text_batch.add(text));
            self.flush_if(BATCH_SIZE);
            begin = end;
        }
        self.flush_if(1);
        self.text_batch.finish();
        self.sums[3] = self.text_batch.num_bytes;
        Tally { count: self.text_batch.count, sums: self.sums }
    }

    /// Adds up the batch if it has so many rows, and begins the next one.
    fn flush_if(&mut self, least: usize) {
        if self.integers[0].batch.len() >= least {
            let [ids, labels] = self.integers.each_mut().map(Column::flush);
            let features = self.features.each_mut().map(Column::flush);
            self.sums[0] += ids.iter().sum::<i64>();
            self.sums[1] += ids.iter().zip(&labels).map(|(id, label)| id * label).sum::<i64>();
            let sum_of = |values: &Vec<f32>| values.iter().map(|&value| f64::from(value) * FRACTION).sum::<f64>();
            self.sums[2] += features.iter().map(|values| sum_of(values) as i64).sum::<i64>();
        }
    }
}

/// A column of the rows that wait, and of the batch.
struct Column<T> {
    waiting: Vec<T>,
    batch: Vec<T>,
}

impl<T: Copy> Column<T> {
    fn new(capacity: usize) -> Self {
        Self { waiting: Vec::with_capacity(capacity), batch: Vec::with_capacity(BATCH_SIZE) }
    }

    /// Adds values to those that wait. With places, each goes to one, and what was there into the batch.
    fn add(&mut self, values: &[T], places: &[usize]) {
        if places.is_empty() {
            self.waiting.extend_from_slice(values);
        } else {
            let waiting = &mut self.waiting;
            let swapped = values.iter().zip(places).map(|(&value, &place)| mem::replace(&mut waiting[place], value));
            self.batch.extend(swapped);
        }
    }

    /// Puts values that wait into the batch.
    fn take(&mut self, places: Range<usize>) {
        self.batch.extend_from_slice(&self.waiting[places]);
    }

    /// The batch; the next one has memory of its own.
    fn flush(&mut self) -> Vec<T> {
        mem::replace(&mut self.batch, Vec::with_capacity(BATCH_SIZE))
    }
}
