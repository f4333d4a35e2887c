import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createSessionTokens } from '@parley/kernel/secrets/session-token';
import { createLogger } from '@parley/kernel/telemetry/log';
import { memoryKeyValue } from '@parley/live/key-value/memory-key-value';
import { emptyFolder } from '@parley/servers/testing/folder';
import { testDependencies } from '@parley/testing/service-harness';
import { voice } from '@parley/voice';
import { readVoiceConfig } from '@parley/voice/config';
import type { ExecutionContext } from 'ava';
import { testWith } from '../testing/test-with.ts';
import { runSchemathesis, schemathesis } from './schemathesis.ts';

const schemaTest = await testWith(schemathesis);

const avatar = { vendorAvatarId: 'anna', vendorAvatarModel: 'v2' };
/** 0.1 s of 16-bit PCM with 8,000 samples per second. */
const wav = Buffer.concat([
  Buffer.from('524946466406000057415645666d74201000000001000100401f0000803e0000020010006461746140060000', 'hex'),
  Buffer.alloc(1_600),
]);

/** One frame of MPEG 1, layer III, 128 kbit/s at 44,100 Hz: 417 bytes. */
const mp3 = Buffer.concat([Buffer.from('fffb9064', 'hex'), Buffer.alloc(413)]);

/** Starts an HTTP server that responds like the speech providers and the avatar vendor, and returns its URL. */
async function providers(t: ExecutionContext): Promise<string> {
  const answerOf = async (request: IncomingMessage): Promise<object> => {
    const body = await text(request);
    if (request.url?.includes('speech:recognize'))
      return { results: [{ alternatives: [{ transcript: 'Hello', confidence: 0.9 }] }] };
    if (request.url?.includes('session-token')) return { sessionToken: 'vendor-token' };
    const audio = body.includes('LINEAR16') ? wav : mp3;
    return { audioContent: audio.toString('base64'), timepoints: [{ markName: 'a', timeSeconds: 0.05 }] };
  };
  const server = createServer((request, response) => {
    answerOf(request).then(
      (answer) => response.end(JSON.stringify(answer)),
      () => response.destroy(),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Starts voice with providers that respond immediately, and without throttles, which thousands of requests would exceed. */
async function startVoice(t: ExecutionContext) {
  const url = await providers(t);
  const ring = [{ id: 'k1', key: randomBytes(32) }] as const;
  const keyValue = { ...memoryKeyValue(), countAll: () => Promise.resolve({ counted: true } as never) };
  const dependencies = testDependencies({ keyValue });
  const config = readVoiceConfig({
    VOICE_PORT: '0',
    AVATAR_TOKEN_KEYS: `k1:${ring[0].key.toString('base64')}`,
    TTS_PROVIDER: 'google',
    TTS_URL: url,
    STT_PROVIDER: 'google',
    STT_URL: url,
    AVATAR_VENDOR_URL: url,
    AVATAR_VENDOR_KEY: 'k',
  });
  const unit = voice.unit(config, dependencies, { log: createLogger('voice', { LOG_LEVEL: 'silent' }) });
  await unit.start();
  t.teardown(() => unit.stop());
  const subject = { audience: 'session', tenantId: 1, sessionId: 5, avatarBackendConfig: avatar } as const;
  return { base: dependencies.addresses.of('voice', 'public'), token: createSessionTokens(ring).mint(subject).token };
}

schemaTest('voice: the responses to thousands of requests conform to its OpenAPI document', async (t) => {
  t.timeout(900_000);
  const { base, token } = await startVoice(t);
  const { code, output } = await runSchemathesis(
    [
      `${base}/openapi.json`,
      `--header=Authorization: Bearer ${token}`,
      '--phases=examples,coverage,fuzzing',
      '--max-examples=400',
      '--workers=2',
      '--seed=1',
      '--checks=all',
      // Voice may refuse requests that match the schema, which cannot express that SSML is well-formed, that a text or SSML is present and
      // not empty, or that an avatar belongs to the agent.
      '--exclude-checks=positive_data_acceptance',
      '--warnings=off', // voice's own tests cover decoding of audio
      '--continue-on-failure',
    ],
    emptyFolder(t),
  );
  const [, cases = '0'] = /(\d+) generated/u.exec(output) ?? [];
  t.log(`${cases} cases`);
  t.is(code, 0, output.slice(-6_000));
  t.true(Number(cases) > 2_000, output.slice(-2_000));
});
