//! `LookupTableInsertV2`, `LookupTableRemoveV2` and what else is done with a table that changes.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Outputs, Step, Tensors};
use crate::lookup::mutable::MutableTable;
use crate::run::Run;
use crate::tensor::Tensor;
use std::sync::Arc;

struct MutableTableKernel {
    table: Arc<MutableTable>,
    action: Action,
}

enum Action {
    /// `(keys, values)`, which it takes besides those that it has.
    Insert,
    /// `(keys, values)`, which it takes in place of those that it has.
    Import,
    /// `(keys)`
    Remove,
    /// `(keys, default)` to values.
    Find,
    /// How many entries there are.
    Size,
    /// Keys and values.
    Export,
}

/// The kernel for operations on a table that changes, or `None` if `op_type` is not one.
pub fn build(op_type: &str, table: &Arc<MutableTable>) -> Option<Arc<dyn Kernel>> {
    let action = match op_type {
        "LookupTableInsertV2" => Action::Insert,
        "LookupTableImportV2" => Action::Import,
        "LookupTableRemoveV2" => Action::Remove,
        "LookupTableFindV2" => Action::Find,
        "LookupTableSizeV2" => Action::Size,
        "LookupTableExportV2" => Action::Export,
        _ => return None,
    };
    Some(Arc::new(MutableTableKernel { table: Arc::clone(table), action }))
}

impl Kernel for MutableTableKernel {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let table = &self.table;
        match (&self.action, inputs.as_slice()) {
            (Action::Insert, [keys, values]) => table.insert(keys, values).map(|()| Step::none()),
            (Action::Import, [keys, values]) => table.fill(keys, values).map(|()| Step::none()),
            (Action::Remove, [keys]) => table.remove(keys).map(|()| Step::none()),
            (Action::Find, [keys, default]) => table.find(keys, default).map(Step::one),
            (Action::Size, []) => Ok(Step::one(Tensor::scalar(table.size() as i64))),
            (Action::Export, []) => table.export().map(|parts| Step::Done(Outputs::from_iter(parts))),
            _ => Err(Error::internal(format!("{} inputs given to a lookup table", inputs.len()))),
        }
    }
}
