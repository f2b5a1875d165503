"""Renders forms as HTML. Every form that is posted carries the visitor's CSRF token."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, assert_never

from pentad.console.html import Html, element, own_path
from pentad.kernel.pages import Block, Button, CheckBox, Choice, Field, Form, Hidden, Section, Tabs, TextField

CSRF_FIELD: Final = "csrf"
_LONGEST_VALUE: Final = 20_000


def form(block: Form, csrf: str) -> Html:
    """A form; with the visitor's CSRF token if it is posted, as a URL must not contain it."""
    token = (Hidden(CSRF_FIELD, csrf),) if block.method == "post" else ()
    fields = [_field(one, n) for n, one in enumerate((*block.fields, *token))]
    buttons = element("div", *map(_button, block.buttons), class_="buttons") if block.buttons else Html()
    action = None if not block.action else own_path(block.action) or "/"
    return element(
        "form",
        *fields,
        buttons,
        method=block.method,
        action=action,
        class_="fields" if block.method == "post" else "filters",
    )


def has_form(blocks: Sequence[Block]) -> bool:
    """Whether there is a form to be posted among the blocks."""
    return any(isinstance(one, Form) and one.method == "post" for one in inner_blocks(blocks))


def inner_blocks(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks, and those inside them."""
    for one in blocks:
        yield one
        if isinstance(one, Section):
            yield from inner_blocks(one.blocks)
        elif isinstance(one, Tabs):
            for tab in one.tabs:
                yield from inner_blocks(tab.blocks)


def log_out_button(csrf: str) -> Html:
    """The form in the head of every page."""
    token = _field(Hidden(CSRF_FIELD, csrf), 0)
    return element("form", token, element("button", "Log out", type="submit"), method="post", action="/logout")


def _field(field: Field, number: int) -> Html:
    match field:
        case TextField():
            return _labelled(field.label, field.hint, number, _input(field, f"field-{number}"))
        case CheckBox():
            return _check_box(field, number)
        case Choice():
            return _labelled(field.label, field.hint, number, _select(field, f"field-{number}"))
        case Hidden():
            return element("input", type="hidden", name=field.name, value=field.value[:_LONGEST_VALUE])
        case _:
            assert_never(field)


def _labelled(label: str, hint: str, number: int, control: Html) -> Html:
    note = element("small", hint, id=f"hint-{number}") if hint else Html()
    return element("p", element("label", label, for_=f"field-{number}"), control, note)


def _input(field: TextField, id_: str) -> Html:
    return element(
        "input",
        type=field.kind,
        id=id_,
        name=field.name,
        value=field.value[:_LONGEST_VALUE] if field.kind == "text" and field.value else None,
        autocomplete=field.autocomplete,
        autocapitalize="none",
        spellcheck="false",
        required="required" if field.required else None,
    )


def _select(field: Choice, id_: str) -> Html:
    options = [
        element("option", label, value=value, selected="selected" if value == field.value else None)
        for value, label in field.options
    ]
    return element("select", *options, id=id_, name=field.name)


def _check_box(field: CheckBox, number: int) -> Html:
    box = element(
        "input",
        type="checkbox",
        id=f"field-{number}",
        name=field.name,
        value=field.value,
        checked="checked" if field.checked else None,
        disabled="disabled" if field.locked else None,
    )
    text = element("label", element("span", field.label), for_=f"field-{number}")
    return element("p", box, text, element("small", field.hint) if field.hint else Html(), class_="check")


def _button(button: Button) -> Html:
    return element(
        "button",
        button.text,
        type="submit",
        name=button.name or None,
        value=button.value if button.name else None,
        class_=None if button.kind == "main" else button.kind,
    )
