//! The kernel's notation for sets of processors: `0-3,8,10-11`, with optional strides as in
//! `0-14:2/4`.

/// The numbers in `text`, in the order given; what cannot be parsed is left out, since the kernel
/// wrote it and a newer notation is no reason to give up. At most [`LIMIT`] numbers per range.
pub fn parse(text: &str) -> Vec<usize> {
    text.trim().split(',').filter_map(range).flatten().collect()
}

/// As [`parse`], but `None` if anything in `text` cannot be understood, nothing is in it, or more
/// than [`LIMIT`] numbers are.
pub fn parse_strictly(text: &str) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    for part in text.trim().split(',') {
        numbers.extend(range(part)?);
        if numbers.len() > LIMIT {
            return None;
        }
    }
    Some(numbers).filter(|numbers| !numbers.is_empty())
}

/// No machine has more processors; a corrupt file must not make us allocate.
const LIMIT: usize = 1 << 20;

fn range(part: &str) -> Option<Vec<usize>> {
    let (bounds, stride) = part.trim().split_once(':').unwrap_or((part.trim(), "1/1"));
    let (first, last) = bounds.split_once('-').unwrap_or((bounds, bounds));
    let (first, last) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
    let (used, group) = stride.split_once('/')?;
    let (used, group) = (used.parse::<usize>().ok()?, group.parse::<usize>().ok()?);
    if group == 0 || last.checked_sub(first)? >= LIMIT {
        return None;
    }
    Some((first..=last).filter(|number| (number - first) % group < used).collect())
}

#[cfg(test)]
mod tests {
    use super::{parse, parse_strictly};

    #[test]
    fn lists_as_the_kernel_writes_them() {
        let table: [(&str, &[usize]); 9] = [
            ("0\n", &[0]),
            ("0-3\n", &[0, 1, 2, 3]),
            ("0-1,8,10-11\n", &[0, 1, 8, 10, 11]),
            ("0-7:1/4", &[0, 4]),
            ("0-7:2/4", &[0, 1, 4, 5]),
            ("\n", &[]),
            ("3-1", &[]),
            ("0,x,2", &[0, 2]),
            ("0-99999999999", &[]),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text), expected, "{text:?}");
        }
    }

    #[test]
    fn strictly_all_or_nothing() {
        assert_eq!(parse_strictly("0-2,8\n"), Some(vec![0, 1, 2, 8]));
        let long = vec!["0-999999"; 100_000].join(",");
        for wrong in [&long, "", "\n", "3-1", "0,x,2", "0,,1", "0-3:0/2", "0-1:1/0"] {
            assert_eq!(parse_strictly(wrong), None, "{wrong:?}");
        }
    }
}
