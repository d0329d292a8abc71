#!/usr/bin/env python3
"""A TCP proxy on the loopback that stands for a longer line, where the kernel has no netem.

usage: delayproxy.py PORT TARGET_PORT RTT_MS [MB_PER_S]

A connection is taken up one round trip after it was made, as if its handshake took so long; what comes is passed on half a round trip later.
MB_PER_S is what all connections together get from the target at most. Each direction of a connection holds at most HELD bytes."""
import asyncio
import sys

CHUNK, HELD = 1 << 16, 1 << 26
port, target, rtt = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]) / 1000
rate = float(sys.argv[4]) * 1e6 if len(sys.argv) > 4 else 0
free = 0.0  # when the line has sent all that it was given


async def receive(reader, line, limited):
    global free
    loop = asyncio.get_running_loop()
    while True:
        try:
            data = await reader.read(CHUNK)
        except ConnectionError:
            data = b""
        sent = loop.time()
        if limited and rate:
            free = sent = max(free, sent) + len(data) / rate
        await line.put((sent + rtt / 2, data))
        if not data:
            return


async def send(line, writer):
    loop = asyncio.get_running_loop()
    while True:
        due, data = await line.get()
        if due > loop.time():
            await asyncio.sleep(due - loop.time())
        try:
            if not data:
                writer.write_eof()
                return
            writer.write(data)
            await writer.drain()
        except OSError:
            writer.close()
            # What still comes has nowhere to go.
            while (await line.get())[1]:
                pass
            return


async def serve(reader, writer):
    await asyncio.sleep(rtt)
    try:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", target)
    except OSError:
        writer.close()
        return
    up, down = asyncio.Queue(HELD // CHUNK), asyncio.Queue(HELD // CHUNK)
    await asyncio.gather(receive(reader, up, False), send(up, far_writer), receive(far_reader, down, True), send(down, writer))
    writer.close()
    far_writer.close()


async def main():
    async with await asyncio.start_server(serve, "127.0.0.1", port) as server:
        await server.serve_forever()

asyncio.run(main())
