//! What the table of the policies in [`super`] becomes: [`VictimKind`](super::VictimKind), the names
//! of the policies, and [`Selector`](super::Selector), one of them in a worker.
//!
//! Rejected: `Box<dyn VictimPolicy>` in a worker. Each attempt to steal would cost indirect calls,
//! and the policy would lie in another line.

/// Makes both types from rows of a variant, a name and a type. The first row is the default.
macro_rules! victim_policies {
    ($($(#[$doc:meta])* $variant:ident = $name:literal: $policy:ident,)+) => {
        /// A victim selection policy by name; the first one is the default.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum VictimKind {
            $($(#[$doc])* $variant,)+
        }

        impl VictimKind {
            /// All of them with their names, the default first. In the environment's spelling.
            pub const NAMES: &'static [(&'static str, Self)] = &[$(($name, Self::$variant),)+];

            /// All of them, the default first.
            pub const ALL: [Self; Self::NAMES.len()] = [$(Self::$variant,)+];

            /// The name that [`from_str`](core::str::FromStr::from_str) understands.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }

        /// What a worker owns: one of the policies, chosen when the worker starts.
        #[derive(Debug)]
        pub enum Selector {
            $(#[doc = concat!("See [`", stringify!($policy), "`].")] $variant($policy),)+
        }

        impl Selector {
            /// A selector of the given kind without history. Workers with different `seed`s draw
            /// different victims; equal seeds give equal sequences. Allocates nothing.
            #[must_use]
            pub const fn new(kind: VictimKind, seed: u64) -> Self {
                let draw = Draw::new(seed);
                match kind {
                    $(VictimKind::$variant => Self::$variant($policy::new(draw)),)+
                }
            }
        }

        impl VictimPolicy for Selector {
            #[inline]
            fn select(&mut self, me: usize, count: usize) -> usize {
                match self {
                    $(Self::$variant(policy) => policy.select(me, count),)+
                }
            }

            #[inline]
            fn succeeded(&mut self, victim: usize) {
                match self {
                    $(Self::$variant(policy) => policy.succeeded(victim),)+
                }
            }

            #[inline]
            fn failed(&mut self, victim: usize) {
                match self {
                    $(Self::$variant(policy) => policy.failed(victim),)+
                }
            }

            #[inline]
            fn draw_mut(&mut self) -> &mut Draw {
                match self {
                    $(Self::$variant(policy) => policy.draw_mut(),)+
                }
            }
        }
    };
}

pub(super) use victim_policies;
