import { type SpeechEncoding } from '../speech.ts';
import { mp3Audio } from './mp3.ts';
import { type PcmFormat, readWav, wavHeader } from './wav.ts';

/**
 * Joins audio files of one encoding to one: the function it returns takes one file after the other, and returns what is next of the whole.
 * Of WAV files the first header is kept, with an open end. @throws Error where the files do not fit
 */
export function audioJoiner(encoding: SpeechEncoding): (file: Buffer) => Buffer {
  if (encoding === 'MP3') return mp3Audio;
  let format: PcmFormat | undefined;
  return (file) => {
    const { pcm, sampleRate, channels } = readWav(file);
    if (!format) {
      format = { sampleRate, channels };
      return Buffer.concat([wavHeader(format), pcm]);
    }
    if (format.sampleRate !== sampleRate || format.channels !== channels)
      throw new Error('the parts of the audio have different formats');
    return pcm;
  };
}
