//! Bracket expressions `[...]` and named classes.

use super::Misfit;
use super::class::Class;
use super::escape::{escape, next};
use super::groups::{bad_range, perl, posix, unicode};

/// Parses a class such as `\pL` or `\d` if `rest` begins with one.
pub fn named_class(rest: &mut &str, folds: bool) -> Result<Option<Class>, Misfit> {
    let class = unicode(rest, folds)?;
    Ok(class.or_else(|| perl(rest, folds)))
}

/// Parses the class `[...]` at the start of `rest`.
pub fn bracketed(rest: &mut &str, folds: bool) -> Result<Class, Misfit> {
    let start = *rest;
    let mut class = Class::default();
    next(rest);
    let is_negated = rest.starts_with('^');
    if is_negated {
        next(rest);
    }
    // A closing bracket at the beginning is a member of the class.
    let mut is_first = true;
    while is_first || !rest.starts_with(']') {
        if rest.is_empty() {
            return Err(Misfit::syntax("missing ]", start));
        }
        is_first = false;
        let members = match posix(rest, folds)? {
            Some(members) => members,
            None => match named_class(rest, folds)? {
                Some(members) => members,
                None => range(rest, start)?.folded(folds),
            },
        };
        class.add(&members);
    }
    next(rest);
    Ok(if is_negated { class.negated() } else { class })
}

/// Parses a character or a range of characters. `whole` is the class, starting with its opening
/// bracket.
fn range(rest: &mut &str, whole: &str) -> Result<Class, Misfit> {
    let start = *rest;
    let low = member(rest, whole)?;
    let mut high = low;
    // A hyphen at the end is a member of the class.
    if rest.len() > 1 && rest.starts_with('-') && !rest.starts_with("-]") {
        next(rest);
        high = member(rest, whole)?;
    }
    if high < low {
        return Err(bad_range(&start[..start.len() - rest.len()]));
    }
    Ok(Class::of(&[(low, high)]))
}

fn member(rest: &mut &str, whole: &str) -> Result<u32, Misfit> {
    match rest.starts_with('\\') {
        true => escape(rest),
        false => next(rest).map(u32::from).ok_or_else(|| Misfit::syntax("missing ]", whole)),
    }
}
