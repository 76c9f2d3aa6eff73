"""Dialogues about tables and taxis in English and Chinese: an endless generated corpus with known replies.

A person names values in various words and not all at once; the assistant asks for what is missing, repeats everything
with times as 19:30, accepts a correction, and books. So a reply follows from the whole conversation, and there is one
right reply. A pair is a conversation up to a reply, and the reply, as in `openwork complete --chat`.

    <user> A table for two at Blue Door, please. <assistant> On which day? <user> Friday. <assistant>    At what time?
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from openwork.data.corpora.corpus import check_split, split_of
from openwork.data.records import Pair

USER, ASSISTANT = "<user>", "<assistant>"

Values = Mapping[str, int]
"""Of each slot, which of its values."""

_CORRECTED, _TWO_AT_ONCE = 0.4, 0.3  # shares of the conversations, and of the answers


@dataclass(frozen=True)
class Slot:
    """A value that a booking needs: how a person may say each value, and how the assistant writes it.

    `question`: the assistant's. The person names the value among others with `parts`, alone with `answers`, and
    corrects it with `changes`; `{}` is the value.
    """

    said: Sequence[Sequence[str]]
    written: Sequence[str]
    question: str
    parts: Sequence[str]
    answers: Sequence[str]
    changes: Sequence[str]

    def say(self, kind: Literal["parts", "answers", "changes"], random: Random, value: int) -> str:
        """One of the person's sentences, or of its parts."""
        text = random.choice(getattr(self, kind)).format(random.choice(self.said[value]))
        return text if kind == "parts" else _capitalised(text)


@dataclass(frozen=True)
class DialogueScript:
    """A kind of booking in one language; slots in the order of their questions."""

    name: str
    slots: Mapping[str, Slot]
    openings: Sequence[str]
    joint: str  # between the parts of a request
    stop: str  # at its end
    check: str  # the assistant repeats everything
    booked: str
    yes: Sequence[str]

    def write(self, form: str, values: Values) -> str:
        """One of the assistant's sentences with the values."""
        return form.format(**{name: slot.written[values[name]] for name, slot in self.slots.items()})


def generate(split: str, count: int, seed: int = 0) -> Iterator[Pair]:
    """`count` pairs of a conversation so far and the next reply, whole conversations one after another.

    What is booked, before a correction and after it, occurs as a whole in no other split: its hash decides where it
    belongs. Deterministic in (split, seed), and a longer run begins with the pairs of a shorter one.
    """
    check_split(split)
    random = Random(f"dialogues {split} {seed}")
    while count > 0:
        dialogue = random.choice(TALKS)
        before = ""
        for said, reply in list(_turns(random, dialogue, split))[:count]:
            before = f"{before}{USER} {said} {ASSISTANT}"
            yield Pair(before, reply)
            before = f"{before} {reply} "
            count -= 1


def _turns(random: Random, dialogue: DialogueScript, split: str) -> Iterator[tuple[str, str]]:
    """What the person says, and the reply."""
    values = {name: random.randrange(len(slot.written)) for name, slot in dialogue.slots.items()}
    while not _belongs(dialogue, split, values):
        values = {name: random.randrange(len(slot.written)) for name, slot in dialogue.slots.items()}
    missing = [name for name in dialogue.slots if random.random() < 0.5]
    given = [name for name in dialogue.slots if name not in missing]
    parts = [dialogue.slots[name].say("parts", random, values[name]) for name in random.sample(given, len(given))]
    said = dialogue.joint.join([random.choice(dialogue.openings), *parts]) + dialogue.stop
    while missing:
        yield said, dialogue.slots[missing[0]].question
        named = missing[: 2 if random.random() < _TWO_AT_ONCE else 1]
        missing = missing[len(named) :]
        if len(named) == 1:
            said = dialogue.slots[named[0]].say("answers", random, values[named[0]])
        else:
            parts = [dialogue.slots[name].say("parts", random, values[name]) for name in named]
            said = _capitalised(dialogue.joint.join(parts) + dialogue.stop)
    yield said, dialogue.write(dialogue.check, values)
    changes = _changes(dialogue, split, values)
    if changes and random.random() < _CORRECTED:
        name, values = random.choice(changes)
        said = dialogue.slots[name].say("changes", random, values[name])
        yield said, dialogue.write(dialogue.check, values)
    yield random.choice(dialogue.yes), dialogue.write(dialogue.booked, values)


