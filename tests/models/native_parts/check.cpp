// The parts of the compiled step against plain loops in double precision, on whatever processor this is compiled for.
// Prints the largest difference of each part, as a share of what is computed; tests/models/test_native_parts.py reads it.

#include <cstdio>
#include <random>
#include <utility>

#include "best.cpp"
#include "encoder.cpp"
#include "step.cpp"

namespace {

std::mt19937 generator(7);

std::vector<float> numbers(size_t count, float scale = 1.0f) {
    std::normal_distribution<float> draw(0.0f, scale);
    std::vector<float> made(count);
    for (float& one : made) one = draw(generator);
    return made;
}

void tell(const char* part, double difference) { std::printf("%s %g\n", part, difference); }

// Weights as native/structures.py lays them out.
std::vector<float> in_panels(const std::vector<float>& weights, int inputs, int outputs) {
    const int panels = (outputs + floats::PANEL - 1) / floats::PANEL;
    std::vector<float> made(static_cast<size_t>(panels) * floats::PANEL * inputs);
    for (int output = 0; output < outputs; ++output)
        for (int k = 0; k < inputs; ++k)
            made[(static_cast<size_t>(output / floats::PANEL) * inputs + k) * floats::PANEL + output % floats::PANEL] =
                weights[static_cast<size_t>(output) * inputs + k];
    return made;
}

double product_of(int rows, int inputs, int outputs, After after) {
    const auto x = numbers(static_cast<size_t>(rows) * inputs), weights = numbers(static_cast<size_t>(outputs) * inputs);
    const auto panels = in_panels(weights, inputs, outputs);
    auto bias = numbers(outputs);
    bias.resize(outputs + floats::PANEL);
    const auto before = numbers(static_cast<size_t>(rows) * outputs);
    auto y = before;
    floats::Rows taken;
    taken.take(x.data(), rows, inputs);
    floats::apply({inputs, outputs, panels.data(), nullptr, bias.data()}, taken, rows, y.data(), after);
    double worst = 0;
    for (int row = 0; row < rows; ++row)
        for (int output = 0; output < outputs; ++output) {
            const size_t place = static_cast<size_t>(row) * outputs + output;
            double sum = bias[output];
            for (int k = 0; k < inputs; ++k) sum += double(x[row * inputs + k]) * weights[output * inputs + k];
            if (after == After::rectified) sum = std::max(0.0, sum);
            if (after == After::added) sum += before[place];
            worst = std::max(worst, std::abs(y[place] - sum) / std::sqrt(inputs));
        }
    return worst;
}

// In eight bits: rows and weights as whole numbers with scales, and exact sums; so what differs is rounding at the end.
double integer_product_of(int rows, int inputs, int outputs, After after) {
    using integers::ADDED_TO_ROWS, integers::ADDED_TO_WEIGHTS, integers::PANEL;
    constexpr int BEYOND = 64 * PANEL, HEAD = ADDED_TO_ROWS ? 4 * PANEL : 0;  // what native/structures.py adds
    constexpr int MOST = integers::MOST_OF_TWO ? integers::MOST_OF_TWO / 2 : 127;
    const auto x = numbers(static_cast<size_t>(rows) * inputs);
    std::uniform_int_distribution<int> draw(-MOST, MOST);
    const int panels = (outputs + PANEL - 1) / PANEL, whole = HEAD + PANEL * inputs;
    std::vector<int> weights(static_cast<size_t>(outputs) * inputs);
    std::vector<int32_t> heads(panels * PANEL);
    std::vector<uint8_t> lain(static_cast<size_t>(panels) * whole + BEYOND, ADDED_TO_WEIGHTS);
    for (int output = 0; output < outputs; ++output)
        for (int k = 0; k < inputs; ++k) {
            const int weight = weights[static_cast<size_t>(output) * inputs + k] = draw(generator);
            const size_t panel = static_cast<size_t>(output / PANEL) * whole + HEAD;
            lain[panel + (k / FOUR * PANEL + output % PANEL) * FOUR + k % FOUR] =
                static_cast<uint8_t>(weight + ADDED_TO_WEIGHTS);
            heads[output] -= ADDED_TO_ROWS * weight;
        }
    for (int panel = 0; panel < panels; ++panel) std::memcpy(&lain[panel * whole], &heads[panel * PANEL], HEAD);
    auto scales = numbers(outputs), bias = numbers(outputs);
    scales.resize(panels * PANEL), bias.resize(panels * PANEL);
    const auto before = numbers(static_cast<size_t>(rows) * outputs);
    auto y = before;
    integers::Rows taken;
    taken.take(x.data(), rows, inputs);
    integers::apply({inputs, outputs, lain.data(), scales.data(), bias.data()}, taken, rows, y.data(), after);
    double worst = 0;
    for (int row = 0; row < rows; ++row) {
        float greatest = 0;
        for (int k = 0; k < inputs; ++k) greatest = std::max(greatest, std::abs(x[row * inputs + k]));
        for (int output = 0; output < outputs; ++output) {
            int64_t sum = 0;
            for (int k = 0; k < inputs; ++k)
                sum += std::lrint(x[row * inputs + k] * (127.0f / greatest)) * weights[output * inputs + k];
            double made = double(sum) * scales[output] * (greatest / 127.0f) + bias[output];
            if (after == After::rectified) made = std::max(0.0, made);
            const size_t place = static_cast<size_t>(row) * outputs + output;
            if (after == After::added) made += before[place];
            worst = std::max(worst, std::abs(y[place] - made) / (1 + std::abs(made)));
        }
    }
    return worst;
}

double exponentials() {
    double worst = 0;
    for (float x = 0; x > -87.0f; x -= 0.01f) {
        float made[LANES];
        store(made, exponential(all(x)));
        worst = std::max(worst, std::abs(made[LANES - 1] / std::exp(double(x)) - 1));
    }
    return worst;
}

double norms(int width) {
    const auto x = numbers(width, 3.0f), gain = numbers(width), shift = numbers(width);
    std::vector<float> y(width);
    normalise({gain.data(), shift.data(), 1e-6f}, x.data(), width, y.data());
    double mean = 0, variance = 0, worst = 0;
    for (float one : x) mean += one / double(width);
    for (float one : x) variance += (one - mean) * (one - mean) / width;
    for (int i = 0; i < width; ++i)
        worst = std::max(worst, std::abs(y[i] - ((x[i] - mean) / std::sqrt(variance + 1e-6) * gain[i] + shift[i])));
    return worst;
}

// As they are kept, and what is kept of them.
template <class Cached>
std::vector<Cached> kept(std::vector<float>& numbers) {
    std::vector<Cached> made(numbers.size());
    copy_to_cache(numbers.data(), int(numbers.size()), made.data());
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = number(made[i]);
    return made;
}

template <class Cached>
double attention(int count, int width) {
    auto query = numbers(width), keys = numbers(size_t(count) * width), values = numbers(size_t(count) * width);
    const auto kept_keys = kept<Cached>(keys), kept_values = kept<Cached>(values);
    std::vector<int64_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    std::vector<float> scores(count + LANES), found(width);
    attend<Cached>(query.data(), {kept_keys.data(), order.data(), width, width},
                 {kept_values.data(), order.data(), width, width}, count, scores.data(), found.data());
    std::vector<double> weights(count), wanted(width);
    double sum = 0, worst = 0;
    for (int p = 0; p < count; ++p) {
        double score = 0;
        for (int i = 0; i < width; ++i) score += double(query[i]) * keys[p * width + i];
        sum += weights[p] = std::exp(score);
    }
    for (int p = 0; p < count; ++p)
        for (int i = 0; i < width; ++i) wanted[i] += weights[p] / sum * values[p * width + i];
    for (int i = 0; i < width; ++i) worst = std::max(worst, std::abs(found[i] - wanted[i]));
    return worst;
}

// All positions of a sentence attend to each other; their vectors are parts of longer rows.
double attention_to_all(int positions, int key_width, int value_width) {
    const size_t stride = 2 * key_width + value_width + 3;
    const auto rows = numbers(positions * stride);
    const Head head{rows.data(), rows.data() + key_width, rows.data() + 2 * key_width, stride, positions, key_width,
                    value_width};
    std::vector<float> found(positions * size_t(value_width + 5));
    Attention().attend(head, found.data(), value_width + 5);
    double worst = 0;
    for (int q = 0; q < positions; ++q) {
        std::vector<double> weights(positions), wanted(value_width);
        double sum = 0;
        for (int p = 0; p < positions; ++p) {
            double score = 0;
            for (int i = 0; i < key_width; ++i)
                score += double(head.queries[q * stride + i]) * head.keys[p * stride + i];
            sum += weights[p] = std::exp(score);
        }
        for (int i = 0; i < value_width; ++i) {
            for (int p = 0; p < positions; ++p) wanted[i] += weights[p] / sum * head.values[p * stride + i];
            worst = std::max(worst, std::abs(found[q * size_t(value_width + 5) + i] - wanted[i]));
        }
    }
    return worst;
}

// The nearest number with eight bits, between two the even one: 1 for anything else, and for what is no number any more.
double keeping() {
    const float one = 1.0f, step = 1.0f / 128;  // from 1 to the next number that is kept
    const std::vector<std::pair<float, float>> pairs = {
        {one, one}, {one + step * 0.49f, one}, {one + step * 0.51f, one + step}, {one + step * 0.5f, one},
        {one + step * 1.5f, one + step * 2}, {-one - step * 0.51f, -one - step}, {0.0f, 0.0f},
        {INFINITY, INFINITY}, {std::numeric_limits<float>::max(), INFINITY}};
    for (size_t length : {size_t(1), size_t(LANES), size_t(LANES) + 3}) {
        for (auto [from, wanted] : pairs) {
            std::vector<float> numbers(length, from);
            kept<BFloat16>(numbers);
            for (float found : numbers)
                if (found != wanted) return 1;
        }
        const uint32_t bits = 0x7F800001;  // its upper half alone would be infinite
        float none;
        std::memcpy(&none, &bits, sizeof none);
        std::vector<float> numbers(length, none);
        kept<BFloat16>(numbers);
        for (float found : numbers)
            if (found == found) return 1;
    }
    return 0;
}

// 1 for another choice than that of a sorted list, else the difference of the logarithm of the sum.
double choices(int vocabulary, int count) {
    const auto logits = numbers(vocabulary, 4.0f);
    std::vector<float> added(vocabulary), scores(count);
    added[0] = -std::numeric_limits<float>::infinity();
    std::vector<int64_t> ids(count);
    float normaliser = 0;
    const Choice choice{1, vocabulary, count, logits.data(), added.data(), scores.data(), ids.data(), &normaliser};
    openwork_best(&choice);
    std::vector<std::pair<float, int>> sorted;
    double sum = 0;
    for (int i = 1; i < vocabulary; ++i) sorted.push_back({-logits[i], i}), sum += std::exp(double(logits[i]));
    std::sort(sorted.begin(), sorted.end());
    for (int i = 0; i < count; ++i)
        if (sorted[i].second != ids[i] || -sorted[i].first != scores[i]) return 1;
    return std::abs(normaliser - std::log(sum));
}

}  // namespace

