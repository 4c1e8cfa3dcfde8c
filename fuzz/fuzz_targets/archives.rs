//! Reads the bytes as npy, npz, pth, a pickle, ggml before GGUF and an importance matrix.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tallow_formats::npy::{Array, Npz};
use tallow_formats::pickle::Pickle;
use tallow_formats::{Error, Result, ggml, imatrix, pth};

fn read(bytes: &[u8]) -> [Result<()>; 6] {
    let owned = || bytes.to_vec();
    let npz = |file: Npz| {
        let names: Vec<String> = file.names().map(String::from).collect();
        names.iter().try_for_each(|name| {
            let array = file.array(name)?;
            let count: usize = array.header().shape.iter().product();
            assert_eq!(array.data().len(), count * array.header().element.byte_len());
            Ok(())
        })
    };
    let pth = |file: pth::File| {
        file.tensors().try_for_each(|info| {
            file.with_span(&info.name, |info, span| {
                assert!(span.len() <= info.storage_len * info.element.byte_len());
            })
        })
    };
    [
        Array::from_bytes(owned()).map(|array| drop(array.data())),
        Npz::from_bytes(owned()).and_then(npz),
        pth::File::from_bytes(owned(), None).and_then(pth),
        Pickle::read(bytes).map(drop),
        ggml::File::from_bytes(owned()).map(|file| file.tokens().for_each(drop)),
        imatrix::from_bytes(owned()).map(drop),
    ]
}

fn check(error: &Error) {
    let message = error.to_string();
    assert!(
        message.len() < 4000 && !message.contains(char::is_control),
        "{message:?}"
    );
}

fuzz_target!(|bytes: &[u8]| {
    for result in read(bytes) {
        if let Err(error) = result {
            check(&error);
        }
    }
});
