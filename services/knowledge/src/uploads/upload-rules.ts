import { randomUUID } from 'node:crypto';
import { rule } from '@parley/kernel/input';
import { tenantPrefix } from '@parley/objects/object-keys';
import { z } from 'zod';

export const uploadTypes: readonly string[] = [
  'application/pdf',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  'text/markdown',
  'text/csv',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
];
export const maxUploadBytes = 20 * 2 ** 20;
export const uploadUrlMs = 15 * 60_000;
/** Before it a PUT that was begun in time may be under way: from then on, an upload without a file gets none. */
export const mayArriveMs = 2 * uploadUrlMs;
/** After it no PUT can be under way any more, and what was not confirmed is removed. */
export const unconfirmedMs = 24 * 60 * 60_000;

/** How much larger than declared a file may be, whichever is more. */
const toleratedBytes = 256 * 2 ** 10;
const toleratedShare = 1 / 8;

const maxNameBytes = 150;
const maxExtensionBytes = 20;

export function uploadType() {
  const why = (value: string) => (uploadTypes.includes(value) ? undefined : `must be one of ${uploadTypes.join(', ')}`);
  return z.string().check(rule(why));
}

/** What an upload may hold. @param declaredBytes null where a version before that column requested it */
export function maxStoredBytes(declaredBytes: number | null): number {
  if (declaredBytes === null) return maxUploadBytes;
  const tolerance = Math.max(toleratedBytes, Math.floor(declaredBytes * toleratedShare));
  return Math.min(maxUploadBytes, declaredBytes + tolerance);
}

export function newUploadKey(tenantId: number, fileName: string): string {
  return `${tenantPrefix(tenantId)}uploads/${randomUUID()}/${safeName(fileName)}`;
}

/** A segment of an object key that resembles a file name: letters and digits of any script, `.`, `_` and `-`. */
export function safeName(fileName: string): string {
  const plain = fileName
    .normalize('NFC')
    .replace(/[^\p{L}\p{M}\p{N}._-]+/gu, '_')
    .replace(/\.{2,}/gu, '.')
    .replace(/^[._-]+/u, '');
  const dot = plain.lastIndexOf('.');
  const extension = dot > 0 && Buffer.byteLength(plain.slice(dot)) <= maxExtensionBytes ? plain.slice(dot) : '';
  const stem = extension === '' ? plain : plain.slice(0, dot);
  return `${firstBytes(stem, maxNameBytes)}${extension}` || 'file';
}

function firstBytes(text: string, maxBytes: number): string {
  let kept = '';
  let bytes = 0;
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    if (bytes > maxBytes) break;
    kept += character;
  }
  return kept;
}
