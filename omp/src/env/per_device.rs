//! Variables of single devices: `<NAME>_DEV` and `<NAME>_DEV_<n>` (OpenMP 5.2 §3.2), and those that
//! 6.0 added. Devices share the host's settings, so these change nothing; a value that no device
//! could take gives its line all the same, because such a value is a mistake on every machine.

use super::allocator::allocator;
use super::named::named;
use super::places::places;
use super::types::WaitPolicy;
use super::value::{boolean, count, count_list, integer, proc_bind, schedule, size};
use super::vars::VariableReader;

/// Checks a value and forgets it.
type Check = fn(&str) -> Result<(), String>;

/// The variables that each device has its own value of. Those not here are global and have no such
/// forms.
const PER_DEVICE: [(&str, Check); 14] = [
    ("OMP_NUM_THREADS", |t| count_list(t).map(drop)),
    ("OMP_DYNAMIC", |t| boolean(t).map(drop)),
    ("OMP_NESTED", |t| boolean(t).map(drop)),
    ("OMP_MAX_ACTIVE_LEVELS", |t| count(0)(t).map(drop)),
    ("OMP_THREAD_LIMIT", |t| count(1)(t).map(drop)),
    ("OMP_SCHEDULE", |t| schedule(t).map(drop)),
    ("OMP_PROC_BIND", |t| proc_bind(t).map(drop)),
    ("OMP_PLACES", |t| places(t).map(drop)),
    ("OMP_STACKSIZE", |t| size(b'K')(t).map(drop)),
    ("OMP_WAIT_POLICY", |t| named::<WaitPolicy>(t).map(drop)),
    ("OMP_NUM_TEAMS", |t| count(1)(t).map(drop)),
    ("OMP_TEAMS_THREAD_LIMIT", |t| count(1)(t).map(drop)),
    ("OMP_DEFAULT_DEVICE", |t| integer(-1)(t).map(drop)),
    ("OMP_ALLOCATOR", |t| allocator(t).map(drop)),
];

/// What may follow `_DEV` in a variable's name, in bytes.
const LONGEST_NUMBER: usize = 32;

/// Reads them all, for their mistakes.
pub(super) fn check(r: &mut VariableReader<'_>) {
    let instead = "it has no effect here";
    for (name, device, check) in forms(r) {
        r.read(&name, instead, |text| device.and_then(|()| check(text)));
    }
    r.read("OMP_AVAILABLE_DEVICES", instead, device_list);
}

/// The `_DEV` forms that are set: name, whether what follows `_DEV` is a device number, and how the
/// value is checked.
fn forms(r: &VariableReader<'_>) -> Vec<(String, Result<(), String>, Check)> {
    let form = |name: &str| {
        // A name that would fill a line by itself is no such form.
        let (base, rest) = name
            .rsplit_once("_DEV")
            .filter(|(base, rest)| *base != "OMP_DEFAULT" && rest.len() <= LONGEST_NUMBER)?;
        let &(_, check) = PER_DEVICE.iter().find(|(known, _)| *known == base)?;
        let device = match rest.strip_prefix('_') {
            _ if rest.is_empty() => Ok(()),
            Some(number) => {
                integer(0)(number).map(drop).map_err(|_| format!("'{number}' is no device number"))
            }
            None => return None,
        };
        Some((name.to_owned(), device, check))
    };
    r.vars.iter().filter_map(|(name, _)| form(name)).collect()
}

/// `OMP_AVAILABLE_DEVICES`: a list of device numbers, `*`, and conditions on traits; that it is a
/// list with closed brackets.
fn device_list(text: &str) -> Result<(), String> {
    let mut open = Vec::new();
    for c in text.chars() {
        match c {
            '(' | '[' => open.push(c),
            ')' | ']' if open.pop() != Some(if c == ')' { '(' } else { '[' }) => {
                return Err("its brackets do not match".into());
            }
            _ => {}
        }
    }
    if !open.is_empty() {
        return Err("its brackets do not match".into());
    }
    let item = |item: &str| {
        let item = item.trim();
        let word = |c: char| c.is_ascii_alphanumeric() || "_-:&|()[]*\"' ".contains(c);
        !item.is_empty() && item.chars().all(|c| word(c) || c == '!' && item.len() > 1)
    };
    if text.split(',').all(item) { Ok(()) } else { Err("not a list of devices".into()) }
}

#[cfg(test)]
mod tests {
    use super::super::build::tests::{build, good};
    use super::*;

    #[test]
    fn each_form_for_devices_is_checked_and_changes_nothing() {
        for (name, _) in PER_DEVICE {
            for form in [format!("{name}_DEV"), format!("{name}_DEV_0"), format!("{name}_DEV_12")] {
                let (settings, lines) = build(&[(&form, "rubbish!")]);
                assert_eq!(settings.initial, good(&[]).initial, "{form}");
                assert!(
                    lines.len() == 1 && lines[0].starts_with(&format!("{form}='rubbish!': ")),
                    "{lines:?}"
                );
            }
        }
        let right = [
            ("OMP_NUM_THREADS_DEV", "4,2"),
            ("OMP_NUM_THREADS_DEV_1", "7"),
            ("OMP_SCHEDULE_DEV", "dynamic,3"),
            ("OMP_DEFAULT_DEVICE_DEV_0", "1"),
            ("OMP_ALLOCATOR_DEV", "omp_const_mem_alloc"),
        ];
        assert_eq!(good(&right).initial, good(&[]).initial);
    }

    #[test]
    fn what_follows_dev_is_a_device_number() {
        let (_, lines) = build(&[("OMP_DYNAMIC_DEV_one", "true")]);
        assert_eq!(lines, ["OMP_DYNAMIC_DEV_one='true': 'one' is no device number; it has no effect here"]);
        // Global variables have no such forms, and other names are other people's.
        good(&[
            ("OMP_CANCELLATION_DEV", "rubbish!"),
            ("OMP_DYNAMIC_DEVICE", "rubbish!"),
            ("OMP_DEVELOPER", "me"),
        ]);
    }

    #[test]
    fn variables_of_6_0() {
        for list in ["*", "0,2", "kind(gpu)", "!uid(\"x y\") && vendor(nvidia),*", "*[2:2]"] {
            good(&[("OMP_AVAILABLE_DEVICES", list)]);
        }
        for text in ["3", "structured(2)", "free_agent(4), structured", "STRUCTURED"] {
            good(&[("OMP_THREADS_RESERVE", text)]);
        }
        let wrong = [
            ("OMP_AVAILABLE_DEVICES", "kind(gpu"),
            ("OMP_AVAILABLE_DEVICES", "1,,2"),
            ("OMP_AVAILABLE_DEVICES", "!"),
            ("OMP_AVAILABLE_DEVICES", "a)b("),
            ("OMP_THREADS_RESERVE", "agents(2)"),
            ("OMP_THREADS_RESERVE", "structured(x)"),
            ("OMP_THREADS_RESERVE", "-1"),
        ];
        for (name, text) in wrong {
            assert_eq!(build(&[(name, text)]).1.len(), 1, "{name}={text}");
        }
    }
}
