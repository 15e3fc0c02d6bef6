"""What the site needs beside its pages (mkdocs calls the functions by their names).

Lessons show a command `collsim view ... --output NAME.html`, and below it a picture. On the site the page that the
command writes takes the picture's place; it is made here. Links to files that are no pages get `.txt`, as
tools/dev/build-site copies them, since browsers would offer to save a YAML file.
"""
import json
import os
import pathlib
import re
import shlex
import subprocess
import urllib.parse

# A block that is one command, and the picture that follows.
VIEW = re.compile(r"```sh\n(collsim view .* --output (\S+\.html))\n```\n\n!\[([^\]]*)\]\([^)]*\)")
# An exercise that asks to check a schedule of the lessons.
EXERCISE = re.compile(r"^\*\*\d+\.\*\* [^\n]*`([\w-]+\.yaml)`[^\n]*(?:\n[^\n]+)*", re.MULTILINE)
# A block that is one page of a machine of two numbers.
SLIDERS = re.compile(r"```sh\ncollsim (crossover --alpha [^\n]* --format html) > \S+\n```")
LINK = re.compile(r"\]\(([^):#]+\.(?:yaml|json|h|cpp|sh|py))\)")
COMMAND = os.environ["COLLSIM_COMMAND"]
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent


def on_config(config):
    """Pages that the navigation does not list are added to it."""
    root = pathlib.Path(config["docs_dir"])
    listed = json.dumps(config["nav"])
    rest = [str(path.relative_to(root)) for path in sorted(root.rglob("*.md"))]
    rest = [name for name in rest if f'"{name}"' not in listed]
    if rest:
        config["nav"].append({"More": rest})
    return config


def on_page_markdown(markdown, page, config, files):
    def embed(match):
        command, name, title = match.groups()
        # In a folder of their own, since lessons have the same names.
        write_view(command, (pathlib.Path(config["site_dir"]) / page.file.dest_path).parent / "views")
        return (f"```sh\n{command}\n```\n\n"
                f'<iframe class="view" src="views/{name}" title="{title}"></iframe>\n\n'
                f'<a href="views/{name}" target="_blank">In a window of its own</a>')

    markdown, views = VIEW.subn(embed, markdown)
    for pattern, question, title in [(EXERCISE, "check -a {} --ranks 4", "Put it right in the browser"),
                                     (SLIDERS, "{}", "Move the numbers in the browser")]:
        link = playground_link(question, title, page.file.dest_path)
        markdown = pattern.sub(lambda match, link=link: f"{match[0]}\n\n{link(match[1])}", markdown)
    if views:
        page.meta["hide"] = ["toc"]  # two calls side by side need the width
    return LINK.sub(r"](\1.txt)", markdown)


def playground_link(question, title, page):
    """A function that makes a link of what `question` leaves open."""
    place = "../" * page.count("/") + "playground.html#"
    return lambda word: f'<a href="{place}{urllib.parse.quote(question.format(word))}">{title}</a>'


def write_view(command, folder):
    folder.mkdir(parents=True, exist_ok=True)
    # Files of the repository by their whole names: the command runs elsewhere.
    words = [str(ROOT / word) if (ROOT / word).is_file() else word for word in shlex.split(command)[1:]]
    subprocess.run([COMMAND, *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def on_post_build(config):
    """search/search.js: the index and the worker of the theme's search, for pages opened from disk."""
    site = pathlib.Path(config["site_dir"])
    index = (site / "search/search_index.json").read_text(encoding="utf-8")
    (worker,) = site.glob("assets/javascripts/workers/search.*.min.js")
    source = json.dumps(worker.read_text(encoding="utf-8")).replace("</", "<\\/")
    (site / "search/search.js").write_text(
        f"var __search = {{ index: Promise.resolve({index}),\n"
        f'  worker: URL.createObjectURL(new Blob([{source}], {{ type: "text/javascript" }})) }};\n',
        encoding="utf-8")
