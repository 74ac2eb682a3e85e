"""Finds what can be mutated in Swift sources, and writes the mutants beside the originals."""

import hashlib
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    number: int
    file: str
    line: int
    last_line: int
    start: int
    end: int
    rule: str
    # Of the source, the spaces as one; what stands there instead.
    original: str
    mutated: str
    # What is written: `N` stands for the number.
    text: str

    def __str__(self):
        return f"{self.number:3} {self.file}:{self.line} {self.rule}: {self.original}  ->  {self.mutated}"

    def as_dict(self):
        return {name: getattr(self, name) for name in ("number", "file", "line", "rule", "original", "mutated")}


def masked(text):
    """The same length, with comments and texts as spaces, so that only code is looked at."""
    out, at, size = list(text), 0, len(text)

    def blank(start, end):
        for position in range(start, end):
            if out[position] != "\n":
                out[position] = " "

    while at < size:
        if text.startswith("//", at):
            end = text.find("\n", at)
            end = size if end < 0 else end
            blank(at, end)
        elif text.startswith("/*", at):
            end = text.find("*/", at)
            end = size if end < 0 else end + 2
            blank(at, end)
        elif match := re.compile(r'(#*)("""|")').match(text, at):
            end = literal_end(text, match.end(), match[2] + match[1], match[1])
            blank(at + 1, end - 1)
            out[at] = out[end - 1] = '"'
        else:
            end = at + 1
        at = end
    return "".join(out)


def literal_end(text, at, close, hashes):
    """Behind a text's closing quote. Interpolations may hold texts of their own."""
    escape = "\\" + hashes
    while at < len(text):
        if text.startswith(escape + "(", at):
            at, depth = at + len(escape) + 1, 1
            while at < len(text) and depth:
                if text[at] == '"':
                    at = literal_end(text, at + 1, '"', "")
                    continue
                depth += {"(": 1, ")": -1}.get(text[at], 0)
                at += 1
        elif text.startswith(close, at):
            return at + len(close)
        elif text.startswith(escape, at):
            at += len(escape) + 1
        else:
            at += 1
    return len(text)


def clauses(code):
    """(start, end) of each Boolean clause of the conditions of if, guard and while."""
    for keyword in re.finditer(r"(?<![.\w#`])(if|guard|while)\b", code):
        at = start = keyword.end()
        depth, spans = 0, []
        while at < len(code):
            letter = code[at]
            if depth == 0 and (
                letter == "{" and keyword[1] != "guard" or keyword[1] == "guard" and re.match(r"else\b", code[at:at + 5])
                and code[at - 1].isspace()):
                spans.append((start, at))
                break
            if letter in "([{":
                depth += 1
            elif letter in ")]}":
                depth -= 1
                if depth < 0:
                    break
            elif letter == "," and depth == 0:
                spans.append((start, at))
                start = at + 1
            at += 1
        else:
            continue
        for start, end in spans:
            text = code[start:end]
            start += len(text) - len(text.lstrip())
            end -= len(text) - len(text.rstrip())
            if start < end and not re.match(r"(let|var|case|_)\b|#", code[start:end]):
                yield start, end


def results(code):
    """(start, end) of Boolean expressions that are returned, on one line."""
    for match in re.finditer(r"^[ \t]*return (.+)$", code, re.M):
        if is_boolean(match[1]) and is_whole(code, match.end()):
            yield match.span(1)
    for match in re.finditer(r"(?:-> Bool|: Bool) \{\s*([^{}\n]+?)\s*\}", code):
        if not re.match(r"(return|get|switch|if|guard|let|var|for)\b", match[1]):
            yield match.span(1)


def is_boolean(text):
    depth, found = 0, text.startswith("!")
    for match in re.finditer(r"[(\[{]|[)\]}]|\?(?!\.|\?|\))|(?<= )(==|!=|<=|>=|<|>|&&|\|\|)(?= )", text):
        piece = match[0]
        depth += (piece in "([{") - (piece in ")]}")
        if depth == 0 and match[1]:
            found = True
        if depth == 0 and piece == "?":
            return False
    return found and depth == 0 and "{" not in text


def is_whole(code, at):
    """Whether the next line begins a new statement."""
    following = code[at:].lstrip()
    return not re.match(r"[.?:+\-*/&|=<>]|\)|,", following)


SWAPPED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&"}


def expressions(code, start, end):
    """(rule, replacement pieces) that change a Boolean expression."""
    yield "condition turned round", None
    for match in re.finditer(r"(?<= )(==|!=|<=|>=|<|>|&&|\|\|)(?= )", code[start:end]):
        at = start + match.start()
        yield "operator", (at, at + len(match[1]), SWAPPED[match[1]])
    for match in integers(code, start, end):
        yield "limit off by one", match


def integers(code, start, end):
    for match in re.finditer(r"(?<![\w.$\"])(\d+)(?![\w.\"])", code[start:end]):
        value = int(match[1])
        yield start + match.start(), start + match.end(), str(value + 1 if value < 2 else value - 1)


