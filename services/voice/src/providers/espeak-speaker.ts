import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { badRequest, isDomainError, unavailable } from '@parley/kernel/errors';
import { fairQueue } from '@parley/kernel/fair-queue';
import { startTaskProcess } from '@parley/kernel/task-process';
import type { Part } from '@parley/kernel/unit';
import { workerPool } from '@parley/kernel/worker-pool';
import type { Speaker } from '../speech.ts';
import { escapeXml, plainSsml } from '../ssml.ts';
import type { SpeechTask, SpeechTaskAnswer } from './espeak-task.ts';

/** The optional package, under GPL-3.0. */
export const espeakPackage = '@echogarden/espeak-ng-emscripten';

export interface EspeakOptions {
  processes: number;
  timeoutMs: number;
  maxBytes: number;
  /** Whether the package is installed. Default: looks for it. */
  isInstalled?: () => boolean;
}

const maxMemoryMb = 512;
/** By the clock a text may take so many times its processor time, as it waits for processors. */
const longestWait = 4;

/** Speech of eSpeak NG, in processes of their own: it is native code, and blocks its thread. */
export function espeakSpeaker({ processes, timeoutMs, maxBytes, isInstalled = found }: EspeakOptions): Part & {
  speak: Speaker;
} {
  const pool = workerPool(() =>
    startTaskProcess<SpeechTask, SpeechTaskAnswer>({
      module: new URL('./espeak-main.ts', import.meta.url),
      purpose: 'that speaks',
      execArgv: [`--max-old-space-size=${maxMemoryMb}`],
      serialization: 'advanced',
    }),
  );
  const queue = fairQueue({ inFlight: processes, shares: {} });

  return {
    name: 'espeak',
    start: () => Promise.resolve(),
    stop: () => pool.close(),
    async speak({ utterance, ...voice }, signal) {
      if (!isInstalled())
        throw unavailable(
          `There is no speech here: the optional package ${espeakPackage} (eSpeak NG) is not installed`,
        );
      const ssml = 'ssml' in utterance ? plainSsml(utterance.ssml) : `<speak>${escapeXml(utterance.text)}</speak>`;
      const release = await queue.enter({}, () => signal);
      try {
        const task = { ...voice, ssml, maxBytes };
        const answer = await pool.use((process) =>
          process.perform(task, {
            maxProcessorMs: timeoutMs,
            timeoutMs: timeoutMs * longestWait,
            onTimeout: () => badRequest('The text takes too long to speak; send it in parts'),
            maxMemory: {
              mb: 2 * maxMemoryMb,
              onExceeded: () => badRequest('The speech is too long; send it in parts'),
            },
            signal,
          }),
        );
        if ('audio' in answer) return { ...answer, audio: Buffer.from(answer.audio) };
        if (answer.problem === 'tooLong') throw badRequest('The speech is too long; send it in parts');
        throw badRequest('voiceName and languageCode name no voice of eSpeak NG');
      } catch (error) {
        signal.throwIfAborted();
        if (isDomainError(error)) throw error;
        throw unavailable('Speech is not available at the moment; try again in a while', error);
      } finally {
        release();
      }
    },
  };
}

function found(): boolean {
  try {
    return existsSync(fileURLToPath(import.meta.resolve(espeakPackage)));
  } catch {
    return false;
  }
}
