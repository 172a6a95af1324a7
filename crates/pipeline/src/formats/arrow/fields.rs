//! Finds columns by name, including fields of structs: "meta.lang" is the field "lang" of "meta".

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, FixedSizeListArray, LargeListArray, make_array};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, FieldRef, Fields};
use headrace_engine::error::{Error, Result};
use std::sync::Arc;

/// A column of a schema.
pub struct SchemaColumn {
    /// The number of the table column that contains it.
    pub root: usize,
    /// The names of the fields inside that column, outermost first.
    pub path: Vec<String>,
    /// Its type. Within a list of structs, this is a list.
    pub kind: DataType,
}

/// Why a name does not refer to a column.
pub enum NotFound {
    /// There is none.
    Missing,
    /// Several have it.
    Several(usize),
}

/// Finds the column with this name. If a column name itself contains dots, it takes precedence.
pub fn find(fields: &Fields, name: &str) -> std::result::Result<SchemaColumn, NotFound> {
    let with_name =
        |name: &str| fields.iter().enumerate().filter(|(_, field)| field.name() == name).collect::<Vec<_>>();
    match with_name(name)[..] {
        [(root, field)] => return Ok(SchemaColumn { root, path: Vec::new(), kind: field.data_type().clone() }),
        [] => {}
        ref several => return Err(NotFound::Several(several.len())),
    }
    for (head, rest) in splits(name) {
        match with_name(head)[..] {
            [(root, field)] => {
                if let Some((path, kind)) = within(field.data_type(), rest) {
                    return Ok(SchemaColumn { root, path, kind });
                }
            }
            [] => {}
            ref several => return Err(NotFound::Several(several.len())),
        }
    }
    Err(NotFound::Missing)
}

/// Yields the parts of a name before and after each dot.
fn splits(name: &str) -> impl Iterator<Item = (&str, &str)> {
    name.match_indices('.').map(|(dot, _)| (&name[..dot], &name[dot + 1..]))
}

/// Finds a name within a type. Returns the path and the type.
fn within(kind: &DataType, name: &str) -> Option<(Vec<String>, DataType)> {
    let of_list = |values: &FieldRef, list: &dyn Fn(FieldRef) -> DataType| {
        let (path, kind) = within(values.data_type(), name)?;
        Some((path, list(Arc::new(Field::new(values.name(), kind, true)))))
    };
    match kind {
        DataType::Dictionary(_, values) => within(values, name),
        DataType::List(values)
        | DataType::LargeList(values)
        | DataType::ListView(values)
        | DataType::LargeListView(values) => of_list(values, &DataType::LargeList),
        DataType::FixedSizeList(values, length) => of_list(values, &|values| DataType::FixedSizeList(values, *length)),
        DataType::Struct(fields) => {
            let only = |name: &str| {
                let mut matching = fields.iter().filter(|field| field.name() == name);
                matching.next().filter(|_| matching.next().is_none())
            };
            if let Some(field) = only(name) {
                return Some((vec![name.to_owned()], field.data_type().clone()));
            }
            splits(name).find_map(|(head, rest)| {
                let (path, kind) = within(only(head)?.data_type(), rest)?;
                Some(([head.to_owned()].into_iter().chain(path).collect(), kind))
            })
        }
        _ => None,
    }
}

/// Lists the names of the columns, and of the fields of structs, for messages.
pub fn names(fields: &Fields) -> String {
    /// The maximum number of names in a message.
    const MOST: usize = 40;
    let mut names = Vec::new();
    for field in fields {
        names.push(format!("'{}'", field.name()));
        if let DataType::Struct(inner) = field.data_type() {
            names.extend(inner.iter().map(|inner| format!("'{}.{}'", field.name(), inner.name())));
        }
    }
    let rest = names.len().saturating_sub(MOST);
    names.truncate(MOST);
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("{}{more}", names.join(", "))
}

/// Returns the field of an array at a path. A field of a null struct is null.
pub fn pick(array: &ArrayRef, path: &[String]) -> Result<ArrayRef> {
    let Some((name, rest)) = path.split_first() else { return Ok(Arc::clone(array)) };
    let internal = |error| Error::internal(format!("a field of a column cannot be read: {error}"));
    match array.data_type() {
        DataType::Struct(_) => {
            let structs = array.as_struct();
            let field = structs.column_by_name(name);
            let field = field.ok_or_else(|| Error::internal(format!("there is no field '{name}' in a struct")))?;
            pick(&with_nulls(field, structs.nulls()).map_err(internal)?, rest)
        }
        DataType::LargeList(values) => {
            let lists = array.as_list::<i64>();
            let picked = pick(lists.values(), path)?;
            let field = Arc::new(Field::new(values.name(), picked.data_type().clone(), true));
            let array = LargeListArray::try_new(field, lists.offsets().clone(), picked, lists.nulls().cloned());
            array.map(|array| Arc::new(array) as ArrayRef).map_err(internal)
        }
        DataType::FixedSizeList(values, length) => {
            let lists = array.as_fixed_size_list();
            let picked = pick(lists.values(), path)?;
            let field = Arc::new(Field::new(values.name(), picked.data_type().clone(), true));
            let array = FixedSizeListArray::try_new(field, *length, picked, lists.nulls().cloned());
            array.map(|array| Arc::new(array) as ArrayRef).map_err(internal)
        }
        kind => Err(Error::internal(format!("there is no field '{name}' in {kind}"))),
    }
}

/// Returns an array that also has these nulls.
fn with_nulls(array: &ArrayRef, nulls: Option<&NullBuffer>) -> std::result::Result<ArrayRef, arrow_schema::ArrowError> {
    if nulls.is_none_or(|nulls| nulls.null_count() == 0) || array.data_type() == &DataType::Null {
        return Ok(Arc::clone(array));
    }
    let both = NullBuffer::union(array.nulls(), nulls);
    array.to_data().into_builder().nulls(both).build().map(make_array)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Fields {
        let inner = Field::new("lang", DataType::Utf8, true);
        let meta = Field::new("meta", DataType::Struct(vec![inner.clone()].into()), true);
        let item = Arc::new(Field::new("item", DataType::Struct(vec![inner].into()), true));
        let lists = Field::new("turns", DataType::List(item), true);
        let dotted = Field::new("a.b", DataType::Int8, true);
        vec![meta, lists, dotted.clone(), dotted.with_name("twice"), Field::new("twice", DataType::Int8, true)].into()
    }

    #[test]
    fn dotted_name_reaches_into_structs_and_lists_of_structs() {
        let fields = schema();
        let located = |name| find(&fields, name).ok().map(|column| (column.root, column.path, column.kind));
        assert_eq!(located("meta.lang"), Some((0, vec!["lang".to_owned()], DataType::Utf8)));
        assert_eq!(located("a.b"), Some((2, Vec::new(), DataType::Int8)));
        let (root, path, kind) = located("turns.lang").unwrap();
        assert_eq!((root, path), (1, vec!["lang".to_owned()]));
        assert!(matches!(kind, DataType::LargeList(values) if values.data_type() == &DataType::Utf8));
        assert!(matches!(find(&fields, "meta.other"), Err(NotFound::Missing)));
        assert!(matches!(find(&fields, "twice"), Err(NotFound::Several(2))));
        assert_eq!(names(&fields), "'meta', 'meta.lang', 'turns', 'a.b', 'twice', 'twice'");
    }
}
