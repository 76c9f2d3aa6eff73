// The structures of native/structures.py.

#pragma once

#include <cstdint>

struct Product {  // y = x W^T + b
    int32_t inputs, outputs;
    const void* weights;  // in panels: see floats.h and integers.h
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
    const int64_t* past_row;  // (position, rows): where each row's earlier positions stand; null: in order
    const int64_t* sentence;  // of each row, where its memory stands; null: in order
    const int64_t* lengths;   // of the sentences of the memory
    float* const* past_keys;  // of each layer (position, past row, heads * key_width)
    float* const* past_values;
    const float* const* memory_keys;    // of each layer (sentence, head, source, key_width)
    const float* const* memory_values;  // of each layer (sentence, head, source, value_width)
    float* logits;                      // (rows, outputs)
    float* attended;                    // (rows, head, source): attention of the last layer; or null
};

enum class After { nothing, rectified, added };  // added: to what stands there, the residual
