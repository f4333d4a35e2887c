import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Speech } from '../speech.ts';
import type { SpeechStream } from '../stream-speech.ts';
import { HttpRefusal } from './read-body.ts';

/** Bytes per write. The client must read each write within the stall timeout. A multiple of 3, so that its base64 has no padding. */
const blockBytes = 49_152;

/**
 * Streams audio with backpressure. The status is sent with the first part; until then an error can still be sent.
 * @throws HttpRefusal if the client reads nothing for `stallTimeoutMs`
 */
export async function sendAudio(
  response: ServerResponse,
  { contentType, audio }: SpeechStream,
  stallTimeoutMs: number,
): Promise<void> {
  for await (const part of audio) {
    if (response.destroyed) return;
    if (!response.headersSent) {
      response.setHeader('content-type', contentType);
      response.setHeader('cache-control', 'no-store');
      response.setHeader('x-accel-buffering', 'no'); // without this header, nginx would buffer the audio
      response.writeHead(200);
    }
    for (const block of blocksOf(part)) await write(response, block, stallTimeoutMs);
  }
  response.end();
}

/**
 * Sends speech as JSON with backpressure. The base64 is encoded block by block, so that it is never in memory as a whole.
 * @throws HttpRefusal if the client reads nothing for `stallTimeoutMs`
 */
export async function sendSpeech(
  response: ServerResponse,
  { audio, timepoints }: Speech,
  stallTimeoutMs: number,
): Promise<void> {
  if (response.destroyed) return;
  const head = '{"audioContent":"';
  const tail = Buffer.from(`","timepoints":${JSON.stringify(timepoints)}}`);
  response.setHeader('content-type', 'application/json; charset=utf-8');
  response.setHeader('content-length', head.length + Math.ceil(audio.length / 3) * 4 + tail.length);
  response.setHeader('cache-control', 'no-store');
  response.writeHead(200).write(head);
  for (const block of blocksOf(audio)) await write(response, block.toString('base64'), stallTimeoutMs);
  response.end(tail);
}

function* blocksOf(audio: Buffer): Generator<Buffer> {
  for (let at = 0; at < audio.length; at += blockBytes) yield audio.subarray(at, at + blockBytes);
}

/** Writes a block and waits until the client has read it. */
async function write(response: ServerResponse, block: Buffer | string, stallTimeoutMs: number): Promise<void> {
  if (response.destroyed || response.write(block)) return;
  const over = new AbortController();
  const ready = new Promise<void>((resolve) => {
    for (const event of ['drain', 'close']) response.once(event, resolve);
    over.signal.addEventListener('abort', () => {
      for (const event of ['drain', 'close']) response.off(event, resolve);
    });
  });
  const stalled = delay(stallTimeoutMs, undefined, { signal: over.signal, ref: false }).then(() => {
    throw new HttpRefusal(408, 'The client has stopped reading');
  });
  stalled.catch(() => undefined); // `stalled` rejects when `over` aborts below
  try {
    if (!response.destroyed) await Promise.race([ready, stalled]);
  } finally {
    over.abort();
  }
}
