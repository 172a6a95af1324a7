//! Arithmetic, comparisons and conversions of type.

pub mod arithmetic;
pub mod broadcast;
pub mod cast;
pub mod compare;
pub mod element;

use crate::error::Result;
use crate::kernel::Kernel;
use crate::kernels::attrs::Attrs;
use std::sync::Arc;

/// The kernel for operations of type `op_type`, or `None` if this room has none.
pub fn build(op_type: &str, attrs: &Attrs) -> Result<Option<Arc<dyn Kernel>>> {
    Ok(Some(match op_type {
        "Abs" => Arc::new(arithmetic::Unary::Abs),
        "Add" => Arc::new(arithmetic::Binary::Add),
        "Cast" => Arc::new(cast::Cast::from_attrs(attrs)?),
        "Equal" => Arc::new(compare::Compare::Equal),
        "FloorDiv" => Arc::new(arithmetic::Binary::FloorDiv),
        "FloorMod" => Arc::new(arithmetic::Binary::FloorMod),
        "Greater" => Arc::new(compare::Compare::Greater),
        "GreaterEqual" => Arc::new(compare::Compare::GreaterEqual),
        "Less" => Arc::new(compare::Compare::Less),
        "LessEqual" => Arc::new(compare::Compare::LessEqual),
        "LogicalAnd" => Arc::new(compare::Logical::And),
        "LogicalNot" => Arc::new(compare::LogicalNot),
        "LogicalOr" => Arc::new(compare::Logical::Or),
        "Maximum" => Arc::new(arithmetic::Binary::Maximum),
        "Minimum" => Arc::new(arithmetic::Binary::Minimum),
        "Mul" => Arc::new(arithmetic::Binary::Mul),
        "Neg" => Arc::new(arithmetic::Unary::Neg),
        "NotEqual" => Arc::new(compare::Compare::NotEqual),
        "Pow" => Arc::new(arithmetic::Binary::Pow),
        "RealDiv" => Arc::new(arithmetic::Binary::RealDiv),
        "Square" => Arc::new(arithmetic::Unary::Square),
        "Sub" => Arc::new(arithmetic::Binary::Sub),
        _ => return Ok(None),
    }))
}
