import type { RequestScheduler } from '@parley/kernel/queues/request-scheduler';
import { sleep } from '@parley/kernel/timing/timers';
import { clientCounts } from '../limits/client-counts.ts';

/** Runs the frames of all sockets round-robin between clients, and bounds what the frames of one client may cost per second. */
export interface FrameScheduler {
  /**
   * Runs `work` now or later, but not if the frame's signal aborts before that. Resolves to false if too many bytes of the client are
   * queued.
   */
  run(frame: Frame, work: () => void): Promise<boolean>;
}

interface Frame {
  client: string;
  bytes: number;
  /** Returns a signal that aborts when the socket closes. Called only if the frame has to wait. */
  signal: () => AbortSignal;
}

export interface FrameSchedulerOptions {
  scheduler: Pick<RequestScheduler, 'run'>;
  /** Limits of one socket. */
  maxMessagesPerSecond: number;
  maxFrameBytes: number;
  windowMs?: number;
  now?: () => number;
}

/**
 * How many sockets of one client may reach their message limit at once. With this number, 1,000 sockets can reconnect within a few seconds.
 */
const socketsAtLimit = 25;

/** Limits how much a client may send per second: the bytes of this many frames of maximum size. */
const maxSizeFrames = 64;

/** The share of event loop time that the frames of one client may use. Unread answers and bodies are limited to the same share. */
const maxTimeShare = 1 / 4;

interface FrameWindow {
  frames: number;
  bytes: number;
  ms: number;
  endsAt: number;
}

export function frameScheduler({
  scheduler,
  maxMessagesPerSecond,
  maxFrameBytes,
  windowMs = 1_000,
  now = () => performance.now(),
}: FrameSchedulerOptions): FrameScheduler {
  const windows = new Map<string, FrameWindow>();
  /** Queued bytes by client. */
  const waiting = clientCounts();
  const maxBytes = maxSizeFrames * maxFrameBytes;

  function windowOf(client: string): FrameWindow {
    const known = windows.get(client);
    if (known && performance.now() < known.endsAt) return known;
    const window = { frames: 0, bytes: 0, ms: 0, endsAt: performance.now() + windowMs };
    windows.set(client, window);
    setTimeout(() => windows.get(client) === window && windows.delete(client), windowMs).unref();
    return window;
  }

  function isUsedUp({ frames, bytes, ms }: FrameWindow): boolean {
    return frames >= socketsAtLimit * maxMessagesPerSecond || bytes >= maxBytes || ms >= maxTimeShare * windowMs;
  }

  /**
   * Runs `work`. If the client's budget for this second is used up, first waits for the next second. Resolves to false if the budget is
   * used up by earlier frames of the client when this frame's turn comes; the caller then tries again. If the signal aborts while the frame
   * waits, `work` is not run, and the result is true.
   */
  async function serve({ client, bytes, signal }: Frame, work: () => void): Promise<boolean> {
    let cachedSignal: AbortSignal | undefined;
    const closeSignal = () => (cachedSignal ??= signal());
    const current = windowOf(client);
    if (isUsedUp(current)) await sleep(current.endsAt - performance.now(), closeSignal(), { ref: false });
    let isServed = false;
    await scheduler.run({ request: {}, client, signal: closeSignal }, () => {
      const window = windowOf(client);
      if (isUsedUp(window) || cachedSignal?.aborted) return;
      isServed = true;
      const from = now();
      work();
      window.frames += 1;
      window.bytes += bytes;
      window.ms += now() - from;
    });
    return isServed || cachedSignal?.aborted === true;
  }

  return {
    async run(frame, work) {
      const { client, bytes } = frame;
      if (waiting.of(client) + bytes > maxBytes) return false;
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
