//! What the system says about this process.

/// The most memory that the process held at once, in bytes, where the system tells (Linux).
pub(crate) fn peak_memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    kibibytes(&status, "VmHWM:").map(|count| count * 1024)
}

/// The number behind `key` in lines of `Key:   123 kB`.
pub(crate) fn kibibytes(text: &str, key: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(key))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::kibibytes;

    #[test]
    fn the_line_of_the_key_is_read() {
        let text = "VmPeak:\t  10 kB\nVmHWM:\t  2048 kB\n";
        assert_eq!(kibibytes(text, "VmHWM:"), Some(2048));
        assert_eq!(kibibytes(text, "VmRSS:"), None);
    }
}
