// The structures of native/structures.py.

#pragma once

#include <cstdint>

constexpr int FOUR = 4;  // inputs of integers of eight bits come in whole groups of so many

struct Product {  // y = x W^T + b
    int32_t inputs, outputs;
    const void* weights;  // in panels: see floats.h, integers.h and bytes.h
    const float* scales;  // of integers: what one step is, of each output; else null
    const float* bias;    // or null
};

struct Norm {
    const float* gain;   // or null: there is no norm here
    const float* shift;  // or null
    float epsilon;
};

struct Layer {
    Product project, self_output, query, cross_output, expand, contract;
    Norm self_norm, cross_norm, feedforward_norm;
};

struct Decoder {
    int32_t layers, width, heads, key_width, value_width;
    int32_t norm_first;  // pre-norm; else post-norm
    const Layer* layer;
    Norm final_norm;
    Product output;
};

struct Step {
    int32_t rows, position, past_rows, source;  // source: positions that the memory has room for
    int32_t is_one_row;       // whether the rows are successive positions of one; else all are at the same position
    const float* x;           // (rows, width): embeddings with their positions
    const int64_t* past_row;  // (position, rows): where each row's earlier positions stand; null: at its own place
    const int64_t* own;       // each row's own place, where this position will stand; null: in order
    const int64_t* sentence;  // of each row, where its memory stands; null: in order
    const int64_t* lengths;   // of the sentences of the memory
    void* const* past_keys;   // of each layer (position, past row, heads * key_width); float32; for int8: bfloat16
    void* const* past_values;
    const void* const* memory_keys;    // of each layer (sentence, head, source, key_width), likewise
    const void* const* memory_values;  // of each layer (sentence, head, source, value_width)
    float* logits;                     // (rows, outputs)
    float* attended;                   // (rows, head, source): attention of the last layer; or null
};

struct EncoderLayer {
    Product project, output, expand, contract;
    Norm attention_norm, feedforward_norm;
};

struct Encoder {
    int32_t layers, width, heads, key_width, value_width;
    int32_t norm_first;
    const EncoderLayer* layer;
    Norm final_norm;
    Product memory;  // to the keys and values of each layer of the decoder, one after another
    int32_t memory_layers, memory_key_width, memory_value_width;
};

struct Reading {  // of sentences by the encoder
    int32_t sentences, longest;  // longest: positions that x and the memory have room for
    const float* x;              // (sentence, longest, width): embeddings with their positions
    const int64_t* lengths;
    void* const* memory_keys;  // as in a step
    void* const* memory_values;
};

struct Continuing {  // of the hypotheses for one sentence, each by one token
    int32_t rows, rows_before, position, past_rows, source, count;
    float scale;             // of embeddings
    const float* table;      // (vocabulary, width): embeddings
    const float* places;     // (position, width): what is added to them; null: nothing
    const int64_t* tokens;   // the last of each hypothesis
    const int64_t* parents;  // the hypothesis of the step before that each continues
    const float* values;     // the log-probability of each
    int64_t* past_row;       // as in a step; this one's is made of the one of the step before, with rows_before rows
    const int64_t* lengths;
    void* const* past_keys;
    void* const* past_values;
    const void* const* memory_keys;
    const void* const* memory_values;
    const float* added;  // as in a choice
    float* sums;         // (rows, count): log-probabilities of the hypotheses that are continued
    int64_t* ids;        // (rows, count)
    float* normaliser;   // (rows)
};

struct Writing {  // of a token of each of many targets by greedy search
    int32_t sentences, rows, position, source, stride;  // rows: sentences that go on
    int32_t end;             // symbol
    float scale;             // of embeddings
    const float* table;      // (vocabulary, width): embeddings
    const float* places;     // (position, width): what is added to them; null: nothing
    int64_t* live;           // (rows): the sentences that go on, in order
    int64_t* tokens;         // (sentence, stride): the start symbol, and what is written after it
    const int64_t* limits;   // (sentence): how much may be
    float* totals;           // (sentence): log-probability of what is written
    const int64_t* lengths;  // as in a step; each sentence has its own place in keys and values
    void* const* past_keys;
    void* const* past_values;
    const void* const* memory_keys;
    const void* const* memory_values;
    const float* added;  // as in a choice
    float normaliser;    // the sum over the rows
};

// The best few of a vocabulary, for many rows.
struct Choice {
    int32_t rows, vocabulary, count;
    const float* logits;  // (rows, vocabulary)
    const float* added;   // (vocabulary): minus infinity for what may not come, zero for the rest
    float* scores;        // (rows, count): the highest first, of equals the one of the lower id
    int64_t* ids;         // (rows, count)
    float* normaliser;    // (rows): the logarithm of the sum of e^logit; not finite if there is no distribution
};

enum class After { nothing, rectified, added };  // added: to what stands there, the residual
