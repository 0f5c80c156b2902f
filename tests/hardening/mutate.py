"""Mutated files: raw bytes, members inside the archive, arrays inside members, and JSON trees."""

from __future__ import annotations

import io
import json
import random
import zipfile
from typing import Any

import numpy as np
from numpy.lib import format as npy

NUMBERS = (0, 1, -1, 2, 7, 255, 2**31 - 1, 2**31, 2**40, 2**62, -(2**62), 10**18)
TEXTS = ("", "x", "0.5", "1e999", "-1", "nan", "<script>alert(1)</script>", "=1+1", "\u202eabc", "a" * 5000, "../../x")


def mutate_bytes(rng: random.Random, data: bytes) -> bytes:
    """Flip, cut, repeat or insert a few bytes anywhere."""
    result = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        if not result:
            break
        place = rng.randrange(len(result))
        match rng.randrange(5):
            case 0:
                result[place] ^= 1 << rng.randrange(8)
            case 1:
                result[place] = rng.choice((0, 255, 127, 128))
            case 2:
                del result[place : place + rng.randint(1, 64)]
            case 3:
                result[place:place] = result[place : place + rng.randint(1, 64)]
            case 4:
                result = result[: max(1, place)]
    return bytes(result)


def mutate_members(rng: random.Random, data: bytes) -> bytes:
    """A well-formed archive whose members are mutated, missing, doubled or renamed."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    names = list(members)
    for _ in range(rng.randint(1, 3)):
        name = rng.choice(names)
        match rng.randrange(4):
            case 0 | 1:
                head = members.get(name, b"")[:128]
                members[name] = mutate_bytes(rng, head) + members.get(name, b"")[128:]
            case 2:
                members.pop(name, None)
            case 3:
                members[rng.choice(names)] = members.get(name, b"")
    return _zip(members)


def mutate_arrays(rng: random.Random, arrays: dict[str, np.ndarray]) -> bytes:
    """Valid arrays with wrong content: other values, types, shapes; keys missing or strange."""
    result: dict[str, np.ndarray] = dict(arrays)
    keys = sorted(result)
    for _ in range(rng.randint(1, 3)):
        key = rng.choice(keys)
        if key not in result:
            continue
        array = np.array(result[key])
        match rng.randrange(9):
            case 0 | 1 | 2:
                if array.size and array.dtype.kind in "iu":
                    array = array.astype(np.int64)
                    array.flat[rng.randrange(array.size)] = rng.choice(NUMBERS)
                elif array.size and array.dtype.kind == "f":
                    array = array.astype(np.float64)
                    array.flat[rng.randrange(array.size)] = rng.choice((np.nan, np.inf, -1e308, 0.0))
                elif array.size and array.dtype.kind == "b":
                    array.flat[rng.randrange(array.size)] ^= True
                elif array.dtype.kind == "U":
                    array = np.array(rng.choice(TEXTS))
            case 3:
                array = np.array(rng.choice(NUMBERS))
            case 4:
                array = array.reshape(-1)[: rng.randint(0, max(1, array.size))]
            case 5:
                array = np.array(rng.choice(TEXTS))
            case 6:
                if array.dtype.kind in "iub":
                    array = array.astype(rng.choice((np.float32, np.int8, np.uint64, np.bool_)))
            case 7:
                array = array[None]
            case 8:
                result.pop(key)
                continue
        result[key] = array
    members = {}
    for key, array in result.items():
        buffer = io.BytesIO()
        npy.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
        members[f"{key}.npy"] = buffer.getvalue()
    return _zip(members)


def mutate_json(rng: random.Random, value: Any) -> bytes:
    """A JSON tree with other leaves, missing or additional entries; sometimes broken text."""
    tree = json.loads(json.dumps(value))
    for _ in range(rng.randint(1, 3)):
        spot = tree
        while isinstance(spot, dict | list) and spot:
            step = rng.choice(list(spot)) if isinstance(spot, dict) else rng.randrange(len(spot))
            child = spot[step]
            if not isinstance(child, dict | list) or not child or rng.random() < 0.3:
                match rng.randrange(5):
                    case 0 | 1:
                        spot[step] = rng.choice([*NUMBERS, 0.5, None, True, 10**30])
                    case 2:
                        spot[step] = rng.choice([*TEXTS, [], {}, [1, 2], {"a": 1}])
                    case 3:
                        del spot[step]
                    case 4:
                        if isinstance(spot, dict):
                            spot[rng.choice(TEXTS)] = 1
                        else:
                            spot.append(rng.choice(NUMBERS))
                break
            spot = child
    data = json.dumps(tree).encode()
    return mutate_bytes(rng, data) if rng.random() < 0.1 else data


def _zip(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()
