# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Collect the messages of all commands from the syntax of their sources, and check their form.

A message that ends a command is a problem and an action: CommandError in Python, die in bash,
$(error) in make. Findings, notes and other texts on standard error need no action.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader.base import paths

FOLDERS = ("grader", "electives", "handouts", "scripts", "common", "expected", ".ci")
# An action must begin with one of these words. Add a verb if none of them fits.
VERBS = set(
    "add allow change check choose close compile correct declare define delete draw follow free"
    " give install make measure move name omit put remove report restore run see send set start"
    " use wait write".split()
)
# Words to avoid, because standard terms exist: release, fix, choose, print. scripts/vocabulary.txt
# has more, for all texts of the kit.
AVOIDED = re.compile(
    r"\b(g[ia]ven? back|mend(s|ed)?|say one of|says? nothing|said nothing|please|sorry|oops)\b"
    r"|!(\s|$)",
    re.IGNORECASE,
)
# These marks in a text stand for a value, a quoted value (!r), and a part of another message.
VALUE, QUOTED, PASSED = "\N{WHITE SQUARE}", "\N{BLACK SQUARE}", "\N{RIGHTWARDS ARROW}"
TEXTS = 64  # This is the maximum number of combinations of the parts of a text.


@dataclass(frozen=True)
class Message:
    """A message in a source. action is None if the message needs none, and "" if it is missing."""

    place: str
    problem: str
    action: str | None = None


def complaints(message: Message) -> list[str]:
    """Return descriptions of the rules that the form of a message violates."""
    found = []
    for part in (message.problem, message.action or PASSED):
        first = (part.split() or [""])[0]
        checks = {
            "more than one line": "\n" in part,
            "a full stop at the end": part.endswith(".") and not part.endswith("..."),
            "a capital letter at the beginning": re.fullmatch(r"[A-Z][a-z']*[:,;.]?", first),
            "quotes around a name (use !r for a value that may hold blanks)": re.search(
                rf"[\"`\u2018\u201c\u201d]|(?<![A-Za-z])'|'(?=[{VALUE}{QUOTED}])", part
            ),
            "a word that is avoided": AVOIDED.search(part),
        }
        found += [name for name, wrong in checks.items() if wrong]
    if message.action is not None:
        verb = re.split("[ ,]", message.action)[0]
        if verb not in VERBS and not message.action.startswith(PASSED):
            found.append("no action that begins with a verb")
    return found


def of_text(place: str, text: str, ends: bool) -> Message:
    """Split a text into problem and action if it ends the command. Return the message."""
    text = text.removesuffix("\n")
    problem, _, action = text.rpartition("; ") if ends else (text, "", None)
    return Message(place, problem or text, action if problem else "")


def name_of(node: ast.AST) -> str:
    """Return the last part of a name, or "" if the expression is not a name."""
    node = node.body if isinstance(node, ast.IfExp) else node
    return str(getattr(node, "attr", getattr(node, "id", "")))


