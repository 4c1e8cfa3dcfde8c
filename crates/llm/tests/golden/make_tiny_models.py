"""Writes tiny_models.json, the golden file of tests/tiny_models.rs: what Hugging Face's models make
of small weights, for every architecture and kind of rope scaling.

    pip install torch==2.15.0 transformers==5.24.0
    python make_tiny_models.py

The weights follow from their names by `weight` below, which the test computes as well, so none are
stored. The models run in float64.
"""

import json
import pathlib

import torch
import transformers

PLAIN = {
    "vocab_size": 48, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "rms_norm_eps": 1e-5,
    "max_position_embeddings": 256, "rope_theta": 10000.0, "tie_word_embeddings": False,
}
CASES = {
    "llama": {"model_type": "llama"},
    "llama-tied": {"model_type": "llama", "tie_word_embeddings": True, "head_dim": 32},
    "llama-linear": {"model_type": "llama", "rope_scaling": {"rope_type": "linear", "factor": 4.0}},
    "llama3": {"model_type": "llama", "rope_theta": 500.0, "rope_scaling": {
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 64}},
    "llama-yarn": {"model_type": "llama", "rope_scaling": {
        "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}},
    "mistral": {"model_type": "mistral", "sliding_window": 10},
    "qwen2": {"model_type": "qwen2"},
    "qwen3": {"model_type": "qwen3", "head_dim": 24},
    "gemma3": {
        "model_type": "gemma3_text", "num_hidden_layers": 4, "head_dim": 32, "sliding_window": 10,
        "query_pre_attn_scalar": 20, "rope_theta": 1000000.0, "rope_local_base_freq": 10000.0,
        "sliding_window_pattern": 3, "tie_word_embeddings": True,
        "hidden_activation": "gelu_pytorch_tanh",
        "layer_types": ["sliding_attention", "sliding_attention", "full_attention",
                        "sliding_attention"]},
}
IDS = [(7 * index * index + 3 * index + 1) % 48 for index in range(40)]
POSITIONS = [0, 17, 39]


def weight(name, shape):
    """Half a uniform number in [-0.5, 0.5) from a hash of the name and the place."""
    seed = 2166136261
    for byte in name.encode():
        seed = (seed ^ byte) * 16777619 % 2**32
    count = 1
    for dim in shape:
        count *= dim
    values = []
    for index in range(count):
        x = (seed + index * 2654435761) % 2**32
        x ^= x >> 15
        x = x * 2246822519 % 2**32
        x ^= x >> 13
        values.append(((x >> 8) / 2**24 - 0.5) * 0.5)
    values = torch.tensor(values, dtype=torch.float64).reshape(shape)
    return values + 1 if len(shape) == 1 and name.endswith("norm.weight") else values


def run(case):
    config = PLAIN | case
    arguments = {key: value for key, value in config.items() if key != "model_type"}
    theta = arguments.pop("rope_theta")
    scaling = arguments.pop("rope_scaling", None) or {"rope_type": "default"}
    local = arguments.pop("rope_local_base_freq", None)
    parameters = scaling | {"rope_theta": theta}
    if local is not None:
        parameters = {"full_attention": parameters,
                      "sliding_attention": {"rope_type": "default", "rope_theta": local}}
    hugging_face = transformers.AutoConfig.for_model(
        config["model_type"], rope_parameters=parameters, attn_implementation="eager", **arguments)
    model = transformers.AutoModelForCausalLM.from_config(hugging_face).double().eval()
    shapes = {}
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            shapes[name] = list(tensor.shape)
            tensor.copy_(weight(name, tensor.shape))
        logits = model(torch.tensor([IDS])).logits[0]
    rows = [[round(value, 7) for value in logits[position].tolist()] for position in POSITIONS]
    return {"config": config, "shapes": shapes, "logits": rows}


if __name__ == "__main__":
    golden = {"ids": IDS, "positions": POSITIONS,
              "cases": {name: run(case) for name, case in CASES.items()}}
    path = pathlib.Path(__file__).parent / "tiny_models.json"
    lines = [f'  {json.dumps(name)}: {json.dumps(case)}' for name, case in golden["cases"].items()]
    head = f'"ids": {golden["ids"]}, "positions": {golden["positions"]}'
    path.write_text("{" + head + ', "cases": {\n' + ",\n".join(lines) + "\n}}\n")
