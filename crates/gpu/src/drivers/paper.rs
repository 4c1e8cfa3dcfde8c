//! A device on paper: kernels are asked for, and none runs.
//!
//! Operations run on it as on any other, and their results are zeros. With a real compiler behind
//! it, it checks the text of kernels for a device that is not there; without one, it is a plan: it
//! knows which variants a computation asks for, at no cost in memory or time.

use crate::Result;
use crate::command::Step;
use crate::driver::{Api, DeviceInfo, Driver, Handle, Memory, MemoryKind, Program, Ticket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Compiles a program, to machine code if there is a compiler.
type Compile = Box<dyn Fn(&Program<'_>) -> Result<Option<Vec<u8>>> + Send + Sync>;

struct Paper {
    info: DeviceInfo,
    compile: Compile,
    tickets: AtomicU64,
}

/// A device of this interface whose compiler is `compile`.
pub(super) fn paper(api: Api, target: &str, compile: Compile) -> Arc<dyn Driver> {
    let info = DeviceInfo {
        api,
        ordinal: 0,
        name: format!("{target} on paper"),
        fingerprint: format!("paper {target}"),
        compiler: target.into(),
        defines: String::new(),
        memory_bytes: 1 << 40,
        buffer_bytes_max: 1 << 40,
        shared_bytes: 48 << 10,
        group_max: 1024,
        units: 100,
        unified_memory: false,
        has_f64: api != Api::Metal,
        in_order: true,
        tensor_cores: api == Api::Cuda,
        simdgroup_matrices: api == Api::Metal,
    };
    over(info, compile)
}

/// A device with the properties of another that compiles nothing either.
pub(super) fn plan(info: DeviceInfo) -> Arc<dyn Driver> {
    over(info, Box::new(|_| Ok(None)))
}

fn over(info: DeviceInfo, compile: Compile) -> Arc<dyn Driver> {
    Arc::new(Paper {
        info,
        compile,
        tickets: AtomicU64::new(0),
    })
}

impl Driver for Paper {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }
    fn allocate(&self, _: usize, _: MemoryKind) -> Result<Handle> {
        Ok(Box::new(()))
    }
    fn compile(&self, program: &Program<'_>) -> Result<(Handle, Option<Vec<u8>>)> {
        let blob = (self.compile)(program)?;
        Ok((Box::new(()), blob))
    }
    fn load(&self, program: &Program<'_>, _: &[u8]) -> Result<Handle> {
        (self.compile)(program)?;
        Ok(Box::new(()))
    }
    fn submit(&self, _: &[Step]) -> Result<Ticket> {
        Ok(self.tickets.fetch_add(1, Ordering::Relaxed) + 1)
    }
    fn completed(&self) -> Result<Ticket> {
        Ok(self.tickets.load(Ordering::Relaxed))
    }
    fn wait(&self, _: Ticket) -> Result<()> {
        Ok(())
    }
    fn write(&self, _: &Memory, _: usize, _: &[u8]) -> Result<()> {
        Ok(())
    }
    fn read(&self, _: &Memory, _: usize, bytes: &mut [u8]) -> Result<()> {
        bytes.fill(0);
        Ok(())
    }
    fn runs_nothing(&self) -> bool {
        true
    }
}
