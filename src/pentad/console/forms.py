"""Renders forms as HTML. Every posted form carries the visitor's CSRF token. Values are never cut: what a form
shows is what it sends back.

Forms work without scripts. With htmx, the buttons for list items replace only the form, and fields ask for
suggestions.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Final, assert_never
from urllib.parse import quote, unquote

from pentad.console.html import Html, element, joined, own_path
from pentad.kernel.pages import (
    ADD,
    REFRESH,
    REMOVE,
    SEVERAL,
    Beside,
    Block,
    Button,
    CheckBox,
    Choice,
    Conversation,
    Field,
    FileField,
    Form,
    Group,
    Hidden,
    Repeated,
    Section,
    Tabs,
    TextField,
    Timeline,
    TimeSlider,
    ToolCall,
    when,
)

CSRF_FIELD: Final = "csrf"
_MOST_OPTIONS: Final = 500


def form(
    block: Form, csrf: str, numbers: Iterator[int], call: ToolCall | None = None, *, can_refresh: bool = False
) -> Html:
    """A form. It has the visitor's CSRF token only if it is posted, because a URL must not contain the token. `numbers`
    gives every element of the page its own id. With a `call`, the form is part of a view and is not sent anywhere. If
    it `can_refresh`, readers without scripts get a button for that, which keeps what they typed."""
    token = (Hidden(CSRF_FIELD, csrf),) if block.method == "post" and call is None else ()
    action = None if not block.action or call is not None else own_path(block.action) or "/"
    id_ = f"form-{next(numbers)}"
    fields = list(inner_fields(block.fields))
    focused = [
        one.name for one in fields if isinstance(one, TextField) and block.focus and one.name.startswith(block.focus)
    ]
    renderer = _Fields(numbers, id_, action, focused[-1] if focused else None)
    has_text = block.method == "post" and any(not isinstance(one, Hidden) for one in fields)
    refresh = [_refresh_button()] if can_refresh and has_text else []
    enter = block.buttons[0] if block.buttons and any(isinstance(one, Repeated) for one in fields) else None
    return element(
        "form",
        # The Return key presses a form's first button, which would otherwise be one that removes an item.
        Html()
        if enter is None
        else element("div", _button(enter, tabindex="-1"), class_="first-button", aria_hidden="true"),
        *(renderer.field(one) for one in (*block.fields, *token)),
        element("div", *map(_button, block.buttons), *refresh, class_="buttons") if block.buttons else Html(),
        method=block.method if call is None else None,
        action=action,
        **call_attributes(call),
        id=id_,
        class_="fields" if block.method == "post" else "filters",
        enctype="multipart/form-data" if any(isinstance(one, FileField) for one in fields) else None,
        novalidate="novalidate" if block.validated else None,
        **_live(block, action),
    )


def _live(block: Form, action: str | None) -> dict[str, str | None]:
    """The attributes with which htmx sends the form while the visitor types. Buttons submit it as usual."""
    if not block.live:
        return {}
    return {
        f"hx_{block.method}": action,
        "hx_trigger": "input delay:600ms",
        "hx_target": f"#{block.live}",
        "hx_select": f"#{block.live}",
        "hx_swap": "outerMorph" if block.live == "main" else "outerHTML",  # keeps the cursor in a form inside it
    }


def call_attributes(call: ToolCall | None) -> dict[str, str]:
    """The attributes that tell a view's script which tool to call."""
    return {} if call is None else {"data_tool": call.tool, "data_arguments": json.dumps(call.arguments)}


def has_form(blocks: Sequence[Block]) -> bool:
    """Whether the blocks contain a form that is posted."""
    return any(isinstance(one, Form) and one.method == "post" for one in inner_blocks(blocks))


