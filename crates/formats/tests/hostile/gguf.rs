//! Hostile GGUF files.

use tallow_formats::Error;
use tallow_formats::gguf::File;

use crate::raw::{ARRAY, BOOL, Raw, STRING, U8, U32, complete_gguf};
use crate::{MUTATIONS, assert_says, bounded, mutations, turn};

/// Reads all there is to read: the first error of the file, or of a tensor.
fn read(bytes: &[u8]) -> Result<(), Error> {
    let len = bytes.len();
    let bytes = bytes.to_vec();
    bounded(len, || {
        let file = File::from_bytes(bytes)?;
        for (key, value) in file.metadata().iter() {
            assert!(file.metadata().value(key) == Some(value) || value.to_string().contains("NaN"));
        }
        for name in file.tensor_names() {
            let sum: usize = file
                .bytes(name)?
                .iter()
                .map(|&byte| usize::from(byte))
                .sum();
            assert!(sum <= 255 * len);
            assert!(file.tensor(name)?.len() <= isize::MAX as usize);
        }
        file.validate()
    })
}

/// A file with one key, whose value `value` writes.
fn with_key(name: &str, type_id: u32, value: impl FnOnce(&mut Raw)) -> Vec<u8> {
    let mut raw = Raw::new(3, 0, 1);
    value(raw.key(name, type_id));
    raw.build()
}

/// A file with one tensor of one element, and room for it, after `key` pairs of bytes.
fn with_tensor(dims: &[u64], type_id: u32, offset: u64) -> Vec<u8> {
    let mut raw = Raw::new(3, 1, 0);
    raw.tensor("t", dims, type_id, offset).pad(32);
    raw.push(&[0; 64]).build()
}

#[test]
fn complete_files_of_all_versions_are_read() {
    let _turn = turn();
    for version in 1..=3 {
        read(&complete_gguf(version)).unwrap();
    }
}

#[test]
fn a_file_cut_at_any_byte_is_refused() {
    let _turn = turn();
    for version in if cfg!(miri) { 1..=1 } else { 1..=3 } {
        let file = complete_gguf(version);
        for len in 0..file.len() {
            let message = read(&file[..len]).expect_err("cut short").to_string();
            let known = ["file ends early", "bytes or more", "data outside the file"];
            assert!(
                known.iter().any(|words| message.contains(words)),
                "{len}: {message}"
            );
        }
    }
}

#[test]
fn a_larger_file_cut_at_every_4_kib_is_refused() {
    let _turn = turn();
    let words: u64 = if cfg!(miri) { 300 } else { 6_000 };
    let mut raw = Raw::new(3, 2, 2);
    raw.key("tokens", ARRAY).u32(STRING).count(words);
    for word in 0..words {
        raw.string(format!("token {word}").as_bytes());
    }
    raw.key("scores", ARRAY).u32(6).count(words);
    for _ in 0..words {
        raw.push(&0.5_f32.to_le_bytes());
    }
    raw.tensor("one", &[1024, 4], 0, 0)
        .tensor("two", &[1024, 8], 0, 16 * 1024)
        .pad(32);
    let file = raw.push(&[1; 48 * 1024]).build();
    assert!(file.len() > 64 * 1024 && read(&file).is_ok());
    for len in (0..file.len()).step_by(4096) {
        assert!(read(&file[..len]).is_err(), "cut at {len}");
    }
}

