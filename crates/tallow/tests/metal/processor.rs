//! A driver that runs Metal's text on the processor: each kernel is compiled as C++ over a library
//! of Metal's names (`metal_stdlib`), each launch is a run of that program (`launch.h`).
//!
//! What stands in for a device is a small one: one unit, so that kernels for many groups are asked
//! for soon.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tallow_gpu::{
    Access, Api, Command, DeviceInfo, Driver, GpuError, Handle, Launch, Memory, MemoryKind,
    Program, Result, Step, Ticket, Use, drivers,
};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/metal");

/// A change of a kernel's text, from the first to the second.
pub(crate) type Fault = (&'static str, &'static str);

pub(crate) struct Processor {
    info: DeviceInfo,
    compiler: String,
    folder: tempfile::TempDir,
    fault: Option<Fault>,
    programs: AtomicU64,
    tickets: AtomicU64,
    /// The kernels that were compiled.
    compiled: Arc<Mutex<Vec<String>>>,
}

type Block = Mutex<Vec<u8>>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn failed(call: &'static str, what: impl ToString) -> GpuError {
    GpuError::Driver {
        api: Api::Metal,
        call,
        what: what.to_string(),
    }
}

impl Processor {
    /// The driver, with the list of what it compiles; `Err` says what the machine lacks. A fault
    /// is made in every text, which must have its first half.
    pub(crate) fn new(fault: Option<Fault>) -> std::result::Result<Self, String> {
        let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
        let paper = drivers::checked_on_paper(Api::Metal, "metal", |_| Ok(()));
        let processor = Self {
            info: DeviceInfo {
                name: "Metal's text on the processor".into(),
                shared_bytes: 32 << 10,
                units: 1,
                ..paper.info().clone()
            },
            compiler,
            folder: tempfile::tempdir().map_err(|error| error.to_string())?,
            fault,
            programs: AtomicU64::new(0),
            tickets: AtomicU64::new(0),
            compiled: Arc::default(),
        };
        if std::env::consts::OS != "linux" {
            return Err("shared memory is a section as Linux has them".into());
        }
        let probe = "#include <ucontext.h>\nint main() { return (int)(_Float16)0.0f; }\n";
        let built = processor.build("probe", probe);
        built.map_err(|log| format!("no C++ compiler with what is needed: {log}"))?;
        Ok(processor)
    }

    /// The names and defines of kernels, as they are compiled.
    pub(crate) fn compiled(&self) -> Arc<Mutex<Vec<String>>> {
        Arc::clone(&self.compiled)
    }

