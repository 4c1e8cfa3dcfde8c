//! Built-in templates, for files that bring none: the prompt formats of the models' own cards,
//! written anew.

/// A template with the texts of its BOS and EOS.
pub(super) struct NamedTemplate {
    pub(super) name: &'static str,
    pub(super) bos: &'static str,
    pub(super) eos: &'static str,
    pub(super) source: &'static str,
}

/// Every built-in template. To add one, add an entry here.
pub(super) const ALL: &[NamedTemplate] = &[
    NamedTemplate {
        name: "chatml",
        bos: "<|im_start|>",
        eos: "<|im_end|>",
        source: "\
{%- for message in messages -%}
{{ '<|im_start|>' ~ message.role ~ '\n' ~ message.content ~ '<|im_end|>\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\n' }}{%- endif -%}",
    },
    NamedTemplate {
        name: "llama2",
        bos: "<s>",
        eos: "</s>",
        source: "\
{%- set state = namespace(system='') -%}
{%- for message in messages -%}
{%- if message.role == 'system' -%}
{%- set state.system = '<<SYS>>\n' ~ message.content ~ '\n<</SYS>>\n\n' -%}
{%- elif message.role == 'user' -%}
{{ bos_token ~ '[INST] ' ~ state.system ~ message.content ~ ' [/INST]' }}
{%- set state.system = '' -%}
{%- else -%}
{{ ' ' ~ message.content ~ ' ' ~ eos_token }}
{%- endif -%}
{%- endfor -%}",
    },
    NamedTemplate {
        name: "llama3",
        bos: "<|begin_of_text|>",
        eos: "<|eot_id|>",
        source: "\
{{- bos_token -}}
{%- for message in messages -%}
{{ '<|start_header_id|>' ~ message.role ~ '<|end_header_id|>\n\n' ~ message.content | trim }}
{{- eos_token -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif -%}",
    },
    NamedTemplate {
        name: "mistral",
        bos: "<s>",
        eos: "</s>",
        source: "\
{{- bos_token -}}
{%- set state = namespace(system='') -%}
{%- for message in messages -%}
{%- if message.role == 'system' -%}
{%- set state.system = message.content ~ '\n\n' -%}
{%- elif message.role == 'user' -%}
{{ '[INST] ' ~ state.system ~ message.content ~ ' [/INST]' }}
{%- set state.system = '' -%}
{%- else -%}
{{ ' ' ~ message.content ~ eos_token }}
{%- endif -%}
{%- endfor -%}",
    },
    NamedTemplate {
        name: "gemma",
        bos: "<bos>",
        eos: "<eos>",
        source: "\
{{- bos_token -}}
{%- set state = namespace(system='') -%}
{%- for message in messages -%}
{%- if message.role == 'system' -%}
{%- set state.system = message.content ~ '\n\n' -%}
{%- else -%}
{%- set role = 'model' if message.role == 'assistant' else message.role -%}
{{ '<start_of_turn>' ~ role ~ '\n' ~ state.system ~ message.content | trim }}
{{- '<end_of_turn>\n' -}}
{%- set state.system = '' -%}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<start_of_turn>model\n' }}{%- endif -%}",
    },
    NamedTemplate {
        name: "zephyr",
        bos: "<s>",
        eos: "</s>",
        source: "\
{%- for message in messages -%}
{{ '<|' ~ message.role ~ '|>\n' ~ message.content ~ eos_token ~ '\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|assistant|>\n' }}{%- endif -%}",
    },
    NamedTemplate {
        name: "phi3",
        bos: "<s>",
        eos: "<|end|>",
        source: "\
{%- for message in messages -%}
{{ '<|' ~ message.role ~ '|>\n' ~ message.content ~ '<|end|>\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|assistant|>\n' }}{%- endif -%}",
    },
];
