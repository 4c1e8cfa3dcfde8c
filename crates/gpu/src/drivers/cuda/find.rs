//! Where NVIDIA's libraries are that do not come with its driver.
//!
//! In this order: the system's library folders; the CUDA toolkit (`CUDA_HOME`, `CUDA_PATH`,
//! `/usr/local/cuda`); the pip packages of the virtual environment or conda environment at hand.

use libloading::Library;
use std::ffi::{CStr, OsString};
use std::path::{Path, PathBuf};

/// What to try to open, for a library with these names and folders of pip packages.
pub(super) fn places(
    names: &'static [&'static str],
    pip_folders: &'static [&'static str],
) -> impl Iterator<Item = OsString> {
    let system = names.iter().map(OsString::from);
    let folders = toolkits().into_iter().chain(
        environments()
            .into_iter()
            .flat_map(move |at| pip(&at, pip_folders)),
    );
    let files = folders.flat_map(move |folder| {
        let file = move |name| folder.join(name).into_os_string();
        names.iter().map(file)
    });
    system.chain(files)
}

/// A function of a library.
pub(super) fn call<F: Copy>(library: &Library, name: &CStr) -> Option<F> {
    // SAFETY: the callers' fields have the types that NVIDIA's headers give these functions.
    unsafe { library.get::<F>(name.to_bytes_with_nul()) }
        .ok()
        .map(|function| *function)
}

/// The folders that these variables name.
fn named(variables: &[&str]) -> Vec<PathBuf> {
    variables
        .iter()
        .filter_map(std::env::var_os)
        .map(PathBuf::from)
        .collect()
}

fn toolkits() -> Vec<PathBuf> {
    let mut roots = named(&["CUDA_HOME", "CUDA_PATH"]);
    roots.push("/usr/local/cuda".into());
    roots
        .iter()
        .flat_map(|root| ["lib64", "lib", "bin"].map(|folder| root.join(folder)))
        .collect()
}

fn environments() -> Vec<PathBuf> {
    named(&["VIRTUAL_ENV", "CONDA_PREFIX"])
}

/// The folders of the pip packages in a Python environment.
fn pip(environment: &Path, pip_folders: &[&str]) -> Vec<PathBuf> {
    let Ok(versions) = std::fs::read_dir(environment.join("lib")) else {
        return Vec::new();
    };
    let packages = versions
        .flatten()
        .map(|version| version.path().join("site-packages"));
    packages
        .flat_map(|packages| {
            let below = |folder: &&str| packages.join(folder);
            pip_folders.iter().map(below).collect::<Vec<_>>()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_python_environment_is_searched_in_both_layouts() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(folder.path().join("lib/python3.12")).expect("a folder");
        let packages = folder.path().join("lib/python3.12/site-packages/nvidia");
        let want = ["cu13/lib", "cuda_nvrtc/lib"].map(|below| packages.join(below));
        let folders = ["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"];
        assert_eq!(pip(folder.path(), &folders), want);
        assert!(pip(&folder.path().join("none"), &folders).is_empty());
    }
}