def candidates(name, text):
    code = masked(text)
    lines = [0] + [match.end() for match in re.finditer("\n", text)]

    def line(at):
        low, high = 0, len(lines)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if lines[middle] <= at else (low, middle)
        return low + 1

    def mutant(start, end, rule, mutated, written):
        shown = " ".join(text[start:end].split())
        return Mutant(0, name, line(start), line(end - 1), start, end, rule, shown, " ".join(mutated.split()), written)

    for start, end in [*clauses(code), *results(code)]:
        whole = text[start:end]
        effects = re.match(r"(?:(?:try|await)\s+)*", whole)[0]
        inner = whole[len(effects):]
        if re.search(r"\b(try|await)\b", masked(inner)):
            continue
        for rule, change in expressions(code, start, end):
            if change is None:
                mutated = f"!({inner})"
            else:
                left, right, new = change
                mutated = (text[start:left] + new + text[right:end])[len(effects):]
            yield mutant(start, end, rule, mutated, f"{effects}(isMutant(N) ? ({mutated}) : ({inner}))")

    for match in re.finditer(r"(?<![\w.`])(true|false)\b(?!\s*:)", code):
        begin = code.rfind("\n", 0, match.start()) + 1
        if re.match(r"\s*(case|@|///)", code[begin:]):
            continue
        other = "false" if match[1] == "true" else "true"
        yield mutant(*match.span(), "value", other, f"(isMutant(N) ? {other} : {match[1]})")

    for match in re.finditer(r"^[^\n]*$", code, re.M):
        whole = match[0]
        if re.match(r"\s*(case|@|import|default|indirect|typealias)\b", whole) or "precondition" in whole:
            continue
        statement = whole.strip()
        if re.match(r"(private |fileprivate |package |public )?(static )?let \w+(: \w+)? = [\d_ <*+]+$", statement) or re.search(
                r"(prefix|suffix|dropFirst|dropLast|limit|most)\w*[:(]|[+\-] \d+\b", statement):
            for start, end, new in integers(code, *match.span()):
                yield mutant(start, end, "limit off by one", new, f"(isMutant(N) ? {new} : {text[start:end]})")
        if is_statement(code, match, statement):
            inner = text[match.start():match.end()].strip()
            start = match.start() + len(whole) - len(whole.lstrip())
            yield mutant(start, start + len(inner), "left out", "", f"if !isMutant(N) {{ {inner} }}")
        if re.match(r"(?:[a-z]+ )*func [^{]*\)[a-z() A-Z]*\{$", statement) and "->" not in statement:
            end = match.end()
            yield mutant(
                end - 1, end, "returns at once", "{ return", "{ if isMutant(N) { return }")


def is_statement(code, match, statement):
    """Whether the line is an assignment or a call that stands by itself."""
    if not re.match(r"(try |await )*[a-z_$][\w.?!]*(\[[^\]]*\])?( [+\-|]?= [^=].*|(\.\w+)*\(.*\))$", statement):
        return False
    # An initializer's.
    if re.match(r"self\.\w+ = ", statement):
        return False
    if re.match(r"(return|if|guard|for|while|switch|throw|defer|super|self\.init|case|let|var|init|func|where|in)\b", statement):
        return False
    if any(statement.count(a) != statement.count(b) for a, b in ("()", "[]", "{}")):
        return False
    before = code[:match.start()].rstrip()
    return (before[-1:] in "{}" or re.search(r"(\)|\w|\"|\])$", before[-1:]) is not None) and not re.search(
        r"(->|=|\breturn|\bthrow|\belse|:)$", before) and is_whole(code, match.end())


def chosen(sources, count, seed):
    """The same ones for the same seed: each has a number of its own, and the smallest are taken."""
    ranked = []
    for name, text in sources.items():
        seen = {}
        for mutant in candidates(name, text):
            key = f"{seed}|{name}|{mutant.rule}|{mutant.original}|{mutant.mutated}"
            seen[key] = seen.get(key, 0) + 1
            ranked.append((hashlib.sha256(f"{key}|{seen[key]}".encode()).digest(), mutant))
    ranked.sort(key=lambda one: one[0])
    # A module has hundreds of integers and conditions: a rule has at most a third of all.
    taken, of_rule = [], {}
    for _, mutant in ranked:
        overlaps = any(m.file == mutant.file and m.start < mutant.end and mutant.start < m.end for m in taken)
        if overlaps or of_rule.get(mutant.rule, 0) >= count // 3:
            continue
        of_rule[mutant.rule] = of_rule.get(mutant.rule, 0) + 1
        taken.append(Mutant(**{**mutant.__dict__, "number": len(taken) + 1}))
        if len(taken) == count:
            break
    return taken


def rewritten(text, mutants):
    for mutant in sorted(mutants, key=lambda one: one.start, reverse=True):
        written = mutant.text.replace("isMutant(N)", f"isMutant({mutant.number})")
        text = text[:mutant.start] + written + text[mutant.end:]
    return text