class Python:
    """The messages of Python modules."""

    def __init__(self, sources: dict[str, str]) -> None:
        self.parent: dict[ast.AST, ast.AST] = {}
        self.place: dict[ast.AST, str] = {}
        self.calls: dict[str, list[ast.Call]] = defaultdict(list)
        self.functions: dict[str, list[ast.FunctionDef]] = defaultdict(list)
        classes: dict[str, ast.ClassDef] = {}
        aliases: dict[str, str] = {}
        for path, text in sources.items():
            for node in ast.walk(ast.parse(text)):
                self.place[node] = f"{path}:{getattr(node, 'lineno', 0)}"
                self.parent.update(dict.fromkeys(ast.iter_child_nodes(node), node))
                if isinstance(node, ast.Call):
                    self.calls[name_of(node.func)].append(node)
                elif isinstance(node, ast.FunctionDef):
                    self.functions[node.name].append(node)
                elif isinstance(node, ast.ClassDef):
                    classes[node.name] = node
                elif isinstance(node, ast.Assign) and name_of(node.value):
                    aliases[name_of(node.targets[0])] = name_of(node.value)
        # Map each exception that ends a command to the parameters of its constructor. They are
        # problem and action, only the problem if the class sets the action, or others.
        self.ends: dict[str, list[str]] = {}
        for name in {*classes, *aliases}:
            lineage = [aliases.get(name, name) if name not in classes else name]
            while (above := classes.get(lineage[-1])) and above.bases and len(lineage) < 9:
                lineage.append(name_of(above.bases[0]))
            own = [
                [argument.arg for argument in part.args.args[1:]]
                for one in filter(classes.get, lineage)
                for part in classes[one].body
                if isinstance(part, ast.FunctionDef) and part.name == "__init__"
            ]
            if ["problem", "action"] in own:
                self.ends[name] = own[0]

    def around(self, node: ast.AST, *kinds: type[ast.AST]) -> ast.AST:
        """Return the innermost node of a kind around a node, or else its module."""
        while node in self.parent:
            node = self.parent[node]
            if isinstance(node, kinds):
                break
        return node

    def texts(self, node: ast.AST, seen: frozenset[str] = frozenset()) -> list[str]:
        """Return the possible texts of an expression."""
        found: list[str] = []
        if isinstance(node, ast.Constant):
            found = [VALUE if node.value is None else str(node.value)]
        elif isinstance(node, ast.JoinedStr):
            parts = [self.texts(value, seen) for value in node.values]
            found = ["".join(part) for part in itertools.islice(itertools.product(*parts), TEXTS)]
        elif isinstance(node, ast.FormattedValue):
            quoted = {-1: "", ord("s"): "", ord("r"): QUOTED}.get(node.conversion, '"')
            found = [quoted] if quoted else self.texts(node.value, seen)
        elif isinstance(node, ast.Subscript):
            found = self.texts(node.value, seen)
        elif isinstance(node, (ast.IfExp, ast.BoolOp, ast.Dict)):
            values = [node.body, node.orelse] if isinstance(node, ast.IfExp) else node.values
            found = [text for value in values for text in self.texts(value, seen)]
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            sides = itertools.product(self.texts(node.left, seen), self.texts(node.right, seen))
            found = ["".join(pair) for pair in itertools.islice(sides, TEXTS)]
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            found = [re.sub(r"%\S*[a-z]", VALUE, text) for text in self.texts(node.left, seen)]
        elif isinstance(node, ast.Call) and name_of(node.func) == "format":
            value = getattr(node.func, "value", node)
            found = [re.sub(r"\{.*?\}", VALUE, text) for text in self.texts(value, seen)]
        elif name_of(node) == "action":
            found = [PASSED]
        elif isinstance(node, ast.Name) and node.id not in seen:
            found = self._of_name(node, seen | {node.id})
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            defined = self.functions[node.func.id]
            if len(defined) == 1 and node.func.id not in seen:
                returned = [n.value for n in ast.walk(defined[0]) if isinstance(n, ast.Return)]
                inner = seen | {node.func.id}
                found = [text for n in returned if n for text in self.texts(n, inner)]
        return found[:TEXTS] or [VALUE]

    def _of_name(self, name: ast.Name, seen: frozenset[str]) -> list[str]:
        """Return the texts that a variable is set to, or that are passed as this parameter."""
        function = self.around(name, ast.FunctionDef, ast.AsyncFunctionDef)
        module = self.around(function)
        for scope in (function, module):
            nodes = ast.walk(scope) if scope is function else ast.iter_child_nodes(scope)
            values: list[ast.AST] = []
            for node in nodes:
                targets = getattr(node, "targets", [getattr(node, "target", None)])
                if name.id not in (name_of(t) for t in targets if isinstance(t, ast.Name)):
                    continue
                value = getattr(node, "value", getattr(node, "iter", None))
                values += getattr(value, "elts", [value]) if value else []
            if values:
                return [text for value in values for text in self.texts(value, seen)]
        found = []
        if isinstance(function, ast.FunctionDef) and len(self.functions[function.name]) == 1:
            names = [argument.arg for argument in function.args.args]
            names = names[1:] if names[:1] == ["self"] else names
            for call in self.calls[function.name] if name.id in names else []:
                given = dict(zip(names, call.args)) | {k.arg or "": k.value for k in call.keywords}
                if name.id in given:
                    found += self.texts(given[name.id], seen | {function.name})
        return found

    def leaves_after(self, call: ast.AST) -> bool:
        """Return True if the statement after a call returns or exits with a status."""
        statement = self.parent[call]
        body = getattr(self.parent.get(statement), "body", [])
        after = body[body.index(statement) + 1 :][:1] if statement in body else []
        code = r"(return |(sys\.|os\._)?exit\()([1-9]|[A-Z_]+)\)?|raise SystemExit\b.*"
        return bool(after) and re.fullmatch(code, ast.unparse(after[0])) is not None

    def messages(self) -> Iterator[Message]:
        """Yield the messages of all modules."""
        for node in self.place:
            if isinstance(node, ast.Call):
                yield from self._of_call(node)
            elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                yield from self._of_raise(node.exc)
            elif isinstance(node, ast.Raise) and node.exc and self._takes_problem(node.exc):
                yield Message(self.place[node], VALUE, "")

    def _takes_problem(self, called: ast.AST) -> bool:
        return self.ends.get(name_of(called), [""])[:1] == ["problem"]

    def _of_call(self, call: ast.Call) -> Iterator[Message]:
        name, place = name_of(call.func), self.place[call]
        keywords = {k.arg or "": k.value for k in call.keywords}
        if name == "__init__":
            about = name_of(call) or getattr(self.around(call, ast.ClassDef), "name", "")
            if self.ends.get(about, ["problem", "action"]) != ["problem", "action"]:
                yield from self._of_parts(call, ["problem", "action"])
        elif self._takes_problem(call.func):
            yield from self._of_parts(call, self.ends[name])
        elif name == "error" and isinstance(call.func, ast.Attribute) and call.args:
            yield from (of_text(place, text, True) for text in self.texts(call.args[0]))
        elif name in ("exit", "_exit", "SystemExit") and call.args:
            for text in self.texts(call.args[0]):
                if re.search(r"[a-z]{2}", text):
                    yield Message(place, text, "")  # only CommandError and argparse end a command
        elif name == "Finding" or name == "replace" and "cause" in keywords:
            for node in [*call.args[1:2], *(keywords[key] for key in keywords if key == "cause")]:
                yield from (Message(place, text) for text in self.texts(node))
        elif name in ("say", "warn", "warning") or "stderr" in ast.unparse(
            keywords.get("file", call.func if name == "write" else ast.Name(""))
        ):
            ends = self.leaves_after(call)
            for text in self.texts(call.args[0]) if call.args else []:
                if text.strip() and (ends or "\n" not in text.strip()):
                    yield of_text(place, text.strip(), ends)

    def _of_parts(self, call: ast.Call, names: list[str]) -> Iterator[Message]:
        given = dict(zip(names, call.args)) | {k.arg or "": k.value for k in call.keywords}
        problems = self.texts(given["problem"]) if "problem" in given else [VALUE]
        actions = self.texts(given["action"]) if "action" in given else [""]
        for problem, action in itertools.product(problems, actions):
            yield Message(self.place[call], problem, action if "action" in names else None)

    def _of_raise(self, call: ast.Call) -> Iterator[Message]:
        if name_of(call.func) not in {*self.ends, "SystemExit"}:
            # Functions that create findings put a device's answer in double quotes, as in C.
            quote = '"' * name_of(call.func).strip("_")[:1].islower()
            for text in (text for node in call.args for text in self.texts(node)):
                yield Message(self.place[call], text.replace(quote, "") if quote else text)


