import { tooLarge } from './outbound-errors.ts';

const [lineFeed, carriageReturn] = [10, 13];

/**
 * Counts the bytes of each event of an SSE stream; an empty line ends an event. The returned function throws `REMOTE_TOO_LARGE` for an
 * event of more than `maxBytes`.
 */
export function eventMeter(maxBytes: number): (chunk: Uint8Array) => void {
  let bytes = 0;
  let isLineEmpty = true;
  let before = 0;
  return (chunk) => {
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] as number;
      bytes += 1;
      if (bytes > maxBytes) throw tooLarge(maxBytes);
      const isRestOfEnd = byte === lineFeed && before === carriageReturn;
      if (byte === lineFeed || byte === carriageReturn) {
        if (isLineEmpty && !isRestOfEnd) bytes = 0;
        isLineEmpty = true;
      } else isLineEmpty = false;
      before = byte;
    }
  };
}
