//! Finds the caller of the code that a signal has interrupted, by the call frame information of the
//! C library and of the kernel's own object.
//!
//! Only these two objects are used. They are never unloaded, all of their code is described, and
//! most of it simply. One step reads the tables where they are mapped; it allocates nothing and
//! takes no lock, so it may be made in a signal handler. The step finds the caller's instruction
//! pointer, stack pointer and callee-saved registers. If a frame needs more than that (expressions,
//! values in other registers), the search ends.
//!
//! What may not live here: which functions may be left ([`super::leaf`]).
//!
//! Sources: System V ABI, AMD64 supplement, 3.6.2 and 4.2.4; Linux Standard Base 5.0, 10.6
//! (`.eh_frame`, `.eh_frame_hdr`); DWARF 5, 6.4.2.
//!
//! Rejected:
//! * The unwinder of the compiler's library. It asks the loader for its list of objects, and with
//!   older C libraries it waits for the loader's lock.
//! * Words on the stack that look like return addresses. If the caller is not the program, code
//!   that the handler leaves may never be resumed, so a guess is not enough.
use core::ops::Range;

use super::spin::KEPT;
use crate::sys::objects::LoadedObject;

/// A part of an object's code, and the table that describes its frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Described {
    code: (usize, usize),
    table: usize,
}

impl Described {
    /// The executable parts of `object`, if it has a sorted table.
    pub(super) fn parts(object: &LoadedObject) -> impl Iterator<Item = Described> {
        let table = object.frames().filter(|&table| is_sorted(table));
        table.into_iter().flat_map(move |table| object.code().map(move |code| Described { code, table }))
    }

    /// The function of `object` that begins at `start`, as a part of its own.
    pub(super) fn function(object: &LoadedObject, start: usize) -> Option<(usize, Described)> {
        let table = object.frames().filter(|&table| is_sorted(table))?;
        // SAFETY: the table belongs to a mapped object.
        let (entry, _) = unsafe { find(table, start) }?;
        (entry.start == start).then_some((start, Described { code: (start, start + entry.length), table }))
    }

    pub(super) fn contains(&self, address: usize) -> bool {
        (self.code.0..self.code.1).contains(&address)
    }
}

/// Numbers, in the tables, of the callee-saved registers that are followed: RBX, RBP and R12 to
/// R15. Given: by the ABI.
const NUMBERS: [u8; KEPT] = [3, 6, 12, 13, 14, 15];
/// Index of RBP in `NUMBERS`. Derived: from `NUMBERS`.
pub(super) const RBP: usize = 1;
/// Number of the stack pointer in the tables. Given: by the ABI.
const RSP: u8 = 7;
/// Number of the column for the return address. Given: by the ABI.
const RETURN: u8 = 16;
/// Bytes of the largest frame of the C library that is looked through. Chosen: larger than the
/// frames of the functions in `leaf`; any value from 16 KiB to 256 KiB will do.
const LARGEST_FRAME_BYTES: usize = 64 << 10;

/// A position in code, and the values that the code keeps across calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) ip: usize,
    pub(super) sp: usize,
    pub(super) saved: [usize; KEPT],
}

impl Point {
    /// The interrupted state.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn of(context: &libc::ucontext_t) -> Point {
        use libc::{REG_R12, REG_R13, REG_R14, REG_R15, REG_RBP, REG_RBX, REG_RIP, REG_RSP};
        let register = |number: libc::c_int| context.uc_mcontext.gregs[number as usize] as usize;
        let saved = [REG_RBX, REG_RBP, REG_R12, REG_R13, REG_R14, REG_R15].map(register);
        Point { ip: register(REG_RIP), sp: register(REG_RSP), saved }
    }

    /// The interrupted state; the values that are kept across calls are not read.
    #[cfg(not(target_arch = "x86_64"))]
    pub(super) fn of(context: &libc::ucontext_t) -> Point {
        Point { ip: context.uc_mcontext.pc as usize, sp: context.uc_mcontext.sp as usize, saved: [0; KEPT] }
    }
}

