import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { SpeechStream } from '../stream-speech.ts';
import { HttpRefusal } from './read-body.ts';

/** So much is written at once, and must be taken by the client within the time it is given. */
const blockBytes = 32_768;

/**
 * Sends audio as it comes, and no faster than the client reads. The status is sent with the first part: until then an error can be answered.
 * @throws HttpRefusal where the client takes nothing for `stallTimeoutMs`
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
      response.setHeader('x-accel-buffering', 'no'); // nginx would hold the audio back
      response.writeHead(200);
    }
    for (let at = 0; at < part.length; at += blockBytes) {
      if (response.write(part.subarray(at, at + blockBytes))) continue;
      await drained(response, stallTimeoutMs);
      if (response.destroyed) return;
    }
  }
  response.end();
}

async function drained(response: ServerResponse, stallTimeoutMs: number): Promise<void> {
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
  stalled.catch(() => undefined); // aborted below
  try {
    if (!response.destroyed) await Promise.race([ready, stalled]);
  } finally {
    over.abort();
  }
}
