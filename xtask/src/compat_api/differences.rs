//! Differences of two interfaces, and the reasons for them.

use super::interface::Interface;
use crate::candle;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;

/// Something that candle has and we have not, or have otherwise.
pub(super) struct Difference {
    /// `candle-core: Tensor::add`
    name: String,
    /// What stands there with candle.
    theirs: String,
    /// What stands there with us.
    ours: Option<String>,
}

impl Difference {
    pub(super) fn line(&self) -> String {
        match &self.ours {
            None => format!("{} is missing: {}", self.name, self.theirs),
            Some(ours) => format!("{} differs: {}, ours {ours}", self.name, self.theirs),
        }
    }
}

pub(super) fn between(package: &str, theirs: &Interface, ours: &Interface) -> Vec<Difference> {
    let differs = |(path, what): (&String, &String)| {
        let own = ours.get(path);
        (own != Some(what)).then(|| Difference {
            name: format!("{package}: {path}"),
            theirs: what.clone(),
            ours: own.cloned(),
        })
    };
    theirs.iter().filter_map(differs).collect()
}

/// Why things differ: by the beginning of their names, the longest that fits.
pub(super) struct Reasons {
    all: Vec<(String, String)>,
    used: RefCell<BTreeSet<String>>,
}

impl Reasons {
    /// Reads a table of reasons: `"candle-core: cuda" = "the reason"`.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let all = candle::reasons(path)?;
        let used = RefCell::default();
        Ok(Self { all, used })
    }

    fn of(&self, difference: &Difference) -> Option<&str> {
        let fits = |name: &str| {
            let rest = difference.name.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '.']))
        };
        let reasons = self.all.iter().filter(|(name, _)| fits(name));
        let (name, reason) = reasons.max_by_key(|(name, _)| name.len())?;
        self.used.borrow_mut().insert(name.clone());
        Some(reason)
    }

    /// The differences that have no reason.
    pub(super) fn unexplained(&self, differences: &[Difference]) -> Vec<Difference> {
        let none = differences
            .iter()
            .filter(|difference| self.of(difference).is_none());
        none.map(|difference| Difference {
            name: difference.name.clone(),
            theirs: difference.theirs.clone(),
            ours: difference.ours.clone(),
        })
        .collect()
    }

    /// A reason that nothing needed.
    pub(super) fn idle(&self) -> Option<&str> {
        let used = self.used.borrow();
        let idle = self.all.iter().find(|(name, _)| !used.contains(name));
        idle.map(|(name, _)| name.as_str())
    }
}

/// The page's part on one package.
pub(super) fn table(
    package: &str,
    theirs: &Interface,
    differences: &[Difference],
    reasons: &Reasons,
) -> String {
    let missing = differences
        .iter()
        .filter(|difference| difference.ours.is_none())
        .count();
    let mut text = format!(
        "\n## {package}\n\n{} names: {} are the same, {} have another signature, {missing} are \
         missing.\n\n| name | with candle | here | why |\n|---|---|---|---|\n",
        theirs.len(),
        theirs.len() - differences.len(),
        differences.len() - missing,
    );
    for difference in differences {
        let name = difference.name.split(": ").nth(1).unwrap_or_default();
        let (code, why) = (|what: &str| format!("`{what}`"), reasons.of(difference));
        let ours = difference
            .ours
            .as_deref()
            .map_or_else(|| "–".to_owned(), code);
        text.push_str(&format!(
            "| `{name}` | {} | {ours} | {} |\n",
            code(&difference.theirs),
            why.unwrap_or_default()
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(entries: &[(&str, &str)]) -> Interface {
        let own = |(path, what): &(&str, &str)| ((*path).to_owned(), (*what).to_owned());
        entries.iter().map(own).collect()
    }

    fn reasons(entries: &[(&str, &str)]) -> Reasons {
        let own = |(name, why): &(&str, &str)| ((*name).to_owned(), (*why).to_owned());
        let all = entries.iter().map(own).collect();
        Reasons {
            all,
            used: RefCell::default(),
        }
    }

    #[test]
    fn what_is_missing_or_differs_is_found() {
        let theirs = interface(&[("A", "struct"), ("A::f", "fn()"), ("b", "module")]);
        let ours = interface(&[("A", "struct"), ("A::f", "fn(usize)"), ("c", "module")]);
        let found = between("x", &theirs, &ours);
        let lines: Vec<_> = found.iter().map(Difference::line).collect();
        assert_eq!(
            lines,
            [
                "x: A::f differs: fn(), ours fn(usize)",
                "x: b is missing: module"
            ]
        );
    }

    #[test]
    fn a_reason_holds_for_what_is_below_it_and_no_more() {
        let theirs = interface(&[
            ("cuda", "module"),
            ("cuda::f", "fn()"),
            ("cudarc", "module"),
        ]);
        let found = between("x", &theirs, &Interface::new());
        let reasons = reasons(&[("x: cuda", "no GPU"), ("x: metal", "no GPU")]);
        let open = reasons.unexplained(&found);
        assert_eq!(open.len(), 1);
        assert_eq!(open[0].name, "x: cudarc");
        assert_eq!(reasons.idle(), Some("x: metal"));
    }
}
