//! From text to a pipeline.

use super::device::{API, Id};
use crate::driver::Program;
use crate::{GpuError, Result};
use objc2::available;
use objc2::runtime::ProtocolObject;
use objc2_foundation::NSString;
use objc2_metal::{
    MTLCompileOptions, MTLComputePipelineState, MTLDevice, MTLLanguageVersion, MTLLibrary,
    MTLMathFloatingPointFunctions, MTLMathMode,
};

/// A kernel that can be launched.
pub(super) struct Pipeline(pub(super) Id<dyn MTLComputePipelineState>);

/// Rules of arithmetic: NaN and infinity are kept, and functions are precise, unless asked not to.
fn options(fast_math: bool) -> objc2::rc::Retained<MTLCompileOptions> {
    let options = MTLCompileOptions::new();
    options.setLanguageVersion(MTLLanguageVersion::Version2_4);
    if available!(macos = 15.0) {
        let (mode, functions) = match fast_math {
            true => (MTLMathMode::Fast, MTLMathFloatingPointFunctions::Fast),
            false => (MTLMathMode::Safe, MTLMathFloatingPointFunctions::Precise),
        };
        options.setMathMode(mode);
        options.setMathFloatingPointFunctions(functions);
    } else {
        #[allow(deprecated)] // what replaces it needs macOS 15
        options.setFastMathEnabled(fast_math);
    }
    options
}

pub(super) fn pipeline(
    device: &ProtocolObject<dyn MTLDevice>,
    program: &Program<'_>,
) -> Result<Pipeline> {
    let wrong = |log: String| GpuError::Compile {
        api: API,
        kernel: program.entry.into(),
        log,
    };
    let (text, entry) = (
        NSString::from_str(program.text),
        NSString::from_str(program.entry),
    );
    let library = device
        .newLibraryWithSource_options_error(&text, Some(&options(program.fast_math)))
        .map_err(|error| wrong(error.localizedDescription().to_string()))?;
    let function = library
        .newFunctionWithName(&entry)
        .ok_or_else(|| wrong("the text has no kernel of that name".into()))?;
    let state = device
        .newComputePipelineStateWithFunction_error(&function)
        .map_err(|error| wrong(error.localizedDescription().to_string()))?;
    let group_max = state.maxTotalThreadsPerThreadgroup();
    if program.group as usize > group_max {
        let group = program.group;
        return Err(wrong(format!(
            "groups of {group} threads; the device runs {group_max}"
        )));
    }
    Ok(Pipeline(state))
}
