import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { badRequest, unavailable } from '@parley/kernel/errors';
import { readWithin } from '@parley/kernel/http/read-within';
import { z } from 'zod';
import { isWav, wav } from '../audio/wav.ts';
import type { ClipRequest, Listener } from '../speech.ts';

export interface WhisperOptions {
  /** The folder that contains the files installed by `scripts/ear`. */
  folder: string;
  timeoutMs: number;
}

/** Maximum address space of a process in MB. A process uses about 300 MB, but libraries reserve more. */
const maxMemoryMb = 4_096;
const threads = 2;
const maxAnswerBytes = 100_000;

const answerShape = z.union([
  z.object({ transcript: z.string(), confidence: z.number().min(0).max(1) }),
  z.object({ problem: z.enum(['tooLong', 'unreadable']) }),
]);

const problems = {
  tooLong: 'The clip is longer than 90 seconds; send it in parts',
  unreadable: 'The clip cannot be read as audio of audioEncoding',
};

/**
 * Transcribes with Whisper (tiny.en) on this machine. Each untrusted clip gets its own process; the caller bounds the number of processes.
 */
export function whisperListener({ folder, timeoutMs }: WhisperOptions): Listener {
  return async (request, { signal }) => {
    if (!existsSync(join(folder, 'faster_whisper')))
      throw unavailable('There is no transcription here: VOICE_WHISPER_FOLDER has no Whisper; scripts/ear installs it');
    if (!/^en([-_]|$)/iu.test(request.languageCode))
      throw badRequest('languageCode must be English: the built-in transcription has no other language');
    try {
      const answer = answerShape.parse(JSON.parse(await run(folder, request, timeoutMs, signal)));
      if ('problem' in answer) throw badRequest(problems[answer.problem]);
      return { ...answer, languageCode: request.languageCode };
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof SyntaxError || error instanceof z.ZodError || error instanceof WhisperFailed)
        throw unavailable('Transcription is not available at the moment; try again in a while', error);
      throw error;
    }
  };
}

class WhisperFailed extends Error {}

/** Runs `whisper.py` on a clip; kills it when the client disconnects or at the timeout. */
async function run(folder: string, request: ClipRequest, timeoutMs: number, signal: AbortSignal): Promise<string> {
  const { audio, audioEncoding, sampleRateHertz } = request;
  const script = fileURLToPath(new URL('./whisper.py', import.meta.url));
  const { PATH = '' } = process.env;
  const child = spawn('python3', ['-B', script], {
    env: { PATH, PYTHONPATH: folder, HF_HUB_OFFLINE: '1' },
    stdio: ['pipe', 'pipe', 'ignore'],
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    killSignal: 'SIGKILL',
  });
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', (error) => reject(new WhisperFailed('Python was ended or did not start', { cause: error })));
    child.once('close', (code, killed) =>
      code === 0 ? resolve() : reject(new WhisperFailed(`Python ended with ${killed ?? code}`)),
    );
  });
  child.stdin.on('error', () => undefined); // the process has ended; `ended` reports the failure
  child.stdin.write(`${JSON.stringify({ audioEncoding, threads, maxMemoryMb })}\n`);
  child.stdin.end(audioEncoding === 'LINEAR16' && !isWav(audio) ? wav(audio, sampleRateHertz) : audio);
  const tooLarge = () => new WhisperFailed('the answer is too large');
  const [answer] = await Promise.all([readWithin(child.stdout, maxAnswerBytes, tooLarge), ended]);
  return answer.toString();
}
