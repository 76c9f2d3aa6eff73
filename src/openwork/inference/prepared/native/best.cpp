// The best few of a vocabulary for many rows, and what makes log-probabilities of their logits.
//
// It is decoding/scoring.py in one call: there a row is read from memory some eight times, here twice from the cache.
// tests/models/test_native_best.py holds the two equal.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "room.h"
#include "structures.h"
#include "vectors.h"

namespace {

constexpr int BLOCK = 64;  // entries whose greatest is kept
constexpr float NOTHING = -std::numeric_limits<float>::infinity();

struct Entry {
    float score;
    int32_t id;
};

bool comes_first(const Entry& one, const Entry& other) {
    return one.score > other.score || (one.score == other.score && one.id < other.id);
}

// What a choice needs for a moment.
struct ChoiceRoom {
    std::vector<float> greatest;  // of each block
    std::vector<float> ordered;
    std::vector<Entry> entries;
};

// A row of logits as it is searched.
struct Row {
    const Choice& choice;
    ChoiceRoom& room;
    const float* logits;

    // Logits from `begin` on; what lies beyond the vocabulary is minus infinity.
    Vector part(int begin) const {
        if (begin + LANES <= choice.vocabulary) return load(logits + begin) + load(choice.added + begin);
        float some[LANES];
        for (int i = 0; i < LANES; ++i)
            some[i] = begin + i < choice.vocabulary ? logits[begin + i] + choice.added[begin + i] : NOTHING;
        return load(some);
    }

    int end_of(int begin) const { return std::min(begin + BLOCK, choice.vocabulary); }

    void find_greatest() {
        room.greatest.clear();
        for (int begin = 0; begin < choice.vocabulary; begin += BLOCK) {
            Vector most = part(begin);
            for (int i = begin + LANES; i < end_of(begin); i += LANES) most = greater(most, part(i));
            room.greatest.push_back(greatest_of(most));
        }
    }

    float logarithm_of_sum() const {
        const float most = *std::max_element(room.greatest.begin(), room.greatest.end());
        Vector sum{};
        for (int i = 0; i < choice.vocabulary; i += LANES) sum += exponential(part(i) - most);
        return most + std::log(sum_of(sum));
    }

    // As many blocks as are wanted have an entry that is no lower than the lowest of their greatest: so the best do.
    float threshold() {
        const size_t wanted = choice.count;
        if (room.greatest.size() < wanted) return NOTHING;
        auto& ordered = room.ordered = room.greatest;
        std::nth_element(ordered.begin(), ordered.begin() + (wanted - 1), ordered.end(), std::greater<float>());
        return ordered[wanted - 1];
    }

    void find_entries() {
        const float low = threshold();
        room.entries.clear();
        for (size_t block = 0; block < room.greatest.size(); ++block) {
            if (!(room.greatest[block] >= low)) continue;
            const int begin = static_cast<int>(block) * BLOCK;
            for (int i = begin; i < end_of(begin); ++i) {
                const float score = logits[i] + choice.added[i];
                if (score >= low) room.entries.push_back({score, i});
            }
        }
    }

    void give(float* scores, int64_t* ids) {
        const size_t found = std::min<size_t>(choice.count, room.entries.size());
        std::partial_sort(room.entries.begin(), room.entries.begin() + found, room.entries.end(), comes_first);
        for (int i = 0; i < choice.count; ++i) {  // numbers that are none are not found; the caller is told by the sum
            const bool is_there = static_cast<size_t>(i) < found;
            scores[i] = is_there ? room.entries[i].score : -std::numeric_limits<float>::infinity();
            ids[i] = is_there ? room.entries[i].id : 0;
        }
    }
};

}  // namespace

extern "C" void openwork_best(const Choice* choice) {
    auto& room = own_room<ChoiceRoom>();
    for (int row = 0; row < choice->rows; ++row) {
        const size_t place = static_cast<size_t>(row) * choice->count;
        Row one{*choice, room, choice->logits + static_cast<size_t>(row) * choice->vocabulary};
        one.find_greatest();
        choice->normaliser[row] = one.logarithm_of_sum();
        one.find_entries();
        one.give(choice->scores + place, choice->ids + place);
    }
}
