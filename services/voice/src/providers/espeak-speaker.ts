import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { badRequest, isDomainError, unavailable } from '@parley/kernel/errors';
import { startTaskProcess } from '@parley/kernel/processes/task-process';
import type { Part } from '@parley/kernel/processes/unit';
import { workerPool } from '@parley/kernel/processes/worker-pool';
import type { Speaker } from '../speech.ts';
import { escapeXml, plainSsml } from '../ssml.ts';
import type { SpeechTask, SpeechTaskAnswer } from './espeak-task.ts';

/** The optional package that contains eSpeak NG, under the licence GPL-3.0. */
export const espeakPackage = '@echogarden/espeak-ng-emscripten';

export interface EspeakOptions {
  timeoutMs: number;
  maxBytes: number;
  /** Reports whether the package is installed. Default: detected. */
  isInstalled?: () => boolean;
}

/** MP3 audio of this voice has less than a quarter of the bytes of its PCM. */
const mp3Factor = 4;
const maxMemoryMb = 512;
/** Memory limit of the process, including memory outside the heap. */
const maxResidentMb = 640;
/** Elapsed-time limit as a multiple of the processor-time limit, because a process may wait for a CPU. */
const longestWait = 4;

/**
 * Synthesizes speech with eSpeak NG. Its native code blocks the thread, so each concurrent text has its own process; the caller bounds
 * their number.
 */
export function espeakSpeaker({ timeoutMs, maxBytes, isInstalled = found }: EspeakOptions): Part & {
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

  return {
    name: 'espeak',
    start: () => Promise.resolve(),
    stop: () => pool.close(),
    async speak({ utterance, ...voice }, { signal, memory }) {
      if (!isInstalled())
        throw unavailable(
          `There is no speech here: the optional package ${espeakPackage} (eSpeak NG) is not installed`,
        );
      const { plain: ssml, marks } =
        'ssml' in utterance
          ? plainSsml(utterance.ssml)
          : { plain: `<speak>${escapeXml(utterance.text)}</speak>`, marks: [] };
      try {
        const task = { ...voice, ssml, maxPcmBytes: voice.audioEncoding === 'MP3' ? mp3Factor * maxBytes : maxBytes };
        const answer = await pool.use((process) =>
          process.perform(task, {
            maxProcessorMs: timeoutMs,
            timeoutMs: timeoutMs * longestWait,
            onTimeout: () => badRequest('The text takes too long to speak; send it in parts'),
            maxMemory: {
              mb: maxResidentMb,
              onExceeded: () => badRequest('The speech is too long; send it in parts'),
            },
            signal,
          }),
        );
        if ('audio' in answer) {
          memory.take(answer.audio.length);
          const timepoints = answer.timepoints.map(({ markName, timeSeconds }) => ({
            markName: marks[Number(markName.slice(1))] ?? markName,
            timeSeconds,
          }));
          return { audio: Buffer.from(answer.audio), timepoints };
        }
        if (answer.problem === 'tooLong') throw badRequest('The speech is too long; send it in parts');
        throw badRequest('voiceName and languageCode name no voice of eSpeak NG');
      } catch (error) {
        signal.throwIfAborted();
        if (isDomainError(error)) throw error;
        throw unavailable('Speech is not available at the moment; try again in a while', error);
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
