//! Hostile npy, npz and pth files.

use tallow_formats::npy::{Array, Npz};
use tallow_formats::{Error, pth};

use crate::older_raw::{archive, npy, pth_view};
use crate::{MUTATIONS, assert_says, bounded, bounded_by, mutations, turn};

/// The window and the tables of an inflater, the first reserve for what comes out of it (1 MiB),
/// and the directory of an archive, whose entries take up to a hundred times their bytes here.
fn archive_bound(len: usize) -> usize {
    len * 128 + (2 << 20)
}

fn read_npy(bytes: &[u8]) -> Result<(), Error> {
    let (len, bytes) = (bytes.len(), bytes.to_vec());
    bounded(len, || {
        let array = Array::from_bytes(bytes)?;
        let count: usize = array.header().shape.iter().product();
        assert_eq!(
            array.data().len(),
            count * array.header().element.byte_len()
        );
        Ok(())
    })
}

fn read_npz(bytes: &[u8]) -> Result<(), Error> {
    let (len, bytes) = (bytes.len(), bytes.to_vec());
    bounded_by(len, archive_bound(len), || {
        let file = Npz::from_bytes(bytes)?;
        for name in file.names() {
            file.array(name)?;
        }
        Ok(())
    })
}

fn read_pth(bytes: &[u8]) -> Result<(), Error> {
    let (len, bytes) = (bytes.len(), bytes.to_vec());
    bounded_by(len, archive_bound(len), || {
        let file = pth::File::from_bytes(bytes, None)?;
        for info in file.tensors() {
            file.with_span(&info.name, |_, span| span.len())?;
        }
        Ok(())
    })
}

#[test]
fn npy_headers_that_lie_are_refused() {
    let _turn = turn();
    let good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";
    read_npy(&npy(good, 24)).unwrap();
    for len in 0..npy(good, 24).len() {
        assert!(read_npy(&npy(good, 24)[..len]).is_err(), "cut at {len}");
    }
    let shape = |shape: &str| good.replace("(2, 3)", shape);
    let descr = |descr: &str| good.replace("<f4", descr);
    for (header, words) in [
        (shape("(4294967296, 4294967296)"), "is larger than memory"),
        (
            shape("(0, 4294967296, 4294967296)"),
            "is larger than memory",
        ),
        (shape("(18446744073709551615,)"), "is larger than memory"),
        (shape("(2, 1000000)"), "takes 8000000 bytes"),
        (shape("(2, 3"), "header: at byte"),
        (shape("-2"), "header: at byte"),
        (shape("6"), "\"shape\" is Integer(6)"),
        (descr("<c8"), "dtype \"<c8\" cannot be read"),
        (descr("<U3"), "cannot be read"),
        (descr("é"), "cannot be read"),
        (descr(""), "cannot be read"),
        (descr("<f16"), "cannot be read"),
        (good.replace("'shape'", "'shapes'"), "unexpected"),
        ("{}".to_string(), "is missing"),
        (
            shape(&format!("({})", "1, ".repeat(65))),
            "65 dims; 64 at most",
        ),
    ] {
        assert_says(&header, read_npy(&npy(&header, 24)), words);
    }
    let mut wrong = npy(good, 24);
    wrong[6] = 4;
    assert_says("version", read_npy(&wrong), "unknown version 4");
    assert_says("magic", read_npy(b"NUMPY"), "wrong magic \"NUMPY\"");
}

#[test]
fn changed_npy_files_never_panic() {
    let _turn = turn();
    let good = npy(
        "{'descr': '>u2', 'fortran_order': True, 'shape': (2, 3), }\n",
        12,
    );
    for bytes in mutations(&good, MUTATIONS) {
        let _ = read_npy(&bytes);
    }
}

#[test]
fn changed_archives_never_panic_nor_swell() {
    let _turn = turn();
    let count = MUTATIONS / 10;
    for good in [
        include_bytes!("../golden/deflated.npz").as_slice(),
        include_bytes!("../golden/order.npz"),
    ] {
        read_npz(good).unwrap();
        for bytes in mutations(good, count) {
            let _ = read_npz(&bytes);
        }
        for len in (0..good.len()).step_by(7) {
            assert!(read_npz(&good[..len]).is_err(), "cut at {len}");
        }
    }
    for good in [
        include_bytes!("../golden/state.pth").as_slice(),
        include_bytes!("../golden/nested.pth"),
    ] {
        read_pth(good).unwrap();
        for bytes in mutations(good, count) {
            let _ = read_pth(&bytes);
        }
        for len in (0..good.len()).step_by(7) {
            assert!(read_pth(&good[..len]).is_err(), "cut at {len}");
        }
    }
}

#[test]
fn other_files_are_no_archives() {
    let _turn = turn();
    for bytes in [
        &b""[..],
        b"P",
        b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.",
        b"PK",
        b"PK\x05\x06",
    ] {
        assert!(read_npz(bytes).is_err());
        assert!(read_pth(bytes).is_err());
    }
    assert_says("text", read_pth(b"hello"), "pth: not a zip archive");
}

#[test]
fn views_that_leave_their_storage_are_refused() {
    let _turn = turn();
    let unusable = |bytes: Vec<u8>| {
        let file = pth::File::from_bytes(bytes, None)?;
        file.tensor("w").map(|_| ())
    };
    unusable(pth_view("2", "I2\nI2\n", "I2\nI1\n", "6")).unwrap();
    let big = "I4611686018427387904\n";
    for (offset, shape, strides, len, words) in [
        (
            "3",
            "I2\nI2\n",
            "I2\nI1\n",
            "6",
            "passes the 6 of its storage",
        ),
        (
            "0",
            "I2\nI2\n",
            "I5\nI1\n",
            "6",
            "passes the 6 of its storage",
        ),
        (
            "0",
            "I2\nI2\n",
            "I2\nI1\n",
            "7",
            "has 24 bytes; 7 f32 are declared",
        ),
        ("-1", "I2\n", "I1\n", "6", "-1 is no size"),
        ("0", "I-2\n", "I1\n", "6", "-2 is no size"),
        ("0", "I2\n", "I2\nI1\n", "6", "differ in length"),
        ("0", big, "I1\n", "6", "is larger than memory"),
        ("0", "I2\n", big, "6", "passes the 6 of its storage"),
        (
            "9223372036854775807",
            "I2\n",
            "I1\n",
            "6",
            "passes the 6 of its storage",
        ),
        (
            "0",
            "I1099511627776\nI1099511627776\n",
            "I0\nI0\n",
            "6",
            "is larger than memory",
        ),
        (
            "99999999999999999999",
            "I2\n",
            "I1\n",
            "6",
            "more than 64 bits",
        ),
        ("0", "N", "I1\n", "6", "is no integer that fits: None"),
    ] {
        let label = format!("{offset} {shape} {strides} {len}");
        assert_says(
            &label,
            unusable(pth_view(offset, shape, strides, len)),
            words,
        );
    }
}

#[test]
fn an_entry_that_swells_is_refused() {
    let _turn = turn();
    // The directory says that 46 bytes inflate to 4 GiB.
    let mut bytes = archive(&[("x.npy", &[0; 46])]);
    let directory = bytes.len() - 22 - 46 - 5;
    bytes[directory + 10] = 8;
    bytes[directory + 24..][..4].copy_from_slice(&[0xff, 0xff, 0xff, 0xf0]);
    assert_says("bomb", read_npz(&bytes), "46 compressed bytes cannot hold");
}
