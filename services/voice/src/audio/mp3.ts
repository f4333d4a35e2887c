const kilobits1 = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
const kilobits2 = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
const sampleRates = [44_100, 48_000, 32_000];

/**
 * Returns the audio frames of an MP3 file without tags and without the frame that contains the file's length, so that they can be joined
 * with other audio.
 */
export function mp3Audio(file: Buffer): Buffer {
  let audio = file;
  if (audio.toString('latin1', 0, 3) === 'ID3' && audio.length >= 10) {
    const size = [6, 7, 8, 9].reduce((sum, at) => sum * 128 + (audio.readUInt8(at) & 0x7f), 0);
    const footer = (audio.readUInt8(5) & 0x10) === 0 ? 0 : 10;
    audio = audio.subarray(10 + size + footer);
  }
  if (audio.length >= 128 && audio.toString('latin1', audio.length - 128, audio.length - 125) === 'TAG')
    audio = audio.subarray(0, -128);
  const first = frameLength(audio);
  if (first === undefined) return audio;
  const info = audio.subarray(4, Math.min(first, 48)).toString('latin1');
  return /Xing|Info|VBRI/u.test(info) ? audio.subarray(first) : audio;
}

/** Returns the length of the layer III frame at the start of the audio; undefined if there is none. */
export function frameLength(audio: Buffer): number | undefined {
  if (audio.length < 4 || audio.readUInt16BE(0) < 0xffe0) return undefined;
  const version = (audio.readUInt8(1) >> 3) & 3;
  const layer = (audio.readUInt8(1) >> 1) & 3;
  const third = audio.readUInt8(2);
  const isFirst = version === 3;
  const kilobits = (isFirst ? kilobits1 : kilobits2)[third >> 4];
  const rate = sampleRates[(third >> 2) & 3];
  if (version === 1 || layer !== 1 || !kilobits || !rate) return undefined;
  const hertz = isFirst ? rate : version === 2 ? rate / 2 : rate / 4;
  return Math.floor(((isFirst ? 144 : 72) * kilobits * 1_000) / hertz) + ((third >> 1) & 1);
}
