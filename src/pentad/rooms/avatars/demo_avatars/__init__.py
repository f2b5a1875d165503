"""The folders of the demo's avatars, as a person would write them, and what makes printed pages of some texts."""
