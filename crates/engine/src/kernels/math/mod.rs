//! Arithmetic, comparisons and dtype conversions.

pub mod accumulate;
pub mod arithmetic;
pub mod broadcast;
pub mod cast;
pub mod compare;
pub mod cumsum;
pub mod element;
pub mod nn;
pub mod reduce;
pub mod trigonometry;

use crate::error::Result;
use crate::kernel::Kernel;
use crate::kernels::attrs::Attrs;
use std::sync::Arc;

/// Creates the kernel for operations of type `op_type`. Returns `None` if this module has none.
pub fn build(op_type: &str, attrs: &Attrs) -> Result<Option<Arc<dyn Kernel>>> {
    Ok(Some(match op_type {
        "Abs" => Arc::new(arithmetic::Unary::Abs),
        "Acos" => Arc::new(trigonometry::Trigonometry::Acos),
        "Add" => Arc::new(arithmetic::Binary::Add),
        "AddN" => Arc::new(arithmetic::AddN),
        "All" => Arc::new(reduce::Reduce::from_attrs(reduce::Function::All, attrs)?),
        "Any" => Arc::new(reduce::Reduce::from_attrs(reduce::Function::Any, attrs)?),
        "ArgMax" => Arc::new(reduce::arg::ArgExtreme::from_attrs(true, attrs)?),
        "ArgMin" => Arc::new(reduce::arg::ArgExtreme::from_attrs(false, attrs)?),
        "Asin" => Arc::new(trigonometry::Trigonometry::Asin),
        "Atan" => Arc::new(trigonometry::Trigonometry::Atan),
        "Atan2" => Arc::new(trigonometry::Atan2),
        "Cast" => Arc::new(cast::Cast::from_attrs(attrs)?),
        "Ceil" => Arc::new(arithmetic::of_floats::OfFloats::Ceil),
        "Cos" => Arc::new(trigonometry::Trigonometry::Cos),
        "Cosh" => Arc::new(trigonometry::Trigonometry::Cosh),
        "Cumprod" => Arc::new(cumsum::Scan::from_attrs(true, attrs)?),
        "Cumsum" => Arc::new(cumsum::Scan::from_attrs(false, attrs)?),
        "DivNoNan" => Arc::new(arithmetic::Binary::DivNoNan),
        "Equal" => Arc::new(compare::Compare::Equal),
        "Exp" => Arc::new(arithmetic::of_floats::OfFloats::Exp),
        "Expm1" => Arc::new(arithmetic::of_floats::OfFloats::Expm1),
        "Floor" => Arc::new(arithmetic::of_floats::OfFloats::Floor),
        "FloorDiv" => Arc::new(arithmetic::Binary::FloorDiv),
        "FloorMod" => Arc::new(arithmetic::Binary::FloorMod),
        "Greater" => Arc::new(compare::Compare::Greater),
        "GreaterEqual" => Arc::new(compare::Compare::GreaterEqual),
        "IsFinite" => Arc::new(compare::Kind::IsFinite),
        "IsInf" => Arc::new(compare::Kind::IsInf),
        "IsNan" => Arc::new(compare::Kind::IsNan),
        "Less" => Arc::new(compare::Compare::Less),
        "LessEqual" => Arc::new(compare::Compare::LessEqual),
        "Log" => Arc::new(arithmetic::of_floats::OfFloats::Log),
        "Log1p" => Arc::new(arithmetic::of_floats::OfFloats::Log1p),
        "LogicalAnd" => Arc::new(compare::Logical::And),
        "LogicalNot" => Arc::new(compare::LogicalNot),
        "LogicalOr" => Arc::new(compare::Logical::Or),
        "Max" => Arc::new(reduce::Reduce::from_attrs(reduce::Function::Max, attrs)?),
        "Maximum" => Arc::new(arithmetic::Binary::Maximum),
        "Mean" => Arc::new(reduce::Reduce::from_attrs(reduce::Function::Mean, attrs)?),
        "Min" => Arc::new(reduce::Reduce::from_attrs(reduce::Function::Min, attrs)?),
        "Minimum" => Arc::new(arithmetic::Binary::Minimum),
        "Mul" => Arc::new(arithmetic::Binary::Mul),
        "Neg" => Arc::new(arithmetic::Unary::Neg),
        "NotEqual" => Arc::new(compare::Compare::NotEqual),
        "Pow" => Arc::new(arithmetic::Binary::Pow),
        "Prod" => Arc::new(reduce::Reduce::from_attrs(reduce::Function::Prod, attrs)?),
        "RealDiv" => Arc::new(arithmetic::Binary::RealDiv),
        "Reciprocal" => Arc::new(arithmetic::of_floats::OfFloats::Reciprocal),
        "Relu" => Arc::new(nn::Relu),
        "Rint" => Arc::new(arithmetic::of_floats::OfFloats::Rint),
        "Round" => Arc::new(arithmetic::of_floats::OfFloats::Rint),
        "Rsqrt" => Arc::new(arithmetic::of_floats::OfFloats::Rsqrt),
        "Sigmoid" => Arc::new(arithmetic::of_floats::OfFloats::Sigmoid),
        "Sign" => Arc::new(arithmetic::Unary::Sign),
        "Sin" => Arc::new(trigonometry::Trigonometry::Sin),
        "Sinh" => Arc::new(trigonometry::Trigonometry::Sinh),
        "Sqrt" => Arc::new(arithmetic::of_floats::OfFloats::Sqrt),
        "Square" => Arc::new(arithmetic::Unary::Square),
        "SquaredDifference" => Arc::new(arithmetic::Binary::SquaredDifference),
        "Sub" => Arc::new(arithmetic::Binary::Sub),
        "Sum" => Arc::new(reduce::Reduce::from_attrs(reduce::Function::Sum, attrs)?),
        "Tan" => Arc::new(trigonometry::Trigonometry::Tan),
        "Tanh" => Arc::new(arithmetic::of_floats::OfFloats::Tanh),
        _ => return Ok(None),
    }))
}
