//! Several ranks in one process, without MPI, for tests: messages are late, and receptions complete
//! in any order.
//!
//! Like MPI it keeps the order of messages of one pair, lane and tag while matching, and promises
//! nothing about the order in which completions are reported. A block is read from the sender's
//! memory only when it is matched, as in a rendezvous. Delays are counted in looks (calls of `poll`
//! by any rank) and drawn from a seed.

use super::{Broken, Completion, Fabric, FabricLane, FabricOutcome};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Barrier, Mutex, MutexGuard, PoisonError};

/// How the carrier behaves.
#[derive(Clone, Copy, Debug)]
pub struct Behaviour {
    /// A message arrives after at most this many looks.
    pub most_delay: u64,
    /// Whether completions of one look are shuffled.
    pub shuffle: bool,
    /// About half of the messages up to this size are copied at once, and their sending is done
    /// then.
    pub most_eager: usize,
    /// Where the random numbers start.
    pub seed: u64,
    /// The largest tag.
    pub most_tag: u32,
}

struct Mail {
    tag: u32,
    from: *const u8,
    length: usize,
    token: u64,
    due: u64,
    /// The bytes, and no completion to come, where the carrier has copied them at once.
    copy: Option<Box<[u8]>>,
}

// SAFETY: the pointer is only read while the sender's operation is under way, which keeps the
// memory alive and unchanged (contract of `Fabric::send`); which thread reads it does not matter.
unsafe impl Send for Mail {}

struct Net {
    behaviour: Behaviour,
    random: u64,
    looks: u64,
    mail: HashMap<(u32, u32, FabricLane), VecDeque<Mail>>,
    sent: Vec<Vec<Completion>>,
    expected: Vec<u64>,
}

impl Net {
    /// xorshift64*; the state is never 0.
    fn draw(&mut self, below: u64) -> u64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) % below.max(1)
    }

    /// The position of mail that `wanted` may take now.
    fn find(&mut self, to: u32, ranks: u32, wanted: &Posted) -> Option<((u32, u32, FabricLane), usize)> {
        let looks = self.looks;
        let sources = wanted.source.map_or((0, ranks), |s| (s, 1));
        let start = self.draw(u64::from(sources.1)) as u32;
        (0..sources.1).find_map(|i| {
            let key = (sources.0 + (start + i) % sources.1, to, wanted.lane);
            let queue = self.mail.get(&key)?;
            // Mail of one tag may not overtake: only the first of the tag counts, and only when it
            // is due.
            let at = queue.iter().position(|m| m.tag == wanted.tag)?;
            (queue[at].due <= looks).then_some((key, at))
        })
    }
}

struct LoopbackWorld {
    net: Mutex<Net>,
    all: Barrier,
}

impl LoopbackWorld {
    fn net(&self) -> MutexGuard<'_, Net> {
        self.net.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Posted {
    lane: FabricLane,
    source: Option<u32>,
    tag: u32,
    into: *mut u8,
    length: usize,
    token: u64,
}

// SAFETY: the pointer is only used by the endpoint that owns it, until the operation completes
// (contract of `Fabric::receive`).
unsafe impl Send for Posted {}

/// One rank.
pub struct Endpoint {
    world: Arc<LoopbackWorld>,
    rank: u32,
    ranks: u32,
    posted: Vec<Posted>,
    cancelled: Vec<Completion>,
}

/// All ranks of a world, in order.
pub fn world(ranks: u32, behaviour: Behaviour) -> Vec<Endpoint> {
    let net = Net {
        behaviour,
        random: behaviour.seed.wrapping_mul(2).wrapping_add(1),
        looks: 0,
        mail: HashMap::new(),
        sent: (0..ranks).map(|_| Vec::new()).collect(),
        expected: vec![0; ranks as usize],
    };
    let world = Arc::new(LoopbackWorld { net: Mutex::new(net), all: Barrier::new(ranks as usize) });
    let end =
        |rank| Endpoint { world: world.clone(), rank, ranks, posted: Vec::new(), cancelled: Vec::new() };
    (0..ranks).map(end).collect()
}

impl Fabric for Endpoint {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn most_tag(&self) -> u32 {
        self.world.net().behaviour.most_tag
    }

