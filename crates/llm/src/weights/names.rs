//! What safetensors call the tensors that the blocks ask for by their GGUF names.

/// GGUF's step and Hugging Face's, for tensors whose name an architecture changes.
pub(crate) type Renames = &'static [(&'static str, &'static str)];

/// Tensors outside the layers.
const OUTER: &[(&str, &str)] = &[
    ("token_embd", "model.embed_tokens"),
    ("output_norm", "model.norm"),
    ("output", "lm_head"),
];

/// Tensors of a layer, as the llama family calls them.
const INNER: &[(&str, &str)] = &[
    ("attn_norm", "input_layernorm"),
    ("attn_q", "self_attn.q_proj"),
    ("attn_k", "self_attn.k_proj"),
    ("attn_v", "self_attn.v_proj"),
    ("attn_output", "self_attn.o_proj"),
    ("attn_q_norm", "self_attn.q_norm"),
    ("attn_k_norm", "self_attn.k_norm"),
    ("ffn_norm", "post_attention_layernorm"),
    ("ffn_gate", "mlp.gate_proj"),
    ("ffn_up", "mlp.up_proj"),
    ("ffn_down", "mlp.down_proj"),
];

/// `blk.3.attn_q` as `model.layers.3.self_attn.q_proj`; a name that nobody renames stays.
pub(super) fn safetensors_name(name: &str, renames: Renames) -> String {
    let find = |table: &'static [(&'static str, &'static str)], step: &str| {
        table
            .iter()
            .find(|(gguf, _)| *gguf == step)
            .map(|(_, theirs)| *theirs)
    };
    let inner = name
        .strip_prefix("blk.")
        .and_then(|rest| rest.split_once('.'));
    match inner {
        None => find(OUTER, name).unwrap_or(name).to_string(),
        Some((layer, step)) => {
            let theirs = find(renames, step)
                .or_else(|| find(INNER, step))
                .unwrap_or(step);
            format!("model.layers.{layer}.{theirs}")
        }
    }
}

/// What the names of a layer's tensors start with in safetensors.
pub(super) fn safetensors_layer(layer: usize) -> String {
    format!("model.layers.{layer}.")
}

#[cfg(test)]
mod tests {
    use super::safetensors_name;

    #[test]
    fn names_follow_the_family_unless_the_architecture_differs() {
        let renames = &[("ffn_norm", "pre_feedforward_layernorm")];
        let cases = [
            ("token_embd", "model.embed_tokens"),
            ("output", "lm_head"),
            ("blk.12.attn_q", "model.layers.12.self_attn.q_proj"),
            ("blk.0.ffn_norm", "model.layers.0.pre_feedforward_layernorm"),
            ("blk.0.unheard_of", "model.layers.0.unheard_of"),
            ("rope_freqs", "rope_freqs"),
        ];
        for (gguf, theirs) in cases {
            assert_eq!(safetensors_name(gguf, renames), theirs);
        }
        assert_eq!(
            safetensors_name("blk.0.ffn_norm", &[]),
            "model.layers.0.post_attention_layernorm"
        );
    }
}
