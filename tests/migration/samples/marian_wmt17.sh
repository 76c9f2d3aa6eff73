#!/bin/sh
# The big shape by its short name, and the search of the translator.
MARIAN=../build
DATA=news
"$MARIAN"/marian --task transformer-big-prenorm \
    --model model/model.npz \
    --train-sets $DATA/train.bpe.en $DATA/train.bpe.de \
    --valid-sets $DATA/dev.bpe.en $DATA/dev.bpe.de \
    --vocabs model/vocab.yml model/vocab.yml \
    --valid-metrics perplexity translation --valid-freq 2500 --save-freq 5000 \
    -w 12000 --after-epochs 20 --log model/train.log \
    --devices 0 1 --fp16 --seed 1111 --mystery 3
"$MARIAN"/marian-decoder -m model/model.npz -v model/vocab.yml model/vocab.yml \
    -i $DATA/test.bpe.en -b 12 -n 1 --mini-batch 16 2>decode.log | sed 's/@@ //g'
