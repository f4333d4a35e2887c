import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type AvatarBinding, createSessionTokens } from '@parley/kernel/secrets/session-token';
import type { Environment } from '@parley/kernel/settings/config';
import { createLogger } from '@parley/kernel/telemetry/log';
import type { KeyValue } from '@parley/live/key-value/key-value';
import { testDependencies } from '@parley/testing/service-harness';
import type { ExecutionContext } from 'ava';
import { readVoiceConfig } from '../src/config.ts';
import { voice } from '../src/service.ts';

export const ring = [{ id: 't1', key: randomBytes(32) }] as const;
const tokens = createSessionTokens(ring);

/** Returns an avatar token of a tenant. */
export const voiceToken = (tenantId = 1) => tokens.mint({ audience: 'voice', tenantId }).token;
/** Returns a token with which a unit calls for a client with this address. */
export const voiceTokenFor = (clientIp: string, tenantId = 1) =>
  tokens.mint({ audience: 'voice', tenantId, clientIp }).token;
/** Returns a token of a session, which may have a hosted avatar. */
export const sessionToken = (avatarBackendConfig?: AvatarBinding, tenantId = 1) =>
  tokens.mint({ audience: 'session', tenantId, sessionId: 5, avatarBackendConfig }).token;

export interface AskOptions {
  token?: string | null;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** One type for the response bodies of all routes; each test reads only some fields. */
export interface AnswerBody {
  error: { code: string; message: string };
  audioContent: string;
  timepoints: { markName: string; timeSeconds: number }[];
}

export interface Answer {
  status: number;
  headers: Headers;
  body: AnswerBody;
}

/** Starts the unit on loopback; the test's teardown stops it. */
export async function voiceApp(t: ExecutionContext, env: Environment = {}, shared: { keyValue?: KeyValue } = {}) {
  const dependencies = testDependencies(shared);
  const config = readVoiceConfig({
    VOICE_PORT: '0',
    AVATAR_TOKEN_KEYS: `t1:${ring[0].key.toString('base64')}`,
    TRUSTED_PROXIES: '127.0.0.1',
    VOICE_PROVIDER_TIMEOUT_MS: '100000', // long, because the machine may be busy
    ...env,
  });
  const unit = voice.unit(config, dependencies, { log: createLogger('voice', { LOG_LEVEL: 'silent' }) });
  await unit.start();
  t.teardown(() => unit.stop());
  const base = dependencies.addresses.of('voice', 'public');

  async function ask(path: string, body: unknown, options: AskOptions = {}): Promise<Answer> {
    const { token = voiceToken(), headers, signal } = options;
    const response = await fetch(`${base}${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(token !== null && { authorization: `Bearer ${token}` }),
        ...headers,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...(signal && { signal }),
    });
    return { status: response.status, headers: response.headers, body: (await response.json()) as AnswerBody };
  }

  return {
    base,
    unit,
    ask,
    metrics: async () => (await fetch(`${dependencies.addresses.of('voice', 'ops')}/metrics`)).text(),
  };
}

export interface Received {
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}

/** A provider that records requests and responds with `answer`. */
export async function fakeProvider(
  t: ExecutionContext,
  answer: (received: Received, response: ServerResponse) => void | Promise<void>,
) {
  const received: Received[] = [];
  const cancelled: string[] = [];
  const server = createServer(async (request, response) => {
    response.once('close', () => {
      if (!response.writableFinished) cancelled.push(request.url ?? '');
    });
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const got = { url: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks).toString('latin1') };
    received.push(got);
    await answer(got, response);
  });
  server.keepAliveTimeout = 600_000; // a later request on the same connection may come after a long pause
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received, cancelled };
}

/** Sends a JSON response. */
export const json =
  (content: unknown, status = 200) =>
  (_: Received, response: ServerResponse) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(content));

const mp3Frame = Buffer.concat([Buffer.from([0xff, 0xf3, 0x80, 0xc4]), Buffer.alloc(204, 1)]); // 64 kbit/s, 22,050 Hz

/** Returns bytes that begin like an MP3 file, followed by content that a test can recognize. */
export const mp3Of = (content: string | Buffer = '') => Buffer.concat([mp3Frame, Buffer.from(content)]);

/** Returns the samples of a WAV file of 16-bit mono PCM. */
export function samplesOf(file: Buffer) {
  const rate = file.readUInt32LE(24);
  const samples = new Int16Array(new Uint8Array(file.subarray(44)).buffer);
  const loudness = Math.sqrt(samples.reduce((sum, each) => sum + each * each, 0) / samples.length);
  return { rate, samples, seconds: samples.length / rate, loudness };
}

/** Returns the duration of an MP3 file by its frames (MPEG 2 layer III at 22,050 Hz). @throws Error if it contains anything else */
export function mp3Seconds(file: Buffer): number {
  const kilobits = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
  let at = 0;
  let frames = 0;
  for (; at + 4 <= file.length; frames += 1) {
    const [first = 0, second = 0, third = 0] = file.subarray(at, at + 3);
    if (first !== 0xff || (second & 0xfe) !== 0xf2) throw new Error(`no frame at ${at}`);
    const bitrate = (kilobits[third >> 4] ?? 0) * 1_000;
    at += Math.floor((72 * bitrate) / 22_050) + ((third >> 1) & 1);
  }
  return (frames * 576) / 22_050;
}
