import { isUtf8 } from 'node:buffer';
import { contentKindOf } from './content-kind.ts';
import { FileProblem } from './file-problem.ts';

/**
 * The text of a file in UTF-8, UTF-16 or, as old programs write, Windows-1252, without its byte order mark.
 * @throws FileProblem `mislabelled` where the bytes are no text; `empty` for none.
 */
export function decodeText(bytes: Buffer): string {
  if (bytes.length === 0) throw new FileProblem('empty');
  const kind = contentKindOf(bytes);
  if (kind !== 'text') throw new FileProblem('mislabelled', { found: kind });
  const text = new TextDecoder(encodingOf(bytes)).decode(bytes);
  if (text.includes('\0')) throw new FileProblem('mislabelled', { found: 'binary' });
  if (text.trim() === '') throw new FileProblem('empty');
  return text;
}

function encodingOf(bytes: Buffer): string {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  const sample = bytes.subarray(0, 4_096);
  const zeros = [0, 0];
  for (let at = 0; at < sample.length; at += 1) if (sample[at] === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1;
  const [even = 0, odd = 0] = zeros;
  if (odd > sample.length / 4 && even === 0) return 'utf-16le';
  if (even > sample.length / 4 && odd === 0) return 'utf-16be';
  return isUtf8(bytes) ? 'utf-8' : 'windows-1252';
}