    /// Makes a program of a text; the compiler's words if it does not compile.
    fn build(&self, name: &str, text: &str) -> std::result::Result<PathBuf, String> {
        let number = self.programs.fetch_add(1, Ordering::Relaxed);
        let program = self.folder.path().join(format!("{name}-{number}"));
        let source = program.with_extension("cpp");
        std::fs::write(&source, text).map_err(|error| error.to_string())?;
        let output = Process::new(&self.compiler)
            .args([
                "-O1",
                "-w",
                "-std=c++17",
                "-fno-strict-aliasing",
                "-U_FORTIFY_SOURCE",
            ])
            // What is fused says so: `FMA`.
            .args(["-ffp-contract=off", "-I", FOLDER])
            .arg("-DSHARED=static __attribute__((section(\"shared_memory\")))")
            .args([&source, Path::new("-o"), &program])
            .output()
            .map_err(|error| format!("{}: {error}", self.compiler))?;
        match output.status.success() {
            true => Ok(program),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }

    fn step(&self, step: &Step) -> Result<()> {
        let bytes = |used: &Use| used.range.start as usize..used.range.end as usize;
        match &step.command {
            Command::Launch(launch) => run(launch),
            Command::Copy { source, target } => {
                let from = lock(source.memory.handle::<Block>())[bytes(source)].to_vec();
                lock(target.memory.handle::<Block>())[bytes(target)].copy_from_slice(&from);
                Ok(())
            }
            Command::Fill { target, value } => {
                lock(target.memory.handle::<Block>())[bytes(target)].fill(*value);
                Ok(())
            }
        }
    }
}

/// Runs a kernel's program as `launch.h` says.
fn run(launch: &Launch) -> Result<()> {
    if launch.groups.contains(&0) {
        return Ok(());
    }
    let wrong = |what: String| failed("launch", format!("{}: {what}", launch.kernel.name()));
    let mut words: Vec<u64> = launch.groups.iter().map(|&count| count.into()).collect();
    words.extend([launch.params.len() as u64, launch.buffers.len() as u64]);
    let mut data = launch.params.to_vec();
    for used in &launch.buffers {
        let (reads, writes) = match used.access {
            Access::Read => (1, 0),
            Access::Write => (0, 1),
            Access::ReadWrite => (1, 1),
        };
        let block = lock(used.memory.handle::<Block>());
        words.extend([
            block.len() as u64,
            used.range.start,
            used.range.end,
            reads,
            writes,
        ]);
        if reads == 1 {
            data.extend(&block[used.range.start as usize..used.range.end as usize]);
        }
    }
    let mut input: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    input.extend(data);
    let mut process = Process::new(launch.kernel.handle::<PathBuf>())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| wrong(error.to_string()))?;
    // A program that reads no more says why below; it writes only when it has read all.
    if let Some(mut stdin) = process.stdin.take() {
        let _ = stdin.write_all(&input);
    }
    let output = process
        .wait_with_output()
        .map_err(|error| wrong(error.to_string()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stdout);
        return Err(wrong(format!("{}: {said}", output.status)));
    }
    let mut rest = &output.stdout[..];
    for used in launch
        .buffers
        .iter()
        .filter(|used| used.access != Access::Read)
    {
        let mut block = lock(used.memory.handle::<Block>());
        let target = &mut block[used.range.start as usize..used.range.end as usize];
        let Some((written, after)) = rest.split_at_checked(target.len()) else {
            return Err(wrong("it wrote too little".into()));
        };
        target.copy_from_slice(written);
        rest = after;
    }
    match rest {
        [] => Ok(()),
        more => Err(wrong(format!("it wrote {} bytes too many", more.len()))),
    }
}

impl Driver for Processor {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, bytes: usize, _: MemoryKind) -> Result<Handle> {
        Ok(Box::new(Block::new(vec![0xff; bytes])))
    }

    fn compile(&self, program: &Program<'_>) -> Result<(Handle, Option<Vec<u8>>)> {
        let mut text = program.text.to_string();
        if let Some((from, to)) = self.fault {
            assert!(text.contains(from), "{from:?} is not in {}", program.entry);
            text = text.replace(from, to);
        }
        let defines = text.lines().map_while(|line| line.strip_prefix("#define "));
        let defines: Vec<_> = defines.collect();
        lock(&self.compiled).push(format!("{} {}", program.entry, defines.join(", ")));
        let text = format!(
            "{text}\n#define ENTRY {}\n#include \"launch.h\"\n",
            program.entry
        );
        let built = self.build(program.entry, &text);
        let built = built.map_err(|log| GpuError::Compile {
            api: Api::Metal,
            kernel: program.entry.into(),
            log,
        })?;
        Ok((Box::new(built), None))
    }

    fn load(&self, _: &Program<'_>, _: &[u8]) -> Result<Handle> {
        Err(failed("load", "nothing is kept"))
    }

    fn submit(&self, batch: &[Step]) -> Result<Ticket> {
        batch.iter().try_for_each(|step| self.step(step))?;
        Ok(self.tickets.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn completed(&self) -> Result<Ticket> {
        Ok(self.tickets.load(Ordering::Relaxed))
    }

    fn wait(&self, _: Ticket) -> Result<()> {
        Ok(())
    }

    fn write(&self, memory: &Memory, offset: usize, bytes: &[u8]) -> Result<()> {
        let mut block = lock(memory.handle::<Block>());
        block[offset..][..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn read(&self, memory: &Memory, offset: usize, bytes: &mut [u8]) -> Result<()> {
        bytes.copy_from_slice(&lock(memory.handle::<Block>())[offset..][..bytes.len()]);
        Ok(())
    }
}
