#!/usr/bin/env bash
# German to English, TED talks
TEXT=corpus/iwslt14.tokenized.de-en
fairseq-preprocess --source-lang de --target-lang en \
    --trainpref $TEXT/train --validpref $TEXT/valid --testpref $TEXT/test \
    --destdir data-bin/iwslt14 --workers 8

OPTS="--fp16 --no-epoch-checkpoints"
CUDA_VISIBLE_DEVICES=0 fairseq-train data-bin/iwslt14 \
    --arch transformer_iwslt_de_en --share-decoder-input-output-embed \
    --optimizer adam --adam-betas '(0.9, 0.98)' --clip-norm 0.0 \
    --lr 5e-4 --lr-scheduler inverse_sqrt --warmup-updates 4000 --warmup-init-lr 1e-07 \
    --dropout 0.3 --weight-decay 0.0001 \
    --criterion label_smoothed_cross_entropy --label-smoothing 0.1 \
    --max-tokens 4096 --update-freq 2 --max-epoch 50 \
    --eval-bleu --eval-bleu-args '{"beam": 5, "max_len_a": 1.2, "max_len_b": 10}' \
    --eval-bleu-detok moses --eval-bleu-remove-bpe \
    --best-checkpoint-metric bleu --maximize-best-checkpoint-metric \
    --save-dir "$RUNS/iwslt" --patience 8 $OPTS --mystery-option 3
fairseq-generate data-bin/iwslt14 --path $RUNS/iwslt/best.pt --beam 5 --lenpen 0.6 --batch-size 128 --remove-bpe > out.txt 2>&1
