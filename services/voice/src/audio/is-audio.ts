import type { SpeechEncoding } from '../speech.ts';
import { frameLength } from './mp3.ts';
import { readWav } from './wav.ts';

/** Reports whether a file looks like audio of its encoding: it starts with an ID3 tag or MP3 frame, or is a readable WAV file. */
export function isAudio(file: Buffer, encoding: SpeechEncoding): boolean {
  if (encoding === 'MP3') return file.toString('latin1', 0, 3) === 'ID3' || frameLength(file) !== undefined;
  try {
    return readWav(file).pcm.length > 0;
  } catch {
    return false;
  }
}
