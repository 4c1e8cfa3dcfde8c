//! What stands before every kernel: the device's defines, its prelude, and the headers for all.
//!
//! `README.md` beside this file tells kernel authors what the preludes give.

use crate::driver::{Api, DeviceInfo};
use crate::source::Variant;

const COMMON: &str = concat!(
    include_str!("dtypes.gpu.h"),
    include_str!("strided.gpu.h"),
    include_str!("reduce.gpu.h"),
);

/// The text that the compiler gets.
pub(crate) fn program(info: &DeviceInfo, variant: &Variant, nonce: Option<&str>) -> String {
    let prelude = match info.api {
        Api::Cuda => include_str!("prelude_cuda.gpu.h"),
        Api::Metal => include_str!("prelude_metal.gpu.h"),
        Api::OpenCl => include_str!("prelude_opencl.gpu.h"),
    };
    let source = variant.source;
    let nonce = nonce.map_or(String::new(), |nonce| {
        let word: String = nonce.chars().filter(char::is_ascii_alphanumeric).collect();
        format!("/* {word} */\n")
    });
    let defines = source.expand(variant);
    let strided = <crate::strided::Dims as crate::Params>::text();
    let body = source.body();
    let parts: [&str; 7] = [
        &nonce,
        &info.defines,
        &defines,
        prelude,
        &strided,
        COMMON,
        &body,
    ];
    parts.concat()
}
