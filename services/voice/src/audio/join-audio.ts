import { type SpeechEncoding } from '../speech.ts';
import { mp3Audio } from './mp3.ts';
import { type PcmFormat, readWav, wavHeader } from './wav.ts';

/**
 * Joins audio files of one encoding. The returned function accepts one file after another and returns the next bytes of the joined file. A
 * joined WAV file has the header of the first file, without a length. @throws Error if the formats differ
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
