//! Models of images, small, and one of the sizes that its interface fixes.

use crate::weights::{ids, input, made};
use crate::{Model, Outputs};
use anyhow::Result;
use candle_nn::Module;
use candle_transformers::models::clip::text_model::{Activation, ClipTextConfig};
use candle_transformers::models::clip::vision_model::ClipVisionConfig;
use candle_transformers::models::clip::{ClipConfig, ClipModel};
use candle_transformers::models::stable_diffusion::unet_2d::{
    BlockConfig, UNet2DConditionModel, UNet2DConditionModelConfig,
};
use candle_transformers::models::stable_diffusion::vae::{AutoEncoderKL, AutoEncoderKLConfig};
use candle_transformers::models::{convnext, resnet, segment_anything, vit};

pub(crate) const MODELS: &[Model] = &[
    ("clip", clip),
    ("convnext", convnext),
    ("resnet18", resnet18),
    ("segment_anything", segment_anything),
    ("stable_diffusion_unet", unet),
    ("stable_diffusion_vae", vae),
    ("vit", vit),
];

fn clip() -> Result<Outputs> {
    let config = ClipConfig {
        text_config: ClipTextConfig {
            vocab_size: 200,
            embed_dim: 48,
            activation: Activation::QuickGelu,
            intermediate_size: 96,
            max_position_embeddings: 20,
            pad_with: None,
            num_hidden_layers: 2,
            num_attention_heads: 4,
            projection_dim: 32,
        },
        vision_config: ClipVisionConfig {
            embed_dim: 48,
            activation: Activation::QuickGelu,
            intermediate_size: 96,
            num_hidden_layers: 2,
            num_attention_heads: 4,
            projection_dim: 32,
            num_channels: 3,
            image_size: 32,
            patch_size: 8,
        },
        logit_scale_init_value: 2.6592,
        image_size: 32,
    };
    let model = ClipModel::new(made(), &config)?;
    let (text, image) = model.forward(&input((2, 3, 32, 32))?, &ids(12, 200)?)?;
    Ok(vec![("text", text), ("image", image)])
}

fn convnext() -> Result<Outputs> {
    let model = convnext::convnext(&convnext::Config::atto(), 10, made())?;
    Ok(vec![("logits", model.forward(&input((1, 3, 64, 64))?)?)])
}

fn resnet18() -> Result<Outputs> {
    let model = resnet::resnet18(10, made())?;
    Ok(vec![("logits", model.forward(&input((1, 3, 64, 64))?)?)])
}

fn segment_anything() -> Result<Outputs> {
    let model = segment_anything::sam::Sam::new(48, 2, 4, &[1], made())?;
    let image = input((3, 96, 128))?.affine(100.0, 120.0)?;
    let (masks, scores) = model.forward(&image, &[(0.4, 0.6, true)], true)?;
    Ok(vec![("masks", masks), ("scores", scores)])
}

fn unet() -> Result<Outputs> {
    let block = |out_channels, use_cross_attn| BlockConfig {
        out_channels,
        use_cross_attn,
        attention_head_dim: 8,
    };
    let config = UNet2DConditionModelConfig {
        blocks: vec![block(32, Some(1)), block(64, None)],
        layers_per_block: 1,
        norm_num_groups: 8,
        cross_attention_dim: 24,
        use_linear_projection: true,
        ..Default::default()
    };
    let model = UNet2DConditionModel::new(made(), 4, 4, false, config)?;
    let noise = model.forward(&input((1, 4, 16, 16))?, 37.0, &input((1, 7, 24))?)?;
    Ok(vec![("noise", noise)])
}

fn vae() -> Result<Outputs> {
    let config = AutoEncoderKLConfig {
        block_out_channels: vec![16, 32],
        layers_per_block: 1,
        latent_channels: 4,
        norm_num_groups: 8,
        use_quant_conv: true,
        use_post_quant_conv: true,
    };
    let model = AutoEncoderKL::new(made(), 3, 3, config)?;
    Ok(vec![("image", model.decode(&input((1, 4, 12, 12))?)?)])
}

fn vit() -> Result<Outputs> {
    let config = serde_json::from_value(serde_json::json!({
        "hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 96, "hidden_act": "gelu", "layer_norm_eps": 1e-12,
        "image_size": 32, "patch_size": 8, "num_channels": 3, "qkv_bias": true
    }))?;
    let model = vit::Model::new(&config, 10, made())?;
    Ok(vec![("logits", model.forward(&input((2, 3, 32, 32))?)?)])
}