int main() {
    double products = 0, others = 0;
    for (int rows : {1, 2, 3, 4, 5, 6, 7, 13, 300})
        for (auto [inputs, outputs] : {std::pair{16, 16}, {64, 83}, {34, 136}, {9, 1}, {96, 64}, {7, 201}})
            for (After after : {After::nothing, After::rectified, After::added})
                products = std::max(products, product_of(rows, inputs, outputs, after));
    tell("products", products);
    products = 0;
    for (int rows : {1, 2, 3, 4, 5, 6, 7, 13, 16, 37, 300})
        for (auto [inputs, outputs] : {std::pair{16, 16}, {64, 83}, {36, 136}, {12, 1}, {96, 64}, {132, 201}})
            for (After after : {After::nothing, After::rectified, After::added})
                products = std::max(products, integer_product_of(rows, inputs, outputs, after));
    tell("integers", products);
    tell("exponentials", exponentials());
    for (int width : {16, 44, 7, 256}) others = std::max(others, norms(width));
    tell("norms", others);
    others = 0;
    for (int count : {1, 3, 16, 33})
        for (int width : {16, 9, 34, 64})
            others = std::max({others, attention<float>(count, width), attention<BFloat16>(count, width)});
    for (int positions : {1, 4, 7, 16, 33})
        for (auto [key_width, value_width] : {std::pair{16, 16}, {9, 34}, {32, 7}})
            others = std::max(others, attention_to_all(positions, key_width, value_width));
    tell("attention", others);
    others = 0;
    for (int vocabulary : {20, 64, 83, 1000, 4001})
        for (int count : {1, 2, 10}) others = std::max(others, choices(vocabulary, count));
    tell("choices", others);
    tell("keeping", keeping());
    std::printf("lanes %d\n", LANES);
}
