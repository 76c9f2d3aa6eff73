python -m sockeye.prepare_data -s news/train.en -t news/train.de -o prepared --shared-vocab
torchrun --no_python --nproc_per_node 4 sockeye-train \
    --prepared-data prepared --validation-source news/dev.en \
    --validation-target news/dev.de --output model --num-layers 6:6 \
    --transformer-model-size 512 --transformer-attention-heads 8 \
    --transformer-feed-forward-num-hidden 2048 --amp --batch-type max-word \
    --batch-size 5000 --update-interval 10 --checkpoint-interval 500 \
    --max-updates 30000 --optimizer-betas 0.9:0.98 --dist \
    --initial-learning-rate 0.06325 \
    --learning-rate-scheduler-type inv-sqrt-decay --learning-rate-warmup 4000 \
    --seed 1 --quiet-secondary-workers --mystery 3
sockeye-translate -i test.en -o out.de -m model --beam-size 5 --batch-size 64
