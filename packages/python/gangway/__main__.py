"""`python -m gangway COMMAND ...`, and the command `gangway` of the environment: the command in this process's place.

A word that is a Python script where a program is expected is run by this interpreter.
"""

import os
import sys

from . import command_path, preload_path


def with_interpreter(words):
    """The words, with this interpreter before a script that is to be run."""
    if not words or words[0] not in ("run", "compare", "doctor"):
        return words
    for at, word in enumerate(words[1:], 1):
        if word.endswith(".py") and os.path.isfile(word):
            before = words[1:at]
            # An interpreter that is named already, or a program that gets the script as an argument.
            if any(not earlier.startswith("-") and os.path.basename(earlier).startswith("python") for earlier in before):
                return words
            separator = [] if "--" in before else ["--"]
            return words[:at] + separator + [sys.executable] + words[at:]
    return words


def main():
    words = sys.argv[1:]
    if words == ["preload-path"]:
        print(preload_path())
        return
    command = command_path()
    os.execv(command, [command] + with_interpreter(words))


if __name__ == "__main__":
    main()
