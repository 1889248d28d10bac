//! Transfers that this rank has begun: blocks, puts and gets, numbered by tickets.
//!
//! The tag of a transfer's MPI messages is made from its ticket, so that no two transfers of one
//! rank that are under way share a tag.

use crate::table::Done;

/// What a transfer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferKind {
    /// Memory of this rank goes to another.
    Out,
    /// As `Out`, and the bytes went along in the frame: never started, and over as soon as the
    /// other rank says so, which may be at once.
    OutInline,
    /// Memory of another rank comes here.
    In,
}

/// A transfer.
#[derive(Debug)]
pub struct Transfer {
    /// The other rank.
    pub peer: u32,
    /// What it is.
    pub way: TransferKind,
    /// Local memory.
    pub local: *mut u8,
    /// Its size.
    pub bytes: u64,
    /// The other rank's memory, for a get.
    pub remote: u64,
    /// Whom to tell.
    pub done: Done,
    /// MPI messages that have not completed.
    pub left: u32,
    /// What the other rank says about it.
    pub verdict: Option<i32>,
}

// SAFETY: the memory is the caller's, who has promised that it may be used until `done` is called,
// by whatever thread makes progress; the same holds for what `done` points to.
unsafe impl Send for Transfer {}

/// All transfers of this rank.
#[derive(Debug)]
pub struct TransferSlots {
    list: Vec<Option<Transfer>>,
    free: Vec<u32>,
    most: u32,
}

impl TransferSlots {
    /// Tickets 0..`most`.
    pub fn new(most: u32) -> Self {
        Self { list: Vec::new(), free: Vec::new(), most }
    }

    /// A ticket for `transfer`; `None` when all are in use.
    pub fn take(&mut self, transfer: Transfer) -> Option<u32> {
        let ticket = match self.free.pop() {
            Some(ticket) => ticket,
            None if (self.list.len() as u32) < self.most => {
                self.list.push(None);
                self.list.len() as u32 - 1
            }
            None => return None,
        };
        self.list[ticket as usize] = Some(transfer);
        Some(ticket)
    }

    /// The transfer with this ticket.
    pub fn get(&mut self, ticket: u32) -> Option<&mut Transfer> {
        self.list.get_mut(ticket as usize)?.as_mut()
    }

    /// Takes the transfer out; its ticket is free then.
    pub fn remove(&mut self, ticket: u32) -> Option<Transfer> {
        let transfer = self.list.get_mut(ticket as usize)?.take()?;
        self.free.push(ticket);
        Some(transfer)
    }

    /// Transfers under way.
    pub fn count(&self) -> usize {
        self.list.len() - self.free.len()
    }
}