def word(text: str, at: int) -> tuple[str, int]:
    """Return the word of a shell command at an offset, and its end."""
    out: list[str] = []
    closing: list[str] = []  # the end mark of each open quote and expansion
    while at < len(text):
        char, two = text[at], text[at : at + 2]
        inside = any(c in ")}" for c in closing)
        if char == "\\":
            out.append("" if inside or two == "\\\n" else two[1:])
            at += 1
        elif not closing and (char.isspace() or char in ";|&)<>"):
            break
        elif two in ("$(", "${"):
            out.append("" if inside else PASSED if re.match(r"\$\{\d", text[at:]) else VALUE)
            closing.append({"(": ")", "{": "}"}[two[1]])
            at += 1
        elif closing and char == closing[-1]:
            closing.pop()
        elif char == '"':
            closing.append(char)
        elif char == "'" and closing[-1:] != ['"']:
            end = text.find("'", at + 1)
            out.append("" if inside else text[at + 1 : end])
            at = end
        elif inside:
            closing += [")"] * (char == "(")
        elif match := re.match(r"\$(\d|\w+|[@*#?!$-])", text[at:]):
            out.append(PASSED if match[1].isdigit() else VALUE)
            at += len(match[0]) - 1
        else:
            out.append(char)
        at += 1
    return "".join(out), at


def words(text: str, at: int) -> tuple[list[str], int]:
    """Return the words of the shell command at an offset, and their end."""
    found: list[str] = []
    while True:
        blank = re.match(r"(?:[ \t]|\\\n)*", text[at:])
        at += len(blank[0]) if blank else 0
        one, end = word(text, at)
        if end == at or text[end : end + 3] == ">&2" and one in ("", "1"):
            return found, end
        found.append(one)
        at = end


