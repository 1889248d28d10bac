//! Enumerations whose values have names for users. The names stand once, with the values: a
//! variable's parser, its complaint about a wrong value, and the display take them from there.

use ult::victim::VictimKind;

use super::value::one_of;

/// An enumeration with names.
pub trait Named: Copy + PartialEq + 'static {
    /// Names and values, in the order in which a complaint lists them. A value without a name cannot
    /// be asked for.
    const NAMES: &'static [(&'static str, Self)];
}

/// The value of this name, without regard to case.
pub fn named<T: Named>(text: &str) -> Result<T, String> {
    one_of(T::NAMES)(text)
}

/// The name of a value, as it is written; empty if it has none.
pub fn name_of<T: Named>(value: T) -> &'static str {
    T::NAMES.iter().find(|(_, one)| *one == value).map_or("", |(name, _)| name)
}

/// Makes an enumeration with names: `Variant = "name"`, with `as` and its number if that matters.
macro_rules! with_names {
    ($(
        $(#[$about:meta])*
        pub enum $type:ident {
            $($(#[$doc:meta])* $variant:ident = $name:literal $(as $number:literal)?,)+
        }
    )+) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $type {
            $($(#[$doc])* $variant $(= $number)?,)+
        }

        impl $crate::env::named::Named for $type {
            const NAMES: &'static [(&'static str, Self)] = &[$(($name, Self::$variant),)+];
        }
    )+};
}

pub(super) use with_names;

impl Named for VictimKind {
    const NAMES: &'static [(&'static str, Self)] = Self::NAMES;
}
