"""Compares what one reader sees of two directories."""


def differences(wanted, found, place=""):
    """Each difference of two answers of read_sets.py as a line: where it is, what there is and what was wanted."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        lines = [f"{place}/{name}: gone, was {short(wanted[name])}" for name in wanted if name not in found]
        lines += [f"{place}/{name}: came, is {short(found[name])}" for name in found if name not in wanted]
        for name in wanted:
            if name in found:
                lines += differences(wanted[name], found[name], f"{place}/{name}")
        return lines
    if isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found) and any(isinstance(one, (list, dict)) for one in wanted):
        return [line for number, pair in enumerate(zip(wanted, found)) for line in differences(*pair, f"{place}/{number}")]
    if type(wanted) is not type(found) or wanted != found:
        return [f"{place}: {short(found)} for {short(wanted)}"]
    return []


def without_names(answer, prefixes):
    """An answer without attributes whose names begin so, in letters of either size."""
    if isinstance(answer, dict):
        return {name: without_names(value, prefixes) for name, value in answer.items() if not name.lower().startswith(prefixes)}
    return [without_names(value, prefixes) for value in answer] if isinstance(answer, list) else answer


def short(value):
    text = str(value)
    return text if len(text) < 160 else text[:157] + "..."
