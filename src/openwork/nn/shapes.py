"""The legend of the axes: every tensor in openwork orders its axes as written here.

| axis         | meaning                                               | the paper  |
|--------------|-------------------------------------------------------|------------|
| batch        | sentences that are computed together                  |            |
| rows         | hypotheses that are computed together (batch x beam)  |            |
| position     | place of a token in its sentence, counted from 0      | pos        |
| query, key   | positions that ask, positions that are asked          | n          |
| width        | numbers in the vector of one token                    | d_model    |
| head         | attention heads                                       | h          |
| head_width   | width of one head's queries and keys                  | d_k        |
| value_width  | width of one head's values                            | d_v        |
| inner        | width inside the feed-forward network                 | d_ff       |
| vocabulary   | entries of a vocabulary                               |            |

Sequences are (batch, position, width); heads are (batch, head, position, head_width); masks broadcast to
(batch, head, query, key) and True means *may attend*. Nothing is ever laid out sequence-first.
"""
