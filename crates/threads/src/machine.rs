//! How many cores this process should use: physical cores ∩ affinity ∩ cgroup quota.
//!
//! Two hardware threads of one core share its vector units and first-level cache, so dense
//! numerical code counts cores, not hardware threads. On Linux all of it is read from text files:
//!
//! | what | from |
//! |---|---|
//! | CPUs that the scheduler may use | `Cpus_allowed_list` in `/proc/self/status` |
//! | which of them are one core | `/sys/devices/system/cpu/cpu<n>/topology/thread_siblings_list` |
//! | quota, cgroup v2 | `cpu.max` of the group in `/proc/self/cgroup` and of its ancestors |
//! | quota, cgroup v1 | `cpu.cfs_quota_us` / `cpu.cfs_period_us`, likewise |
//!
//! A file that is missing or unreadable imposes no limit. The files are reached through a closure,
//! so that tests run the same code over made-up machines.

/// Cores that a process on this machine should use, at least 1.
pub(crate) fn usable_cores() -> usize {
    let fallback = || std::thread::available_parallelism().map_or(1, |count| count.get());
    #[cfg(target_os = "macos")]
    return crate::macos::performance_cores().unwrap_or_else(fallback);
    #[cfg(not(target_os = "macos"))]
    // Miri, which isolates programs from files, has one CPU.
    if cfg!(all(target_os = "linux", not(miri))) {
        linux_cores(&|path| std::fs::read_to_string(path).ok()).unwrap_or_else(fallback)
    } else {
        fallback()
    }
}

/// Reads one text file; None when there is none.
type ReadFile<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The whole Linux rule; None when even the list of allowed CPUs cannot be read.
#[cfg_attr(
    target_os = "macos",
    allow(dead_code, reason = "its tests run everywhere")
)]
fn linux_cores(read: ReadFile<'_>) -> Option<usize> {
    let status = read("/proc/self/status")?;
    let allowed = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let cores = physical_cores(&cpu_list(allowed.trim())?, read);
    let quota = cgroup_quota(read).unwrap_or(usize::MAX);
    Some(cores.min(quota).max(1))
}

/// Parses `0-3,8,10-11`.
fn cpu_list(text: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for range in text.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        // A kernel knows at most 8,192 CPUs; anything above is not such a list.
        if last > 65_535 {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// Distinct sets of hardware threads among `cpus`; a CPU without topology counts as a core.
fn physical_cores(cpus: &[usize], read: ReadFile<'_>) -> usize {
    let mut cores: Vec<String> = cpus
        .iter()
        .map(|cpu| {
            let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
            read(&path).map_or_else(|| cpu.to_string(), |siblings| siblings.trim().to_owned())
        })
        .collect();
    cores.sort_unstable();
    cores.dedup();
    cores.len()
}

/// The least quota of this process's groups and their ancestors, in whole CPUs; None without one.
///
/// A quota of 1.5 CPUs gives 1: a second thread would be throttled half of the time, and a region
/// waits for its slowest thread.
fn cgroup_quota(read: ReadFile<'_>) -> Option<usize> {
    let groups = read("/proc/self/cgroup")?;
    let mut least: Option<usize> = None;
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
            continue;
        };
        let is_v2 = controllers.is_empty();
        if !is_v2 && !controllers.split(',').any(|controller| controller == "cpu") {
            continue;
        }
        for group in ancestors(path) {
            let quota = if is_v2 {
                quota_v2(group, read)
            } else {
                quota_v1(group, read)
            };
            least = [least, quota].into_iter().flatten().min();
        }
    }
    least
}

/// `/a/b` gives `/a/b`, `/a` and the root, which is the empty string.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    let path = path.trim_end_matches('/');
    std::iter::successors(Some(path), |path| path.rfind('/').map(|end| &path[..end]))
}

/// Quota of a cgroup v2: `cpu.max` holds `max 100000` or `<quota µs> <period µs>`.
fn quota_v2(group: &str, read: ReadFile<'_>) -> Option<usize> {
    let text = read(&format!("/sys/fs/cgroup{group}/cpu.max"))?;
    let (quota, period) = text.trim().split_once(' ')?;
    whole_cpus(quota, period)
}

