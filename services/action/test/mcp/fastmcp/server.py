"""Tools on FastMCP: `server.py stateful|stateless` prints its port. It accepts the bearer token `foreign-key` only."""

import asyncio
import socket
import sys
from typing import Literal

from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.auth.providers.jwt import StaticTokenVerifier
from fastmcp.utilities.types import Image
from pydantic import BaseModel

tokens = {"foreign-key": {"client_id": "parley", "scopes": []}}
mcp = FastMCP("foreign", auth=StaticTokenVerifier(tokens=tokens), list_page_size=2, dereference_schemas=False)


class Point(BaseModel):
    x: float
    y: float


class Shape(BaseModel):
    corners: list[Point]
    color: Literal["red", "green"] = "red"


@mcp.tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@mcp.tool
def count_corners(shape: Shape) -> dict[str, int]:
    """Counts the corners of a shape."""
    return {"corners": len(shape.corners)}


@mcp.tool
def fail(reason: str) -> str:
    raise ToolError(f"failed: {reason}")


@mcp.tool
def picture() -> Image:
    return Image(data=b"\x89PNG" + bytes(1000), format="png")


@mcp.tool
async def count(to: int, context: Context) -> str:
    for done in range(to):
        await context.report_progress(done, to)
        await asyncio.sleep(0.01)
    return f"counted to {to}"


listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()
print(listener.getsockname()[1], flush=True)
stateless = sys.argv[1] == "stateless"
asyncio.run(
    mcp.run_http_async(
        show_banner=False,
        transport="http",
        stateless_http=stateless,
        json_response=stateless,
        log_level="warning",
        sockets=[listener],
    )
)