def inner_blocks(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks, including nested ones."""
    for one in blocks:
        yield one
        if isinstance(one, Section):
            yield from inner_blocks(one.blocks)
        elif isinstance(one, Beside):
            yield from inner_blocks((*one.blocks, *one.aside))
        elif isinstance(one, Tabs):
            for tab in one.tabs:
                yield from inner_blocks(tab.blocks)
        elif isinstance(one, Conversation | Timeline):
            for entry in one.messages if isinstance(one, Conversation) else one.events:
                yield from inner_blocks(entry.blocks)


def inner_fields(fields: Iterable[Field]) -> Iterator[Field]:
    """The fields, including nested ones."""
    for one in fields:
        yield one
        if isinstance(one, Group):
            yield from inner_fields(one.fields)
        elif isinstance(one, Repeated):
            yield from inner_fields(one.items)


def refilled(blocks: Sequence[Block], path: str, typed: Mapping[str, str]) -> list[Block]:
    """The blocks, with what was typed in the form that was posted to `path`. Passwords are typed again. Forms from a
    schema are left alone, as they have their values already."""
    return [_refilled(one, path, typed) for one in blocks]


def _refilled(block: Block, path: str, typed: Mapping[str, str]) -> Block:
    match block:
        case Form() if not block.validated and unquote(block.action) == path and _is_sent(block, typed):
            return replace(block, fields=[_with_typed(one, typed) for one in block.fields])
        case Section():
            return replace(block, blocks=refilled(block.blocks, path, typed))
        case Beside():
            return replace(
                block, blocks=refilled(block.blocks, path, typed), aside=refilled(block.aside, path, typed)
            )  # fmt: skip
        case Tabs():
            return replace(block, tabs=[replace(one, blocks=refilled(one.blocks, path, typed)) for one in block.tabs])
        case _:
            return block


def _is_sent(block: Form, typed: Mapping[str, str]) -> bool:
    """Whether this is the form that was sent, not another one for the same path."""
    return all(typed.get(one.name) == one.value for one in block.fields if isinstance(one, Hidden))


def _with_typed(field: Field, typed: Mapping[str, str]) -> Field:
    match field:
        case TextField() if field.kind != "password":
            return replace(field, value=typed.get(field.name, ""))
        case Choice() if field.name in typed:
            return replace(field, value=typed[field.name])
        case CheckBox() if not field.locked:
            return replace(field, checked=typed.get(field.name) == field.value)
        case Group():
            return replace(field, fields=[_with_typed(one, typed) for one in field.fields])
        case _:
            return field


def is_dynamic(block: Form) -> bool:
    """Whether the form needs htmx: it is sent while the visitor types, has items to add, or asks for suggestions."""
    return bool(block.live) or any(
        isinstance(one, Repeated) or (isinstance(one, TextField) and bool(one.suggest))
        for one in inner_fields(block.fields)
    )


def log_out_button(csrf: str) -> Html:
    """The logout form in the header of every page."""
    token = element("input", type="hidden", name=CSRF_FIELD, value=csrf)
    return element("form", token, element("button", "Log out", type="submit"), method="post", action="/logout")


@dataclass(frozen=True, slots=True)
class _Fields:
    """Renders the fields of one form."""

    numbers: Iterator[int]
    form: str
    action: str | None
    focused: str | None

    def field(self, field: Field) -> Html:
        match field:
            case TextField():
                return self._text(field)
            case CheckBox():
                return self._check_box(field)
            case Choice():
                return self._choice(field)
            case FileField():
                id_ = self._name(field)
                several = "multiple" if field.name.endswith(SEVERAL) else None
                described = _described(id_, field)
                control = element(
                    "input", type="file", name=field.name, multiple=several, hx_preserve="true", **described
                )
                return _labelled(field.label, field, id_, control)
            case TimeSlider():
                return self._slider(field)
            case Hidden():
                return element("input", type="hidden", name=field.name, value=field.value)
            case Group():
                return self._group(field)
            case Repeated():
                return self._repeated(field)
            case _:
                assert_never(field)

    def _id(self) -> str:
        return f"field-{next(self.numbers)}"

    def _name(self, field: TextField | FileField) -> str:
        """An id that stays the same if items are added before the field, so that a chosen file stays chosen."""
        return f"{self.form}-{quote(field.name, safe='', errors='replace')}"

    def _text(self, field: TextField) -> Html:
        id_ = self._id()
        common: dict[str, str | None] = {
            "name": field.name,
            "autocomplete": field.autocomplete,
            "autocapitalize": "none",
            "spellcheck": "false" if field.lines == 1 or field.code else None,
            "placeholder": field.placeholder or None,
            "required": "required" if field.required else None,
            "autofocus": "autofocus" if field.name == self.focused else None,
            **_described(id_, field),
        }
        if field.lines > 1:
            code = "code" if field.code else None
            # A line break right after the tag is not part of the value.
            text = "\n" + field.value
            return _labelled(
                field.label, field, id_, element("textarea", text, rows=str(field.lines), class_=code, **common)
            )
        value = field.value if field.kind != "password" and field.value else None
        keyboard = field.keyboard if field.keyboard != "text" else None
        options = f"{self._name(field)}-options" if field.options or field.suggest else None
        control = element(
            "input",
            type=field.kind,
            value=value,
            inputmode=keyboard,
            list=options,
            **common,
            **self._asks(field, options),
        )
        return _labelled(field.label, field, id_, joined([control, _options(field, options)]))

    def _asks(self, field: TextField, options: str | None) -> dict[str, str | None]:
        """The attributes with which htmx asks for suggestions while the visitor types."""
        if not field.suggest or (path := own_path(field.suggest)) is None:
            return {}
        return {
            "hx_get": path,
            "hx_trigger": "input changed delay:200ms",
            "hx_target": f"[id='{options}']",
            "hx_select": f"[id='{options}']",
            "hx_swap": "outerHTML",
        }

    def _slider(self, field: TimeSlider) -> Html:
        """A slider; a script shows the time under the thumb. Rounds up, so as not to be before what happened."""
        id_ = self._id()
        control = element(
            "input",
            type="range",
            name=field.name,
            min=str(ceil(field.first)),
            max=str(ceil(field.last)),
            value=str(ceil(field.value)),
            list=f"{id_}-marks" if field.marks else None,
            **_described(id_, field),
        )
        marks = [element("option", value=str(ceil(one))) for one in field.marks[:_MOST_OPTIONS]]
        told = element("output", f"{when(field.value)} UTC", for_=id_, data_time=id_)
        listed = element("datalist", *marks, id=f"{id_}-marks") if marks else Html()
        return _labelled(field.label, field, id_, joined([control, told, listed]))

    def _choice(self, field: Choice) -> Html:
        id_ = self._id()
        options = [
            element("option", label, value=value, selected="selected" if value == field.value else None)
            for value, label in field.options[:_MOST_OPTIONS]
        ]
        return _labelled(
            field.label, field, id_, element("select", *options, name=field.name, **_described(id_, field))
        )

    def _check_box(self, field: CheckBox) -> Html:
        id_ = self._id()
        box = element(
            "input",
            type="checkbox",
            name=field.name,
            value=field.value,
            checked="checked" if field.checked else None,
            disabled="disabled" if field.locked else None,
            **_described(id_, field),
        )
        text = element("label", element("span", field.label), for_=id_)
        return element("p", box, text, *_notes(field.hint, field.error, id_), class_="check")

    def _group(self, group: Group) -> Html:
        inner = joined(self.field(one) for one in group.fields)
        notes = _notes(group.hint, group.error, self._id())
        if group.folded:
            return element("details", element("summary", group.label), *notes, inner, class_="group")
        return element(
            "fieldset", element("legend", group.label), *notes, inner, class_="needed" if group.required else None
        )

    def _repeated(self, repeated: Repeated) -> Html:
        rows = [
            element(
                "div", self.field(item), self._edit(REMOVE, f"{repeated.name}/{number}", "Remove", item), class_="item"
            )
            for number, item in enumerate(repeated.items)
        ]
        add = self._edit(ADD, repeated.name, "Add", repeated) if repeated.can_add else Html()
        notes = _notes(repeated.hint, repeated.error, self._id())
        class_ = "list needed" if repeated.required else "list"
        return element("fieldset", element("legend", repeated.label), *notes, *rows, add, class_=class_)

    def _edit(self, name: str, value: str, text: str, item: Field) -> Html:
        """A button that changes the form. htmx sends the form and replaces it with the one in the response."""
        whole = "" if isinstance(item, Hidden) else f"{text} {item.label}"
        return element(
            "button",
            text,
            type="submit",
            name=name,
            value=value,
            class_="plain small",
            formnovalidate="formnovalidate",
            aria_label=whole or None,
            hx_post=self.action,
            hx_target=f"#{self.form}",
            hx_select=f"#{self.form}",
            hx_swap="outerHTML",
        )


def _options(field: TextField, id_: str | None) -> Html:
    """Suggested values to pick from."""
    if id_ is None:
        return Html()
    options = (element("option", label, value=value) for value, label in field.options[:_MOST_OPTIONS])
    return element("datalist", *options, id=id_)


def _labelled(label: str, field: TextField | Choice | FileField | TimeSlider, id_: str, control: Html) -> Html:
    notes = _notes(field.hint, field.error, id_)
    needed = not isinstance(field, TimeSlider) and field.required
    return element("p", element("label", label, for_=id_), control, *notes, class_="needed" if needed else None)


def _notes(hint: str, error: str, id_: str) -> list[Html]:
    found = [element("small", error, id=f"{id_}-error", class_="error")] if error else []
    return [*found, element("small", hint, id=f"{id_}-hint")] if hint else found


def _described(id_: str, field: TextField | CheckBox | Choice | FileField | TimeSlider) -> dict[str, str | None]:
    """The attributes that point a screen reader to hint and error."""
    notes = [f"{id_}-{name}" for name, text in (("error", field.error), ("hint", field.hint)) if text]
    described = " ".join(notes) or None
    return {"id": id_, "aria_describedby": described, "aria_invalid": "true" if field.error else None}


def _button(button: Button, tabindex: str | None = None) -> Html:
    return element(
        "button",
        button.text,
        type="submit",
        name=button.name or None,
        value=button.value if button.name else None,
        class_=None if button.kind == "main" else button.kind,
        tabindex=tabindex,
    )


def _refresh_button() -> Html:
    button = element(
        "button", "Refresh", type="submit", name=REFRESH, value="yes", class_="plain", formnovalidate="formnovalidate"
    )
    return element("noscript", button)