def _changes(dialogue: DialogueScript, split: str, values: Values) -> list[tuple[str, Values]]:
    """Each slot with the values that belong to the split and differ in it alone."""
    others = (
        (name, {**values, name: other})
        for name, slot in dialogue.slots.items()
        for other in range(len(slot.written))
        if other != values[name]
    )
    return [(name, changed) for name, changed in others if _belongs(dialogue, split, changed)]


def _belongs(dialogue: DialogueScript, split: str, values: Values) -> bool:
    leads_away = "start" not in values or values["start"] != values["end"]
    return leads_away and split_of(f"{dialogue.name} {sorted(values.items())}") == split


def _capitalised(text: str) -> str:
    return text[0].upper() + text[1:]


_HOURS = [(hour, minute) for hour in range(17, 22) for minute in (0, 30)]
_CLOCK = [f"{hour}:{minute:02}" for hour, minute in _HOURS]
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_PEOPLE = range(2, 10)  # who says "we are"
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_RESTAURANTS = (
    "Golden Lotus", "Blue Door", "Old Mill", "River House", "Green Olive", "Red Lantern", "Silver Spoon",
    "Corner Table", "Little Harbour", "Stone Oven", "White Crane", "Lemon Tree",
)  # fmt: skip
_PLACES = (
    "the station", "the airport", "the museum", "the hospital", "the old bridge", "the stadium", "the library",
    "the harbour", "the town hall", "the theatre",
)  # fmt: skip


def _english_time(hour: int, minute: int) -> tuple[str, ...]:
    name = _NUMBERS[hour - 13]
    words = f"half past {name}" if minute else f"{name} o'clock"
    return f"{hour}:{minute:02}", f"{hour - 12}:{minute:02} pm", words


_ENGLISH_TIME = Slot(
    [_english_time(*time) for time in _HOURS], _CLOCK, "At what time?", ("at {}",),
    ("{}.", "At {}, please.", "{} would be good."), ("No, at {}, please.", "Rather at {}.", "Sorry, I meant {}."),
)  # fmt: skip
_YES = ("Yes.", "Yes, please.", "That is right.", "Perfect.", "Go ahead.")

_TABLE = DialogueScript(
    "table",
    {
        "place": Slot(
            [(name, f"the {name}") for name in _RESTAURANTS], _RESTAURANTS, "At which restaurant?", ("at {}",),
            ("{}.", "At {}, please.", "I like {}."), ("No, at {}, please.", "Rather at {}.", "Let us take {} instead."),
        ),
        "day": Slot(
            [(day, f"{day} evening") for day in _DAYS], _DAYS, "On which day?", ("on {}",),
            ("{}.", "On {}, please.", "{} would be good."), ("No, on {}, please.", "Rather on {}.", "I meant {}."),
        ),
        "time": _ENGLISH_TIME,
        "people": Slot(
            [(str(number), _NUMBERS[number - 1]) for number in _PEOPLE], [str(number) for number in _PEOPLE],
            "For how many people?", ("for {}",), ("{}.", "For {}, please.", "We are {}."),
            ("No, for {}, please.", "Rather for {}.", "Sorry, we are {} now."),
        ),
    },
    ("I would like a table", "I want to book a table", "A table", "Reserve a table", "We need a table"),
    " ", ", please.",
    "A table for {people} at {place} on {day} at {time}. Is that right?",
    "Your table for {people} at {place} on {day} at {time} is booked.",
    _YES,
)  # fmt: skip

_TAXI = DialogueScript(
    "taxi",
    {
        "start": Slot(
            [(name,) for name in _PLACES], _PLACES, "Where from?", ("from {}",),
            ("{}.", "From {}, please.", "I will be at {}."), ("No, from {}, please.", "Sorry, I will start from {}."),
        ),
        "end": Slot(
            [(name,) for name in _PLACES], _PLACES, "Where to?", ("to {}",),
            ("{}.", "To {}, please.", "I want to go to {}."), ("No, to {}, please.", "Sorry, I want to go to {}."),
        ),
        "time": _ENGLISH_TIME,
    },
    ("I need a taxi", "A taxi", "Send me a taxi", "I would like a taxi"),
    " ", ", please.",
    "A taxi from {start} to {end} at {time}. Is that right?",
    "Your taxi from {start} to {end} at {time} is booked.",
    _YES,
)  # fmt: skip

