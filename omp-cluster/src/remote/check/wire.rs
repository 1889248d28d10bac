//! What a rank says of itself, as messages: several, where one is too small for all waits.

use crate::rank::wire::WireReader;
use omp::extension::check::{AwaitedMessage, MessageEnd};
use omp_tools::check::thing::{Occurrence, RankNeed, RankSample, RankWait};
use omp_tools::check::words::MOST_TEXT;

/// Of a wait that many things at most are said; the others are left out, so that a cycle over those
/// is not found.
pub const MOST_NEEDS: usize = 8;
const MOST_GIVES: usize = 8;
/// Waits in one message.
const WAITS: usize = 12;

/// The most bytes of a message.
const LARGEST: usize =
    8 * (10 + WAITS * (4 + 3 * (MOST_GIVES + MOST_NEEDS))) + WAITS * (1 + MOST_NEEDS) * (MOST_TEXT + 1);
const _: () = assert!(LARGEST < 15 << 10);

/// One message of some: its words, and its text, which is a line for each wait and one for each of
/// its needs.
pub type ReportMessage = (Vec<u64>, String);

/// The messages that say it, in answer to question `round`.
pub fn written(round: u64, sample: &RankSample) -> Vec<ReportMessage> {
    let s = sample;
    let parts: Vec<&[RankWait]> =
        if s.waits.is_empty() { vec![&[]] } else { s.waits.chunks(WAITS).collect() };
    let of = parts.len() as u64;
    let part = |(at, waits): (usize, &&[RankWait])| {
        let mut words = vec![
            round,
            at as u64,
            of,
            s.runs.into(),
            s.sent,
            s.handled,
            s.transfers,
            s.taken,
            s.more,
            waits.len() as u64,
        ];
        let mut text = String::new();
        for wait in *waits {
            write(wait, &mut words, &mut text);
        }
        (words, text)
    };
    parts.iter().enumerate().map(part).collect()
}

fn write(wait: &RankWait, words: &mut Vec<u64>, text: &mut String) {
    let (gives, needs) = (wait.gives.iter().take(MOST_GIVES), wait.needs.iter().take(MOST_NEEDS));
    words.extend([wait.number, wait.is_code.into(), gives.len() as u64, needs.len() as u64]);
    words.extend(gives.flat_map(|&thing| occurrence_words(thing)));
    words.extend(needs.clone().flat_map(|need| need.thing.map_or([0; 3], occurrence_words)));
    text.extend([&wait.who, "\n"]);
    text.extend(needs.flat_map(|need| [&need.what, "\n"]));
}

/// As words of a message; the kinds of [`super::occurrence`] come before those below.
fn occurrence_words(occurrence: Occurrence) -> [u64; 3] {
    let (kind, [a, b]) = match occurrence {
        Occurrence::OfRanks { kind, name } => (kind, name),
        Occurrence::Message(AwaitedMessage { rank, tag, end }) => {
            (6 + end as u64, [u64::from(rank as u32), u64::from(tag as u32)])
        }
        Occurrence::Lock(rank, address) => (9, [rank.into(), address]),
        Occurrence::Set(rank, address) => (10, [rank.into(), address]),
        Occurrence::Task(rank, address) => (11, [rank.into(), address]),
    };
    [kind, a, b]
}

/// The inverse; none of words that say nothing.
fn occurrence_of_words([kind, a, b]: [u64; 3]) -> Option<Occurrence> {
    Some(match kind {
        1..=5 => Occurrence::OfRanks { kind, name: [a, b] },
        6..=8 => Occurrence::Message(AwaitedMessage {
            rank: a as u32 as i32,
            tag: b as u32 as i32,
            end: MessageEnd::from_number(kind as i32 - 6),
        }),
        9 => Occurrence::Lock(a as u32, b),
        10 => Occurrence::Set(a as u32, b),
        11 => Occurrence::Task(a as u32, b),
        _ => return None,
    })
}

/// What has come of the messages of a rank.
#[derive(Debug, Default)]
pub struct ReceivedReport {
    parts: Vec<Option<Vec<RankWait>>>,
    sample: RankSample,
}

impl ReceivedReport {
    /// Takes one message in, behind the word of its round.
    pub fn take(&mut self, mut reader: WireReader<'_>) {
        let [at, of, runs, sent, handled, transfers, taken, more, count]: [u64; 9] =
            core::array::from_fn(|_| reader.word());
        self.parts.resize_with(of as usize, || None);
        self.sample =
            RankSample { runs: runs != 0, sent, handled, transfers, taken, waits: Vec::new(), more };
        if let Some(part) = self.parts.get_mut(at as usize) {
            *part = Some(read(reader, count as usize));
        }
    }

    /// All of it, once it is all there.
    pub fn whole(&self) -> Option<RankSample> {
        let parts =
            self.parts.iter().cloned().collect::<Option<Vec<_>>>().filter(|parts| !parts.is_empty())?;
        Some(RankSample { waits: parts.concat(), ..self.sample.clone() })
    }
}

