import { setTimeout } from 'node:timers/promises';
import type { RequestTurns } from '../http/request-turns.ts';

/** Runs the frames of all sockets in the turns of their clients, and bounds what those of one client may cost in a second. */
export interface FrameTurns {
  /** Runs `work` now or when the client's turn comes, which is after this second if its frames have used it up. */
  take(frame: Frame, work: () => void): Promise<void>;
}

interface Frame {
  client: string;
  bytes: number;
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
  ended: Promise<void>;
}

export function frameTurns({
  turns,
  maxMessagesPerSecond,
  maxFrameBytes,
  windowMs = 1_000,
  now = () => performance.now(),
}: FrameTurnsOptions): FrameTurns {
  const windows = new Map<string, FrameWindow>();

  function windowOf(client: string): FrameWindow {
    const known = windows.get(client);
    if (known) return known;
    const ended = setTimeout(windowMs, undefined, { ref: false }).then(() => void windows.delete(client));
    const window = { frames: 0, bytes: 0, ms: 0, ended };
    windows.set(client, window);
    return window;
  }

  function isUsedUp({ frames, bytes, ms }: FrameWindow): boolean {
    return (
      frames >= socketsAtLimit * maxMessagesPerSecond ||
      bytes >= longestFrames * maxFrameBytes ||
      ms >= mostOfTime * windowMs
    );
  }

  /** Resolves to false when frames before this one have used up the second. */
  async function serve({ client, bytes }: Frame, work: () => void): Promise<boolean> {
    const current = windowOf(client);
    if (isUsedUp(current)) await current.ended;
    let isServed = false;
    await turns.take({ request: {}, client }, () => {
      const window = windowOf(client);
      if (isUsedUp(window)) return;
      isServed = true;
      const from = now();
      work();
      window.frames += 1;
      window.bytes += bytes;
      window.ms += now() - from;
    });
    return isServed;
  }

  return {
    async take(frame, work) {
      while (!(await serve(frame, work))) continue;
    },
  };
}