_HAN_NUMBERS = ("两", "三", "四", "五", "六", "七", "八", "九")
_HAN_DAYS = tuple(f"周{day}" for day in "一二三四五六日")
_HAN_RESTAURANTS = (
    "金莲花", "蓝门", "老磨坊", "河畔人家", "绿橄榄", "红灯笼", "银勺", "街角小馆", "小港", "石窑", "白鹤楼", "柠檬树",
)  # fmt: skip
_HAN_PLACES = ("火车站", "机场", "博物馆", "医院", "老桥", "体育场", "图书馆", "码头", "市政厅", "剧院")


def _chinese_time(hour: int, minute: int) -> tuple[str, ...]:
    name = "五六七八九"[hour - 17]
    part = "晚上" if hour > 17 else "下午"
    return f"{hour}:{minute:02}", f"{part}{name}点{'半' if minute else ''}", f"{name}点{'半' if minute else '整'}"


_CHINESE_TIME = Slot(
    [_chinese_time(*time) for time in _HOURS], _CLOCK, "几点？", ("{}",),
    ("{}。", "{}吧。", "{}可以吗？"), ("不，{}。", "还是{}吧。", "改到{}。"),
)  # fmt: skip
_CHINESE_YES = ("对。", "是的。", "没错。", "可以。", "好的，谢谢。")

_CHINESE_TABLE = DialogueScript(
    "table",
    {
        "place": Slot(
            [(name, f"{name}餐厅") for name in _HAN_RESTAURANTS], _HAN_RESTAURANTS, "哪家餐厅？", ("在{}",),
            ("{}。", "去{}。", "我喜欢{}。"), ("不，去{}。", "还是{}吧。", "换成{}。"),
        ),
        "day": Slot(
            [(day, day.replace("周", "星期")) for day in _HAN_DAYS], _HAN_DAYS, "哪一天？", ("{}",),
            ("{}。", "{}吧。", "{}可以吗？"), ("不，{}。", "还是{}吧。", "改到{}。"),
        ),
        "time": _CHINESE_TIME,
        "people": Slot(
            [(f"{number}个人", f"{word}个人", f"{word}位") for number, word in zip(_PEOPLE, _HAN_NUMBERS, strict=True)],
            [str(number) for number in _PEOPLE], "几位？", ("{}",), ("{}。", "我们{}。", "一共{}。"),
            ("不，{}。", "现在是{}。", "改成{}。"),
        ),
    },
    ("我想订位", "请帮我订一张桌子", "麻烦订位", "订位"),
    "，", "。",
    "{people}位，{place}，{day}{time}。对吗？",
    "已为您订好：{people}位，{place}，{day}{time}。",
    _CHINESE_YES,
)  # fmt: skip

_CHINESE_TAXI = DialogueScript(
    "taxi",
    {
        "start": Slot(
            [(name,) for name in _HAN_PLACES], _HAN_PLACES, "从哪里出发？", ("从{}出发",),
            ("{}。", "从{}走。", "我在{}。"),
            ("不，从{}出发。", "我改在{}上车。"),
        ),
        "end": Slot(
            [(name,) for name in _HAN_PLACES], _HAN_PLACES, "去哪里？", ("到{}",), ("{}。", "去{}。", "我要去{}。"),
            ("不，去{}。", "改去{}。"),
        ),
        "time": _CHINESE_TIME,
    },
    ("我要叫出租车", "请叫一辆出租车", "叫车", "麻烦叫辆车"),
    "，", "。",
    "从{start}到{end}的出租车，{time}。对吗？",
    "已为您叫车：从{start}到{end}，{time}。",
    _CHINESE_YES,
)  # fmt: skip

TALKS = (_TABLE, _TABLE, _TAXI, _CHINESE_TABLE, _CHINESE_TAXI)  # the first is the commonest