/// The caller's point, and the start of the function that contains `at`. `interrupted`: `at` is an
/// interrupted instruction, not one behind a call. `is_own`: does an address lie in the stack on
/// which the code runs?
///
/// # Safety
/// `at` is the state of code that is being executed on this kernel thread, or a caller that this
/// function has found; `part` contains it.
pub(super) unsafe fn step(
    part: &Described,
    at: &Point,
    interrupted: bool,
    is_own: impl Fn(usize) -> bool,
) -> Option<(Point, usize)> {
    if cfg!(not(target_arch = "x86_64")) {
        return None;
    }
    let sought = if interrupted { at.ip } else { at.ip - 1 };
    // SAFETY: the table belongs to an object that is not unloaded, as the caller says.
    let (entry, common) = unsafe { find(part.table, sought) }?;
    let mut rules = Rules::NONE;
    // SAFETY: as above; the bounds are the entries' own.
    unsafe {
        rules.run(common.instructions.clone(), &common, usize::MAX)?;
        rules.initial = rules.rows;
        rules.run(entry.instructions, &common, sought - entry.start)?;
    }
    let frame = rules.frame(at)?;
    let is_frame =
        frame > at.sp && frame - at.sp <= LARGEST_FRAME_BYTES && frame.is_multiple_of(8) && is_own(frame);
    let word = |offset: i64| {
        let address = frame.wrapping_add_signed(offset as isize);
        let inside =
            address >= at.sp.saturating_sub(RED_ZONE) && address < frame && address.is_multiple_of(8);
        // SAFETY: only words between the stack pointer and the caller's frame are read, and the
        // stack is mapped there.
        inside.then(|| unsafe { (address as *const usize).read() })
    };
    if !is_frame {
        return None;
    }
    let ip = match rules.rows[COLUMNS - 1] {
        Rule::At(offset) => word(offset)?,
        _ => return None,
    };
    let mut saved = at.saved;
    for (value, rule) in saved.iter_mut().zip(rules.rows) {
        match rule {
            Rule::Same => {}
            Rule::At(offset) => *value = word(offset)?,
            Rule::Unknown => return None,
        }
    }
    Some((Point { ip, sp: frame, saved }, entry.start))
}

/// Bytes below the stack pointer that leaf code may use. Given: by the ABI.
const RED_ZONE: usize = 128;

// ---- rules ------------------------------------------------------------------

/// Where the value of a register of the caller is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// In the same register.
    Same,
    /// In memory, at this distance from the frame's address.
    At(i64),
    /// Not to be found by a simple rule.
    Unknown,
}

/// Number of columns that are followed: [`NUMBERS`], then [`RETURN`]. It is small because the
/// handler may run on a small stack of the program's. Derived: the kept registers and the return
/// address.
const COLUMNS: usize = KEPT + 1;

/// The column of a register.
fn column(register: u64) -> Option<usize> {
    NUMBERS.iter().chain(&[RETURN]).position(|&number| u64::from(number) == register)
}

/// Number of states that may be remembered at a time, one inside of the other. Chosen: compilers
/// remember one; any value from 1 to 4 will do.
const REMEMBERED_STATES: usize = 2;

#[derive(Clone, Copy)]
struct UnwindRow {
    register: u8,
    offset: i64,
    rows: [Rule; COLUMNS],
}

struct Rules {
    register: u8,
    offset: i64,
    rows: [Rule; COLUMNS],
    initial: [Rule; COLUMNS],
    remembered: [UnwindRow; REMEMBERED_STATES],
    depth: usize,
}

impl Rules {
    const NONE: Rules = Rules {
        register: u8::MAX,
        offset: 0,
        rows: [Rule::Same; COLUMNS],
        initial: [Rule::Same; COLUMNS],
        remembered: [UnwindRow { register: u8::MAX, offset: 0, rows: [Rule::Same; COLUMNS] };
            REMEMBERED_STATES],
        depth: 0,
    };

    /// The address of the frame, which is the caller's stack pointer.
    fn frame(&self, at: &Point) -> Option<usize> {
        let base = match self.register {
            RSP => at.sp,
            6 => at.saved[RBP],
            _ => return None,
        };
        Some(base.wrapping_add_signed(self.offset as isize))
    }

    /// Sets the rule of a register, if its column is followed.
    fn set(&mut self, register: u64, rule: Rule) {
        if let Some(column) = column(register) {
            self.rows[column] = rule;
        }
    }

    /// Follows the instructions up to the position at `until` bytes from the function's beginning.
    /// The result is `None` for an unknown instruction.
    ///
    /// # Safety
    /// The bytes are mapped.
    unsafe fn run(&mut self, instructions: Range<usize>, common: &Common, until: usize) -> Option<()> {
        let mut bytes = Bytes { at: instructions.start, end: instructions.end };
        let mut location = 0_usize;
        while !bytes.is_empty() {
            // SAFETY: as the caller says.
            let code = unsafe { bytes.one() }?;
            let low = u64::from(code & 0x3f);
            // SAFETY: as the caller says.
            let advance = unsafe {
                match code >> 6 {
                    1 => Some(low),
                    2 => {
                        let offset = bytes.unsigned()? as i64 * common.data;
                        self.set(low, Rule::At(offset));
                        None
                    }
                    3 => {
                        self.restore(low);
                        None
                    }
                    _ => self.extended(code, &mut bytes, common)?,
                }
            };
            if let Some(delta) = advance {
                location = location.checked_add((delta * common.code) as usize)?;
                if location > until {
                    break;
                }
            }
        }
        Some(())
    }

