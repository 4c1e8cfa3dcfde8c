//! What must wait for what: read after write, write after read, write after write.
//!
//! The tracker knows the bytes that the commands since the last barrier touch. A command whose
//! ranges collide with one of them, where one of the two writes, needs a barrier before it;
//! one barrier covers all that came before, so the tracker then starts anew. Ranges are exact: two
//! views of one buffer that share no byte do not wait for each other.

use crate::command::{Access, Command};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

/// Memory's numbers are their own hash.
#[derive(Default)]
struct Number(u64);

impl Hasher for Number {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("the keys are of u64")
    }
    fn write_u64(&mut self, number: u64) {
        // Spreads the bits that a table looks at; the multiplier is 2^64 over the golden ratio.
        self.0 = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(20);
    }
}

type Ranges = HashMap<u64, Vec<(Range<u64>, bool)>, BuildHasherDefault<Number>>;

/// The ranges touched since the last barrier.
#[derive(Default)]
pub(crate) struct Hazards {
    touched: Ranges,
    spare: Vec<Vec<(Range<u64>, bool)>>,
}

impl Hazards {
    /// Notes a command; true if a barrier must come before it.
    pub(crate) fn note(&mut self, command: &Command) -> bool {
        let uses = command.uses();
        let collides = uses.iter().any(|used| {
            let writes = used.access != Access::Read;
            self.touched.get(&used.memory.id()).is_some_and(|known| {
                known.iter().any(|(range, wrote)| {
                    (writes || *wrote)
                        && range.start < used.range.end
                        && used.range.start < range.end
                })
            })
        });
        if collides {
            self.clear();
        }
        for used in uses {
            let spare = &mut self.spare;
            self.touched
                .entry(used.memory.id())
                .or_insert_with(|| spare.pop().unwrap_or_default())
                .push((used.range.clone(), used.access != Access::Read));
        }
        collides
    }

    /// Forgets all: a barrier, or the start of a batch.
    pub(crate) fn clear(&mut self) {
        for (_, mut ranges) in self.touched.drain() {
            ranges.clear();
            self.spare.push(ranges);
        }
        self.spare.truncate(64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Use;
    use crate::{Memory, MemoryKind};
    use std::sync::Arc;

    fn memory() -> Arc<Memory> {
        Arc::new(Memory::new(64, MemoryKind::Device, Box::new(())))
    }

    fn copy(source: (&Arc<Memory>, Range<u64>), target: (&Arc<Memory>, Range<u64>)) -> Command {
        let touch = |(memory, range): (&Arc<Memory>, Range<u64>), access| Use {
            memory: Arc::clone(memory),
            range,
            access,
        };
        Command::Copy {
            source: touch(source, Access::Read),
            target: touch(target, Access::Write),
        }
    }

    #[test]
    fn colliding_ranges_wait_and_others_do_not() {
        let (a, b, c) = (memory(), memory(), memory());
        let mut hazards = Hazards::default();
        let steps = [
            (copy((&a, 0..8), (&b, 0..8)), false, "the first"),
            (copy((&a, 0..8), (&c, 0..8)), false, "two readers"),
            (copy((&b, 8..16), (&c, 8..16)), false, "other bytes"),
            (
                copy((&b, 7..9), (&c, 16..18)),
                true,
                "reads what was written",
            ),
            (
                copy((&a, 0..8), (&b, 0..7)),
                false,
                "the barrier covered it",
            ),
            (copy((&c, 0..1), (&b, 8..9)), true, "writes what was read"),
            (
                copy((&a, 0..1), (&b, 8..9)),
                true,
                "writes what was written",
            ),
        ];
        for (command, barrier, why) in steps {
            assert_eq!(hazards.note(&command), barrier, "{why}");
        }
        hazards.clear();
        assert!(!hazards.note(&copy((&b, 8..9), (&a, 0..1))));
    }
}
