//! From a model argument to files, a tokenizer or a whole model.

use tallow::Device;
use tallow_formats::gguf;
use tallow_llm::chat::Message;
use tallow_llm::store::{ModelPath, Store};
use tallow_llm::tokenizer::{EncodeOptions, Tokenizer};
use tallow_llm::{LanguageModel, LoadOptions, WarmUp, store};

use crate::device::DeviceArgument;
use crate::error::{Error, Result};
use crate::progress::{FetchProgress, UploadProgress};

/// The files of a model, fetched if they are not on this machine.
pub(crate) fn find(argument: &str) -> Result<ModelPath> {
    let store = Store::from_env()?;
    say_notice(&store, argument);
    Ok(store.resolve(argument, &mut FetchProgress::new())?)
}

/// Says under which terms a model comes, before it is fetched.
pub(crate) fn say_notice(store: &Store, argument: &str) {
    if let Some(entry) = store::find_in_catalogue(argument)
        && store.find(entry).is_none()
        && let Some(notice) = entry.notice
    {
        crate::output::note(notice);
    }
}

/// The model, loaded.
pub(crate) fn load(argument: &str, device: &DeviceArgument) -> Result<LanguageModel> {
    load_from(&find(argument)?, device.open()?, None)
}

/// The model, loaded and ready to answer: a GPU's kernels are compiled while its weights go up.
pub(crate) fn load_ready(argument: &str, device: &DeviceArgument) -> Result<LanguageModel> {
    load_from(&find(argument)?, device.open()?, Some(WarmUp::default()))
}

/// The model of files that are here.
pub(crate) fn load_from(
    path: &ModelPath,
    device: Device,
    warm_up: Option<WarmUp>,
) -> Result<LanguageModel> {
    let options = LoadOptions { device, warm_up };
    let mut progress = UploadProgress::new();
    Ok(LanguageModel::load_with(path, &options, &mut progress)?)
}

/// Its tokenizer alone.
pub(crate) fn load_tokenizer(argument: &str) -> Result<Tokenizer> {
    Ok(match find(argument)? {
        ModelPath::Gguf(path) => Tokenizer::from_gguf(gguf::File::open(path)?.metadata())?,
        ModelPath::Safetensors(folder) => Tokenizer::from_json_folder(&folder)?,
    })
}

/// The ids of a conversation that the assistant is to continue; without a template, of the last
/// message as it stands.
pub(crate) fn conversation_ids(model: &LanguageModel, messages: &[Message]) -> Result<Vec<u32>> {
    match (&model.template, messages) {
        (Some(template), _) => {
            let text = template.render(messages, true)?;
            // The template writes BOS itself where the model wants it.
            let options = EncodeOptions {
                add_special: !starts_with_bos(&model.tokenizer, &text),
                parse_special: true,
            };
            Ok(model.tokenizer.encode(&text, options)?)
        }
        (None, [.., last]) => Ok(model
            .tokenizer
            .encode(&last.content, EncodeOptions::plain())?),
        (None, []) => Err(Error::text("there is no message to answer")),
    }
}

fn starts_with_bos(tokenizer: &Tokenizer, text: &str) -> bool {
    let bos = tokenizer.bos().and_then(|id| tokenizer.token_text(id));
    bos.is_some_and(|bos| text.starts_with(bos))
}
