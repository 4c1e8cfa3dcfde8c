//! The functions of a Rust file: where they are, how long they are, how much they take.
//!
//! They are found by their `fn` and by brackets, in code whose comments and literals are blanked
//! out ([`super::code`]). A declaration without a body is not among them.

use super::code::{has_word, is_word};

/// One function with a body.
pub(crate) struct Function<'a> {
    pub(crate) name: &'a str,
    /// The line of its `fn`, counted from 1.
    pub(crate) line: usize,
    /// Lines from its `fn` to the brace that closes its body.
    pub(crate) lines: usize,
    /// How many parameters it has, `self` aside.
    pub(crate) parameters: usize,
}

/// Every function in the blanked code, those inside others as well.
pub(crate) fn functions(code: &str) -> Vec<Function<'_>> {
    let starts = code.match_indices("fn ").filter(|(at, _)| {
        let before = code[..*at].chars().next_back();
        !before.is_some_and(is_word)
    });
    starts
        .filter_map(|(at, word)| function(code, at, at + word.len()))
        .collect()
}

/// The function whose `fn` is at `at` and whose name starts at `name`; none where it has no body.
fn function(code: &str, at: usize, name: usize) -> Option<Function<'_>> {
    let name_end = name + code[name..].find(|character| !is_word(character))?;
    let open = body_start(code, name)?;
    let close = open + closing(&code[open..])?;
    Some(Function {
        name: &code[name..name_end],
        line: code[..at].matches('\n').count() + 1,
        lines: code[at..close].matches('\n').count() + 1,
        parameters: parameters(&code[name_end..open]),
    })
}

/// Where the body opens; none where the declaration ends without one. Arrays have `;` too.
fn body_start(code: &str, name: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (offset, character) in code[name..].char_indices() {
        match character {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            '{' if depth == 0 => return Some(name + offset),
            ';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// Where the bracket with which the code opens is closed.
fn closing(code: &str) -> Option<usize> {
    let mut depth = 0_usize;
    code.char_indices().find_map(|(at, character)| {
        match character {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        (depth == 0).then_some(at)
    })
}

/// How many parameters the first list in parentheses behind the generics holds.
fn parameters(signature: &str) -> usize {
    let Some(open) = list_start(signature) else {
        return 0;
    };
    let list = &signature[open..];
    let list = &list[1..closing(list).unwrap_or(list.len())];
    let mut depth = 0_usize;
    let mut before = ' ';
    let parts = list.split(|character| {
        match character {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            // The arrow of a function's type closes nothing.
            '>' if before != '-' => depth = depth.saturating_sub(1),
            _ => {}
        }
        before = character;
        character == ',' && depth == 0
    });
    parts
        .map(str::trim)
        .filter(|part| !part.is_empty() && !is_self(part))
        .count()
}

fn is_self(parameter: &str) -> bool {
    let pattern = parameter.split(':').next().unwrap_or(parameter);
    has_word(pattern, "self")
}

/// Where the list of parameters opens: the first parenthesis that is not inside the generics.
fn list_start(signature: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut before = ' ';
    for (at, character) in signature.char_indices() {
        match character {
            '<' => depth += 1,
            '>' if before != '-' => depth = depth.saturating_sub(1),
            '(' if depth == 0 => return Some(at),
            _ => {}
        }
        before = character;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::functions;

    fn found(code: &str) -> Vec<(&str, usize, usize, usize)> {
        let functions = functions(code).into_iter();
        functions
            .map(|f| (f.name, f.line, f.lines, f.parameters))
            .collect()
    }

    #[test]
    fn places_and_lengths_are_counted_in_lines() {
        let code = "fn a() {}\n\nimpl B {\n    fn c(&self) {\n        d();\n    }\n}\n";
        assert_eq!(found(code), [("a", 1, 1, 0), ("c", 4, 3, 0)]);
    }

    #[test]
    fn parameters_are_counted_without_self_and_what_is_inside_their_types() {
        let code = "fn a<F: Fn(u8, u8) -> u8>(&self, f: F, b: [u8; 2], c: Map<u8, (u8, u8)>,) {}";
        assert_eq!(found(code), [("a", 1, 1, 3)]);
        let code = "fn a(f: impl Fn(u8, u8) -> Vec<u8>, b: u8) -> (u8, u8, u8) {}";
        assert_eq!(found(code), [("a", 1, 1, 2)]);
    }

    #[test]
    fn declarations_and_types_are_no_functions() {
        assert_eq!(
            found("fn a();\nlet b: fn(u8) = c;\nfn d(e: [u8; 2]);\n"),
            []
        );
    }
}
