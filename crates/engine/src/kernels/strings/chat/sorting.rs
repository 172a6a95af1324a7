//! Filters that order values. Unless they are case-sensitive, they compare strings in lower case, like
//! Python's `str.lower`. The filters of the crate `minijinja` only change ASCII letters.
//!
//! Source: `jinja2/filters.py`.

use super::values::as_float;
use minijinja::value::{Kwargs, Tuple, Value, ValueKind};
use minijinja::{Error, ErrorKind};

/// An item with the value that is compared.
type Keyed = (Value, Value);

/// `dictsort(value, case_sensitive=False, by="key", reverse=False)`.
pub fn dictsort(
    value: &Value,
    case_sensitive: Option<bool>,
    by: Option<&str>,
    reverse: Option<bool>,
    named: Kwargs,
) -> Result<Value, Error> {
    let case_sensitive = case_sensitive.or(named.get("case_sensitive")?).unwrap_or(false);
    let by = by.or(named.get("by")?).unwrap_or("key");
    let reverse = reverse.or(named.get("reverse")?).unwrap_or(false);
    named.assert_all_used()?;
    if value.kind() != ValueKind::Map || !matches!(by, "key" | "value") {
        return Err(invalid(format!("dictsort: the value is a {} and by is '{by}'", value.kind())));
    }
    let pair = |name: Value| {
        let item = value.get_item(&name)?;
        let compared = key(if by == "key" { &name } else { &item }, case_sensitive);
        Ok((compared, Tuple::from([name, item]).into()))
    };
    sorted(value.try_iter()?.map(pair).collect::<Result<_, Error>>()?, reverse)
}

/// `sort(value, reverse=False, case_sensitive=False, attribute=None)`.
pub fn sort(
    value: &Value,
    reverse: Option<bool>,
    case_sensitive: Option<bool>,
    attribute: Option<Value>,
    named: Kwargs,
) -> Result<Value, Error> {
    let reverse = reverse.or(named.get("reverse")?).unwrap_or(false);
    sorted(keyed(value, case_sensitive, attribute, &named)?, reverse)
}

/// `min(value, case_sensitive=False, attribute=None)`.
pub fn min(
    value: &Value,
    case_sensitive: Option<bool>,
    attribute: Option<Value>,
    named: Kwargs,
) -> Result<Value, Error> {
    first(sorted(keyed(value, case_sensitive, attribute, &named)?, false)?)
}

/// `max(value, case_sensitive=False, attribute=None)`.
pub fn max(
    value: &Value,
    case_sensitive: Option<bool>,
    attribute: Option<Value>,
    named: Kwargs,
) -> Result<Value, Error> {
    first(sorted(keyed(value, case_sensitive, attribute, &named)?, true)?)
}

fn first(sorted: Value) -> Result<Value, Error> {
    sorted.get_item(&Value::from(0))
}

fn keyed(
    value: &Value,
    case_sensitive: Option<bool>,
    attribute: Option<Value>,
    named: &Kwargs,
) -> Result<Vec<Keyed>, Error> {
    let case_sensitive = case_sensitive.or(named.get("case_sensitive")?).unwrap_or(false);
    let attribute = attribute.or(named.get("attribute")?).filter(|attribute| !attribute.is_none());
    named.assert_all_used()?;
    let item = |item: Value| {
        let compared = match &attribute {
            None => key(&item, case_sensitive),
            Some(attribute) => key_of_attributes(&item, attribute, case_sensitive)?,
        };
        Ok((compared, item))
    };
    value.try_iter()?.map(item).collect()
}

/// The values at several paths, such as "name,0.size".
fn key_of_attributes(item: &Value, attribute: &Value, case_sensitive: bool) -> Result<Value, Error> {
    let Some(paths) = attribute.as_str() else { return Ok(key(&item.get_item(attribute)?, case_sensitive)) };
    let at = |path: &str| {
        let value = path.split('.').try_fold(item.clone(), |value, part| match part.parse::<usize>() {
            Ok(index) => value.get_item(&Value::from(index)),
            Err(_) => value.get_attr(part),
        });
        Ok(key(&value?, case_sensitive))
    };
    if !paths.contains(',') {
        return at(paths);
    }
    Ok(Value::from(paths.split(',').map(at).collect::<Result<Vec<_>, Error>>()?))
}

fn key(value: &Value, case_sensitive: bool) -> Value {
    match value.as_str() {
        Some(text) if !case_sensitive => Value::from(text.to_lowercase()),
        Some(_) => value.clone(),
        None if value.kind() == ValueKind::Bool => Value::from(i64::from(value.is_true())),
        None => as_float(value).map_or_else(|| value.clone(), Value::from),
    }
}

/// Fails if Python can't compare the keys. Equal items keep their order.
fn sorted(mut items: Vec<Keyed>, reverse: bool) -> Result<Value, Error> {
    for pair in items.windows(2) {
        let kinds = [pair[0].0.kind(), pair[1].0.kind()];
        if kinds[0] != kinds[1] || !matches!(kinds[0], ValueKind::String | ValueKind::Number | ValueKind::Seq) {
            return Err(invalid(format!("a {} and a {} cannot be ordered", kinds[0], kinds[1])));
        }
    }
    items.sort_by(|(one, _), (other, _)| if reverse { other.cmp(one) } else { one.cmp(other) });
    Ok(items.into_iter().map(|(_, item)| item).collect())
}

fn invalid(text: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, text)
}
