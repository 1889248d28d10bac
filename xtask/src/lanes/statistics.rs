//! Medians, and how sure a ratio of pairs is.
//!
//! The interval is a percentile bootstrap of the median of the pairs' ratios: neighbours in time
//! share the machine's noise, so their ratio is steadier than either figure. The generator has a
//! fixed seed: the same samples give the same interval.

/// Resamples of a bootstrap.
const RESAMPLES: usize = 4000;

/// Fewer pairs than this say nothing about their spread.
const LEAST_PAIRS: usize = 3;

/// A ratio with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// Median of the pairs' ratios.
    pub median: f64,
    /// Bounds of the 95 % confidence interval; nothing with fewer than three pairs.
    pub interval: Option<(f64, f64)>,
}

/// The middle value, or the mean of the two middle ones. Not a number without values.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        len => (sorted[(len - 1) / 2] + sorted[len / 2]) / 2.0,
    }
}

/// The ratio of pairs (ours, theirs). Nothing without pairs.
pub fn ratio(pairs: &[(f64, f64)]) -> Option<Ratio> {
    let ratios: Vec<f64> = pairs.iter().map(|(ours, theirs)| ours / theirs).collect();
    (!ratios.is_empty()).then(|| Ratio {
        median: median(&ratios),
        interval: (ratios.len() >= LEAST_PAIRS).then(|| bootstrap(&ratios)),
    })
}

/// Bounds between which 95 % of the medians of resampled values lie.
fn bootstrap(values: &[f64]) -> (f64, f64) {
    let mut state = 0x5eed;
    let mut medians: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let pick = |_: &f64| values[(next(&mut state) % values.len() as u64) as usize];
            median(&values.iter().map(pick).collect::<Vec<f64>>())
        })
        .collect();
    medians.sort_by(f64::total_cmp);
    let at = |share: f64| medians[(share * (RESAMPLES - 1) as f64).round() as usize];
    (at(0.025), at(0.975))
}

/// SplitMix64 (Steele, Lea, Flood 2014).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn the_generator_gives_the_published_numbers() {
        let mut state = 1_234_567;
        assert_eq!(next(&mut state), 6_457_827_717_110_365_317);
        assert_eq!(next(&mut state), 3_203_168_211_198_807_973);
    }

    #[test]
    fn few_pairs_have_no_interval_and_none_have_no_ratio() {
        assert_eq!(ratio(&[]), None);
        let two = ratio(&[(2.0, 1.0), (4.0, 1.0)]).unwrap();
        assert_eq!((two.median, two.interval), (3.0, None));
    }

    #[test]
    fn the_interval_holds_the_median_and_stays_within_the_samples() {
        let pairs = [1.0, 1.1, 1.2, 1.3, 9.0].map(|ours| (ours, 1.0));
        let found = ratio(&pairs).unwrap();
        let (low, high) = found.interval.unwrap();
        assert!((1.0..=1.2).contains(&low) && (1.2..=9.0).contains(&high));
        assert_eq!(found, ratio(&pairs).unwrap(), "the seed is fixed");
    }

    #[test]
    fn equal_ratios_have_an_interval_of_no_width() {
        let pairs = [(2.0, 4.0), (1.0, 2.0), (3.0, 6.0)];
        assert_eq!(ratio(&pairs).unwrap().interval, Some((0.5, 0.5)));
    }

    #[test]
    fn more_samples_make_the_interval_narrower() {
        let spread = |count: u32| {
            let pairs: Vec<(f64, f64)> = (0..count).map(|i| (f64::from(i % 5) + 1.0, 1.0)).collect();
            let (low, high) = ratio(&pairs).unwrap().interval.unwrap();
            high - low
        };
        assert!(spread(200) < spread(5));
    }
}
