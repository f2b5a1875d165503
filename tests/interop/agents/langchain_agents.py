"""Agents made with LangChain and LangGraph, for `--agent`. `LANGCHAIN` names the folder their packages are in: it comes
last on the path, so that Pentad keeps its own packages."""

# pyright: basic, reportMissingImports=false

import os
import sys
from typing import Annotated, Any, TypedDict

sys.path.append(os.environ["LANGCHAIN"])

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt


class AgainAndAgain:
    """The same answer every time."""

    def __iter__(self) -> "AgainAndAgain":
        return self

    def __next__(self) -> AIMessage:
        return AIMessage("the sea is wide")


shout = RunnableLambda(lambda text: text.upper())
model = GenericFakeChatModel(messages=AgainAndAgain())
chain = ChatPromptTemplate.from_template("A line about {topic}") | model | StrOutputParser()
count = RunnableLambda(lambda data: {"sum": data["a"] + data["b"]})


class Talk(TypedDict):
    messages: Annotated[list[Any], add_messages]


def speak(state: Talk) -> dict[str, Any]:
    return {"messages": [model.invoke(state["messages"])]}


def ask(state: Talk) -> dict[str, Any]:
    colour = interrupt("Which colour?")
    return {"messages": [AIMessage(f"{len(state['messages'])}: {colour}")]}


def _graph(node: Any, **options: Any) -> Any:
    made = StateGraph(Talk)
    made.add_node("node", node)
    made.add_edge(START, "node")
    made.add_edge("node", END)
    return made.compile(**options)


graph = _graph(speak)
painter = _graph(ask, checkpointer=InMemorySaver())
