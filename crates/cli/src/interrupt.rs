//! Ctrl-C as a flag that work looks at.
//!
//! A command that asks for the flag is not ended by the first Ctrl-C: it stops what it does, and
//! says so. One more before the flag is taken ends the program, for work that does not look;
//! not in a conversation, which only the end of its input ends.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The exit code of a program that Ctrl-C ended, as shells have it.
const EXIT_CODE: i32 = 130;

static FLAG: AtomicBool = AtomicBool::new(false);

/// Whether the program outlives any number of Ctrl-C.
static STAYS: AtomicBool = AtomicBool::new(false);

/// The flag, set by Ctrl-C from now on.
pub(crate) fn flag() -> &'static AtomicBool {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        // Without a handler Ctrl-C ends the program, which is no worse than not starting it.
        let _ = ctrlc::set_handler(|| {
            let is_second = FLAG.swap(true, Ordering::Relaxed);
            if is_second && !STAYS.load(Ordering::Relaxed) {
                std::process::exit(EXIT_CODE);
            }
        });
    });
    &FLAG
}

/// From now on no Ctrl-C ends the program.
pub(crate) fn stay() {
    STAYS.store(true, Ordering::Relaxed);
    flag();
}

/// Takes the flag: whether Ctrl-C was pressed, and from now on it was not.
pub(crate) fn take() -> bool {
    FLAG.swap(false, Ordering::Relaxed)
}
