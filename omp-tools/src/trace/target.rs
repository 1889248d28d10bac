//! The name of the trace's file: `%p` is the process, `%r` the rank (nothing where there are no
//! ranks), `%%` a percent sign.
//!
//! Ranks that are given one name all the same write a file each: the rank goes before the last dot.

/// Does the name differ from process to process?
pub fn notifies_processes_apart(name: &str) -> bool {
    name.replace("%%", "").contains("%p")
}

/// The file of this process.
pub fn path(name: &str) -> String {
    expand(name, std::process::id(), rank(&|variable| std::env::var(variable).ok()))
}

/// As launchers tell their processes.
fn rank(var: &dyn Fn(&str) -> Option<String>) -> Option<u32> {
    ["OMPI_COMM_WORLD_RANK", "PMI_RANK"].into_iter().find_map(|name| var(name)?.parse().ok())
}

fn expand(name: &str, process: u32, rank: Option<u32>) -> String {
    let mut path = String::new();
    let mut letters = name.chars();
    let mut is_apart = false;
    while let Some(letter) = letters.next() {
        match (letter, letter == '%') {
            (_, false) => path.push(letter),
            (_, true) => match letters.next() {
                Some('p') => (path, is_apart) = (path + &process.to_string(), true),
                Some('r') => (path, is_apart) = (path + &rank.map_or(String::new(), |r| r.to_string()), true),
                Some('%') | None => path.push('%'),
                Some(other) => path.extend(['%', other]),
            },
        }
    }
    match rank {
        Some(rank) if !is_apart => before_dot(&path, rank),
        _ => path,
    }
}

/// The file of this process where another process writes the file `path`.
pub fn apart(path: &str) -> String {
    before_dot(path, std::process::id())
}

fn before_dot(path: &str, number: u32) -> String {
    let name = path.rfind('/').map_or(0, |slash| slash + 1);
    match path[name..].rfind('.').filter(|&dot| dot > 0) {
        Some(dot) => format!("{}.{number}{}", &path[..name + dot], &path[name + dot..]),
        None => format!("{path}.{number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_processes_and_ranks_apart() {
        assert_eq!(expand("a.json", 7, None), "a.json");
        assert_eq!(expand("a-%p-%r.json", 7, Some(3)), "a-7-3.json");
        assert_eq!(expand("a%r.json", 7, None), "a.json");
        assert_eq!(expand("d.d/a.json", 7, Some(3)), "d.d/a.3.json");
        assert_eq!(expand("d.d/a", 7, Some(3)), "d.d/a.3");
        assert_eq!(expand("100%%p%x%", 7, None), "100%p%x%");
        assert!(
            notifies_processes_apart("a%p")
                && !notifies_processes_apart("a%%p")
                && !notifies_processes_apart("a%r")
        );
    }

    #[test]
    fn both_kinds_of_launchers_are_known() {
        let with = |known: &'static str| rank(&move |name| (name == known).then(|| "5".to_owned()));
        assert_eq!([with("OMPI_COMM_WORLD_RANK"), with("PMI_RANK"), with("OTHER")], [Some(5), Some(5), None]);
    }
}
