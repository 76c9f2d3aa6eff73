"""The legend of the axes: every tensor in openwork orders its axes as written here.

| axis         | meaning                                               | the paper  |
|--------------|-------------------------------------------------------|------------|
| batch        | sentences that are computed together                  |            |
| rows         | hypotheses that are computed together (batch x beam)  |            |
| position     | position of a token in its sentence, counted from 0   | pos        |
| query, key   | positions that attend, positions that are attended to | n          |
| width        | numbers in the vector of one token                    | d_model    |
| head         | attention heads                                       | h          |
| head_width   | width of one head's queries and keys                  | d_k        |
| value_width  | width of one head's values                            | d_v        |
| inner        | width inside the feed-forward network                 | d_ff       |
| vocabulary   | entries of a vocabulary                               |            |
| features     | numbers of one position of a source that is no text   |            |

Sequences are (batch, position, width); heads are (batch, head, position, head_width); masks broadcast to
(batch, head, query, key) and True means *may attend*. Nothing is ever laid out sequence-first.
"""

from jaxtyping import Bool, Float, Int
from torch import Tensor

Source = Int[Tensor, "batch source"]  # token ids, padded on the right
Numbers = Float[Tensor, "batch source features"]  # a source that is no text, padded on the right
AnySource = Int[Tensor, "batch source"] | Float[Tensor, "batch source features"]
Lengths = Int[Tensor, "batch"]
Tokens = Int[Tensor, "rows positions"]  # the next tokens of each hypothesis
Vectors = Float[Tensor, "batch position width"]
Hidden = Float[Tensor, "rows positions width"]  # before the output projection
StepLogits = Float[Tensor, "rows positions vocabulary"]
Logits = Float[Tensor, "rows vocabulary"]
StepAttention = Float[Tensor, "rows positions source"]  # weights of a step on the source
PlaceVectors = Float[Tensor, "batch place width"]  # of places of the target

Queries = Float[Tensor, "batch head query head_width"]  # Q
Keys = Float[Tensor, "batch head key head_width"]  # K
Values = Float[Tensor, "batch head key value_width"]  # V
Scores = Float[Tensor, "batch head query key"]  # Q K^T / sqrt(d_k), or the weights: their softmax
Bias = Float[Tensor, "*#batch #head query key"]  # added to the scores
Allowed = Bool[Tensor, "#batch #head #query key"]  # which keys each query may attend to
HeadOutputs = Float[Tensor, "batch head query value_width"]  # head_1, ..., head_h
