import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { residentMb } from '@parley/kernel/processes/resident-memory';
import { createSessionTokens } from '@parley/kernel/secrets/session-token';
import { freePorts } from '@parley/servers/ports';
import { root } from '@parley/servers/root';
import { untilItAnswers } from '@parley/servers/server';
import { atOnce, type Figure, figure, median, oneByOne, tookMs } from './figures.ts';
import type { BenchOptions } from './processes.ts';

const texts = {
  '100 characters':
    'Your order has left our house. It should be with you on Friday, before noon. Is there anything else?',
  '1,000 characters': 'Your order has left our house today. It should be with you on Friday. '
    .repeat(15)
    .slice(0, 1_000),
};
const routes = ['/tts', '/tts/stream'];
/** The default of VOICE_ESPEAK_PROCESSES. */
const processes = 2;
const sampleMs = 20;

interface Spoken {
  firstMs: number;
  fullMs: number;
}

/** Measures voice with eSpeak NG in its own process: time to first bytes, time of whole responses, requests per second, and memory. */
export async function voiceFigures({ rounds, short, say }: BenchOptions): Promise<Figure[]> {
  const voice = await startVoice();
  try {
    await atOnce(2 * processes, () => voice.speak('/tts', texts['100 characters'])); // starts the eSpeak NG processes
    const idle = voice.memory();
    const peak = voice.peak();
    const times: Figure[] = [];
    for (const [name, text] of Object.entries(texts)) {
      for (const route of routes) {
        say(`${route}, ${name}, ${rounds} rounds`);
        const spoken = await oneByOne(short ? 2 : rounds * 10, () => voice.speak(route, text));
        times.push(
          figure(`${route}, ${name}, first byte`, median(spoken.map(({ firstMs }) => firstMs)), 'ms'),
          figure(`${route}, ${name}, all`, median(spoken.map(({ fullMs }) => fullMs)), 'ms'),
        );
      }
    }
    const each = short ? 2 : 10;
    const ms = await tookMs(() => atOnce(16, () => oneByOne(each, () => voice.speak('/tts', texts['100 characters']))));
    return [
      ...times,
      figure('/tts, 100 characters, 16 at once', (16 * each * 1_000) / ms, '/s'),
      figure('memory of the service, idle', idle.own, 'MB'),
      figure(`memory with its ${processes} processes of eSpeak NG, idle`, idle.all, 'MB'),
      figure('memory with them, the most', peak(), 'MB'),
    ];
  } finally {
    await voice.stop();
  }
}

async function startVoice() {
  const [port = 0, opsPort = 0] = await freePorts(2);
  const ring = [{ id: 'k1', key: randomBytes(32) }] as const;
  const tokens = createSessionTokens(ring);
  const child = spawn(process.execPath, [join(root, 'services/voice/src/main.ts')], {
    env: {
      PATH: process.env['PATH'],
      MESH_KEY: randomBytes(32).toString('base64'),
      AVATAR_TOKEN_KEYS: `k1:${ring[0].key.toString('base64')}`,
      VOICE_PORT: String(port),
      VOICE_OPS_PORT: String(opsPort),
      VOICE_ESPEAK_PROCESSES: String(processes),
      TRUSTED_PROXIES: '127.0.0.1',
      LOG_LEVEL: 'error',
    },
    stdio: 'ignore',
  });
  const over = new AbortController();
  const ended = once(child, 'exit').then(([code]) =>
    over.abort(new Error(`voice ended with ${code} before it was up`)),
  );
  const url = `http://127.0.0.1:${port}`;
  await untilItAnswers(() => fetch(`${url}/health`), over.signal);
  let calls = 0;

  /** Requests speech. Each call has a new client address and a new tenant, because addresses and tenants are throttled. */
  async function speak(route: string, text: string): Promise<Spoken> {
    calls += 1;
    const { token } = tokens.mint({ audience: 'voice', tenantId: calls });
    const start = performance.now();
    const response = await fetch(`${url}${route}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${token}`,
        'x-forwarded-for': `10.${(calls >> 16) & 255}.${(calls >> 8) & 255}.${calls & 255}`,
      },
      body: JSON.stringify({ text, voiceName: 'en-us', languageCode: 'en-US' }),
    });
    if (!response.ok || !response.body) throw new Error(`${route} answered ${response.status}`);
    let firstMs: number | undefined;
    for await (const _ of response.body) firstMs ??= performance.now() - start;
    return { firstMs: firstMs ?? 0, fullMs: performance.now() - start };
  }

  function memory(): { own: number; all: number } {
    const own = residentMb(child.pid) ?? 0;
    const all = childrenOf(child.pid).reduce((sum, pid) => sum + (residentMb(pid) ?? 0), own);
    return { own, all };
  }

  return {
    speak,
    memory,
    /** Samples the memory. The returned function stops the sampling and returns the peak in MB. */
    peak(): () => number {
      let peakMb = 0;
      const timer = setInterval(() => {
        peakMb = Math.max(peakMb, memory().all);
      }, sampleMs);
      return () => {
        clearInterval(timer);
        return peakMb;
      };
    },
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

function childrenOf(pid: number | undefined): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    );
  } catch {
    return [];
  }
}
