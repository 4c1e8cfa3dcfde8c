//! Templates by name, what templates may call, and how they fail.

use super::*;

fn conversation() -> Vec<Message> {
    vec![
        Message::new("system", "Be brief."),
        Message::new("user", "Hi"),
        Message::new("assistant", "Hello."),
        Message::new("user", "Bye"),
    ]
}

#[test]
fn named_templates_write_their_formats() {
    let expected = [
        (
            "chatml",
            "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n\
             <|im_start|>assistant\nHello.<|im_end|>\n<|im_start|>user\nBye<|im_end|>\n\
             <|im_start|>assistant\n",
        ),
        (
            "llama2",
            "<s>[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nHi [/INST] Hello. </s>\
             <s>[INST] Bye [/INST]",
        ),
        (
            "llama3",
            "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>\
             <|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>\
             <|start_header_id|>assistant<|end_header_id|>\n\nHello.<|eot_id|>\
             <|start_header_id|>user<|end_header_id|>\n\nBye<|eot_id|>\
             <|start_header_id|>assistant<|end_header_id|>\n\n",
        ),
        (
            "mistral",
            "<s>[INST] Be brief.\n\nHi [/INST] Hello.</s>[INST] Bye [/INST]",
        ),
        (
            "gemma",
            "<bos><start_of_turn>user\nBe brief.\n\nHi<end_of_turn>\n\
             <start_of_turn>model\nHello.<end_of_turn>\n<start_of_turn>user\nBye<end_of_turn>\n\
             <start_of_turn>model\n",
        ),
        (
            "zephyr",
            "<|system|>\nBe brief.</s>\n<|user|>\nHi</s>\n<|assistant|>\nHello.</s>\n\
             <|user|>\nBye</s>\n<|assistant|>\n",
        ),
        (
            "phi3",
            "<|system|>\nBe brief.<|end|>\n<|user|>\nHi<|end|>\n<|assistant|>\nHello.<|end|>\n\
             <|user|>\nBye<|end|>\n<|assistant|>\n",
        ),
    ];
    assert_eq!(expected.len(), named::ALL.len());
    for (name, text) in expected {
        let template = ChatTemplate::by_name(name).unwrap();
        assert_eq!(
            template.render(&conversation(), true).unwrap(),
            text,
            "{name}"
        );
    }
}

fn render(source: &str) -> Result<String> {
    ChatTemplate::new(source, "<s>", "</s>")?.render(&conversation(), true)
}

#[test]
fn python_methods_and_functions_work() {
    let cases = [
        ("{{ ' a '.strip() }}", "a"),
        ("{{ 'a,b'.split(',')[1] }}", "b"),
        (
            "{{ 'abc'.startswith('ab') and messages[0].get('tools', 1) == 1 }}",
            "True",
        ),
        ("{{ messages[1]['content'].upper() ~ bos_token }}", "HI<s>"),
        ("{{ strftime_now('%Y') | length }}", "4"),
        (
            "{% for m in messages %}{% if loop.index0 == 1 %}{% break %}{% endif %}x{% endfor %}",
            "x",
        ),
        ("{{ tools is defined and tools is not none }}", "False"),
        (
            "{{ messages[0] | tojson }}",
            r#"{"role": "system", "content": "Be brief."}"#,
        ),
        ("{{ ['<é>', 1] | tojson }}", r#"["<é>", 1]"#),
        (
            "{{ {'a': [1]} | tojson(indent=2) }}",
            "{\n  \"a\": [\n    1\n  ]\n}",
        ),
        ("a\n  {% if true %}\nb\n  {% endif %}\n", "a\nb\n"),
        (
            "{%- set ns = namespace(n=0) %}\
             {% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}",
            "4",
        ),
        ("{{ messages[::-1][0].content }}", "Bye"),
    ];
    for (source, expected) in cases {
        assert_eq!(render(source).unwrap(), expected, "{source}");
    }
}

#[test]
fn a_refusal_is_the_templates_own_text() {
    let error = render("\n{{ raise_exception('system role not supported') }}").unwrap_err();
    let expected = "chat template: system role not supported (line 2 of the template)";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_broken_template_is_an_error_with_its_line() {
    let error = ChatTemplate::new("a\n{% if %}", "", "")
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("chat template: ") && error.contains("line 2"),
        "{error}"
    );
    let error = ChatTemplate::by_name("esperanto").unwrap_err().to_string();
    assert!(error.contains("chatml"), "{error}");
}

#[test]
fn a_folder_gives_its_template() {
    let folder = tempfile::tempdir().unwrap();
    assert!(ChatTemplate::from_folder(folder.path()).unwrap().is_none());
    let config = r#"{"bos_token": {"content": "<B>"}, "chat_template": [
        {"name": "rag", "template": "x"},
        {"name": "default", "template": "{{ bos_token }}{{ messages|length }}"}]}"#;
    std::fs::write(folder.path().join("tokenizer_config.json"), config).unwrap();
    let template = ChatTemplate::from_folder(folder.path()).unwrap().unwrap();
    assert_eq!(template.render(&conversation(), false).unwrap(), "<B>4");
    std::fs::write(
        folder.path().join("chat_template.jinja"),
        "{{ bos_token }}!",
    )
    .unwrap();
    let template = ChatTemplate::from_folder(folder.path()).unwrap().unwrap();
    assert_eq!(template.render(&[], false).unwrap(), "<B>!");
}
