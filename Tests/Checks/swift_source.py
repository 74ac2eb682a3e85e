"""Swift source with its comments and string literals blanked out, so that what remains is code.

Lines keep their numbers. Code inside `\\( )` of a literal stays. A string that does not end on its line ends there
(only `\"\"\"` literals span lines), so that a quote inside a regex literal cannot swallow the rest of the file.
"""

import functools
import re

_OPENING = re.compile(r'//|/\*|(#*)("""|")')


@functools.cache
def code_of(source):
    return _Scanner(source).run()


class _Scanner:
    def __init__(self, source):
        self.source, self.at, self.out = source, 0, []

    def run(self):
        self._code(closing_parenthesis=False)
        return "".join(self.out)

    def _code(self, closing_parenthesis):
        depth = 0
        while self.at < len(self.source):
            opening = _OPENING.match(self.source, self.at)
            if opening:
                self._literal_or_comment(opening)
                continue
            character = self.source[self.at]
            depth += (character == "(") - (character == ")")
            self._keep(1)
            if closing_parenthesis and depth < 0:
                return

    def _literal_or_comment(self, opening):
        self._blank(opening.end() - opening.start())
        if opening.group() == "//":
            self._blank_until("\n")
        elif opening.group() == "/*":
            self._block_comment()
        else:
            self._string(hashes=opening.group(1), quotes=opening.group(2))

    def _block_comment(self):
        depth = 1  # Swift's block comments nest
        while depth and self.at < len(self.source):
            pair = self.source[self.at:self.at + 2]
            depth += (pair == "/*") - (pair == "*/")
            self._blank(2 if pair in ("/*", "*/") else 1)

    def _string(self, hashes, quotes):
        end, escape = quotes + hashes, "\\" + hashes
        while self.at < len(self.source):
            if self.source.startswith(end, self.at):
                return self._blank(len(end))
            if self.source.startswith(escape + "(", self.at):
                self._blank(len(escape) + 1)
                self._code(closing_parenthesis=True)
            elif self.source.startswith(escape, self.at):
                self._blank(len(escape) + 1)
            elif self.source[self.at] == "\n" and quotes == '"':
                return None
            else:
                self._blank(1)
        return None

    def _blank_until(self, end):
        stop = self.source.find(end, self.at)
        self._blank((stop if stop >= 0 else len(self.source)) - self.at)

    def _blank(self, count):
        text = self.source[self.at:self.at + count]
        self.out.append("".join("\n" if character == "\n" else " " for character in text))
        self.at += count

    def _keep(self, count):
        self.out.append(self.source[self.at:self.at + count])
        self.at += count
