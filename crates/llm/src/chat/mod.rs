//! Turns a conversation into the prompt text that a model was trained on.
//!
//! A model brings its own template (Jinja, as Hugging Face's `apply_chat_template` reads it): in
//! GGUF under `tokenizer.chat_template`, beside safetensors in `tokenizer_config.json` or
//! `chat_template.jinja`. It runs in the `minijinja` crate with the functions that templates
//! expect (`functions.rs`). A template can also be chosen by name (`named.rs`). A base model has
//! none, and its prompt is the plain text.

mod functions;
mod named;

use std::path::Path;

use minijinja::value::Serde;
use minijinja::{Environment, Value, context, syntax::SyntaxConfig};
use serde::Serialize;
use tallow_formats::gguf::{Metadata, Strings};

use crate::error::{Error, Result};

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Message {
    /// Who speaks: `system`, `user` or `assistant`.
    pub role: String,
    /// What is said.
    pub content: String,
}

impl Message {
    /// A message of the given role.
    pub fn new(role: impl Into<String>, content: impl Into<String>) -> Self {
        Self {
            role: role.into(),
            content: content.into(),
        }
    }
}

/// A parsed chat template.
///
/// ```
/// use tallow_llm::chat::{ChatTemplate, Message};
/// let template = ChatTemplate::by_name("chatml")?;
/// let prompt = template.render(&[Message::new("user", "Hello")], true)?;
/// assert_eq!(prompt, "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n");
/// # Ok::<(), tallow_llm::Error>(())
/// ```
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    bos: String,
    eos: String,
}

/// The one template's name in its environment.
const NAME: &str = "chat";

impl ChatTemplate {
    /// Parses a template. `bos` and `eos` are the texts that it sees as `bos_token` and
    /// `eos_token`.
    ///
    /// # Errors
    /// When the template does not parse; the text names the line.
    pub fn new(source: &str, bos: &str, eos: &str) -> Result<Self> {
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build();
        environment.set_syntax(syntax.map_err(|error| describe(&error))?);
        functions::add(&mut environment);
        environment
            .add_template_owned(NAME, source.to_string())
            .map_err(|error| describe(&error))?;
        Ok(Self {
            environment,
            bos: bos.to_string(),
            eos: eos.to_string(),
        })
    }

    /// A built-in template: `chatml`, `llama2`, `llama3`, `mistral`, `gemma`, `zephyr`, `phi3`.
    ///
    /// # Errors
    /// An unknown name; the text lists the known.
    pub fn by_name(name: &str) -> Result<Self> {
        let found = named::ALL.iter().find(|template| template.name == name);
        let template = found.ok_or_else(|| {
            let names: Vec<&str> = named::ALL.iter().map(|template| template.name).collect();
            Error::ChatTemplate(format!(
                "unknown name {name:?}; known: {}",
                names.join(", ")
            ))
        })?;
        Self::new(template.source, template.bos, template.eos)
    }

    /// The template that a GGUF file carries, if there is one.
    ///
    /// # Errors
    /// When it does not parse.
    pub fn from_gguf(metadata: &Metadata) -> Result<Option<Self>> {
        let Some(source) = metadata.find::<&str>("tokenizer.chat_template")? else {
            return Ok(None);
        };
        let tokens = metadata.find::<&Strings>("tokenizer.ggml.tokens")?;
        let token = |key: &str| -> Result<&str> {
            let id = metadata.find::<u32>(key)?;
            Ok(id
                .and_then(|id| tokens?.get(id as usize))
                .unwrap_or_default())
        };
        let bos = token("tokenizer.ggml.bos_token_id")?;
        Self::new(source, bos, token("tokenizer.ggml.eos_token_id")?).map(Some)
    }

    /// The template that lies beside safetensors, if there is one.
    ///
    /// # Errors
    /// When it does not parse, or its file is broken.
    pub fn from_folder(folder: &Path) -> Result<Option<Self>> {
        let config_path = folder.join("tokenizer_config.json");
        let config = match read_if_there(&config_path)? {
            None => serde_json::Value::Null,
            Some(text) => serde_json::from_str(&text).map_err(|error| {
                Error::ChatTemplate(format!("{}: {error}", config_path.display()))
            })?,
        };
        let source = match read_if_there(&folder.join("chat_template.jinja"))? {
            Some(source) => source,
            None => match template_in(&config["chat_template"]) {
                Some(source) => source.to_string(),
                None => return Ok(None),
            },
        };
        let token = |key: &str| {
            let value = &config[key];
            value
                .as_str()
                .or_else(|| value["content"].as_str())
                .unwrap_or_default()
                .to_string()
        };
        Self::new(&source, &token("bos_token"), &token("eos_token")).map(Some)
    }

    /// The prompt of a conversation; with `add_generation_prompt` it ends where the assistant is
    /// to speak.
    ///
    /// # Errors
    /// When the template refuses the messages (for instance a system message that the model does
    /// not know); the text is the template's own.
    pub fn render(&self, messages: &[Message], add_generation_prompt: bool) -> Result<String> {
        let template = self
            .environment
            .get_template(NAME)
            .map_err(|error| describe(&error))?;
        let context = context! {
            messages => Value::from(Serde(messages)),
            add_generation_prompt,
            bos_token => self.bos.as_str(),
            eos_token => self.eos.as_str(),
        };
        template.render(context).map_err(|error| describe(&error))
    }
}

/// The default of several templates, or the only one.
fn template_in(value: &serde_json::Value) -> Option<&str> {
    if let Some(source) = value.as_str() {
        return Some(source);
    }
    let all = value.as_array()?;
    let default = all
        .iter()
        .find(|entry| entry["name"] == "default")
        .or(all.first())?;
    default["template"].as_str()
}

fn read_if_there(path: &Path) -> Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("read", path)(error)),
    }
}

/// One line: what is wrong, and where.
fn describe(error: &minijinja::Error) -> Error {
    let what = match error.detail() {
        Some(detail) => detail.to_string(),
        None => error.kind().to_string(),
    };
    match error.line() {
        Some(line) => Error::ChatTemplate(format!("{what} (line {line} of the template)")),
        None => Error::ChatTemplate(what),
    }
}

#[cfg(test)]
mod tests;
