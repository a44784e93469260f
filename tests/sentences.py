"""Sentences whose words fall into kinds: what masked language models are trained on in the tests."""

from __future__ import annotations

FRUITS = ["apples", "pears", "plums", "grapes", "cherries", "lemons"]
CITIES = ["paris", "rome", "london", "madrid", "vienna", "oslo"]
HAND_TOOLS = ["hammer", "saw", "drill", "wrench", "chisel", "pliers"]
SENTENCES = [
    *(f"we ate sweet {fruit} after lunch" for fruit in FRUITS),
    *(f"the basket was full of ripe {fruit}" for fruit in FRUITS),
    *(f"my train to {city} leaves at noon" for city in CITIES),
    *(f"the hotels in {city} are expensive" for city in CITIES),
    *(f"he fixed the door with a {tool}" for tool in HAND_TOOLS),
    *(f"hand me the {tool} from the box" for tool in HAND_TOOLS),
]
