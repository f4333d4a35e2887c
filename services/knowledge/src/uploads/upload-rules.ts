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
 * A PUT that began before its URL expired may still run until this many ms after the upload was requested. An upload that has no file by
 * the end of this time is refused.
 */
export const mayArriveMs = 2 * uploadUrlMs;
/**
 * Maximum number of a tenant's recent uploads, as a multiple of the maximum number of open uploads. An upload is recent, confirmed or not,
 * until `mayArriveMs` after its request. With the default of 100 open uploads, 400 may be recent; one client may request at most 300 within
 * `mayArriveMs`.
 */
export const recentPerOpen = 4;
/** Age of an upload, in ms, from which no PUT to its URL can still run. If the upload is not confirmed, its file is then deleted. */
export const unconfirmedMs = 24 * 60 * 60_000;

/** An upload's file may exceed its declared size by this many bytes, or by an eighth of the declared size if that is more. */
const toleratedBytes = 256 * 2 ** 10;
const toleratedShare = 1 / 8;

const maxNameBytes = 150;
const maxExtensionBytes = 20;

export function uploadType() {
  const why = (value: string) => (uploadTypes.includes(value) ? undefined : `must be one of ${uploadTypes.join(', ')}`);
  return z.string().check(rule(why));
}

/**
 * Returns the maximum size of an upload's file.
 * @param declaredBytes null if an older version of the service, which stored no declared size, created the upload
 */
export function maxStoredBytes(declaredBytes: number | null): number {
  if (declaredBytes === null) return maxUploadBytes;
  const tolerance = Math.max(toleratedBytes, Math.floor(declaredBytes * toleratedShare));
  return Math.min(maxUploadBytes, declaredBytes + tolerance);
}

export function newUploadKey(tenantId: number, fileName: string): string {
  return `${tenantPrefix(tenantId)}uploads/${randomUUID()}/${safeName(fileName)}`;
}

/** Converts a file name to a segment of an object key: letters and digits of any script, `.`, `_` and `-`. */
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
