//! A crate's public interface, as rustdoc's JSON tells it: every path with its kind and signature.
//!
//! Signatures are written so that those of two crates can be compared: a type by the last segment
//! of its path, generic parameters and `impl Trait` by their order, lifetimes left out.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Paths below the crate's root (`Tensor::add`), and what stands there.
pub(super) type Interface = BTreeMap<String, String>;

/// What rustdoc wrote about a crate.
pub(super) struct Crate<'a> {
    json: &'a Value,
    /// Crates whose items this one may re-export, by name.
    others: &'a [(&'a str, &'a Interface)],
}

impl<'a> Crate<'a> {
    pub(super) fn new(json: &'a Value, others: &'a [(&'a str, &'a Interface)]) -> Self {
        Self { json, others }
    }

    /// The whole interface.
    pub(super) fn interface(&self) -> Interface {
        let mut walk = Walk {
            source: self,
            found: Interface::new(),
            seen: BTreeSet::new(),
        };
        walk.module(&self.json["root"], "");
        walk.found
    }

    fn item(&self, id: &Value) -> Option<&'a Value> {
        let key = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
        self.json["index"].get(key)
    }
}

/// The kind of an item and what is said of it.
fn inner(item: &Value) -> Option<(&str, &Value)> {
    let (kind, value) = item["inner"].as_object()?.iter().next()?;
    Some((kind, value))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn join(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        _ => format!("{path}::{name}"),
    }
}

struct Walk<'a, 'b> {
    source: &'b Crate<'a>,
    found: Interface,
    /// Modules that were entered, by id and path: re-exports may go round.
    seen: BTreeSet<(String, String)>,
}

impl Walk<'_, '_> {
    fn module(&mut self, id: &Value, path: &str) {
        let Some(item) = self.source.item(id) else {
            return;
        };
        if !self.seen.insert((id.to_string(), path.to_owned())) || path.matches("::").count() > 6 {
            return;
        }
        match inner(item) {
            Some(("module", module)) => {
                for child in list(&module["items"]).filter_map(|id| self.source.item(id)) {
                    self.child(child, path);
                }
            }
            Some(("enum", item)) => self.variants(item, path),
            _ => {}
        }
    }

    fn child(&mut self, item: &Value, path: &str) {
        if !matches!(item["visibility"].as_str(), Some("public" | "default")) {
            return;
        }
        match (inner(item), item["name"].as_str()) {
            (Some(("use", used)), _) => self.used(used, path),
            (Some(("impl", _)), _) | (_, None) | (None, _) => {}
            (Some((kind, value)), Some(name)) => self.place(item, kind, value, &join(path, name)),
        }
    }

    /// `pub use`: what it names is placed here.
    fn used(&mut self, used: &Value, path: &str) {
        let name = used["name"].as_str().unwrap_or_default();
        let glob = used["is_glob"].as_bool() == Some(true);
        match self.source.item(&used["id"]) {
            Some(_) if glob => self.module(&used["id"], path),
            Some(item) => {
                if let Some((kind, value)) = inner(item) {
                    self.place(item, kind, value, &join(path, name));
                }
            }
            None => self.foreign(
                used["source"].as_str().unwrap_or_default(),
                glob,
                name,
                path,
            ),
        }
    }

    /// What another crate's interface has under a path.
    fn foreign(&mut self, source: &str, glob: bool, name: &str, path: &str) {
        let (krate, theirs) = source.split_once("::").unwrap_or((source, ""));
        let known = self.source.others.iter().find(|(known, _)| *known == krate);
        let Some((_, interface)) = known else {
            self.found
                .insert(join(path, name), "item of another crate".to_owned());
            return;
        };
        let here = if glob {
            path.to_owned()
        } else {
            join(path, name)
        };
        for (place, what) in interface.iter() {
            let rest = match theirs {
                "" => Some(place.as_str()),
                _ => match place.strip_prefix(theirs) {
                    Some("") => Some(""),
                    Some(rest) => rest.strip_prefix("::"),
                    None => None,
                },
            };
            if let Some(rest) = rest.filter(|rest| !(glob && rest.is_empty())) {
                let place = if rest.is_empty() {
                    here.clone()
                } else {
                    join(&here, rest)
                };
                // What stands in the crate itself comes before what a glob brings.
                self.found.entry(place).or_insert_with(|| what.clone());
            }
        }
    }

    fn place(&mut self, item: &Value, kind: &str, value: &Value, path: &str) {
        match kind {
            "module" => {
                self.found.insert(path.to_owned(), "module".to_owned());
                self.module(&item["id"], path);
            }
            "function" => {
                self.found
                    .insert(path.to_owned(), format!("fn{}", signature(value, None)));
            }
            _ => {
                self.found.insert(path.to_owned(), kind.replace('_', " "));
                self.members(kind, value, path);
            }
        }
    }