fn read(mut reader: WireReader<'_>, count: usize) -> Vec<RankWait> {
    let mut waits: Vec<RankWait> = (0..count.min(WAITS)).map(|_| wait(&mut reader)).collect();
    let text = String::from_utf8_lossy(reader.0);
    let mut lines = text.lines();
    let mut next = || lines.next().unwrap_or_default().to_string();
    for wait in &mut waits {
        wait.who = next();
        wait.needs.iter_mut().for_each(|need| need.what = next());
    }
    waits
}

fn wait(reader: &mut WireReader<'_>) -> RankWait {
    let [number, is_code, gives, needs]: [u64; 4] = core::array::from_fn(|_| reader.word());
    let mut thing = || occurrence_of_words(core::array::from_fn(|_| reader.word()));
    let gives = (0..gives.min(MOST_GIVES as u64)).filter_map(|_| thing()).collect();
    let needs =
        (0..needs.min(MOST_NEEDS as u64)).map(|_| RankNeed { thing: thing(), what: String::new() }).collect();
    RankWait { number, is_code: is_code != 0, gives, needs, who: String::new() }
}

#[cfg(test)]
mod tests {
    use super::super::occurrence::RankOccurrence;
    use super::*;
    use crate::rank::wire::bytes;
    use crate::remote::RemoteHandle;

    #[test]
    fn what_is_said_is_heard() {
        let handle = RemoteHandle { rank: 70_000, id: u32::MAX, generation: 1 << 50 };
        let message = |rank, tag, end| Occurrence::Message(AwaitedMessage { rank, tag, end });
        let things = [
            RankOccurrence::Value(handle),
            RankOccurrence::Execution(handle),
            RankOccurrence::Transfer(5, u64::MAX),
            RankOccurrence::Object(handle),
            RankOccurrence::Hold(7, 1 << 40),
        ]
        .map(Occurrence::from);
        let local = [Occurrence::Lock(1, 1 << 50), Occurrence::Set(2, 3), Occurrence::Task(4, u64::MAX)];
        for thing in things.into_iter().chain(local).chain([
            message(-1, -1, MessageEnd::Unknown),
            message(-1, -1, MessageEnd::Receives),
            message(3, i32::MAX, MessageEnd::Sends),
        ]) {
            assert_eq!(occurrence_of_words(occurrence_words(thing)), Some(thing));
        }
        assert_eq!(occurrence_of_words([0; 3]), None);
    }

    fn heard(parts: &[ReportMessage]) -> Vec<Option<RankSample>> {
        let mut heard = ReceivedReport::default();
        let take = |(words, text): &ReportMessage| {
            let mut message = bytes(words).to_vec();
            message.extend_from_slice(text.as_bytes());
            assert!(message.len() <= LARGEST);
            let mut reader = WireReader(&message);
            assert_eq!(reader.word(), 11);
            heard.take(reader);
            heard.whole()
        };
        parts.iter().map(take).collect()
    }

    #[test]
    fn what_is_written_is_read() {
        let handle = |id| RemoteHandle { rank: 3, id, generation: 9 };
        let need = |at: u64| RankNeed {
            thing: at.is_multiple_of(2).then_some(RankOccurrence::Value(handle(at as u32)).into()),
            what: format!("what {at}"),
        };
        let wait = |number: u64| RankWait {
            number,
            is_code: number.is_multiple_of(3),
            gives: (0..number % 3).map(|at| RankOccurrence::Transfer(1, at).into()).collect(),
            needs: (0..number % 5).map(need).collect(),
            who: format!("who {number}"),
        };
        let sample = |waits: u64| RankSample {
            runs: true,
            sent: 1,
            handled: 2,
            transfers: 3,
            taken: 4,
            waits: (0..waits).map(wait).collect(),
            more: 7,
        };
        for waits in [0, 1, WAITS as u64, 100] {
            let parts = written(11, &sample(waits));
            let mut looks = heard(&parts);
            assert_eq!(looks.pop().flatten(), Some(sample(waits)));
            assert!(looks.iter().all(Option::is_none), "not before all is there");
            let backwards: Vec<ReportMessage> = parts.into_iter().rev().collect();
            assert_eq!(heard(&backwards).pop().flatten(), Some(sample(waits)), "in any order");
        }
    }

    #[test]
    fn much_is_left_out() {
        let thing = RankOccurrence::Hold(1, 2).into();
        let needs = vec![RankNeed { thing: Some(thing), what: "x".repeat(MOST_TEXT) }; 100];
        let wait = RankWait {
            number: 1,
            is_code: false,
            gives: vec![thing; 100],
            needs,
            who: "y".repeat(MOST_TEXT),
        };
        let sample = RankSample { waits: vec![wait; 30], ..RankSample::default() };
        let whole = heard(&written(11, &sample)).pop().flatten().expect("all of it");
        assert!(
            whole.waits.len() == 30
                && whole
                    .waits
                    .iter()
                    .all(|wait| wait.needs.len() == MOST_NEEDS && wait.gives.len() == MOST_GIVES)
        );
    }
}
