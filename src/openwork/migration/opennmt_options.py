"""Which options of OpenNMT-py and Eole have nothing to do here. Data only."""

from openwork.migration.meaning import (
    FOREIGN_WEIGHTS,
    NO_SUCH_PART,
    ONE_DEVICE,
    OUTSIDE,
    OWN_PROGRESS,
    OWN_READING,
    TESTS,
)

SEARCH = (
    "beam_size n_best length_penalty alpha coverage_penalty beta max_length max_length_ratio min_length "
    "block_ngram_repeat random_sampling_topk random_sampling_topp random_sampling_temp ban_unk_token"
)

WITHOUT = {
    OUTSIDE: (
        "save_model save_data overwrite model_path log_file tensorboard_log_dir save_config dump_preds exp exp_host"
    ),
    TESTS: "translate.model translate.src translate.output translate.tgt model src output tgt",
    "openwork keeps the checkpoints that training.average needs": "keep_checkpoint save_format",
    "openwork saves a checkpoint at each validation": "save_checkpoint_steps",
    OWN_READING: (
        "bucket_size bucket_size_init bucket_size_increment prefetch_factor num_workers batch_size_multiple "
        "valid_batch_size data_type num_threads vocab_sample_queue_size translate.batch_size translate.batch_type"
    ),
    ONE_DEVICE: "parallel_mode gpu_backend gpu_verbose_level master_ip master_port timeout",
    "openwork takes a GPU where there is one": (
        "gpu translate.gpu fp32 int8 self_attn_type self_attn_backend torch_compile"
    ),
    OWN_PROGRESS: (
        "verbose log_file_level scoring_debug attn_debug align_debug dump_beam with_score report_time "
        "translate.verbose translate.report_time"
    ),
    "openwork learns the vocabulary when training begins, and keeps it in the bundle": (
        "src_vocab tgt_vocab n_sample dump_samples dump_transforms vocab_size_multiple learn_subwords "
        "learn_subwords_size src_subword_model tgt_subword_model src_subword_nbest tgt_subword_nbest "
        "src_subword_vocab tgt_subword_vocab src_vocab_threshold tgt_vocab_threshold src_subword_type "
        "tgt_subword_type src_onmttok_kwargs tgt_onmttok_kwargs default_specials decoder_start_token bos_token "
        "eos_token unk_token pad_token"
    ),
    "counted in tokens there; openwork's filters count characters (filters.*)": (
        "src_seq_length tgt_seq_length src_seq_length_trunc tgt_seq_length_trunc"
    ),
    FOREIGN_WEIGHTS: (
        "train_from reset_optim update_vocab override_opts pre_word_vecs_enc pre_word_vecs_dec both_embeddings "
        "src_embeddings tgt_embeddings embeddings_type freeze_word_vecs_enc freeze_word_vecs_dec freeze_encoder "
        "freeze_decoder huggingface_model"
    ),
    "openwork stops by training.patience and training.metric": "early_stopping_criteria single_pass",
    "about float16, which openwork does not have": "loss_scale apex_opt_level use_amp",
    NO_SUCH_PART: (
        "copy_attn copy_attn_type copy_attn_force reuse_copy_attn copy_loss_by_seqlength coverage_attn "
        "lambda_coverage lambda_align alignment_layer alignment_heads full_context_alignment lm_prior_model "
        "lm_prior_lambda lm_prior_tau lora_layers lora_embedding lora_rank lora_alpha lora_dropout quant_layers "
        "quant_type w_bit group_size num_experts num_experts_per_tok parallel_residual shared_layer_norm "
        "sliding_window relative_positions_buckets rotary_interleave rotary_theta rotary_dim add_ffnbias norm_eps "
        "zero_out_prompt_loss use_ckpting n_src_feats src_feats_defaults feat_merge feat_vec_size feat_vec_exponent "
        "truncated_decoder bridge context_gate input_feed global_attention_function "
        "cnn_kernel_width replace_unk phrase_table ratio stepwise_penalty ignore_when_blocking avg_raw_probs "
        "tgt_file_prefix adagrad_accumulator_init report_align gold_align"
    ),
}
