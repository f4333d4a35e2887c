import { readdirSync, readFileSync } from 'node:fs';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { voiceApp, voiceToken } from './voice-app.ts';

// This test has its own file, because it kills child processes of the test process.

const english = { voiceName: 'en-us', languageCode: 'en-US' };
const text = 'The quick brown fox jumps over the lazy dog. '.repeat(110);

interface Child {
  pid: number;
  /** Processor time, in ticks. */
  ticks: number;
}

/** Returns the processes with eSpeak NG that this process has started. */
function speakers(): Child[] {
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid)) return [];
    try {
      const [ppid, ...rest] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ').slice(1) ?? [];
      const isSpeaker = readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('espeak-main');
      return Number(ppid) === process.pid && isSpeaker ? [{ pid, ticks: Number(rest[9]) + Number(rest[10]) }] : [];
    } catch {
      return []; // the process has ended
    }
  });
}

/** Kills the only process once it has worked on a text sent after `before`. */
async function killAtWork(before: Child[]): Promise<void> {
  const [idle] = before;
  await eventually('eSpeak NG is at work', () => {
    const [busy] = speakers();
    return busy !== undefined && busy.pid === idle?.pid && busy.ticks > idle.ticks + 5;
  });
  process.kill(speakers()[0]?.pid ?? 0, 'SIGKILL');
}

test('if eSpeak NG is killed during a request, this request gets an error and the next one gets audio', async (t) => {
  const { ask, base } = await voiceApp(t, { VOICE_ESPEAK_PROCESSES: '1' });
  const speaks = async () => t.is((await ask('/tts', { ...english, text: 'Hello' })).status, 200);
  await speaks();
  t.is(speakers().length, 1);

  const killed = ask('/tts', { ...english, text });
  await killAtWork(speakers());
  const { status, body, headers } = await killed;
  t.is(status, 503);
  t.deepEqual(body.error, {
    code: 'UNAVAILABLE',
    message: 'Speech is not available at the moment; try again in a while',
  });
  t.is(headers.get('retry-after'), '5');
  await speaks();

  const response = await fetch(`${base}/tts/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${voiceToken()}` },
    body: JSON.stringify({ ...english, text, speakingRate: 0.3, audioEncoding: 'LINEAR16' }),
  });
  t.is(response.status, 200);
  process.kill(speakers()[0]?.pid ?? 0, 'SIGKILL');
  await t.throwsAsync(response.arrayBuffer());
  await speaks();
});
