/** Returns 16-bit mono PCM as a WAV file. */
export function wav(pcm: Buffer, sampleRate: number): Buffer {
  return Buffer.concat([wavHeader({ sampleRate, channels: 1 }, pcm.length), pcm]);
}

export interface PcmFormat {
  sampleRate: number;
  channels: number;
}

/** The size in the header of a file of unknown length; players then read to the end of the file. */
const unknownSize = 0xff_ff_ff_ff;

/** Returns the header of a WAV file of 16-bit PCM. @param bytes length of the PCM. Default: unknown, so that the PCM ends with the file. */
export function wavHeader({ sampleRate, channels }: PcmFormat, bytes?: number): Buffer {
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(bytes === undefined ? unknownSize : 36 + bytes, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20); // the code of PCM
  header.writeUInt16LE(channels, 22);
  header.writeUInt32LE(sampleRate, 24);
  header.writeUInt32LE(sampleRate * channels * 2, 28);
  header.writeUInt16LE(channels * 2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36);
  header.writeUInt32LE(bytes ?? unknownSize, 40);
  return header;
}

export function isWav(audio: Buffer): boolean {
  return audio.toString('latin1', 0, 4) === 'RIFF' && audio.toString('latin1', 8, 12) === 'WAVE';
}

/** Returns the 16-bit PCM of a WAV file and its format. @throws Error for any other file */
export function readWav(file: Buffer): PcmFormat & { pcm: Buffer } {
  if (!isWav(file)) throw new Error('the audio is no WAV file');
  let format: PcmFormat | undefined;
  for (let at = 12; at + 8 <= file.length; ) {
    const name = file.toString('latin1', at, at + 4);
    const size = file.readUInt32LE(at + 4);
    const content = file.subarray(at + 8, at + 8 + size);
    if (name === 'data' && format) {
      const frame = format.channels * 2;
      return { ...format, pcm: content.subarray(0, content.length - (content.length % frame)) };
    }
    if (name === 'fmt ' && content.length >= 16) {
      if (content.readUInt16LE(14) !== 16) throw new Error('the WAV file is not of 16 bits');
      format = { channels: content.readUInt16LE(2), sampleRate: content.readUInt32LE(4) };
      if (format.channels === 0 || format.sampleRate === 0) throw new Error('the WAV file has no format');
    }
    at += 8 + size + (size % 2);
  }
  throw new Error('the WAV file has no audio');
}
