#!/usr/bin/python3
"""validate_json.py [--lines] SCHEMA FILE|-

Is the JSON in FILE (- is standard input) as the schema file says? With --lines each line is a
document. Exit status: 0 yes, 1 no (and what is wrong on stderr), 2 usage, 77 the validator
(Debian's python3-jsonschema) is not installed: the caller skips.
"""

import json
import sys

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is not installed", file=sys.stderr)
    sys.exit(77)


def unique(pairs):
    """Refuses a key given twice, which json would take."""
    keys = [key for key, _ in pairs]
    if len(keys) != len(set(keys)):
        raise ValueError(f"a key is given twice among {keys}")
    return dict(pairs)


def no_constant(name):
    raise ValueError(f"{name} is not JSON")


def load(text):
    return json.loads(text, object_pairs_hook=unique, parse_constant=no_constant)


def validator_of(schema):
    """A validator of the schema, itself checked first."""
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def faults(validator, document):
    """Sentences that say what is wrong and where; none if the document is right."""
    found = sorted(validator.iter_errors(document), key=lambda e: list(map(str, e.absolute_path)))
    return [f"at {e.json_path}: {e.message[:400]}" for e in found]


def main(arguments):
    lines = arguments[:1] == ["--lines"]
    if lines:
        arguments = arguments[1:]
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    with open(arguments[0], encoding="utf-8") as file:
        validator = validator_of(load(file.read()))
    if arguments[1] == "-":
        text = sys.stdin.read()
    else:
        with open(arguments[1], encoding="utf-8") as file:
            text = file.read()
    status = 0
    for number, one in enumerate(text.splitlines() if lines else [text], 1):
        try:
            wrong = faults(validator, load(one))
        except ValueError as not_json:
            wrong = [f"not JSON: {not_json}"]
        for fault in wrong:
            where = f"{arguments[1]}:{number}" if lines else arguments[1]
            print(f"{where}: {fault}", file=sys.stderr)
            status = 1
    if lines and not text.strip():
        print(f"{arguments[1]}: no document", file=sys.stderr)
        status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
