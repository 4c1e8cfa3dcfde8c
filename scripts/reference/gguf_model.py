"""A GGUF file's weights, dequantized to f32, in the model that `transformers` has for them.

Three things differ between the two and are undone here: llama's query and key rows are stored for
rotary embeddings of interleaved pairs, where `transformers` rotates halves; Gemma's norm weights
have one added to them; and output weights that are not there are the embedding's.
"""

import gguf
import torch
import transformers

LAYER_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
GEMMA_LAYER_NAMES = LAYER_NAMES | {
    "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
}
OTHER_NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
}
# What Gemma 3 files leave out: the base of the rotary embedding in layers with a sliding window,
# and that one layer of this many has none.
GEMMA_LOCAL_ROPE_BASE = 10_000.0
GEMMA_LAYERS_PER_GLOBAL = 6


def load(path):
    """The model of the file in f32, ready to run, and the file's reader."""
    reader = gguf.GGUFReader(path)
    architecture = field(reader, "general.architecture")
    config, model_class = {"llama": llama, "gemma3": gemma3}[architecture](reader)
    config._attn_implementation = "eager"
    model = model_class(config).to(torch.float32).eval()
    missing, unexpected = model.load_state_dict(
        dict(renamed(reader, architecture)), strict=False, assign=True
    )
    model.tie_weights()
    if unexpected or set(missing) - {"lm_head.weight"}:
        raise ValueError(f"{path}: missing {missing}, unexpected {unexpected}")
    return model, reader


def field(reader, name, default=None):
    found = reader.fields.get(name)
    return default if found is None else found.contents()


def llama(reader):
    hidden = field(reader, "llama.embedding_length")
    heads = field(reader, "llama.attention.head_count")
    names = {tensor.name for tensor in reader.tensors}
    config = transformers.LlamaConfig(
        **sizes(reader, "llama"),
        head_dim=field(reader, "llama.attention.key_length", hidden // heads),
        rope_parameters={
            "rope_type": "default",
            "rope_theta": field(reader, "llama.rope.freq_base", 10_000.0),
        },
        tie_word_embeddings="output.weight" not in names,
    )
    return config, transformers.LlamaForCausalLM


def gemma3(reader):
    head_dim = field(reader, "gemma3.attention.key_length")
    config = transformers.Gemma3TextConfig(
        **sizes(reader, "gemma3"),
        head_dim=head_dim,
        query_pre_attn_scalar=head_dim,
        sliding_window=field(reader, "gemma3.attention.sliding_window"),
        sliding_window_pattern=GEMMA_LAYERS_PER_GLOBAL,
        rope_parameters={
            "full_attention": {
                "rope_type": "default",
                "rope_theta": field(reader, "gemma3.rope.freq_base"),
            },
            "sliding_attention": {"rope_type": "default", "rope_theta": GEMMA_LOCAL_ROPE_BASE},
        },
    )
    return config, transformers.Gemma3ForCausalLM


def sizes(reader, architecture):
    embedding = next(tensor for tensor in reader.tensors if tensor.name == "token_embd.weight")
    return {
        "vocab_size": int(embedding.shape[1]),
        "hidden_size": field(reader, f"{architecture}.embedding_length"),
        "intermediate_size": field(reader, f"{architecture}.feed_forward_length"),
        "num_hidden_layers": field(reader, f"{architecture}.block_count"),
        "num_attention_heads": field(reader, f"{architecture}.attention.head_count"),
        "num_key_value_heads": field(reader, f"{architecture}.attention.head_count_kv"),
        "rms_norm_eps": field(reader, f"{architecture}.attention.layer_norm_rms_epsilon"),
        "max_position_embeddings": field(reader, f"{architecture}.context_length"),
    }


def renamed(reader, architecture):
    """Every tensor under its name in `transformers`, as that stores it."""
    heads = {
        "attn_q": field(reader, f"{architecture}.attention.head_count"),
        "attn_k": field(reader, f"{architecture}.attention.head_count_kv"),
    }
    layer_names = GEMMA_LAYER_NAMES if architecture == "gemma3" else LAYER_NAMES
    for tensor in reader.tensors:
        name = tensor.name.removesuffix(".weight")
        weight = torch.tensor(gguf.dequantize(tensor.data, tensor.tensor_type))
        weight = weight.reshape([int(size) for size in reversed(tensor.shape)]).float()
        if architecture == "gemma3" and name.endswith("norm"):
            weight = weight - 1
        if name in OTHER_NAMES:
            yield f"{OTHER_NAMES[name]}.weight", weight
            continue
        _, layer, part = name.split(".")
        if architecture == "llama" and part in heads:
            weight = halves_from_pairs(weight, heads[part])
        yield f"model.layers.{layer}.{layer_names[part]}.weight", weight


def halves_from_pairs(weight, heads):
    """Within each head, rows 0, 2, 4, … then rows 1, 3, 5, …"""
    rows, columns = weight.shape
    pairs = weight.reshape(heads, rows // heads // 2, 2, columns)
    return pairs.transpose(1, 2).reshape(rows, columns)
