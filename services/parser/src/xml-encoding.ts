import { TextDecoder } from 'node:util';

/** Number of bytes, from the start of a part, in which its XML declaration is searched. */
const startBytes = 256;

export async function* decodedXml(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let start = Buffer.alloc(0);
  let decoder: TextDecoder | undefined;
  for await (const chunk of chunks) {
    if (decoder) yield decoder.decode(chunk, { stream: true });
    else {
      start = Buffer.concat([start, chunk]);
      if (start.length < startBytes) continue;
      decoder = xmlDecoder(start);
      yield decoder.decode(start, { stream: true });
    }
  }
  yield decoder ? decoder.decode() : xmlDecoder(start).decode(start);
}

/**
 * Detects the encoding by the byte order mark or the bytes of the first character. If these do not show it, the XML declaration decides;
 * UTF-16 is then read as UTF-8, because some programs declare UTF-16 and write UTF-8.
 * @throws RangeError if the declared encoding is unknown
 */
export function xmlDecoder(part: Buffer): TextDecoder {
  const start = part.toString('latin1', 0, startBytes);
  if (/^(?:\xff\xfe|<\0)/u.test(start)) return new TextDecoder('utf-16le');
  if (/^(?:\xfe\xff|\0<)/u.test(start)) return new TextDecoder('utf-16be');
  const declared = /^<\?xml[^>]*\sencoding\s*=\s*["']([^"'>]+)/u.exec(start)?.[1] ?? 'utf-8';
  return new TextDecoder(/^utf-?16/iu.test(declared) ? 'utf-8' : declared);
}
