//! Policies by their names, and the one that workers start with.

use core::fmt;
use core::str::FromStr;
use core::sync::atomic::{AtomicU8, Ordering};

use super::VictimKind;

/// No policy has this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownKind;

impl fmt::Display for UnknownKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not one of ")?;
        for (at, kind) in VictimKind::ALL.into_iter().enumerate() {
            f.write_str(if at == 0 { "" } else { ", " })?;
            f.write_str(kind.name())?;
        }
        Ok(())
    }
}

impl FromStr for VictimKind {
    type Err = UnknownKind;

    /// Case and surrounding blanks do not matter, as with OpenMP's own environment variables.
    fn from_str(text: &str) -> Result<Self, UnknownKind> {
        let same = |kind: &Self| text.trim().eq_ignore_ascii_case(kind.name());
        Self::ALL.into_iter().find(same).ok_or(UnknownKind)
    }
}

static DEFAULT: AtomicU8 = AtomicU8::new(0);

/// Makes `kind` the policy of workers that start from now on. Any thread, any time; the last call
/// wins.
pub fn set_default(kind: VictimKind) {
    let index = VictimKind::ALL.iter().position(|&one| one == kind).unwrap_or(0);
    // ORDERING: Relaxed: the value is all there is to see.
    DEFAULT.store(index as u8, Ordering::Relaxed);
}

/// The policy that workers start with: what [`set_default`] said last, at first the table's first.
#[must_use]
pub fn default_kind() -> VictimKind {
    // ORDERING: Relaxed, as in `set_default`.
    VictimKind::ALL[usize::from(DEFAULT.load(Ordering::Relaxed))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for kind in VictimKind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        assert_eq!(" History\t".parse(), Ok(VictimKind::History));
        assert_eq!("historic".parse::<VictimKind>(), Err(UnknownKind));
        assert_eq!("".parse::<VictimKind>(), Err(UnknownKind));
        assert!(UnknownKind.to_string().starts_with("not one of hybrid, history, random"));
    }

    #[test]
    fn the_default_is_the_first_until_it_is_set() {
        assert_eq!(default_kind(), VictimKind::Hybrid);
        set_default(VictimKind::Random);
        assert_eq!(default_kind(), VictimKind::Random);
        set_default(VictimKind::Hybrid);
        assert_eq!(default_kind(), VictimKind::Hybrid);
    }
}