#[test]
fn the_first_eight_bytes_are_checked() {
    let _turn = turn();
    let with_head = |head: &[u8]| {
        let mut file = complete_gguf(3);
        file[..head.len()].copy_from_slice(head);
        file
    };
    for (head, words) in [
        (
            &b"GGUG"[..],
            r#"gguf: wrong magic "GGUG": a GGUF file begins with "GGUF""#,
        ),
        (b"\0\x1b\n\xff", r#"wrong magic "\x00\x1b\n\xff""#),
        (
            b"tjgg",
            r#"wrong magic "tjgg": this is ggml's format before GGUF"#,
        ),
        (
            b"GGUF\0\0\0\0",
            "gguf: unknown version 0; 1, 2 and 3 can be read",
        ),
        (b"GGUF\x04\0\0\0", "unknown version 4"),
        (b"GGUF\xff\xff\xff\xff", "unknown version 4294967295"),
        (b"GGUF\0\0\0\x03", "this is a big-endian file (version 3)"),
    ] {
        assert_says(words, read(&with_head(head)), words);
    }
    assert_says(
        "empty",
        read(&[]),
        "gguf: file ends early: magic at byte 0x0 takes 4 bytes",
    );
}

/// A file for each place where a count stands, with `huge` there; and what messages call it.
fn files_with_count(huge: u64) -> [(&'static str, Vec<u8>); 11] {
    [
        ("tensor count", Raw::new(3, huge, 0).build()),
        ("key count", Raw::new(3, 0, huge).build()),
        (
            "length of key 0",
            Raw::new(3, 0, 1).u64(huge).push(&[b'k'; 64]).build(),
        ),
        (
            "length of value of key \"s\"",
            with_key("s", STRING, |raw| {
                raw.u64(huge).push(&[b's'; 64]);
            }),
        ),
        (
            "array length in value of key \"a\"",
            with_key("a", ARRAY, |raw| {
                raw.u32(U8).u64(huge).push(&[1; 64]);
            }),
        ),
        (
            "array length in value of key \"f\"",
            with_key("f", ARRAY, |raw| {
                raw.u32(12).u64(huge).push(&[1; 64]);
            }),
        ),
        (
            "array length in value of key \"w\"",
            with_key("w", ARRAY, |raw| {
                raw.u32(STRING).u64(huge).push(&[0; 64]);
            }),
        ),
        (
            "array length in value of key \"b\"",
            with_key("b", ARRAY, |raw| {
                raw.u32(BOOL).u64(huge).push(&[0; 64]);
            }),
        ),
        (
            "array length in value of key \"n\"",
            with_key("n", ARRAY, |raw| {
                raw.u32(ARRAY).u64(huge).push(&[0; 64]);
            }),
        ),
        (
            "length of item 1 of value of key \"i\"",
            with_key("i", ARRAY, |raw| {
                raw.u32(STRING)
                    .u64(2)
                    .string(b"fine")
                    .u64(huge)
                    .push(&[b'x'; 64]);
            }),
        ),
        (
            "length of name of tensor 0",
            Raw::new(3, 1, 0).u64(huge).push(&[b't'; 64]).build(),
        ),
    ]
}

#[test]
fn counts_and_lengths_near_2_to_the_64_are_refused() {
    let _turn = turn();
    for huge in [
        u64::MAX,
        u64::MAX - 7,
        1 << 63,
        (1 << 61) + 1,
        1 << 40,
        1 << 32,
    ] {
        let words = format!("is {huge} at byte");
        for (label, file) in files_with_count(huge) {
            let message = read(&file).expect_err(label).to_string();
            assert!(
                message.contains(label) && message.contains(&words),
                "{label}: {message}"
            );
        }
    }
}

#[test]
fn version_1_counts_near_2_to_the_32_are_refused() {
    let _turn = turn();
    let huge = u64::from(u32::MAX);
    for (label, file) in [
        ("tensor count is 4294967295", Raw::new(1, huge, 0).build()),
        ("key count is 4294967295", Raw::new(1, 0, huge).build()),
        (
            "length of key 0 is 4294967295",
            Raw::new(1, 0, 1).count(huge).push(&[0; 40]).build(),
        ),
    ] {
        assert_says(label, read(&file), label);
    }
}

#[test]
fn a_count_that_fits_the_file_but_not_its_items_takes_little_memory() {
    let _turn = turn();
    // A megabyte of zeros holds 80,000 keys or 30,000 tensors by its size, all of one name.
    for (tensors, keys) in [(40_000, 0), (0, 70_000)] {
        let mut raw = Raw::new(3, tensors, keys);
        let file = raw.push(&vec![0; 1 << 20]).build();
        let error = read(&file).unwrap_err().to_string();
        assert!(error.contains("\"\" is there twice"), "{error}");
    }
}

#[test]
fn shapes_that_overflow_fail_their_tensor() {
    let _turn = turn();
    let words = "has more elements than fit in memory";
    for dims in [
        &[u64::MAX][..],
        &[1 << 63],
        &[1 << 32, 1 << 32],
        &[1 << 32, 1 << 31],
        &[u64::MAX, u64::MAX, u64::MAX, u64::MAX],
        &[32, u64::MAX / 32],
        &[0, 1 << 63, 1 << 63],
        &[1 << 63, 1 << 63, 0],
        &[3, 0x5555_5555_5555_5556],
    ] {
        for type_id in [0, 1, 28] {
            assert_says("overflow", read(&with_tensor(dims, type_id, 0)), words);
        }
    }
    // Elements fit; bytes do not.
    assert_says("bytes", read(&with_tensor(&[1 << 61, 2], 28, 0)), words);
    assert_says(
        "large",
        read(&with_tensor(&[1 << 32, 1 << 20], 2, 0)),
        "data outside the file",
    );
    assert_says(
        "rank",
        read(&with_tensor(&[1; 9], 0, 0)),
        "tensor \"t\": 9 dims at byte",
    );
    let mut rank = Raw::new(3, 1, 0);
    rank.string(b"t").u32(u32::MAX).push(&[1; 64]);
    assert_says(
        "rank",
        read(&rank.build()),
        "4294967295 dims at byte 0x21; 8 at most",
    );
}

#[test]
fn data_must_lie_in_the_file_at_aligned_places_of_their_own() {
    let _turn = turn();
    for (offset, words) in [
        (
            64,
            "data outside the file: 4 bytes from byte 0x80; the file has 128",
        ),
        (u64::MAX - 31, "data outside the file"),
        (1 << 63, "data outside the file"),
        (1, "data offset 0x1 is not a multiple of the alignment 32"),
        (u64::MAX, "is not a multiple of the alignment 32"),
    ] {
        let file = with_tensor(&[1], 0, offset);
        assert_eq!(file.len(), 128);
        assert_says(words, read(&file), words);
        assert_says(words, read(&file), "gguf: tensor \"t\": ");
    }
    let mut raw = Raw::new(3, 2, 0);
    raw.tensor("first", &[16], 0, 0)
        .tensor("second", &[1], 0, 32)
        .pad(32)
        .push(&[0; 96]);
    assert_says(
        "overlap",
        read(&raw.build()),
        "tensor \"second\": data at byte 0xa0 overlaps",
    );
}

#[test]
fn a_tensor_that_cannot_be_used_leaves_the_others_usable() {
    let _turn = turn();
    let mut raw = Raw::new(3, 3, 0);
    raw.tensor("good", &[4], 0, 0)
        .tensor("odd", &[4], 42, 32)
        .tensor("far", &[4], 0, 1 << 40);
    let type_at = 24 + (8 + 4) + 4 + 8 + 4 + 8 + (8 + 3) + 4 + 8;
    let file = File::from_bytes(raw.pad(32).push(&[7; 64]).build()).unwrap();
    assert_eq!(file.bytes("good").unwrap(), [7; 16]);
    assert_eq!(
        file.bytes("odd").unwrap_err().to_string(),
        format!("gguf: tensor \"odd\": unknown block type 42 at byte {type_at:#x}")
    );
    assert!(
        file.shared("far")
            .unwrap_err()
            .to_string()
            .contains("data outside the file")
    );
    assert!(file.tensor("odd").is_err() && file.validate().is_err());
    assert_eq!(file.tensors().filter(Result::is_ok).count(), 1);
    assert_eq!(
        file.tensor("none").unwrap_err().to_string(),
        "gguf: no tensor \"none\""
    );
}

#[test]
fn unknown_types_are_refused() {
    let _turn = turn();
    let every = [13, 14, 255, 1 << 31, u32::MAX];
    for type_id in every {
        let words = format!("value of key \"k\": unknown value type {type_id} at byte");
        assert_says(
            "value",
            read(&with_key("k", type_id, |raw| {
                raw.push(&[0; 32]);
            })),
            &words,
        );
        let array = with_key("k", ARRAY, |raw| {
            raw.u32(type_id).u64(1).push(&[0; 32]);
        });
        assert_says("array", read(&array), &words);
    }
    for type_id in [42, 255, u32::MAX] {
        let words = format!("unknown block type {type_id} at byte 0x2d");
        assert_says("block", read(&with_tensor(&[1], type_id, 0)), &words);
    }
    for (type_id, name) in [(4, "Q4_2"), (31, "Q4_0_4_4"), (38, "IQ4_NL_8_8")] {
        let words = format!("block type {type_id} ({name}) at byte 0x2d was taken out of ggml");
        assert_says("removed", read(&with_tensor(&[32], type_id, 0)), &words);
    }
    let words = "rows of 31 elements do not divide into Q4_0 blocks of 32";
    assert_says("partial", read(&with_tensor(&[31, 32], 2, 0)), words);
}

#[test]
fn alignments_other_than_powers_of_two_are_refused() {
    let _turn = turn();
    for alignment in [0, 3, 12, 33, u32::MAX] {
        let file = with_key("general.alignment", U32, |raw| {
            raw.u32(alignment);
        });
        let words = format!("gguf: general.alignment is {alignment}; a power of two is needed");
        assert_says("alignment", read(&file), &words);
    }
    let text = with_key("general.alignment", STRING, |raw| {
        raw.string(b"32");
    });
    let words = "key \"general.alignment\": found string \"32\"; want an integer that fits u32";
    assert_says("alignment", read(&text), words);
    for alignment in [1, 2, 64, 1 << 31] {
        read(&with_key("general.alignment", U32, |raw| {
            raw.u32(alignment);
        }))
        .unwrap();
    }
}

#[test]
fn arrays_nest_only_so_deep() {
    let _turn = turn();
    let nested = |depth: u32| {
        with_key("deep", ARRAY, |raw| {
            for _ in 1..depth {
                raw.u32(ARRAY).u64(1);
            }
            raw.u32(U8).u64(1).push(&[7]);
        })
    };
    read(&nested(8)).unwrap();
    for depth in [9, 10, 5_000] {
        let words = "value of key \"deep\": arrays nested deeper than 8 at byte";
        assert_says("deep", read(&nested(depth)), words);
    }
    // Many empty arrays in one: the costliest list for its size in the file.
    let count = if cfg!(miri) { 100 } else { 20_000 };
    read(&with_key("wide", ARRAY, |raw| {
        raw.u32(ARRAY).u64(count);
        for _ in 0..count {
            raw.u32(U8).u64(0);
        }
    }))
    .unwrap();
}

#[test]
fn text_must_be_utf8_and_bools_0_or_1() {
    let _turn = turn();
    let bad = b"ab\xffc";
    let mut key = Raw::new(3, 0, 1);
    key.string(bad).u32(U8).push(&[1]);
    assert_says(
        "key",
        read(&key.build()),
        "key 0 at byte 0x20 is not UTF-8: byte 0x22 is wrong",
    );
    let value = with_key("s", STRING, |raw| {
        raw.string(bad);
    });
    assert_says(
        "value",
        read(&value),
        "value of key \"s\" at byte 0x2d is not UTF-8",
    );
    let items = with_key("s", ARRAY, |raw| {
        raw.u32(STRING).u64(2).string(b"fine").string(bad);
    });
    assert_says(
        "item",
        read(&items),
        "item 1 of value of key \"s\" at byte 0x45 is not UTF-8",
    );
    let mut name = Raw::new(3, 1, 0);
    name.string(bad).u32(0).u32(0).u64(0);
    assert_says(
        "name",
        read(&name.build()),
        "name of tensor 0 at byte 0x20 is not UTF-8",
    );

    let flag = with_key("b", BOOL, |raw| {
        raw.push(&[2]);
    });
    assert_says(
        "bool",
        read(&flag),
        "value of key \"b\": bool is 2 at byte 0x25",
    );
    let flags = with_key("b", ARRAY, |raw| {
        raw.u32(BOOL).u64(3).push(&[0, 1, 255]);
    });
    assert_says(
        "bools",
        read(&flags),
        "value of key \"b\": bool is 255 at byte 0x33",
    );
}

#[test]
fn keys_and_names_come_once() {
    let _turn = turn();
    let mut keys = Raw::new(3, 0, 3);
    for (key, value) in [("twin", 1), ("other", 2), ("twin", 1)] {
        keys.key(key, U8).push(&[value]);
    }
    assert_says(
        "keys",
        read(&keys.build()),
        "gguf: key \"twin\" is there twice",
    );
    let mut names = Raw::new(3, 2, 0);
    names
        .tensor("twin", &[1], 0, 0)
        .tensor("twin", &[1], 0, 32)
        .pad(32)
        .push(&[0; 64]);
    assert_says(
        "names",
        read(&names.build()),
        "gguf: tensor \"twin\" is there twice",
    );
}

#[test]
fn names_of_any_kind_make_short_plain_messages() {
    let _turn = turn();
    let long = "x\n\u{1b}".repeat(10_000);
    let mut raw = Raw::new(3, 1, 0);
    raw.tensor(&long, &[1], 99, 0).pad(32).push(&[0; 32]);
    assert_says("long name", read(&raw.build()), "unknown block type 99");
}

#[test]
fn mutated_files_never_panic() {
    let _turn = turn();
    let file = complete_gguf(3);
    let refused = mutations(&file, MUTATIONS)
        .filter(|bytes| read(bytes).is_err())
        .count() as u64;
    assert!(
        refused > MUTATIONS / 4 && refused < MUTATIONS,
        "{refused} of {MUTATIONS} refused"
    );
}
