"""The settings of the avatars room: the language model that drafts answers, and the sources that are watched."""

from dataclasses import dataclass
from typing import Literal

from pentad.settings.model import RoomSettings, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class AvatarsSettings(RoomSettings):
    """What an operator can set for avatars."""

    model_url: str | None = setting(None, "An OpenAI-compatible or Anthropic endpoint that drafts answers.")
    model_name: str | None = setting(None, "The model to ask the endpoint for.")
    model_kind: Literal["openai", "anthropic"] | None = setting(
        None, "The endpoint's API; by default guessed from its address."
    )
    watch_folders: tuple[str, ...] = setting(
        (), "Folders of avatars on this machine that the server ingests again whenever they change."
    )
    watch_minutes: int = setting(
        60, "Minutes between checks of those folders and of sources on the web; 0 never checks."
    )
    keep_answers_days: int = setting(
        30, "Days for which callers can see what their answers were made from; 0 keeps none."
    )
    model_key: str | None = setting(None, "The endpoint's key.", secret=True)
