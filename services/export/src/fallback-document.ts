import { readFileSync } from 'node:fs';
import { z } from 'zod';

const maxBytes = 20_000_000;

/** A setting with the path of the operator's fallback document; its value is the content of the file. */
export const fallbackFile = z
  .string()
  .optional()
  .transform((path, { issues }): Buffer | undefined => {
    if (path === undefined) return undefined;
    const file = contentOf(path);
    const problem = problemOf(file);
    if (problem) issues.push({ code: 'custom', input: path, message: `${path} ${problem}` });
    return file;
  });

function problemOf(file: Buffer | undefined): string | undefined {
  if (!file) return 'cannot be read';
  if (!file.subarray(0, 5).equals(Buffer.from('%PDF-'))) return 'is not a PDF';
  return file.length > maxBytes ? `has more than ${maxBytes} bytes` : undefined;
}

function contentOf(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}
