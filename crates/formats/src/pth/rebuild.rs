//! The calls by which PyTorch rebuilds tensors, as facts about tensors.
//!
//! ```text
//! _rebuild_tensor(storage, offset, shape, strides)
//! _rebuild_tensor_v2(storage, offset, shape, strides, requires_grad, hooks, …)
//! _rebuild_tensor_v3(storage, offset, shape, strides, requires_grad, hooks, dtype, …)
//! _rebuild_parameter(tensor, requires_grad, hooks)
//! _rebuild_from_type_v2(function, type, args, state)
//! storage: ("storage", class, key, device, element count)
//! ```

use super::TensorInfo;
use crate::element::Element;
use crate::error::Quoted;
use crate::pickle::{Id, Pickle, Value};

/// Calls within calls: a parameter of a subclass of a tensor.
const MAX_DEPTH: usize = 4;
/// PyTorch's own limit.
const MAX_RANK: usize = 64;

/// The tensor that a value is; `None` if it is something else, `Err` if it cannot be used.
pub(super) fn tensor(
    pickle: &Pickle<'_>,
    value: Id,
    name: &str,
    folder: &str,
) -> Option<Result<TensorInfo, String>> {
    let Value::Call { callable, args, .. } = pickle.value(value) else {
        return None;
    };
    let (mut function, mut args) = (*callable, pickle.items(*args)?);
    for _ in 0..MAX_DEPTH {
        let (module, called) = pickle.global(function)?;
        match (module, called) {
            ("torch._utils", "_rebuild_tensor" | "_rebuild_tensor_v2" | "_rebuild_tensor_v3") => {
                return Some(view(pickle, args, name, folder));
            }
            ("torch._utils", "_rebuild_parameter" | "_rebuild_parameter_with_state") => {
                let Value::Call {
                    callable,
                    args: inner,
                    ..
                } = pickle.value(*args.first()?)
                else {
                    return None;
                };
                (function, args) = (*callable, pickle.items(*inner)?);
            }
            ("torch._tensor", "_rebuild_from_type_v2") => {
                let [inner, _class, inner_args, ..] = args else {
                    return None;
                };
                (function, args) = (*inner, pickle.items(*inner_args)?);
            }
            ("torch._utils", other) if other.starts_with("_rebuild_") => {
                return Some(Err(format!("{} is not supported", Quoted(other))));
            }
            _ => return None,
        }
    }
    None
}

fn view(pickle: &Pickle<'_>, args: &[Id], name: &str, folder: &str) -> Result<TensorInfo, String> {
    let [storage, offset, shape, strides, rest @ ..] = args else {
        return Err(format!(
            "{} arguments to rebuild it; want 4 or more",
            args.len()
        ));
    };
    let Value::Persistent(storage) = pickle.value(*storage) else {
        return Err("its storage is not one of the archive's".to_string());
    };
    let items = pickle.items(*storage).unwrap_or_default();
    let [_, class, key, _, len, ..] = items else {
        return Err(format!("{} parts name its storage; want 5", items.len()));
    };
    let (_, class) = pickle
        .global(*class)
        .ok_or("the class of its storage is no name")?;
    let key = match pickle.value(*key) {
        Value::Text(key) => key.to_string(),
        Value::Int(key) => key.to_string(),
        _ => return Err("the key of its storage is no text".to_string()),
    };
    let dtype = rest.get(2).and_then(|&dtype| pickle.global(dtype));
    let mut storage_len = size(pickle, *len)?;
    let element = match (class, dtype) {
        ("UntypedStorage", Some((_, dtype))) => {
            let element = element_of_dtype(dtype)
                .ok_or_else(|| format!("dtype {} cannot be read", Quoted(dtype)))?;
            storage_len /= element.byte_len();
            element
        }
        _ => element_of_storage(class)
            .ok_or_else(|| format!("storage class {} cannot be read", Quoted(class)))?,
    };
    Ok(TensorInfo {
        name: name.to_string(),
        element,
        shape: sizes(pickle, *shape)?,
        strides: sizes(pickle, *strides)?,
        offset: size(pickle, *offset)?,
        storage: format!("{folder}data/{key}"),
        storage_len,
    })
}

fn sizes(pickle: &Pickle<'_>, id: Id) -> Result<Vec<usize>, String> {
    let items = match pickle.value(id) {
        // torch.Size(...)
        Value::Call { args, .. } => pickle
            .items(*args)
            .and_then(|args| pickle.items(*args.first()?)),
        _ => pickle.items(id),
    };
    let items = items.ok_or("its shape or strides are no tuple")?;
    if items.len() > MAX_RANK {
        return Err(format!("{} dims; {MAX_RANK} at most", items.len()));
    }
    items.iter().map(|&item| size(pickle, item)).collect()
}

fn size(pickle: &Pickle<'_>, id: Id) -> Result<usize, String> {
    match pickle.value(id) {
        Value::Int(value) => usize::try_from(*value).map_err(|_| format!("{value} is no size")),
        other => Err(format!("a size is no integer that fits: {}", kind(other))),
    }
}

fn kind(value: &Value<'_>) -> &'static str {
    match value {
        Value::BigInt(_) => "an integer of more than 64 bits",
        Value::Float(_) => "a float",
        Value::None => "None",
        _ => "another object",
    }
}

fn element_of_storage(class: &str) -> Option<Element> {
    Some(match class {
        "BoolStorage" => Element::Bool,
        "ByteStorage" | "UntypedStorage" => Element::U8,
        "CharStorage" => Element::I8,
        "ShortStorage" => Element::I16,
        "IntStorage" => Element::I32,
        "LongStorage" => Element::I64,
        "HalfStorage" => Element::F16,
        "BFloat16Storage" => Element::BF16,
        "FloatStorage" => Element::F32,
        "DoubleStorage" => Element::F64,
        _ => return None,
    })
}

fn element_of_dtype(dtype: &str) -> Option<Element> {
    Some(match dtype {
        "bool" => Element::Bool,
        "uint8" => Element::U8,
        "int8" => Element::I8,
        "uint16" => Element::U16,
        "int16" => Element::I16,
        "uint32" => Element::U32,
        "int32" => Element::I32,
        "uint64" => Element::U64,
        "int64" => Element::I64,
        "float16" => Element::F16,
        "bfloat16" => Element::BF16,
        "float32" => Element::F32,
        "float64" => Element::F64,
        "float8_e4m3fn" => Element::F8E4M3,
        "float8_e5m2" => Element::F8E5M2,
        _ => return None,
    })
}
