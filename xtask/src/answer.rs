//! Compares two answers of a program word by word, numbers within a tolerance.
//!
//! Sums that threads add up come in another order each time, so their last digits may differ;
//! everything else must not.

/// Says where `got` first differs from `wanted`, nothing when they agree.
///
/// `tolerance` is relative to the larger magnitude and holds for words with a decimal point or
/// exponent; whole numbers and other words must be equal.
pub fn difference(wanted: &str, got: &str, tolerance: f64) -> Option<String> {
    if wanted.trim().is_empty() {
        return Some("the program gave no answer under its own runtime".into());
    }
    let (mut left, mut right) = (wanted.split_whitespace(), got.split_whitespace());
    loop {
        match (left.next(), right.next()) {
            (None, None) => return None,
            (Some(w), Some(g)) if same(w, g, tolerance) => {}
            (w, g) => {
                return Some(format!("{} instead of {}", g.unwrap_or("nothing"), w.unwrap_or("nothing")));
            }
        }
    }
}

fn same(wanted: &str, got: &str, tolerance: f64) -> bool {
    let real = |w: &str| {
        if w.contains(['.', 'e', 'E']) { w.parse::<f64>().ok() } else { None }
    };
    match (real(wanted), real(got)) {
        (Some(w), Some(g)) => (w - g).abs() <= tolerance * w.abs().max(g.abs()),
        _ => wanted == got,
    }
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn sums_may_differ_in_their_last_digits_only() {
        assert_eq!(difference("sum 1.0000000001 n 3", "sum 1.0000000002 n 3", 1e-8), None);
        assert!(difference("sum 1.0001", "sum 1.0002", 1e-8).is_some());
        assert!(difference("n 3", "n 4", 1.0).is_some());
    }

    #[test]
    fn a_missing_word_is_a_difference() {
        assert!(difference("a b", "a", 1.0).is_some());
        assert!(difference("a", "a b", 1.0).is_some());
        assert!(difference("", "", 1.0).is_some());
    }
}
