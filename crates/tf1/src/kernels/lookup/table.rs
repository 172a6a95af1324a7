//! `LookupTableImportV2`, `InitializeTableFromTextFileV2`, `LookupTableFindV2`,
//! `LookupTableSizeV2`, `LookupTableExportV2`; for mutable tables also `LookupTableInsertV2` and
//! `LookupTableRemoveV2`.

use crate::lookup::Table;
use crate::lookup::mutable::MutableTable;
use crate::lookup::text_file::{Layout, Part};
use headrace_engine::error::{Error, Result};
use headrace_engine::files::name::FileName;
use headrace_engine::kernel::{Kernel, Outputs, Step, Tensors};
use headrace_engine::kernels::attrs::Attrs;
use headrace_engine::run::Run;
use headrace_engine::tensor::Tensor;
use std::sync::Arc;

struct TableKernel {
    table: Arc<Table>,
    action: Action,
}

enum Action {
    /// Fills the table from `(keys, values)`.
    Import,
    /// Fills the table from the lines of the file `(filename)`.
    ImportFile(Layout),
    /// Maps `(keys, default)` to values.
    Find,
    /// Returns the number of entries.
    Size,
    /// Keys and values.
    Export,
}

/// Creates the kernel for operations on a lookup table. Returns `None` if `op_type` is not one.
pub fn build(op_type: &str, attrs: &Attrs, table: &Arc<Table>) -> Result<Option<Arc<dyn Kernel>>> {
    let action = match op_type {
        "LookupTableImportV2" => Action::Import,
        "InitializeTableFromTextFileV2" => Action::ImportFile(layout(attrs, table)?),
        "LookupTableFindV2" => Action::Find,
        "LookupTableSizeV2" => Action::Size,
        "LookupTableExportV2" => Action::Export,
        _ => return Ok(None),
    };
    Ok(Some(Arc::new(TableKernel { table: Arc::clone(table), action })))
}

fn layout(attrs: &Attrs, table: &Table) -> Result<Layout> {
    let (key, value) = table.dtypes();
    let &[delimiter] = attrs.bytes("delimiter")? else {
        return Err(Error::invalid_argument("delimiter should be only 1 char"));
    };
    Ok(Layout {
        key: (Part::from_index(attrs.int("key_index")?)?, key),
        value: (Part::from_index(attrs.int("value_index")?)?, value),
        delimiter,
        num_lines: usize::try_from(attrs.int("vocab_size")?).ok(),
    })
}

impl Kernel for TableKernel {
    fn run(&self, run: &Run, inputs: Tensors) -> Result<Step> {
        match (&self.action, inputs.as_slice()) {
            (Action::Import, [keys, values]) => self.table.fill(keys.clone(), values.clone()).map(|()| Step::none()),
            (Action::ImportFile(layout), [name]) => {
                let [name] = name.string_values() else {
                    let text = format!("Input filename tensor must be scalar, but had shape: {}", name.shape());
                    return Err(Error::invalid_argument(text));
                };
                let name = FileName::new(name.clone());
                let [keys, values] = run.while_current(|| layout.read(&name))?;
                self.table.fill(keys, values).map(|()| Step::none())
            }
            (Action::Find, [keys, default]) => self.table.find(keys, default).map(Step::one),
            (Action::Size, []) => Ok(Step::one(Tensor::scalar(self.table.size() as i64))),
            (Action::Export, []) => self.table.export().map(|parts| Step::Done(Outputs::from_iter(parts))),
            _ => Err(Error::internal(format!("a lookup table got {} inputs", inputs.len()))),
        }
    }
}

struct MutableTableKernel {
    table: Arc<MutableTable>,
    action: Change,
}

enum Change {
    /// Adds the entries `(keys, values)`.
    Insert,
    /// Replaces all entries with `(keys, values)`.
    Import,
    /// `(keys)`
    Remove,
    /// Maps `(keys, default)` to values.
    Find,
    /// Returns the number of entries.
    Size,
    /// Keys and values.
    Export,
}

/// Creates the kernel for operations on a mutable table. Returns `None` if `op_type` is not one.
pub fn build_mutable(op_type: &str, table: &Arc<MutableTable>) -> Option<Arc<dyn Kernel>> {
    let action = match op_type {
        "LookupTableInsertV2" => Change::Insert,
        "LookupTableImportV2" => Change::Import,
        "LookupTableRemoveV2" => Change::Remove,
        "LookupTableFindV2" => Change::Find,
        "LookupTableSizeV2" => Change::Size,
        "LookupTableExportV2" => Change::Export,
        _ => return None,
    };
    Some(Arc::new(MutableTableKernel { table: Arc::clone(table), action }))
}

impl Kernel for MutableTableKernel {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let table = &self.table;
        match (&self.action, inputs.as_slice()) {
            (Change::Insert, [keys, values]) => table.insert(keys, values).map(|()| Step::none()),
            (Change::Import, [keys, values]) => table.fill(keys, values).map(|()| Step::none()),
            (Change::Remove, [keys]) => table.remove(keys).map(|()| Step::none()),
            (Change::Find, [keys, default]) => table.find(keys, default).map(Step::one),
            (Change::Size, []) => Ok(Step::one(Tensor::scalar(table.size() as i64))),
            (Change::Export, []) => table.export().map(|parts| Step::Done(Outputs::from_iter(parts))),
            _ => Err(Error::internal(format!("a lookup table got {} inputs", inputs.len()))),
        }
    }
}
