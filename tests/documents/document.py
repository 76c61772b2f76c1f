"""The snippets of a Markdown document: fenced blocks by their language, and commands that stand in an
indented block or between backticks."""

import re
import subprocess

from page import SOURCE


def documents():
    """What people read; the protocol's own documents are held by tests/proto."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
                            cwd=SOURCE, check=True, text=True, capture_output=True).stdout
    return [name for name in listed.split() if not name.startswith("proto/")]


def without_comment(line):
    return re.sub(r"(^|\s+)#( .*|$)", "", line)


class Document:
    def __init__(self, name):
        self.name = name
        self.lines = (SOURCE / name).read_text(encoding="utf-8").splitlines()

    def _blocks(self):
        """(language, lines); the language of an indented block is None."""
        language, block, indented = None, None, []
        before = ""
        for line in self.lines:
            fence = re.match(r"```(\w*)$", line)
            if fence:
                if block is None:
                    language, block = fence.group(1), []
                else:
                    yield language, block
                    block = None
            elif block is not None:
                block.append(line)
            elif line.startswith("    ") and (indented or not before.strip()):
                indented.append(line[4:])
                continue
            if indented:
                yield None, indented
                indented = []
            before = line
        if indented:
            yield None, indented

    def fenced(self, *languages):
        return ["\n".join(lines) + "\n" for language, lines in self._blocks() if language in languages]

    def indented(self):
        return ["\n".join(lines) + "\n" for language, lines in self._blocks() if language is None]

    def script_commands(self):
        """Each command of the shell blocks."""
        for text in self.fenced("sh"):
            for line in text.splitlines():
                line = without_comment(line).strip()
                if line:
                    yield line

    def mentioned_commands(self, programs):
        """What begins with one of the programs in an indented block or between backticks, as far as
        the explanation beside it, which two blanks separate."""
        begins = re.compile(rf"(?:{'|'.join(re.escape(each) for each in programs)})(?:\s|$)")
        for text in self.indented():
            for line in text.replace("\\\n", " ").splitlines():
                if begins.match(line.strip()):
                    yield re.split(r"\s{2,}(?=[^-\s])", without_comment(line).strip())[0]
        prose = "\n".join(line for line in self._prose())
        for code in re.findall(r"`([^`]+)`", prose):
            code = " ".join(code.split())
            if begins.match(code):
                yield code

    def _prose(self):
        inside = False
        for line in self.lines:
            if line.startswith("```"):
                inside = not inside
            elif not inside and not line.startswith("    "):
                yield line
