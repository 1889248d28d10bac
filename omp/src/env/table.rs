//! The tables of settings. A group of settings has its table in the file of its kind, one row per
//! setting; [`settings!`] makes of it the structure, its reading, its lines of
//! `OMP_DISPLAY_ENV=verbose`, and what is done about files that values name. Its row in
//! `libomp-shim/variables.tsv` says what a variable means to users, and which values are tried on it.
//!
//! A row is a field, and how it comes about:
//!
//! ```text
//! /// What it is for.
//! stats: bool = read(GANGWAY_STATS, "using false", boolean).or(false), shown(on);
//! ```
//!
//! * `read(VARIABLE, instead, parser).or(default)` reads one variable. A wrong value gives a line
//!   that ends with `instead`. `read_all` reads the form `VARIABLE_ALL`, too.
//! * `by(expression)` is for settings that several variables decide together, by a function of their
//!   own. The expression may use the rows above, and the arguments of the table.
//! * `group(Type: arguments)` is a table by itself.
//!
//! After that follow, where they apply:
//! * `shown(function)`: how the display shows the field under the variable's name. Behind `by` the
//!   names are written: `shown(VARIABLE: function, ...)`.
//! * `file(names => anchor)`: the value may name a file. `names` says of a text whether it does:
//!   such a value is not read in a program that gained rights ([`super::rights`]). `anchor` makes
//!   the name absolute. Behind `by`: `file(VARIABLE: names)`; there the expression makes the name
//!   absolute itself.
//!
//! Rejected: code that `build.rs` makes of `variables.tsv`. Its cells would hold expressions, which
//! neither the compiler nor an editor would show where they are wrong.

/// A line of the display: the variable, and its value.
pub type ShownLine = (&'static str, String);

/// Makes a structure of settings from its table; see the head of this file.
macro_rules! settings {
    (
        $(#[$about:meta])*
        pub struct $name:ident read($reader:ident $(, $argument:ident: $argument_type:ty)*) {
            $(
                $(#[$doc:meta])*
                $field:ident: $type:ty = $how:ident $from:tt $(.or($default:expr))?
                    $(, shown $shown:tt)? $(, file $file:tt)?;
            )+
        }
    ) => {
        $(#[$about])*
        #[derive(Debug)]
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)+
        }

        impl $name {
            /// Reads the rows in their order.
            #[cold]
            pub(super) fn read(
                $reader: &mut $crate::env::vars::VariableReader<'_>,
                $($argument: $argument_type,)*
            ) -> Self {
                $(let $field: $type = settings!(@value $reader, $type, $how $from $(, $default)?);)+
                Self { $($field,)+ }
            }

            /// Adds the lines of the display.
            pub(crate) fn show(&self, lines: &mut Vec<$crate::env::table::ShownLine>) {
                $(settings!(@show self.$field, lines, $how $from $(, $shown)?);)+
            }

            /// Does this value of the variable name a file?
            #[allow(unused_variables, reason = "a table may have no value that names a file")]
            pub(super) fn names_file(variable: &str, value: &str) -> bool {
                $(settings!(@names variable, value, $how $from $(, $file)?) ||)+ false
            }

            /// Makes the names of files absolute.
            pub(super) fn anchor_files(&mut self) {
                $(settings!(@anchor self.$field, $how $from $(, $file)?);)+
            }
        }
    };

    (@value $reader:ident, $type:ty, by ($value:expr)) => { $value };
    (@value $reader:ident, $type:ty, group ($group:ident $(: $($argument:expr),+)?)) => {
        $group::read($reader $($(, $argument)+)?)
    };
    (@value $reader:ident, $type:ty,
        $how:ident ($variable:ident, $instead:expr, $parse:expr), $default:expr) => {
        $reader.$how(stringify!($variable), $instead, $parse).map(<$type>::from).unwrap_or_else(|| $default)
    };

    (@show $field:expr, $lines:ident, group $from:tt) => { $field.show($lines) };
    (@show $field:expr, $lines:ident, $how:ident $from:tt) => {};
    (@show $field:expr, $lines:ident, by $from:tt, ($($variable:ident: $show:expr),+ $(,)?)) => {
        $($lines.push((stringify!($variable), ($show)(&$field)));)+
    };
    (@show $field:expr, $lines:ident, $how:ident ($variable:ident, $($rest:tt)*), ($show:expr)) => {
        $lines.push((stringify!($variable), ($show)(&$field)))
    };

    (@names $variable:ident, $value:ident, group ($group:ident $($rest:tt)*)) => {
        $group::names_file($variable, $value)
    };
    (@names $variable:ident, $value:ident, $how:ident $from:tt) => { false };
    (@names $variable:ident, $value:ident, by $from:tt, ($name:ident: $names:expr)) => {
        ($variable == stringify!($name) && ($names)($value))
    };
    (@names $variable:ident, $value:ident,
        $how:ident ($name:ident, $($rest:tt)*), ($names:expr => $anchor:expr)) => {
        ($variable == stringify!($name) && ($names)($value))
    };

    (@anchor $field:expr, group $from:tt) => { $field.anchor_files() };
    (@anchor $field:expr, $how:ident $from:tt) => {};
    (@anchor $field:expr, by $from:tt, $file:tt) => {};
    (@anchor $field:expr, $how:ident $from:tt, ($names:expr => $anchor:expr)) => { ($anchor)(&mut $field) };
}

pub(super) use settings;
