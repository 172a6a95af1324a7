//! Projective maps between the positions of two images.

use crate::error::{Error, Result};
use crate::tensor::Tensor;
use crate::tensor::shape::Shape;

/// Maps x, y to ((a x + b y + c) / k, (d x + e y + f) / k) with k = g x + h y + i. A pixel's centre
/// is at half its size, so that the first one is at 0.5, 0.5.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Homography(pub [f64; 9]);

impl Homography {
    /// Creates an affine map, whose last row is (0, 0, 1).
    pub fn affine([a, b, c, d, e, f]: [f64; 6]) -> Self {
        Self([a, b, c, d, e, f, 0.0, 0.0, 1.0])
    }

    /// Returns the map with the 6 or 9 numbers of a tensor.
    pub fn of(tensor: &Tensor) -> Result<Self> {
        let numbers = tensor.values::<f64>()?;
        if let Ok(affine) = <[f64; 6]>::try_from(numbers) {
            return Ok(Self::affine(affine));
        }
        <[f64; 9]>::try_from(numbers).map(Self).map_err(|_| Error::internal("expected a homography of 6 or 9 numbers"))
    }

    pub fn into_tensor(self) -> Result<Tensor> {
        Tensor::from_values(Shape::new(&[9]), self.0.to_vec())
    }

    pub fn moved(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let [a, b, c, d, e, f, g, h, i] = self.0;
        let scale = g * x + h * y + i;
        [(a * x + b * y + c) / scale, (d * x + e * y + f) / scale]
    }

    /// Moves the corners of a rectangle, and returns the edges of the smallest rectangle around
    /// them: left, top, right and bottom.
    pub fn moved_edges(&self, [left, top, right, bottom]: [f64; 4]) -> [f64; 4] {
        let corners = [[left, top], [right, top], [right, bottom], [left, bottom]].map(|corner| self.moved(corner));
        corners.iter().fold([f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY], |edges, [x, y]| {
            [edges[0].min(*x), edges[1].min(*y), edges[2].max(*x), edges[3].max(*y)]
        })
    }

    /// Returns the map in the opposite direction, or `None` if there is none.
    pub fn inverse(&self) -> Option<Self> {
        let [a, b, c, d, e, f, g, h, i] = self.0;
        let adjoint = [
            e * i - f * h,
            c * h - b * i,
            b * f - c * e,
            f * g - d * i,
            a * i - c * g,
            c * d - a * f,
            d * h - e * g,
            b * g - a * h,
            a * e - b * d,
        ];
        let determinant = a * adjoint[0] + b * adjoint[3] + c * adjoint[6];
        let inverse = adjoint.map(|number| number / determinant);
        inverse.iter().all(|number| number.is_finite()).then_some(Self(inverse))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverse_moves_positions_back() {
        let there = Homography([1.0, 0.2, 5.0, -0.1, 0.9, 2.0, 0.001, 0.002, 1.0]);
        let [x, y] = there.inverse().unwrap().moved(there.moved([30.0, 40.0]));
        assert!((x - 30.0).abs() < 1e-9 && (y - 40.0).abs() < 1e-9);
        assert_eq!(Homography::affine([1.0, 1.0, 0.0, 2.0, 2.0, 0.0]).inverse(), None);
    }

    #[test]
    fn moved_rectangle_contains_all_corners() {
        let turned = Homography::affine([0.0, -1.0, 10.0, 1.0, 0.0, 0.0]);
        assert_eq!(turned.moved_edges([1.0, 2.0, 3.0, 5.0]), [5.0, 1.0, 8.0, 3.0]);
    }
}
