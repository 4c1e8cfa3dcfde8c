//! Whose turn it is: while one thread records commands for replay, the others wait.

use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::{self, ThreadId};

#[derive(Default)]
pub(crate) struct Turn {
    holder: Mutex<Option<ThreadId>>,
    over: Condvar,
}

pub(crate) struct Held<'a>(&'a Turn);

impl Turn {
    /// Waits until no other thread records.
    pub(crate) fn wait(&self) {
        let me = thread::current().id();
        let mut holder = self.holder.lock().unwrap_or_else(PoisonError::into_inner);
        while holder.is_some_and(|holder| holder != me) {
            holder = self
                .over
                .wait(holder)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Whether this thread records.
    pub(crate) fn is_mine(&self) -> bool {
        let holder = self.holder.lock().unwrap_or_else(PoisonError::into_inner);
        *holder == Some(thread::current().id())
    }

    /// Waits the same, and then makes the others wait; `None` if it is this thread's turn already.
    pub(crate) fn take(&self) -> Option<Held<'_>> {
        let me = thread::current().id();
        let mut holder = self.holder.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(other) = *holder {
            if other == me {
                return None;
            }
            holder = self
                .over
                .wait(holder)
                .unwrap_or_else(PoisonError::into_inner);
        }
        *holder = Some(me);
        Some(Held(self))
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        *self.0.holder.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.0.over.notify_all();
    }
}
