import { isUtf8 } from 'node:buffer';

/** How many bytes at the start of a page are searched for its charset declaration, as in browsers. */
const declarationBytes = 1_024;

/**
 * Decodes a page by its byte order mark, else the response's charset, else its own declaration, else as UTF-8 or
 * Windows-1252.
 */
export function decodePage(bytes: Uint8Array, charset: string | undefined, isHtml: boolean): string {
  const label = byteOrderMark(bytes) ?? known(charset) ?? (isHtml ? declared(bytes) : undefined);
  return new TextDecoder(label ?? (isUtf8(bytes) ? 'utf-8' : 'windows-1252')).decode(bytes);
}

function byteOrderMark([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  return first === 0xff && second === 0xfe ? 'utf-16le' : undefined;
}

function declared(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, declarationBytes)).toString('latin1');
  const label = known(/<meta[^>]+charset\s*=\s*["']?\s*([\w.:-]+)/iu.exec(start)?.[1]);
  return label?.startsWith('utf-16') ? 'utf-8' : label;
}

function known(label: string | undefined): string | undefined {
  try {
    return label === undefined ? undefined : new TextDecoder(label).encoding;
  } catch {
    return undefined;
  }
}