def of_shell(path: str, text: str) -> Iterator[Message]:
    """Yield the messages of a shell script, or of the recipes of a makefile."""
    # Functions that print their parameters as problem and action, or pass them to die.
    parts = {"die": (1, 2), "failed": (2, 3)}
    for match in re.finditer(r"^(\w+)\(\) \{\n((?:(?!\}).*\n)*?)\}", text, re.MULTILINE):
        passed = re.search(r'die "\$(\d)" "\$(\d)|\$(\d); \$\{?(\d)|die "\$(\d)', match[2])
        if passed:
            parts[match[1]] = tuple([*(int(n) for n in passed.groups() if n), 0][:2])
    code = re.sub(r"(?m)^[ \t]*#.*$", "", text)
    before = r"(?m)(?:^|[;&|{()!@]|\b(?:then|do|else)\b)[ \t]*(>&2 +)?"
    for match in re.finditer(rf"{before}(say|echo|printf|cat|{'|'.join(parts)})\b(?=[ \t])", code):
        name, place = match[2], f"{path}:{code.count(chr(10), 0, match.start(2)) + 1}"
        given, end = words(code, match.end())
        to_stderr = re.match(r"[ \t]*>&2", code[end:])
        here = re.match(r"[ \t]*>&2[ \t]*<<-?'?(\w+)'?\n", code[end:])
        if name in parts:
            first, second = parts[name]
            given += [""] * (first + second)
            yield Message(place, given[first - 1], given[second - 1] if second else None)
            continue
        if here:
            given = [code[end:].partition("\n")[2].partition(here[1])[0].strip()]
            end = code.index(f"{here[1]}\n", end + len(here[0])) + len(here[1])
        elif to_stderr:
            end += len(to_stderr[0])
        leaves = bool(re.match(r"[ \t]*[;\n]\s*exit [1-9]", code[end:]))
        if name == "say" or to_stderr or match[1]:
            for one in given:
                if re.search("[A-Za-z]{3}", one):
                    yield of_text(place, re.sub(r"^[\w./-]+: ", "", one), leaves)


def of_make(path: str, text: str) -> Iterator[Message]:
    """Yield the messages of a makefile."""
    for match in re.finditer(r"\$\((?:error|warning) ", text):
        depth, end = 1, match.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        inside = re.sub(r"\$\([^()]*\)", VALUE, text[match.end() : end - 1])
        yield of_text(f"{path}:{text.count(chr(10), 0, match.start()) + 1}", inside, True)
    yield from of_shell(path, text.replace("$$", "$"))


def collected(root: Path) -> list[Message]:
    """Return the messages of all sources below a checkout."""
    files = [root / "Makefile"]
    for top in FOLDERS:
        files += [p for p in sorted((root / top).rglob("*")) if "__pycache__" not in p.parts]
    found: list[Message] = []
    python: dict[str, str] = {}
    for path in filter(Path.is_file, files):
        name = str(path.relative_to(root))
        if path.suffix == ".py":
            python[name] = path.read_text(encoding="utf-8")
        elif path.name == "Makefile":
            found += of_make(name, path.read_text(encoding="utf-8"))
        elif path.suffix == ".sh" or re.match(rb"#!.*sh\b", path.read_bytes()[:80]):
            found += of_shell(name, path.read_text(encoding="utf-8"))
    return [*dict.fromkeys(found), *dict.fromkeys(Python(python).messages())]


def test_every_message_has_the_form() -> None:
    wrong = [
        f"{message.place}: {', '.join(why)}: {message.problem}; {message.action}"
        for message in collected(paths.ROOT)
        if (why := complaints(message))
    ]
    assert not wrong, "\n" + "\n".join(wrong)


ERRORS = (paths.ROOT / "grader/base/errors.py").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("py", 'raise LabError("bad thing")'),
        ("py", 'raise LabError(action="wait", problem=f"no file \'{name}\'")'),
        ("py", 'def fail(text):\n    raise LabError(text, "wait")\nfail("bad thing.")'),
        ("py", 'class My(LabError):\n    pass\nraise My("bad thing", "this is sad")'),
        ("py", 'def f():\n    print("bad thing", file=sys.stderr)\n    return 2'),
        ("py", 'parser.error("bad thing")'),
        ("sh", '[ -f x ] || die "bad thing"'),
        ("sh", 'if ! x; then echo "bad thing" >&2; exit 1; fi'),
        ("sh", 'die "no $(echo "x" "y") here" \\\n\t"Go away"'),
        ("make", "$(error $(NAME) is bad)"),
    ],
)
def test_bad_messages_are_found(kind: str, text: str) -> None:
    python = Python({"errors.py": ERRORS, "x.py": text}) if kind == "py" else None
    found = python.messages() if python else {"sh": of_shell, "make": of_make}[kind]("x", text)
    assert any(complaints(message) for message in found if message.place.startswith("x"))
