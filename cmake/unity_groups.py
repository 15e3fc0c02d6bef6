"""Sorts source files into groups that compile as one: unity_groups.py FILE...

Two files share a group only if neither mentions a name that the other declares for itself, in an
anonymous namespace, say. So nothing in a group is declared twice or shadowed by another file, and what
its own file does not use is still unused. Prints a line "GROUP FILE" per file.
"""
import pathlib
import re
import sys

MOST_LINES = 6000  # of a group; longer ones keep one core busy while the others wait
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.S)
ARGUMENTS = r"<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>"
# clang-format indents what is inside a declaration, and nothing else.
HEAD = re.compile(rf"^\w(?:{ARGUMENTS}|[^<(={{;\[])*", re.M)
ANONYMOUS = re.compile(r"^namespace \{$.*?^\}  // namespace$", re.M | re.S)
OUTSIDE = re.compile(r"constexpr |const |static |using |namespace \w+ =|template ")


def own_names(text):
    blocks = [NOT_CODE.sub("", block[0]) for block in ANONYMOUS.finditer(text)]
    heads = [head[0] for block in blocks for head in HEAD.finditer(block)]
    rest = NOT_CODE.sub("", ANONYMOUS.sub("", text))
    heads += [head[0] for head in HEAD.finditer(rest) if OUTSIDE.match(head[0])]
    names = set(re.findall(r"^#define (\w+)", text, re.M))
    for head in heads:
        bare = re.sub(ARGUMENTS, "", head)
        if bare.startswith("using "):
            bare = bare.split("=")[0].replace("::", " ")  # an alias declares what stands before
        declared = re.search(r"\b(?:class|struct|enum class|enum|union) (\w+)", bare)
        declared = declared or re.search(r"(?<!::)\b(\w+)\s*$", bare)
        if declared and not re.fullmatch("[A-Z_]+|namespace|operator", declared[1]):
            names.add(declared[1])
    return names


class Group:
    def __init__(self):
        self.files, self.names, self.words, self.lines = [], set(), set(), 0

    def takes(self, names, words, lines):
        return (self.lines + lines <= MOST_LINES and self.names.isdisjoint(words)
                and self.words.isdisjoint(names))

    def add(self, file, names, words, lines):
        self.files.append(file)
        self.names |= names
        self.words |= words
        self.lines += lines


def main():
    groups = []
    for file in sorted(sys.argv[1:]):
        text = pathlib.Path(file).read_text()
        names = own_names(text)
        words = set(re.findall(r"[A-Za-z_]\w*", NOT_CODE.sub("", text)))
        lines = text.count("\n")
        group = next((g for g in groups if g.takes(names, words, lines)), None)
        if group is None:
            group = Group()
            groups.append(group)
        group.add(file, names, words, lines)
    for number, group in enumerate(groups):
        for file in group.files:
            print(number, file)


main()