    fn members(&mut self, kind: &str, value: &Value, path: &str) {
        match kind {
            "trait" => {
                for id in list(&value["items"]) {
                    self.member(id, path, "trait ");
                }
            }
            "enum" => self.variants(value, path),
            "struct" => {
                for id in list(&value["kind"]["plain"]["fields"]) {
                    self.field(id, path);
                }
            }
            _ => {}
        }
        for item in list(&value["impls"]).filter_map(|id| self.source.item(id)) {
            let block = &item["inner"]["impl"];
            let made = block["is_synthetic"].as_bool() == Some(true);
            if made || !block["blanket_impl"].is_null() {
                continue;
            }
            if block["trait"].is_null() {
                for id in list(&block["items"]) {
                    self.member(id, path, "");
                }
            }
        }
    }

    fn member(&mut self, id: &Value, path: &str, before: &str) {
        let Some(item) = self.source.item(id) else {
            return;
        };
        let (Some((kind, value)), Some(name)) = (inner(item), item["name"].as_str()) else {
            return;
        };
        if before.is_empty() && item["visibility"].as_str() != Some("public") {
            return;
        }
        let owner = path.rsplit("::").next();
        let what = match kind {
            "function" => format!("{before}fn{}", signature(value, owner)),
            _ => format!("{before}{}", kind.replace('_', " ")),
        };
        self.found.insert(join(path, name), what);
    }

    fn variants(&mut self, value: &Value, path: &str) {
        for item in list(&value["variants"]).filter_map(|id| self.source.item(id)) {
            if let Some(name) = item["name"].as_str() {
                self.found.insert(join(path, name), "variant".to_owned());
            }
        }
    }

    fn field(&mut self, id: &Value, path: &str) {
        let Some(item) = self.source.item(id) else {
            return;
        };
        if item["visibility"].as_str() != Some("public") {
            return;
        }
        if let (Some((_, value)), Some(name)) = (inner(item), item["name"].as_str()) {
            let names = Names::default();
            let what = format!("field {}", names.of(value));
            self.found.insert(format!("{path}.{name}"), what);
        }
    }
}

/// Arguments and result of a function. `owner` is what `Self` stands for.
fn signature(function: &Value, owner: Option<&str>) -> String {
    let parameters = list(&function["generics"]["params"]);
    let types = parameters.filter(|parameter| !parameter["kind"]["type"].is_null());
    let names = Names {
        generics: types
            .filter_map(|parameter| parameter["name"].as_str())
            .collect(),
        owner,
    };
    let inputs = list(&function["sig"]["inputs"]).map(|input| names.of(&input[1]));
    let inputs = inputs.collect::<Vec<_>>().join(", ");
    match &function["sig"]["output"] {
        Value::Null => format!("({inputs})"),
        output => format!("({inputs}) -> {}", names.of(output)),
    }
}

/// How types are written.
#[derive(Default)]
struct Names<'a> {
    generics: Vec<&'a str>,
    owner: Option<&'a str>,
}

impl Names<'_> {
    fn of(&self, of: &Value) -> String {
        let Some((kind, value)) = of.as_object().and_then(|of| of.iter().next()) else {
            return "_".to_owned();
        };
        match kind.as_str() {
            "resolved_path" => self.path(value),
            "generic" => self.generic(value.as_str().unwrap_or_default()),
            "primitive" => value.as_str().unwrap_or_default().to_owned(),
            "borrowed_ref" => {
                let mutable = value["is_mutable"].as_bool() == Some(true);
                let target = self.of(&value["type"]);
                format!("&{}{target}", if mutable { "mut " } else { "" })
            }
            "slice" => format!("[{}]", self.of(value)),
            "array" => format!("[{}; {}]", self.of(&value["type"]), value["len"]),
            "tuple" => {
                let parts = list(value).map(|part| self.of(part)).collect::<Vec<_>>();
                format!("({})", parts.join(", "))
            }
            "impl_trait" => "impl".to_owned(),
            "qualified_path" => format!("_::{}", value["name"].as_str().unwrap_or_default()),
            "dyn_trait" => "dyn".to_owned(),
            other => other.to_owned(),
        }
    }

    /// A generic parameter by its place: crates name them as they like, or write `impl`.
    fn generic(&self, name: &str) -> String {
        match (name, self.owner) {
            ("Self", Some(owner)) => owner.to_owned(),
            (name, _) if self.generics.contains(&name) => "impl".to_owned(),
            (name, _) => name.to_owned(),
        }
    }

    fn path(&self, value: &Value) -> String {
        let path = value["path"].as_str().or(value["name"].as_str());
        let name = path
            .unwrap_or_default()
            .rsplit("::")
            .next()
            .unwrap_or_default();
        let arguments = list(&value["args"]["angle_bracketed"]["args"]);
        let arguments = arguments.filter(|argument| argument["lifetime"].is_null());
        let arguments: Vec<String> = arguments
            .map(|argument| self.of(&argument["type"]))
            .collect();
        // `Result<T>` and `Result<T, Error>` are the same.
        match (name, arguments.as_slice()) {
            (_, []) => name.to_owned(),
            ("Result", [ok, _]) => format!("Result<{ok}>"),
            _ => format!("{name}<{}>", arguments.join(", ")),
        }
    }
}