    fn restore(&mut self, register: u64) {
        if let Some(column) = column(register) {
            self.rows[column] = self.initial[column];
        }
    }

    /// Follows one instruction whose number is not in its upper bits. The result says by how much
    /// it moves the position, if it does.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    unsafe fn extended(&mut self, code: u8, bytes: &mut Bytes, common: &Common) -> Option<Option<u64>> {
        // SAFETY: as the caller says.
        unsafe {
            match code {
                0x00 => {}                                           // nop
                0x02 => return Some(Some(u64::from(bytes.one()?))),  // advance_loc1
                0x03 => return Some(Some(u64::from(bytes.two()?))),  // advance_loc2
                0x04 => return Some(Some(u64::from(bytes.four()?))), // advance_loc4
                0x05 => {
                    // offset_extended
                    let (register, offset) = (bytes.unsigned()?, bytes.unsigned()? as i64);
                    self.set(register, Rule::At(offset * common.data));
                }
                0x06 => {
                    let register = bytes.unsigned()?; // restore_extended
                    self.restore(register);
                }
                0x07 => {
                    let register = bytes.unsigned()?; // undefined
                    self.set(register, Rule::Unknown);
                }
                0x08 => {
                    let register = bytes.unsigned()?; // same_value
                    self.set(register, Rule::Same);
                }
                0x0a => {
                    let row = UnwindRow { register: self.register, offset: self.offset, rows: self.rows }; // remember_state
                    *self.remembered.get_mut(self.depth)? = row;
                    self.depth += 1;
                }
                0x0b => {
                    self.depth = self.depth.checked_sub(1)?; // restore_state
                    let row = self.remembered[self.depth];
                    (self.register, self.offset, self.rows) = (row.register, row.offset, row.rows);
                }
                // def_cfa
                0x0c => (self.register, self.offset) = (bytes.unsigned()? as u8, bytes.unsigned()? as i64),
                0x0d => self.register = bytes.unsigned()? as u8, // def_cfa_register
                0x0e => self.offset = bytes.unsigned()? as i64,  // def_cfa_offset
                0x0f => {
                    self.register = u8::MAX; // def_cfa_expression
                    bytes.skip_block()?;
                }
                0x10 | 0x16 => {
                    let register = bytes.unsigned()?; // expression, val_expression
                    self.set(register, Rule::Unknown);
                    bytes.skip_block()?;
                }
                0x11 => {
                    let (register, offset) = (bytes.unsigned()?, bytes.signed()?); // offset_extended_sf
                    self.set(register, Rule::At(offset * common.data));
                }
                0x2e => {
                    bytes.unsigned()?; // GNU_args_size
                }
                _ => return None,
            }
        }
        Some(None)
    }
}

// ---- tables -----------------------------------------------------------------

/// The description of one function.
struct UnwindEntry {
    start: usize,
    length: usize,
    /// Addresses of its instructions, see [`Rules::run`].
    instructions: Range<usize>,
}

/// The common part of the descriptions of many functions.
struct Common {
    code: u64,
    data: i64,
    /// Addresses of its instructions, see [`Rules::run`].
    instructions: Range<usize>,
}

/// Encoding of a word: as an offset from its own address, signed, four bytes (`DW_EH_PE_pcrel |
/// DW_EH_PE_sdata4`). Given: by the ABI.
const RELATIVE: u8 = 0x1b;
/// First bytes of the sorted table: its version, and the encodings of its parts that linkers use.
/// Given: by the ABI.
const SORTED: [u8; 4] = [1, RELATIVE, 0x03, 0x3b];

fn is_sorted(table: usize) -> bool {
    // SAFETY: the loader says where the table is; it has at least these bytes.
    table != 0 && unsafe { (table as *const [u8; 4]).read() } == SORTED
}

/// The description of the function that contains `ip`.
///
/// # Safety
/// The table is sorted, and belongs to a mapped object.
unsafe fn find(table: usize, ip: usize) -> Option<(UnwindEntry, Common)> {
    // SAFETY: the layout of the table is a pointer, the count, and pairs of offsets from the
    // table's own address.
    let (count, pair) = unsafe {
        let pair = move |index: usize| {
            let words = ((table + 12 + 8 * index) as *const [i32; 2]).read_unaligned();
            words.map(|word| table.wrapping_add_signed(word as isize))
        };
        (((table + 8) as *const u32).read_unaligned() as usize, pair)
    };
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if pair(middle)[0] <= ip { low = middle + 1 } else { high = middle }
    }
    let [start, entry] = pair(low.checked_sub(1)?);
    // SAFETY: the table itself says where the description is.
    unsafe { read_entry(start, entry, ip) }
}

