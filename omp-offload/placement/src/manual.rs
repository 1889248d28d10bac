//! A placement written by hand, in the grammar of XSCALA (figure 5.11): `<tasks> <rank> <kind of
//! device> <number of the device>` a line, tasks by number, separated by commas, ranges with a
//! hyphen; `CPU`, `GPU` or `ACCEL`. What follows a `#` is a remark.
//!
//! ```text
//! # tasks  rank  device
//! 0-9      0     CPU 0
//! 11,13    1     GPU 0
//! ```

use core::ops::RangeInclusive;

/// A kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManualKind {
    /// The processors of a rank.
    Cpu,
    /// A GPU.
    Gpu,
    /// Something else.
    Accelerator,
}

/// Some tasks and where they are to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManualLine {
    /// The tasks.
    pub tasks: Vec<RangeInclusive<usize>>,
    /// The rank.
    pub rank: usize,
    /// What kind of device of it.
    pub kind: ManualKind,
    /// Which of that kind.
    pub number: usize,
}

/// Numbers of tasks beyond this one are taken for mistakes, and so is a file that names more than a
/// few times as many.
const MOST: usize = 1 << 20;
const MOST_NAMED: usize = 1 << 24;

/// Reads a file's text.
///
/// # Errors
/// Which line is wrong, and why.
pub fn parse(text: &str) -> Result<Vec<ManualLine>, String> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default()).enumerate();
    let lines = lines.filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(at, text)| line(text).map_err(|why| format!("line {}: {why}", at + 1))).collect()
}

fn line(text: &str) -> Result<ManualLine, String> {
    // Blanks may stand around commas and hyphens.
    let words: Vec<&str> = text.split_whitespace().collect();
    let [tasks @ .., rank, kind, number] = &words[..] else {
        return Err("not tasks, rank, kind and number of a device".into());
    };
    let kind = match *kind {
        "CPU" => ManualKind::Cpu,
        "GPU" => ManualKind::Gpu,
        "ACCEL" => ManualKind::Accelerator,
        other => return Err(format!("'{other}' is not CPU, GPU or ACCEL")),
    };
    let tasks: Result<Vec<_>, String> =
        tasks.concat().split(',').filter(|t| !t.is_empty()).map(range).collect();
    let tasks = tasks.and_then(|t| if t.is_empty() { Err("no task".into()) } else { Ok(t) })?;
    Ok(ManualLine { tasks, rank: whole(rank)?, kind, number: whole(number)? })
}

fn whole(text: &str) -> Result<usize, String> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|&n| digits && n < MOST).ok_or(format!("'{text}' is not a number"))
}

fn range(text: &str) -> Result<RangeInclusive<usize>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let range = whole(first)?..=whole(last)?;
    if range.is_empty() { Err(format!("'{text}' goes backwards")) } else { Ok(range) }
}

/// Per task its device, as `device` knows them by rank, kind and number. Of several lines for a
/// task the last one counts.
///
/// # Errors
/// A device that is not there; more tasks than anybody can have meant.
pub fn devices(
    lines: &[ManualLine],
    device: impl Fn(usize, ManualKind, usize) -> Option<usize>,
) -> Result<Vec<Option<usize>>, String> {
    let named: usize =
        lines.iter().flat_map(|line| &line.tasks).map(|range| range.end() - range.start() + 1).sum();
    if named > MOST_NAMED {
        return Err(format!("{named} tasks are too many"));
    }
    let mut all = Vec::new();
    for line in lines {
        let found = device(line.rank, line.kind, line.number);
        let found = found
            .ok_or(format!("rank {} has no such device ({:?} {})", line.rank, line.kind, line.number))?;
        for task in line.tasks.iter().cloned().flatten() {
            if all.len() <= task {
                all.resize(task + 1, None);
            }
            all[task] = Some(found);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_is_read() {
        let text = "# TaskID Rank Device\n0 0 GPU 0\n1,3,11 0 CPU 0\n\n2 , 4 1 GPU 1 # two\n5-10 2 ACCEL 0\n";
        let lines = parse(text).expect("right");
        assert_eq!(lines.len(), 4);
        assert_eq!(
            lines[1],
            ManualLine { tasks: vec![1..=1, 3..=3, 11..=11], rank: 0, kind: ManualKind::Cpu, number: 0 }
        );
        assert_eq!(
            lines[2],
            ManualLine { tasks: vec![2..=2, 4..=4], rank: 1, kind: ManualKind::Gpu, number: 1 }
        );
        assert_eq!(
            lines[3],
            ManualLine { tasks: vec![5..=10], rank: 2, kind: ManualKind::Accelerator, number: 0 }
        );
        let by_task = devices(&lines, |rank, _, number| Some(10 * rank + number)).expect("all there");
        assert_eq!(by_task[..6], [Some(0), Some(0), Some(11), Some(0), Some(11), Some(20)]);
        assert_eq!(
            devices(&lines, |rank, _, _| (rank < 2).then_some(0)),
            Err("rank 2 has no such device (Accelerator 0)".into())
        );
    }

    #[test]
    fn a_file_may_not_name_all_tasks_again_and_again() {
        let text = format!("{} 0 CPU 0", vec!["0-1048575"; 100_000].join(","));
        let lines = parse(&text).expect("right");
        assert_eq!(devices(&lines, |_, _, _| Some(0)), Err("104857600000 tasks are too many".into()));
    }

    #[test]
    fn mistakes_are_named() {
        let wrong = [
            ("GPU 0", "line 1: not tasks, rank, kind and number of a device"),
            ("\n0 0 FPGA 0", "line 2: 'FPGA' is not CPU, GPU or ACCEL"),
            ("5-2 0 CPU 0", "line 1: '5-2' goes backwards"),
            ("x 0 CPU 0", "line 1: 'x' is not a number"),
            ("1 +0 CPU 0", "line 1: '+0' is not a number"),
            (", 0 CPU 0", "line 1: no task"),
        ];
        for (text, why) in wrong {
            assert_eq!(parse(text), Err(why.to_string()));
        }
    }
}
