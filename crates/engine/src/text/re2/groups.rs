//! Named character classes.

use super::Misfit;
use super::class::{Class, MAX};
use super::escape::next;
use super::scripts::SCRIPTS;
use regex_syntax::hir::{self, HirKind};

type Ranges = &'static [(u32, u32)];

const DIGIT: Ranges = &[(0x30, 0x39)];
const WORD: Ranges = &[(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)];
/// Unlike `[:space:]`, this does not include the vertical tab.
const SPACE: Ranges = &[(0x09, 0x0A), (0x0C, 0x0D), (0x20, 0x20)];

const POSIX: [(&str, Ranges); 14] = [
    ("alnum", &[(0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)]),
    ("alpha", &[(0x41, 0x5A), (0x61, 0x7A)]),
    ("ascii", &[(0x00, 0x7F)]),
    ("blank", &[(0x09, 0x09), (0x20, 0x20)]),
    ("cntrl", &[(0x00, 0x1F), (0x7F, 0x7F)]),
    ("digit", DIGIT),
    ("graph", &[(0x21, 0x7E)]),
    ("lower", &[(0x61, 0x7A)]),
    ("print", &[(0x20, 0x7E)]),
    ("punct", &[(0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)]),
    ("space", &[(0x09, 0x0D), (0x20, 0x20)]),
    ("upper", &[(0x41, 0x5A)]),
    ("word", WORD),
    ("xdigit", &[(0x30, 0x39), (0x41, 0x46), (0x61, 0x66)]),
];

/// The only categories that RE2 supports, as it spells them.
const CATEGORIES: [&str; 36] = [
    "C", "Cc", "Cf", "Co", "Cs", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N", "Nd", "Nl", "No", "P",
    "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp", "Zs",
];

/// Parses `\d`, `\D` and the like at the beginning of `rest`.
pub fn perl(rest: &mut &str, folds: bool) -> Option<Class> {
    let kind = rest.strip_prefix('\\')?.chars().next()?;
    let ranges = match kind.to_ascii_lowercase() {
        'd' => DIGIT,
        's' => SPACE,
        'w' => WORD,
        _ => return None,
    };
    *rest = &rest[2..];
    Some(signed(Class::of(ranges).folded(folds), kind.is_ascii_uppercase()))
}

/// Parses `[:alpha:]`, `[:^alpha:]` and the like at the beginning of `rest`.
pub fn posix(rest: &mut &str, folds: bool) -> Result<Option<Class>, Misfit> {
    let Some(end) = rest.strip_prefix("[:").and_then(|inner| inner.find(":]")) else { return Ok(None) };
    let (whole, after) = rest.split_at(end + 4);
    let name = &whole[2..whole.len() - 2];
    let (is_negated, name) = unsigned(name);
    let ranges = POSIX.iter().find(|(other, _)| *other == name).map(|(_, ranges)| ranges);
    let ranges = ranges.ok_or_else(|| bad_range(whole))?;
    *rest = after;
    Ok(Some(signed(Class::of(ranges).folded(folds), is_negated)))
}

/// Parses `\pL`, `\p{Greek}`, `\P{^Lu}` and the like at the beginning of `rest`.
pub fn unicode(rest: &mut &str, folds: bool) -> Result<Option<Class>, Misfit> {
    let Some(mut after) = rest.strip_prefix(r"\p").or_else(|| rest.strip_prefix(r"\P")) else { return Ok(None) };
    let (name, end) = match after.strip_prefix('{') {
        Some(inner) => inner.split_once('}').ok_or_else(|| bad_range(rest))?,
        None => {
            let start = after;
            next(&mut after);
            (&start[..start.len() - after.len()], after)
        }
    };
    let sequence = &rest[..rest.len() - end.len()];
    let (is_negated, name) = unsigned(name);
    let class = named(name).ok_or_else(|| bad_range(sequence))?;
    let is_negated = is_negated != rest.starts_with(r"\P");
    *rest = end;
    Ok(Some(signed(class.folded(folds), is_negated)))
}

fn unsigned(name: &str) -> (bool, &str) {
    name.strip_prefix('^').map_or((false, name), |name| (true, name))
}

fn signed(class: Class, is_negated: bool) -> Class {
    if is_negated { class.negated() } else { class }
}

pub fn bad_range(text: &str) -> Misfit {
    Misfit::syntax("invalid character class range", text)
}

fn named(name: &str) -> Option<Class> {
    const SURROGATES: (u32, u32) = (0xD800, 0xDFFF);
    match name {
        "Any" => Some(Class::of(&[(0, MAX)])),
        "Cs" => Some(Class::of(&[SURROGATES])),
        "C" => {
            // RE2 leaves out unassigned code points, which Unicode's own `C` includes.
            let mut class = Class::of(&[SURROGATES]);
            ["Cc", "Cf", "Co"].iter().filter_map(|part| property("gc", part)).for_each(|part| class.add(&part));
            Some(class)
        }
        _ if CATEGORIES.contains(&name) => property("gc", name),
        _ if SCRIPTS.binary_search(&name).is_ok() => property("sc", name),
        _ => None,
    }
}

/// Returns the characters for which a Unicode property has this value.
fn property(name: &str, value: &str) -> Option<Class> {
    let hir = regex_syntax::parse(&format!(r"\p{{{name}={value}}}")).ok()?;
    let HirKind::Class(hir::Class::Unicode(class)) = hir.kind() else { return None };
    let ranges: Vec<_> = class.iter().map(|range| (u32::from(range.start()), u32::from(range.end()))).collect();
    Some(Class::of(&ranges))
}
