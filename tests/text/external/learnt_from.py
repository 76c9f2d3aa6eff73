"""What the tokenizers of others learn from and are tried on."""

WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "other", "cats", "were", "playing", "in", "Zürich", "near"]
WORDS += ["old"]
LINES = [" ".join(WORDS[place:] + WORDS[:place]) + "." for place in range(len(WORDS))] * 4
LINES += ["我爱猫，你爱狗吗？", "ｆｕｌｌ　width １２"] * 10
