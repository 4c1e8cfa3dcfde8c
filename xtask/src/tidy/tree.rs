//! The files of the working tree, as the rules see them.
//!
//! A file's path is relative to the workspace's folder and has `/` between its parts. Rust files
//! come with their code twice: as it is, and with comments and literals blanked out.

use std::fs;
use std::process::Command;

use super::code;
use crate::command::root;

/// One text file.
pub(crate) struct File {
    /// Its path, relative to the workspace's folder.
    pub(crate) path: String,
    /// Its text as it is.
    pub(crate) text: String,
    /// Rust: the text with comments and literals blanked out. Other files: empty.
    pub(crate) code: String,
}

impl File {
    fn new(path: &str, text: &str) -> Self {
        let rust = has_extension(path, "rs");
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
            code: if rust {
                code::blanked(text)
            } else {
                String::new()
            },
        }
    }

    /// Whether this is a Rust file.
    pub(crate) fn is_rust(&self) -> bool {
        has_extension(&self.path, "rs")
    }

    /// The last part of the path.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

fn has_extension(path: &str, extension: &str) -> bool {
    path.rsplit_once('.')
        .is_some_and(|(_, last)| last == extension)
}

/// Every text file that is tracked, or that would be.
pub(crate) struct Tree {
    files: Vec<File>,
}

impl Tree {
    /// Reads the working tree: what git tracks and what it does not ignore.
    pub(crate) fn read() -> Result<Self, String> {
        let listed = Command::new("git")
            .args([
                "ls-files",
                "-z",
                "--cached",
                "--others",
                "--exclude-standard",
            ])
            .current_dir(root())
            .output()
            .map_err(|error| format!("git could not be started: {error}"))?;
        if !listed.status.success() {
            return Err(String::from(
                "`git ls-files` failed; tidy needs a git checkout",
            ));
        }
        let paths = String::from_utf8_lossy(&listed.stdout).into_owned();
        let mut files = Vec::new();
        for path in paths.split('\0').filter(|path| !path.is_empty()) {
            // Binary files, and files that were deleted but not yet committed, have no text.
            if let Ok(text) = fs::read_to_string(root().join(path)) {
                files.push(File::new(path, &text));
            }
        }
        files.sort_by(|left, right| left.path.cmp(&right.path));
        files.dedup_by(|left, right| left.path == right.path);
        Ok(Self { files })
    }

    /// A small tree made of paths and texts.
    #[cfg(test)]
    pub(crate) fn sample(files: &[(&str, &str)]) -> Self {
        let files = files
            .iter()
            .map(|(path, text)| File::new(path, text))
            .collect();
        Self { files }
    }

    /// How many files there are.
    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    /// Every file, in the order of the paths.
    pub(crate) fn files(&self) -> impl Iterator<Item = &File> {
        self.files.iter()
    }

    /// Every Rust file, in the order of the paths.
    pub(crate) fn rust_files(&self) -> impl Iterator<Item = &File> {
        self.files().filter(|file| file.is_rust())
    }

    /// The file at this path.
    pub(crate) fn get(&self, path: &str) -> Option<&File> {
        self.files().find(|file| file.path == path)
    }

    /// Whether there is a file at this path or below it.
    pub(crate) fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        self.files().any(|file| {
            let rest = file.path.strip_prefix(path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}
