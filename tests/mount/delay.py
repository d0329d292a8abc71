"""delay.py PORT TARGET_PORT MILLISECONDS: a TCP proxy on the loopback that adds a round trip, for kernels without netem.

A connection is made one round trip late, as if its handshake took that long; what comes is passed on half a round trip later. At
most HELD bytes of a direction are on their way."""
import asyncio
import collections
import sys
import time

HELD = 8 << 20


async def send(queue, more, writer, half):
    """Passes on each part when it is due; an empty one is the end."""
    while True:
        while not queue:
            more.clear()
            await more.wait()
        due, part = queue[0]
        await asyncio.sleep(max(0, due + half - time.monotonic()))
        if part:
            writer.write(part)
            await writer.drain()
        queue.popleft()
        if not part:
            return


async def way(reader, writer, half):
    queue, more = collections.deque(), asyncio.Event()
    sender = asyncio.create_task(send(queue, more, writer, half))
    try:
        part = b"?"
        while part and not sender.done():
            part = await reader.read(1 << 17)
            while sum(len(p) for _, p in queue) > HELD and not sender.done():
                await asyncio.sleep(half / 4)
            queue.append((time.monotonic(), part))
            more.set()
        await sender
        if writer.can_write_eof():
            writer.write_eof()
    finally:
        sender.cancel()


async def serve(reader, writer, target, rtt):
    try:
        await asyncio.sleep(rtt)
        there, to = await asyncio.open_connection("127.0.0.1", target, limit=1 << 20)
        await asyncio.gather(way(reader, to, rtt / 2), way(there, writer, rtt / 2))
        to.close()
    except OSError:
        pass
    writer.close()


async def main():
    port, target, ms = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    server = await asyncio.start_server(lambda r, w: serve(r, w, target, ms / 1000), "127.0.0.1", port, limit=1 << 20, backlog=256)
    await server.serve_forever()


asyncio.run(main())