/// Reads the description at `entry`, if its function contains `ip`.
///
/// # Safety
/// The description of the function at `start` is at `entry`.
unsafe fn read_entry(start: usize, entry: usize, ip: usize) -> Option<(UnwindEntry, Common)> {
    // SAFETY: the layout of a description is: its length, the position of the common part,
    // beginning and length of the code, the length of more data, and the instructions.
    unsafe {
        let mut bytes = Bytes { at: entry, end: entry + 8 };
        let length = bytes.four()? as usize;
        if length == 0 || length == u32::MAX as usize {
            return None;
        }
        let common = (entry + 4) - bytes.four()? as usize;
        bytes.end = entry + 4 + length;
        let common = read_common(common)?;
        bytes.four()?; // the beginning, which the sorted table has given
        let covers = bytes.four()? as usize;
        if ip - start >= covers {
            return None;
        }
        let more = bytes.unsigned()? as usize;
        bytes.skip(more)?;
        Some((UnwindEntry { start, length: covers, instructions: bytes.at..bytes.end }, common))
    }
}

/// Reads the common part of descriptions at `at`.
///
/// # Safety
/// A common part is there.
unsafe fn read_common(at: usize) -> Option<Common> {
    // SAFETY: its layout is: length, zero, version, a string that says what else is there, factors,
    // the return address's column, data by that string, and instructions.
    unsafe {
        let mut bytes = Bytes { at, end: at + 8 };
        let length = bytes.four()? as usize;
        let is_common = bytes.four()? == 0 && length != u32::MAX as usize;
        bytes.end = at + 4 + length;
        let version = bytes.one()?;
        let text = bytes.at;
        while bytes.one()? != 0 {}
        let (code, data, column) = (bytes.unsigned()?, bytes.signed()?, bytes.one()?);
        if !is_common || version != 1 || column != RETURN || *(text as *const u8) != b'z' {
            return None;
        }
        let more = bytes.unsigned()? as usize;
        let instructions = bytes.at + more..bytes.end;
        for letter in text + 1.. {
            match *(letter as *const u8) {
                0 => break,
                b'R' if bytes.one()? == RELATIVE => {}
                b'L' => bytes.skip(1)?,
                b'P' if bytes.one()? & 0x0f == 0x0b => bytes.skip(4)?, // a pointer of four bytes
                // Another layout, or the frame of a signal.
                _ => return None,
            }
        }
        Some(Common { code, data, instructions })
    }
}

/// Bytes that are read one after the other.
struct Bytes {
    at: usize,
    end: usize,
}

impl Bytes {
    fn is_empty(&self) -> bool {
        self.at >= self.end
    }

    fn skip(&mut self, bytes: usize) -> Option<()> {
        let at = self.at.checked_add(bytes)?;
        (at <= self.end).then(|| self.at = at)
    }

    /// Reads a value and moves on.
    ///
    /// # Safety
    /// The bytes are mapped; the functions below have the same condition.
    unsafe fn read<T: Copy>(&mut self) -> Option<T> {
        let at = self.at;
        self.skip(size_of::<T>())?;
        // SAFETY: within the bounds, as the caller says.
        Some(unsafe { (at as *const T).read_unaligned() })
    }

    unsafe fn one(&mut self) -> Option<u8> {
        // SAFETY: passed on.
        unsafe { self.read() }
    }

    unsafe fn two(&mut self) -> Option<u16> {
        // SAFETY: passed on.
        unsafe { self.read() }
    }

    unsafe fn four(&mut self) -> Option<u32> {
        // SAFETY: passed on.
        unsafe { self.read() }
    }

    /// Reads a number with seven bits per byte. The result also has the number of its bits and its
    /// last byte.
    unsafe fn seven(&mut self) -> Option<(u64, u32, u8)> {
        let (mut value, mut shift) = (0_u64, 0_u32);
        loop {
            // SAFETY: passed on.
            let byte = unsafe { self.one() }?;
            value |= u64::from(byte & 0x7f).checked_shl(shift)?;
            shift += 7;
            if byte & 0x80 == 0 {
                return Some((value, shift, byte));
            }
        }
    }

    unsafe fn unsigned(&mut self) -> Option<u64> {
        // SAFETY: passed on.
        unsafe { self.seven() }.map(|(value, ..)| value)
    }

    unsafe fn signed(&mut self) -> Option<i64> {
        // SAFETY: passed on.
        let (value, shift, last) = unsafe { self.seven() }?;
        let negative = last & 0x40 != 0 && shift < 64;
        Some(if negative { (value | u64::MAX << shift) as i64 } else { value as i64 })
    }

    unsafe fn skip_block(&mut self) -> Option<()> {
        // SAFETY: passed on.
        let length = unsafe { self.unsigned() }?;
        self.skip(length as usize)
    }
}
