//! How values are shown by `OMP_DISPLAY_ENV` and `KMP_SETTINGS`: the counterpart of
//! [`super::value`], which takes what is shown.

use core::fmt::Display;

use super::named::{Named, name_of};

/// A truth value.
pub fn on(value: &bool) -> String {
    (if *value { "TRUE" } else { "FALSE" }).into()
}

/// A truth value, as variables of tools have it.
pub fn enabled(value: &bool) -> String {
    (if *value { "ENABLED" } else { "DISABLED" }).into()
}

/// What shows itself: a number, a text.
pub fn plain<T: Display>(value: &T) -> String {
    value.to_string()
}

/// The same, and nothing where there is none.
pub fn if_any<T: Display>(value: &Option<T>) -> String {
    value.as_ref().map(ToString::to_string).unwrap_or_default()
}

/// A list, separated by commas.
pub fn list<T: Display>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// Bytes, with the largest unit that divides them.
pub fn size(bytes: &usize) -> String {
    let units = [(30, 'G'), (20, 'M'), (10, 'K')];
    let unit = units.iter().find(|(shift, _)| bytes.trailing_zeros() >= *shift);
    unit.map_or(format!("{bytes}B"), |(shift, letter)| format!("{}{letter}", bytes >> shift))
}

/// A name, in capital letters.
pub fn name<T: Named>(value: &T) -> String {
    name_of(*value).to_ascii_uppercase()
}
