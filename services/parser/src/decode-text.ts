import { isUtf8 } from 'node:buffer';
import { contentKindOf } from './content-kind.ts';
import { FileProblem } from './file-problem.ts';

const utf8Mark = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Converts UTF-8, UTF-16 or Windows-1252 to UTF-8 without a byte order mark.
 * @throws FileProblem `mislabelled` if the bytes are not text; `empty` if there are no bytes
 */
export function utf8Of(bytes: Buffer): Buffer {
  if (bytes.length === 0) throw new FileProblem('empty');
  const kind = contentKindOf(bytes, 'markdown');
  if (kind !== 'text') throw new FileProblem('mislabelled', { found: kind });
  const encoding = encodingOf(bytes);
  const utf8 = encoding === 'utf-8' ? bytes : Buffer.from(new TextDecoder(encoding).decode(bytes));
  if (utf8.includes(0)) throw new FileProblem('mislabelled', { found: 'binary' });
  return utf8.subarray(0, utf8Mark.length).equals(utf8Mark) ? utf8.subarray(utf8Mark.length) : utf8;
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
