"""Sorts source files into groups that compile as one: unity_groups.py KEPT FILE...

Two files share a group only if neither mentions a name that the other declares for itself, in an
anonymous namespace, say. So nothing in a group is declared twice or shadowed by another file, and what
its own file does not use is still unused. Prints a line "GROUP FILE" per file, and keeps the lines in KEPT: next
time a file stays in its group if it may, so that a new file does not make all others compile again.
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

    def takes(self, source):
        return (self.lines + source.lines <= MOST_LINES and self.names.isdisjoint(source.words)
                and self.words.isdisjoint(source.names))

    def add(self, source):
        self.files.append(source.file)
        self.names |= source.names
        self.words |= source.words
        self.lines += source.lines


class Source:
    def __init__(self, file):
        text = pathlib.Path(file).read_text()
        self.file, self.names, self.lines = file, own_names(text), text.count("\n")
        self.words = set(re.findall(r"[A-Za-z_]\w*", NOT_CODE.sub("", text)))


def kept_groups(kept):
    """Each file's group of last time."""
    lines = kept.read_text().splitlines() if kept.exists() else []
    return {file: int(number) for number, file in (line.split(" ", 1) for line in lines)}


def main():
    kept = pathlib.Path(sys.argv[1])
    before = kept_groups(kept)
    groups = [Group() for _ in range(max(before.values(), default=-1) + 1)]
    new = []
    for source in map(Source, sorted(sys.argv[2:])):
        number = before.get(source.file)
        if number is not None and groups[number].takes(source):
            groups[number].add(source)
        else:
            new.append(source)
    for source in new:
        group = next((each for each in groups if each.takes(source)), None)
        if group is None:
            group = Group()
            groups.append(group)
        group.add(source)
    lines = "".join(f"{number} {file}\n" for number, group in enumerate(groups) for file in group.files)
    kept.write_text(lines)
    print(lines, end="")


main()
