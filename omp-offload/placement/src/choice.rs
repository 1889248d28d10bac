//! Policies by their names: `OMPX_SCHED`.

use core::fmt::{Display, Formatter};
use core::str::FromStr;

use crate::online::{EarliestStart, LeastLoaded, RoundRobin};
use crate::planned::Planned;
use crate::policy::PlacementPolicy;

/// The policy that the user chose.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum PlacementChoice {
    /// `least`: locality-weighted least loaded.
    #[default]
    Least,
    /// `rrmc`: round robin.
    RoundRobin,
    /// `estmc`: earliest start.
    EarliestStart,
    /// `heftmc`, with lambda.
    Heft(f64),
    /// `ishmc`, with lambda.
    Insertion(f64),
    /// `manual:FILE`.
    Manual(String),
    /// `library:FILE`.
    Library(String),
}

/// The weight of time where none is given.
pub const LAMBDA: f64 = 1.0;

/// The words, for complaints.
const WORDS: &str =
    "not one of least, rrmc, estmc, heftmc[:lambda=X], ishmc[:lambda=X], manual:FILE, library:FILE";

impl FromStr for PlacementChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, rest) = text.split_once(':').map_or((text, None), |(word, rest)| (word, Some(rest)));
        let alone = |choice: Self| match rest {
            None => Ok(choice),
            Some(rest) => Err(format!("'{rest}' behind '{word}' means nothing")),
        };
        let file = |make: fn(String) -> Self| match rest {
            Some(rest) if !rest.is_empty() => Ok(make(rest.into())),
            _ => Err(format!("{word} needs a file, {word}:FILE")),
        };
        match word.to_ascii_lowercase().as_str() {
            "least" => alone(Self::Least),
            "rrmc" => alone(Self::RoundRobin),
            "estmc" => alone(Self::EarliestStart),
            "heftmc" => weight(rest).map(Self::Heft),
            "ishmc" => weight(rest).map(Self::Insertion),
            "manual" => file(Self::Manual),
            "library" => file(Self::Library),
            _ => Err(WORDS.into()),
        }
    }
}

/// What follows `heftmc:` or `ishmc:`.
fn weight(rest: Option<&str>) -> Result<f64, String> {
    let Some(rest) = rest else { return Ok(LAMBDA) };
    let value = rest.strip_prefix("lambda=").and_then(|number| number.parse().ok());
    value
        .filter(|lambda| (0.0..=1.0).contains(lambda))
        .ok_or(format!("'{rest}' is not lambda= and a number from 0 to 1"))
}

impl Display for PlacementChoice {
    fn fmt(&self, f: &mut Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Least => f.write_str("least"),
            Self::RoundRobin => f.write_str("rrmc"),
            Self::EarliestStart => f.write_str("estmc"),
            Self::Heft(lambda) => write!(f, "heftmc:lambda={lambda}"),
            Self::Insertion(lambda) => write!(f, "ishmc:lambda={lambda}"),
            Self::Manual(file) => write!(f, "manual:{file}"),
            Self::Library(file) => write!(f, "library:{file}"),
        }
    }
}

impl PlacementChoice {
    /// Does it need a graph that is known ahead?
    #[must_use]
    pub fn plans(&self) -> bool {
        matches!(self, Self::Heft(_) | Self::Insertion(_))
    }

    /// The policy; `None` where it is in a file.
    #[must_use]
    pub fn policy(&self) -> Option<Box<dyn PlacementPolicy>> {
        Some(match self {
            Self::Least => Box::new(LeastLoaded::default()),
            Self::RoundRobin => Box::new(RoundRobin::default()),
            Self::EarliestStart => Box::new(EarliestStart::default()),
            &Self::Heft(lambda) => Box::new(Planned::heft(lambda)),
            &Self::Insertion(lambda) => Box::new(Planned::insertion(lambda)),
            Self::Manual(_) | Self::Library(_) => return None,
        })
    }
}
