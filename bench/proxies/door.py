"""Carries TCP connections from one address to another, as `ssh -L` does: python door.py LISTEN:PORT TO:PORT."""

from __future__ import annotations

import asyncio
import sys


async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while some := await reader.read(1 << 16):
            writer.write(some)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


async def main() -> None:
    (here, port), (there, to) = (address.rsplit(":", 1) for address in sys.argv[1:])

    async def opened(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection(there, int(to))
        except OSError:
            return writer.close()
        await asyncio.gather(carry(reader, far_writer), carry(far_reader, writer))

    async with await asyncio.start_server(opened, here, int(port)) as server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
