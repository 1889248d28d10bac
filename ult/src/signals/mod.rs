//! Signals of the program: a handler runs in the thread that it would have found under one kernel
//! thread per thread.
//!
//! The kernel delivers a signal to a kernel thread, and programs mean a thread. Here a kernel
//! thread runs one thread of the program now and another one then, each with thread-local storage
//! of its own. From the first TLS donor on ([`actions::take_over`]), every handler of the program
//! is called by one of ours ([`handler`]). Our handler finds out which TLS block the signal is
//! meant for, its *addressee*:
//!
//! * If the addressee's code was interrupted, the program's handler runs at once, on that code's
//!   stack, as the kernel would have called it.
//! * Otherwise the signal is put into the addressee's queue ([`queue`]), and the worker that hosts
//!   the addressee is called to its scheduler (`worker::wake`). The scheduler resumes the
//!   addressee's newest context before all others, even if it waits for something that has not
//!   happened ([`crate::sched`]). There the signal is sent once more, by the kernel thread to
//!   itself ([`deliver`]), so that the handler gets a true frame and the kernel applies the mask.
//!
//! Kernel threads of the pool and TLS donors have the signal mask of the thread that made the team,
//! as threads of other runtimes do. A donor that receives a signal, because it was directed at its
//! number, passes it on to whichever worker hosts its TLS block. Between two regions none does, and
//! the donor handles it.
//!
//! | room | what lives here |
//! |---|---|
//! | `actions` | the program's actions, and the kernel's, which are ours from `take_over` on |
//! | `handler` | our handler, and how it finds the addressee |
//! | `queue` | signals that wait for their addressee |
//! | `overruns` | what a program asks about the ticks of its timers |
//! | `deliver` | sending them once more when the addressee runs |
//! | `send` | from one thread of the program to another, past the kernel |
//! | `waits` | threads that wait for signals |
//! | `kernel` | sending by the kernel |
//! | `mask` | signal masks as the kernel has them |
//!
//! What may not live here: the C library's functions that are taken over (the layer above), the
//! monitor's own signal ([`crate::stall`]). The agreement is in `docs/protocols/signals.md`.

pub mod actions;
pub(crate) mod deliver;
pub(crate) mod handler;
pub(crate) mod kernel;
pub(crate) mod mask;
mod overruns;
pub(crate) mod queue;
pub(crate) mod send;
pub(crate) mod waits;

pub use actions::{SignalAction, set_action, take_over};
pub use deliver::{mask_has_changed, register_timer_signal};
pub use mask::change_mask;
pub use overruns::{forget_overruns, overruns_of};
pub use queue::Info;
pub use send::{leave_to_kernel, send_to_itself, send_to_number, send_to_thread};
pub use waits::{pending, under_mask, wait_for};
