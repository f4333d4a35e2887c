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
/**
 * Time in ms after the request during which a PUT that began before the URL expired may still run. An upload without a file after this time
 * is refused.
 */
export const mayArriveMs = 2 * uploadUrlMs;
/**
 * Maximum number of a tenant's recent uploads (younger than `mayArriveMs`, confirmed or not), as a multiple of the maximum number of open
 * uploads. With the default of 100 open uploads the maximum is 400, above the 300 that one client may request in that time.
 */
export const recentPerOpen = 4;
/** Time in ms after which no PUT can be in progress and unconfirmed files are deleted. */
export const unconfirmedMs = 24 * 60 * 60_000;

/** How much larger than declared a file may be: this many bytes, or an eighth if an eighth is more. */
const toleratedBytes = 256 * 2 ** 10;
const toleratedShare = 1 / 8;

const maxNameBytes = 150;
const maxExtensionBytes = 20;

export function uploadType() {
  const why = (value: string) => (uploadTypes.includes(value) ? undefined : `must be one of ${uploadTypes.join(', ')}`);
  return z.string().check(rule(why));
}

/**
 * Returns the maximum size of an upload's file. @param declaredBytes null if an older version of the service, without that column, created
 * the upload
 */
export function maxStoredBytes(declaredBytes: number | null): number {
  if (declaredBytes === null) return maxUploadBytes;
  const tolerance = Math.max(toleratedBytes, Math.floor(declaredBytes * toleratedShare));
  return Math.min(maxUploadBytes, declaredBytes + tolerance);
}

export function newUploadKey(tenantId: number, fileName: string): string {
  return `${tenantPrefix(tenantId)}uploads/${randomUUID()}/${safeName(fileName)}`;
}

/** Returns a segment of an object key that resembles a file name: letters and digits of any script, `.`, `_` and `-`. */
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
