//! Each filter by what it leaves, the draws by their statistics.

use super::*;

fn options() -> SamplingOptions {
    SamplingOptions {
        temperature: 1.0,
        seed: 7,
        ..SamplingOptions::default()
    }
}

/// How often each of the ids comes in 4,000 draws.
fn counts(options: &SamplingOptions, logits: &[f32]) -> Vec<usize> {
    let mut sampler = Sampler::new(options).unwrap();
    let mut counts = vec![0; logits.len()];
    for _ in 0..4000 {
        counts[sampler.sample(logits).unwrap() as usize] += 1;
    }
    counts
}

#[test]
fn draws_follow_the_softmax() {
    // Probabilities 0.1, 0.2, 0.7: three standard deviations of 4,000 draws are at most 95.
    let logits = [0.1f32.ln(), 0.2f32.ln(), 0.7f32.ln()];
    for (count, expected) in counts(&options(), &logits)
        .into_iter()
        .zip([400, 800, 2800])
    {
        assert!(count.abs_diff(expected) < 95, "{count} for {expected}");
    }
}

#[test]
fn one_seed_gives_one_sequence_on_every_platform() {
    let logits = [0.0; 64];
    let mut sampler = Sampler::new(&options()).unwrap();
    let ids: Vec<u32> = (0..8).map(|_| sampler.sample(&logits).unwrap()).collect();
    let mut again = Sampler::new(&options()).unwrap();
    assert!(ids.iter().all(|&id| again.sample(&logits).unwrap() == id));
    let mut other = Sampler::new(&SamplingOptions {
        seed: 8,
        ..options()
    })
    .unwrap();
    assert!(ids.iter().any(|&id| other.sample(&logits).unwrap() != id));
    // ChaCha8 is specified: these ids are the same wherever the test runs.
    assert_eq!(ids, GOLDEN_IDS);
}

const GOLDEN_IDS: [u32; 8] = [10, 10, 45, 46, 38, 22, 5, 54];

#[test]
fn greedy_takes_the_first_largest() {
    let mut sampler = Sampler::new(&SamplingOptions::default()).unwrap();
    assert_eq!(sampler.sample(&[1.0, 3.0, 3.0]).unwrap(), 1);
    assert_eq!(argmax(&[f32::NEG_INFINITY, -5.0]).unwrap(), 1);
}

#[test]
fn top_k_keeps_the_largest() {
    let options = SamplingOptions {
        top_k: 2,
        ..options()
    };
    let counts = counts(&options, &[0.0, 1.0, 0.5, -1.0]);
    assert_eq!((counts[0], counts[3]), (0, 0));
    assert!(counts[1] > counts[2] && counts[2] > 0);
}

#[test]
fn top_p_keeps_the_fewest_that_reach_the_share() {
    let logits = [0.2f32.ln(), 0.5f32.ln(), 0.3f32.ln()];
    let half = counts(
        &SamplingOptions {
            top_p: 0.45,
            ..options()
        },
        &logits,
    );
    assert_eq!(half, [0, 4000, 0]);
    let most = counts(
        &SamplingOptions {
            top_p: 0.75,
            ..options()
        },
        &logits,
    );
    assert!(most[0] == 0 && most[2] > 0);
}

#[test]
fn min_p_is_a_share_of_the_likeliest() {
    let logits = [0.1f32.ln(), 0.6f32.ln(), 0.3f32.ln()];
    let counts = counts(
        &SamplingOptions {
            min_p: 0.4,
            ..options()
        },
        &logits,
    );
    assert!(counts[0] == 0 && counts[2] > 0);
}

#[test]
fn a_low_temperature_is_nearly_greedy() {
    let counts = counts(
        &SamplingOptions {
            temperature: 1e-30,
            ..options()
        },
        &[1.0, 1.1, 0.0],
    );
    assert_eq!(counts, [0, 4000, 0]);
}

#[test]
fn the_repeat_penalty_forgets() {
    let greedy = SamplingOptions {
        repeat_penalty: 2.0,
        repeat_last_n: 1,
        ..SamplingOptions::default()
    };
    let mut sampler = Sampler::new(&greedy).unwrap();
    let logits = [1.9, 2.0, -1.0];
    assert_eq!(sampler.sample(&logits).unwrap(), 1);
    sampler.accept(1);
    assert_eq!(sampler.sample(&logits).unwrap(), 0);
    sampler.accept(2);
    assert_eq!(sampler.sample(&logits).unwrap(), 1);
}

#[test]
fn logits_without_a_largest_are_errors() {
    let mut sampler = Sampler::new(&options()).unwrap();
    for logits in [
        &[0.0, f32::NAN][..],
        &[f32::INFINITY, 0.0],
        &[f32::NEG_INFINITY],
        &[],
    ] {
        let error = sampler.sample(logits).unwrap_err().to_string();
        assert!(error.starts_with("sampling: "), "{error}");
        assert!(argmax(logits).is_err());
    }
}

#[test]
fn options_out_of_range_are_named() {
    let bad = [
        (
            SamplingOptions {
                temperature: -1.0,
                ..options()
            },
            "temperature",
        ),
        (
            SamplingOptions {
                temperature: f32::NAN,
                ..options()
            },
            "temperature",
        ),
        (
            SamplingOptions {
                top_p: 0.0,
                ..options()
            },
            "top_p",
        ),
        (
            SamplingOptions {
                min_p: 1.5,
                ..options()
            },
            "min_p",
        ),
        (
            SamplingOptions {
                repeat_penalty: 0.0,
                ..options()
            },
            "repeat_penalty",
        ),
    ];
    for (options, name) in bad {
        let error = Sampler::new(&options).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
    }
}
