//! Hostile files of ggml before GGUF, and importance matrices.

use tallow_formats::{Error, ggml, imatrix};

use crate::older_raw::{GGJT, complete_ggml, importance_matrix, words};
use crate::raw::complete_gguf;
use crate::{MUTATIONS, assert_says, bounded, mutations, turn};

fn read(bytes: &[u8]) -> Result<(), Error> {
    let (len, bytes) = (bytes.len(), bytes.to_vec());
    bounded(len, || {
        let file = ggml::File::from_bytes(bytes)?;
        for info in file.tensors() {
            assert_eq!(file.shared(&info.name)?.len(), info.byte_len);
        }
        file.tokens().for_each(drop);
        Ok(())
    })
}

#[test]
fn a_sound_file_is_read() {
    let _turn = turn();
    let file = ggml::File::from_bytes(complete_ggml(3)).unwrap();
    assert_eq!(file.magic(), ggml::Magic::GgjtV3);
    assert_eq!(file.hyper_parameters().embedding_len, 32);
    let tokens: Vec<_> = file.tokens().collect();
    assert_eq!(tokens, [(b"a".as_slice(), 0.5), ("çé".as_bytes(), 0.5)]);
    assert_eq!(file.tensor("w").unwrap().shape, [2, 32]);
    assert_eq!(
        file.shared("norm").unwrap()[..],
        (0..12).collect::<Vec<u8>>()[..]
    );
    assert!(file.tensor("v").is_err());
}

#[test]
fn a_file_cut_at_any_byte_is_refused_but_between_tensors() {
    let _turn = turn();
    let file = complete_ggml(3);
    let whole: Vec<usize> = (0..=file.len())
        .filter(|&len| read(&file[..len]).is_ok())
        .collect();
    // After the vocabulary, after the first tensor, and at the end.
    assert_eq!(whole.len(), 3, "{whole:?}");
}

#[test]
fn sizes_that_lie_are_refused() {
    let _turn = turn();
    let head = |vocabulary| words(&[GGJT, 3, vocabulary, 32, 1, 1, 1, 1, 0]);
    let tensor = |header: &[u32]| [head(0), words(header), vec![b'x'; 256]].concat();
    for (label, file, words) in [
        (
            "vocabulary",
            head(u32::MAX),
            "vocabulary length is 4294967295",
        ),
        (
            "rank",
            tensor(&[u32::MAX, 1, 0]),
            "4294967295 dims; 4 at most",
        ),
        (
            "name",
            tensor(&[1, u32::MAX, 0, 32]),
            "takes 4294967295 bytes",
        ),
        (
            "shape",
            tensor(&[4, 1, 0, u32::MAX, u32::MAX, u32::MAX, u32::MAX]),
            "too large",
        ),
        ("type", tensor(&[1, 1, 77, 32]), "unknown block type 77"),
        ("blocks", tensor(&[1, 1, 2, 33]), "no whole blocks"),
        ("data", tensor(&[1, 1, 0, 1 << 20]), "data of tensor \"x\""),
        (
            "old blocks",
            complete_ggml(2),
            "another layout before version 3 of ggjt",
        ),
        ("version", words(&[GGJT, 4]), "unknown version 4 of ggjt"),
        ("magic", words(&[7]), "wrong magic"),
        ("gguf", complete_gguf(3), "this is a GGUF file"),
    ] {
        assert_says(label, read(&file), words);
    }
}

#[test]
fn changed_files_never_panic() {
    let _turn = turn();
    for bytes in mutations(&complete_ggml(3), MUTATIONS) {
        let _ = read(&bytes);
    }
}

#[test]
fn importance_matrices_are_means() {
    let _turn = turn();
    let entries = imatrix::from_bytes(importance_matrix()).unwrap();
    let expected = [
        ("a".to_string(), vec![0.5, 1.5]),
        ("çé".to_string(), vec![5.0]),
    ];
    assert_eq!(entries, expected);
}

#[test]
fn importance_matrices_that_lie_are_refused() {
    let _turn = turn();
    let read = |bytes: &[u8]| {
        let (len, bytes) = (bytes.len(), bytes.to_vec());
        bounded(len, || imatrix::from_bytes(bytes).map(drop))
    };
    for len in 0..importance_matrix().len() {
        assert!(read(&importance_matrix()[..len]).is_err(), "cut at {len}");
    }
    assert_says(
        "count",
        read(&words(&[u32::MAX])),
        "entry count is 4294967295",
    );
    for bytes in mutations(&importance_matrix(), MUTATIONS) {
        let _ = read(&bytes);
    }
}
