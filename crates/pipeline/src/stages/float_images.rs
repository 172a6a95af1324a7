//! Converts the pixels of images to floats with the channels first.

use crate::blocks::block::{Block, Provenance};
use crate::blocks::column::Column;
use crate::blocks::rows::Rows;
use crate::stages::Stage;
use headrace_engine::error::{Error, Result};
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::Shape;

/// Converts these columns from uint8 images, or sequences of them, to float32 from 0 to 1 with the
/// channels first. All rows of a column have the same shape.
pub struct FloatImages(pub Vec<usize>);

impl Stage for FloatImages {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        if rows.is_empty() {
            return Ok(rows);
        }
        let gatherer = rows.gatherer()?;
        let num_columns = rows.blocks().first().map_or(0, |block| block.columns.len());
        let column = |index| match self.0.contains(&index) {
            true => floats(&rows, index),
            false => gatherer.column(index),
        };
        let columns = (0..num_columns).map(column).collect::<Result<_>>()?;
        Block::new(columns, rows.len(), Provenance::of(rows)).map(Rows::all)
    }

    fn is_one_to_one(&self) -> bool {
        true
    }
}

/// Converts the images of a column. They are not gathered first.
fn floats(rows: &Rows, index: usize) -> Result<Column> {
    let images = rows.iter().map(|(block, row)| block.columns[index].row(row)).collect::<Result<Vec<_>>>()?;
    let shape = images.first().map_or_else(Shape::scalar, |image| image.shape().clone());
    let [ref leading @ .., height, width, channels] = shape[..] else {
        return Err(Error::internal(format!("images of shape {shape}")));
    };
    let leading = std::iter::once(images.len()).chain(leading.iter().copied());
    let float_shape: Shape = leading.chain([channels, height, width]).collect();
    let mut values = allocate::elements(DType::Float32, &float_shape).room::<f32>()?;
    for image in &images {
        if *image.shape() != shape {
            return Err(Error::internal(format!("images of shapes {shape} and {}", image.shape())));
        }
        for pixels in image.values::<u8>()?.chunks_exact((height * width * channels).max(1)) {
            match channels {
                1 => push_planes::<1>(pixels, &mut values),
                3 => push_planes::<3>(pixels, &mut values),
                4 => push_planes::<4>(pixels, &mut values),
                _ => return Err(Error::internal(format!("images with {channels} channels"))),
            }
        }
    }
    Tensor::from_values(float_shape, values).map(Column::Dense)
}

/// Adds the planes of one image. `values` has room for them.
fn push_planes<const CHANNELS: usize>(pixels: &[u8], values: &mut Vec<f32>) {
    let (pixels, _) = pixels.as_chunks::<CHANNELS>();
    for channel in 0..CHANNELS {
        // A product with 1 / 255 would be rounded differently.
        values.extend(pixels.iter().map(|pixel| f32::from(pixel[channel]) / 255.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(columns: Vec<Tensor>) -> Block {
        let num_rows = columns[0].shape()[0];
        Block::new(columns.into_iter().map(Column::Dense).collect(), num_rows, Provenance::Unknown).unwrap()
    }

    #[test]
    fn pixels_are_divided_by_255_and_channels_come_first() {
        // Rows of two images with two pixels each, and a number.
        let pixels = |first: u8| Tensor::from_values(Shape::new(&[2, 2, 1, 2, 3]), (first..first + 24).collect());
        let numbers = |number: i64| Tensor::from_values(Shape::new(&[2]), vec![number, number + 1]);
        let mut rows = Rows::new();
        rows.push(&block(vec![numbers(0).unwrap(), pixels(0).unwrap()]).into(), 1, 1);
        rows.push(&block(vec![numbers(2).unwrap(), pixels(231).unwrap()]).into(), 0, 2);
        let block = FloatImages(vec![1]).apply(rows).unwrap().gather().unwrap();
        assert_eq!(block.columns[0].to_tensor().unwrap().values::<i64>().unwrap(), [1, 2, 3]);
        let images = block.columns[1].to_tensor().unwrap();
        assert_eq!(images.shape()[..], [3, 2, 3, 1, 2]);
        let planes = |first: u8| [0, 3, 1, 4, 2, 5].map(|offset| f32::from(first + offset) / 255.0);
        let expected = [12, 18, 231, 237, 243, 249].map(planes).concat();
        assert_eq!(images.values::<f32>().unwrap(), expected);
    }

    #[test]
    fn images_of_different_shapes_are_rejected() {
        let image = |width| Tensor::from_values(Shape::new(&[1, width, 1]), vec![0_u8; width]).unwrap();
        let column = Column::Each(vec![image(1), image(2)].into());
        let rows = Rows::all(Block::new(vec![column], 2, Provenance::Unknown).unwrap());
        let error = FloatImages(vec![0]).apply(rows).err().unwrap();
        assert!(error.message().contains("images of shapes [1,1,1] and [1,2,1]"), "{error}");
    }
}