/// Quota of a cgroup v1; −1 in `cpu.cfs_quota_us` means none.
fn quota_v1(group: &str, read: ReadFile<'_>) -> Option<usize> {
    ["cpu", "cpu,cpuacct"].into_iter().find_map(|mount| {
        let file = |name: &str| read(&format!("/sys/fs/cgroup/{mount}{group}/{name}"));
        whole_cpus(
            file("cpu.cfs_quota_us")?.trim(),
            file("cpu.cfs_period_us")?.trim(),
        )
    })
}

fn whole_cpus(quota: &str, period: &str) -> Option<usize> {
    let (quota, period): (usize, usize) = (quota.parse().ok()?, period.parse().ok()?);
    Some(quota.checked_div(period)?.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cores_of(files: &[(&str, &str)]) -> Option<usize> {
        linux_cores(&|path| {
            files
                .iter()
                .find(|(name, _)| *name == path)
                .map(|(_, text)| (*text).to_owned())
        })
    }

    const STATUS_0_TO_7: (&str, &str) = (
        "/proc/self/status",
        "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-7\n",
    );

    fn siblings(cpu: usize) -> (String, String) {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        (path, format!("{},{}\n", cpu % 4, cpu % 4 + 4))
    }

    #[test]
    fn two_hardware_threads_of_one_core_count_once() {
        let topology: Vec<(String, String)> = (0..8).map(siblings).collect();
        let mut files = vec![STATUS_0_TO_7];
        files.extend(
            topology
                .iter()
                .map(|(path, text)| (path.as_str(), text.as_str())),
        );
        assert_eq!(cores_of(&files), Some(4));
        files[0].1 = "Cpus_allowed_list:\t1,3,5\n";
        assert_eq!(cores_of(&files), Some(2));
    }

    #[test]
    fn without_topology_each_allowed_cpu_is_a_core() {
        assert_eq!(cores_of(&[STATUS_0_TO_7]), Some(8));
    }

    #[test]
    fn the_least_quota_among_the_ancestors_limits_v2() {
        let files = [
            STATUS_0_TO_7,
            ("/proc/self/cgroup", "0::/pod/box\n"),
            ("/sys/fs/cgroup/pod/box/cpu.max", "max 100000\n"),
            ("/sys/fs/cgroup/pod/cpu.max", "350000 100000\n"),
        ];
        assert_eq!(cores_of(&files), Some(3));
    }

    #[test]
    fn the_root_group_of_a_container_limits_v2() {
        let root = ("/sys/fs/cgroup/cpu.max", "50000 100000\n");
        assert_eq!(
            cores_of(&[STATUS_0_TO_7, ("/proc/self/cgroup", "0::/\n"), root]),
            Some(1)
        );
    }

    #[test]
    fn quota_limits_v1_and_minus_one_is_none() {
        let mut files = [
            STATUS_0_TO_7,
            ("/proc/self/cgroup", "5:memory:/a\n4:cpu,cpuacct:/a\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "200000\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n"),
        ];
        assert_eq!(cores_of(&files), Some(2));
        files[2].1 = "-1\n";
        assert_eq!(cores_of(&files), Some(8));
    }

    #[test]
    fn unreadable_files_limit_nothing() {
        let junk = [STATUS_0_TO_7, ("/proc/self/cgroup", "nonsense\n::\n")];
        assert_eq!(cores_of(&junk), Some(8));
        let zero = [
            STATUS_0_TO_7,
            ("/proc/self/cgroup", "0::/\n"),
            ("/sys/fs/cgroup/cpu.max", "100000 0\n"),
        ];
        assert_eq!(cores_of(&zero), Some(8));
        assert_eq!(cores_of(&[]), None);
        assert_eq!(
            cores_of(&[("/proc/self/status", "Cpus_allowed_list:\t0-9999999999\n")]),
            None
        );
    }
}
