"""Makes a failing random program small: expressions are replaced by their parts or by constants while the complaint stays."""
import re


def parse(text):
    tokens = re.findall(r"""'|"[^"]*"|[()]|[^\s()']+""", text)
    position = 0

    def read():
        nonlocal position
        token = tokens[position]
        position += 1
        if token == "'":
            return ['quote', read()]
        if token != '(':
            return token
        items = []
        while tokens[position] != ')':
            items.append(read())
        position += 1
        return items

    return read()


def show(form):
    if isinstance(form, str):
        return form
    if len(form) == 2 and form[0] == 'quote':
        return "'" + show(form[1])
    return '(' + ' '.join(map(show, form)) + ')'


def places(form, path=()):
    yield path
    if isinstance(form, list):
        for index, item in enumerate(form):
            yield from places(item, path + (index,))


def at(form, path):
    for index in path:
        form = form[index]
    return form


def replaced(form, path, new):
    if not path:
        return new
    return form[:path[0]] + [replaced(form[path[0]], path[1:], new)] + form[path[0] + 1:]


def candidates(form, body):
    """Smaller programs, the most promising first: paths inside `body` only."""
    paths = sorted((p for p in places(form) if p[:len(body)] == body), key=len)
    for path in paths:
        node = at(form, path)
        if isinstance(node, list):
            for part in node:
                if isinstance(part, list):
                    yield replaced(form, path, part)
                    for inner in part:
                        if isinstance(inner, list):
                            yield replaced(form, path, inner)
            for atom in ['a', 'b', '.5', 'x']:
                yield replaced(form, path, atom)
        elif node not in ('a', '.5', '1', '0', '2') and re.match(r'[-.\d]', node):
            yield replaced(form, path, '1')


def shrink(text, fails, most=4000):
    """`fails(text)` says whether a program still shows the complaint."""
    form, tries = parse(text), 0
    progress = True
    while progress and tries < most:
        progress = False
        for smaller in candidates(form, (2,)):
            if len(show(smaller)) >= len(show(form)):
                continue
            tries += 1
            if tries >= most:
                break
            if fails(show(smaller)):
                form, progress = smaller, True
                break
    return show(form)
