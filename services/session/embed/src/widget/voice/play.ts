import { ParleyError } from '../../parley-error.ts';

type Chunks = AsyncIterable<Uint8Array<ArrayBuffer>>;

const type = 'audio/mpeg';
/** Maximum seconds of audio that are buffered ahead, so that a long text takes little memory. */
const maxAheadSeconds = 120;

/**
 * Plays MP3 while it arrives; if the browser cannot stream MP3, when it is complete. Call this in a click handler, because browsers block
 * playback elsewhere. Resolves at the end of the audio.
 * @throws ParleyError `UNPLAYABLE` if the browser cannot play the audio; the errors of `chunks`
 * @throws the signal's reason if the signal aborts; the playback then stops
 */
export async function play(chunks: Chunks, signal: AbortSignal, onPlaying: () => void): Promise<void> {
  const audio = new Audio();
  const { promise: over, resolve, reject } = Promise.withResolvers<void>();
  over.catch(() => undefined); // prevents an unhandled rejection: `over` may reject before it is awaited
  audio.addEventListener('ended', () => resolve());
  audio.addEventListener('playing', onPlaying);
  audio.addEventListener('error', () => reject(new ParleyError('UNPLAYABLE', audio.error?.message || 'Unknown audio')));
  signal.addEventListener('abort', () => reject(signal.reason));
  const start = () => audio.play().catch((error: unknown) => reject(asPlayError(error)));
  try {
    if (typeof MediaSource === 'function' && MediaSource.isTypeSupported(type)) {
      const source = new MediaSource();
      audio.src = URL.createObjectURL(source);
      void start();
      await Promise.race([feed(audio, source, chunks), over]);
    } else {
      const parts: Uint8Array<ArrayBuffer>[] = [];
      for await (const chunk of chunks) parts.push(chunk);
      signal.throwIfAborted();
      audio.src = URL.createObjectURL(new Blob(parts, { type }));
      void start();
    }
    await over;
  } finally {
    audio.pause();
    URL.revokeObjectURL(audio.src);
    audio.removeAttribute('src');
  }
}

async function feed(audio: HTMLAudioElement, source: MediaSource, chunks: Chunks): Promise<void> {
  await next(source, 'sourceopen');
  const buffer = source.addSourceBuffer(type);
  for await (const chunk of chunks) {
    if (source.readyState !== 'open') return;
    buffer.appendBuffer(chunk);
    await next(buffer, 'updateend');
    while (secondsAhead(audio) > maxAheadSeconds) await next(audio, 'timeupdate');
  }
  if (source.readyState === 'open') source.endOfStream();
}

function secondsAhead({ buffered, currentTime }: HTMLAudioElement): number {
  return buffered.length === 0 ? 0 : buffered.end(buffered.length - 1) - currentTime;
}

function next(target: EventTarget, event: string): Promise<Event> {
  return new Promise((resolve) => target.addEventListener(event, resolve, { once: true }));
}

function asPlayError(cause: unknown): ParleyError {
  return new ParleyError('UNPLAYABLE', cause instanceof Error ? cause.message : String(cause), { cause });
}