    unsafe fn send(
        &mut self,
        lane: FabricLane,
        to: u32,
        tag: u32,
        from: *const u8,
        length: usize,
        token: u64,
    ) -> Result<bool, Broken> {
        let mut net = self.world.net();
        let most = net.behaviour.most_delay + 1;
        let due = net.looks + net.draw(most);
        let eager = length <= net.behaviour.most_eager && net.draw(2) == 0;
        // SAFETY: the caller promises that the bytes are readable; an empty slice may have any
        // pointer but null.
        let copy: Option<Box<[u8]>> =
            (eager && length > 0).then(|| unsafe { core::slice::from_raw_parts(from, length) }.into());
        let (from, done) = copy.as_ref().map_or((from, false), |c| (<[u8]>::as_ptr(c), true));
        net.mail.entry((self.rank, to, lane)).or_default().push_back(Mail {
            tag,
            from,
            length,
            token,
            due,
            copy,
        });
        Ok(done)
    }

    unsafe fn receive(
        &mut self,
        lane: FabricLane,
        source: Option<u32>,
        tag: u32,
        into: *mut u8,
        length: usize,
        token: u64,
    ) -> Result<(), Broken> {
        self.posted.push(Posted { lane, source, tag, into, length, token });
        Ok(())
    }

    fn poll(&mut self, into: &mut Vec<Completion>) -> Result<(), Broken> {
        let mut net = self.world.net();
        net.looks += 1;
        let start = into.len();
        into.append(&mut net.sent[self.rank as usize]);
        into.append(&mut self.cancelled);
        let mut waiting = Vec::new();
        for posted in self.posted.drain(..) {
            let Some((key, at)) = net.find(self.rank, self.ranks, &posted) else {
                waiting.push(posted);
                continue;
            };
            let mail = net
                .mail
                .get_mut(&key)
                .and_then(|q| q.remove(at))
                .ok_or_else(|| Broken("mail vanished".into()))?;
            if mail.length > posted.length {
                return Err(Broken(format!(
                    "{} bytes arrive where {} are expected",
                    mail.length, posted.length
                )));
            }
            // SAFETY: both operations are under way (or the bytes are the mail's own), so both
            // sides' memory is valid for their lengths; a rank does not receive into what it sends.
            unsafe { posted.into.copy_from_nonoverlapping(mail.from, mail.length) };
            let done = |token| Completion {
                token,
                source: key.0,
                length: mail.length,
                outcome: FabricOutcome::Done,
            };
            if mail.copy.is_none() {
                net.sent[key.0 as usize].push(done(mail.token));
            }
            into.push(done(posted.token));
        }
        self.posted = waiting;
        if net.behaviour.shuffle {
            for i in (start + 1..into.len()).rev() {
                let with = start + net.draw((i - start + 1) as u64) as usize;
                into.swap(i, with);
            }
        }
        Ok(())
    }

    fn cancel(&mut self, token: u64) -> Result<(), Broken> {
        let (gone, stay) = self.posted.drain(..).partition(|p| p.token == token);
        self.posted = stay;
        let gone: Vec<Posted> = gone;
        let ended = |p: Posted| Completion {
            token: p.token,
            source: 0,
            length: 0,
            outcome: FabricOutcome::Cancelled,
        };
        self.cancelled.extend(gone.into_iter().map(ended));
        Ok(())
    }

    fn complete(&mut self, sent: &[u64]) -> Result<u64, Broken> {
        {
            let mut net = self.world.net();
            net.expected.iter_mut().zip(sent).for_each(|(sum, n)| *sum += n);
        }
        self.world.all.wait();
        Ok(self.world.net().expected[self.rank as usize])
    }

    fn close(&mut self) -> Result<(), Broken> {
        Ok(())
    }

    fn aborter(&self) -> fn() {
        || std::process::abort()
    }
}
