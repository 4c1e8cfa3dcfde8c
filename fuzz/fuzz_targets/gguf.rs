//! Reads a GGUF file: every key in every type, every tensor.

#![no_main]

use std::borrow::Cow;

use libfuzzer_sys::fuzz_target;
use tallow_formats::gguf::{Array, File, Strings};

fuzz_target!(|bytes: &[u8]| {
    let file = match File::from_bytes(bytes.to_vec()) {
        Ok(file) => file,
        Err(error) => {
            check_message(&error.to_string());
            return;
        }
    };
    let metadata = file.metadata();
    for (key, value) in metadata.iter() {
        assert!(metadata.value(key).is_some());
        let _ = value.to_string();
        let _ = metadata.get_u32(key);
        let _ = metadata.get::<i64>(key);
        let _ = metadata.get_f32(key);
        let _ = metadata.get::<f64>(key);
        let _ = metadata.get_bool(key);
        let _ = metadata.get::<&Array>(key);
        let _ = metadata.get::<Cow<'_, [u32]>>(key);
        let _ = metadata.get::<Cow<'_, [f32]>>(key);
        if let Ok(strings) = metadata.get::<&Strings>(key) {
            assert_eq!(strings.iter().count(), strings.len());
        }
        if let Err(error) = metadata.get_str(key) {
            check_message(&error.to_string());
        }
    }
    let mut sound = true;
    for name in file.tensor_names() {
        match file.tensor(name) {
            Ok(info) => {
                let data = file.bytes(name).expect("a sound tensor has data");
                assert_eq!(data.len(), info.byte_len);
                assert!(info.byte_offset + info.byte_len <= bytes.len());
                assert!(info.is_empty() || info.byte_len > 0);
                assert_eq!(data, &*file.shared(name).expect("a sound tensor has data"));
            }
            Err(error) => {
                sound = false;
                check_message(&error.to_string());
            }
        }
    }
    assert_eq!(file.validate().is_ok(), sound);
});

/// A message is one line of printable text, whatever the file holds.
fn check_message(message: &str) {
    assert!(message.starts_with("gguf: "), "{message:?}");
    assert!(
        message.len() < 4000 && !message.contains(char::is_control),
        "{message:?}"
    );
}
