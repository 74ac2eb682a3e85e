"""Sessions of documents: commands in a shell, run as they stand, with what the document says that they show."""

import os
import re
import subprocess

from harness import BUILD, ROOT

START = re.compile(r"^(portico-stand-in|portico serve) (.*)$", re.MULTILINE)
SHOWS = re.compile(r"^(.*?)\s+# shows: (.*)$")


def blocks(document, section):
    """The shell blocks of a section of a document."""
    text = (ROOT / document).read_text().split(section)[1].split("\n## ")[0]
    return re.findall(r"```sh\n(.*?)```", text, re.DOTALL)


def unshown(session, replaced, stand_in_port, folder=None):
    """The commands whose output lacks what the document says, with the output. `replaced`: texts by what stands for them."""
    for text, other in replaced.items():
        assert text in session, f"{text} is not in the session"
        session = session.replace(text, other)
    lines, expected = [f'portico-stand-in() {{ command portico-stand-in "$@" --port {stand_in_port}; }}'], []
    for line in session.splitlines():
        found = SHOWS.match(line)
        lines.append(f"{{ {found[1]}; }} 2>&1; echo '<{len(expected)}>'" if found else line)
        if found:
            expected.append((found[1], found[2]))
    assert expected, "the session shows nothing"
    # The prefix is that of the configuration's environment.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PORTICO_")}
    done = subprocess.run(
        ["bash", "-c", "\n".join(lines)], env={**environment, "PATH": f"{BUILD}:{os.environ['PATH']}"}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False, cwd=folder)
    parts = re.split(r"<\d+>\n", done.stdout)
    assert len(parts) == len(expected) + 1, done.stdout
    return [(command, words, part) for (command, words), part in zip(expected, parts) if words not in part]
