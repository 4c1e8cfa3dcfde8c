//! Reads a safetensors file: its texts and every tensor.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tallow_formats::safetensors::File;

fuzz_target!(|bytes: &[u8]| {
    let file = match File::from_bytes(bytes.to_vec()) {
        Ok(file) => file,
        Err(error) => {
            let message = error.to_string();
            assert!(message.starts_with("safetensors: "), "{message:?}");
            assert!(
                message.len() < 4000 && !message.contains(char::is_control),
                "{message:?}"
            );
            return;
        }
    };
    for text in file.metadata().values() {
        assert!(text.len() <= bytes.len());
    }
    let mut data_bytes = 0;
    for info in file.tensors() {
        let data = file.bytes(&info.name).expect("a listed tensor has data");
        assert_eq!(
            data.len() * 8,
            info.shape.iter().product::<usize>() * info.dtype.bitsize()
        );
        assert_eq!(
            data,
            &*file.shared(&info.name).expect("a listed tensor has data")
        );
        data_bytes += data.len();
    }
    assert!(data_bytes + 8 <= bytes.len());
});
