//! Nearest-neighbour resizing, for any dtype.

use super::{Grid, collected};
use crate::error::Result;
use crate::kernels::image::frame::Frame;
use crate::tensor::Tensor;
use crate::tensor::allocate;

pub fn resize(images: &Tensor, frame: &Frame, target: &Frame, grid: Grid) -> Result<Tensor> {
    let pixel_bytes = frame.channels * images.dtype().size();
    let rows = indices(frame.height, target.height, grid)?;
    let columns = indices(frame.width, target.width, grid)?;
    let row_bytes = frame.width * pixel_bytes;
    let mut bytes = allocate::elements(images.dtype(), &target.shape()).room()?;
    for image in images.stored()?.chunks_exact(frame.height * row_bytes) {
        for row in &rows {
            let row = &image[row * row_bytes..(row + 1) * row_bytes];
            match pixel_bytes {
                1 => copy::<1>(row, &columns, &mut bytes),
                3 => copy::<3>(row, &columns, &mut bytes),
                4 => copy::<4>(row, &columns, &mut bytes),
                12 => copy::<12>(row, &columns, &mut bytes),
                _ => columns.iter().for_each(|column| {
                    bytes.extend_from_slice(&row[column * pixel_bytes..(column + 1) * pixel_bytes]);
                }),
            }
        }
    }
    Tensor::from_bytes(images.dtype(), target.shape(), bytes.into())
}

fn copy<const BYTES: usize>(row: &[u8], columns: &[usize], target: &mut Vec<u8>) {
    let pixels = row.as_chunks::<BYTES>().0;
    columns.iter().for_each(|column| target.extend_from_slice(&pixels[*column]));
}

/// Returns, for each pixel of the result, the number of the pixel to take along one axis.
fn indices(size: usize, new_size: usize, grid: Grid) -> Result<Vec<usize>> {
    let scale = grid.scale(size, new_size);
    let index = |index: usize| match grid {
        Grid::Legacy => (index as f32 * scale).floor(),
        Grid::AlignCorners => (index as f32 * scale).round(),
        Grid::HalfPixelCenters => ((index as f32 + 0.5) * scale).floor(),
    };
    let indices = (0..new_size).map(|new| (index(new) as usize).min(size - 1));
    collected(new_size, indices)
}
