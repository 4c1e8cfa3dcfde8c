//! What macOS is asked: the number of performance cores, and a worker's quality of service.

use std::ffi::{c_char, c_int, c_uint, c_void};

unsafe extern "C" {
    fn sysctlbyname(
        name: *const c_char,
        old: *mut c_void,
        old_len: *mut usize,
        new: *mut c_void,
        new_len: usize,
    ) -> c_int;
    fn pthread_set_qos_class_self_np(class: c_uint, relative_priority: c_int) -> c_int;
}

/// `QOS_CLASS_USER_INTERACTIVE` of `sys/qos.h`: the scheduler prefers performance cores.
const USER_INTERACTIVE: c_uint = 0x21;

/// Performance cores; on a machine with one kind of core, all physical ones.
pub(crate) fn performance_cores() -> Option<usize> {
    [c"hw.perflevel0.physicalcpu", c"hw.physicalcpu"]
        .into_iter()
        .find_map(|name| {
            let mut value: c_int = 0;
            let mut len = size_of::<c_int>();
            // SAFETY: `name` ends with a nul, `value` and `len` are live and `len` is the size of
            // `value`, and a null `new` of length 0 changes nothing.
            let status = unsafe {
                sysctlbyname(
                    name.as_ptr(),
                    (&raw mut value).cast(),
                    &raw mut len,
                    std::ptr::null_mut(),
                    0,
                )
            };
            usize::try_from(value)
                .ok()
                .filter(|count| status == 0 && *count > 0)
        })
}

/// Gives the calling thread the service class of work that a user waits for.
pub(crate) fn prefer_performance_cores() {
    // SAFETY: the call takes two numbers and concerns the calling thread alone. It may be refused,
    // which costs speed only, so its status is of no interest.
    unsafe { pthread_set_qos_class_self_np(USER_INTERACTIVE, 0) };
}
