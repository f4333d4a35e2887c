import type { RequestTurns } from '@parley/kernel/queues/request-turns';
import { sleep } from '@parley/kernel/timing/timers';
import { clientCounts } from '../limits/client-counts.ts';

/** Runs the frames of all sockets in the turns of their clients, and bounds what those of one client may cost in a second. */
export interface FrameTurns {
  /** Runs `work` now, or later unless the frame's signal aborts. Resolves to false where too many bytes of the client wait. */
  take(frame: Frame, work: () => void): Promise<boolean>;
}

interface Frame {
  client: string;
  bytes: number;
  /** Aborted when its socket has gone; called only if the frame has to wait. */
  signal: () => AbortSignal;
}

export interface FrameTurnsOptions {
  turns: Pick<RequestTurns, 'take'>;
  /** Limits of one socket. */
  maxMessagesPerSecond: number;
  maxFrameBytes: number;
  windowMs?: number;
  now?: () => number;
}

/** So many sockets of a client may be at their limit at once. That lets 1,000 reconnect and subscribe within a few seconds. */
const socketsAtLimit = 25;

/** So many frames of a client in a second may have the greatest length. */
const longestFrames = 64;

/** Of the event loop's time, as for answers and bodies. */
const mostOfTime = 1 / 4;

interface FrameWindow {
  frames: number;
  bytes: number;
  ms: number;
  endsAt: number;
}

export function frameTurns({
  turns,
  maxMessagesPerSecond,
  maxFrameBytes,
  windowMs = 1_000,
  now = () => performance.now(),
}: FrameTurnsOptions): FrameTurns {
  const windows = new Map<string, FrameWindow>();
  /** Bytes of frames that wait. */
  const waiting = clientCounts();
  const mostBytes = longestFrames * maxFrameBytes;

  function windowOf(client: string): FrameWindow {
    const known = windows.get(client);
    if (known && performance.now() < known.endsAt) return known;
    const window = { frames: 0, bytes: 0, ms: 0, endsAt: performance.now() + windowMs };
    windows.set(client, window);
    setTimeout(() => windows.get(client) === window && windows.delete(client), windowMs).unref();
    return window;
  }

  function isUsedUp({ frames, bytes, ms }: FrameWindow): boolean {
    return frames >= socketsAtLimit * maxMessagesPerSecond || bytes >= mostBytes || ms >= mostOfTime * windowMs;
  }

  /** Resolves to false when frames before this one have used up the second. */
  async function serve({ client, bytes, signal }: Frame, work: () => void): Promise<boolean> {
    let gone: AbortSignal | undefined;
    const untilGone = () => (gone ??= signal());
    const current = windowOf(client);
    if (isUsedUp(current)) await sleep(current.endsAt - performance.now(), untilGone(), { ref: false });
    let isServed = false;
    await turns.take({ request: {}, client, signal: untilGone }, () => {
      const window = windowOf(client);
      if (isUsedUp(window) || gone?.aborted) return;
      isServed = true;
      const from = now();
      work();
      window.frames += 1;
      window.bytes += bytes;
      window.ms += now() - from;
    });
    return isServed || gone?.aborted === true;
  }

  return {
    async take(frame, work) {
      const { client, bytes } = frame;
      if (waiting.of(client) + bytes > mostBytes) return false;
      waiting.add(client, bytes);
      try {
        while (!(await serve(frame, work))) continue;
      } finally {
        waiting.add(client, -bytes);
      }
      return true;
    },
  };
}
